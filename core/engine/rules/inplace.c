/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic Workload that shrinks; see inplace.h. */
#include "core/engine/rules/inplace.h"

#include "core/engine/rules/clone.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/wall.h"

bool inplace_is_elastic(const struct pass *p)
{
	return p->e->o.gates.elastic_slices &&
	       (facts_is(p->f, F_ELASTIC) || (p->job && facts_is(p->job->facts, F_ELASTIC)));
}

/* Reads one "name=count" of 'rest'; false at its end. */
static bool next_count(mk_str *rest, mk_str *ret_name, int64_t *ret_count)
{
	mk_str part;
	ptrdiff_t at;

	if (!str_split(rest, ',', &part)) {
		return false;
	}
	at = str_index(part, '=');
	if (at <= 0) {
		return false;
	}
	*ret_name = str_sub(part, 0, (size_t)at);
	return str_i64(str_sub(part, (size_t)at + 1, part.n), ret_count);
}

static int64_t count_of(mk_str counts, mk_str name)
{
	mk_str other;
	int64_t n;

	while (next_count(&counts, &other, &n)) {
		if (str_eq(other, name)) {
			return n;
		}
	}
	return -1;
}

/* Like Kueue's ScaledDown: at least one common pod set is smaller, and none is larger. */
static bool is_scaled_down(mk_str from, mk_str to)
{
	bool smaller = false;
	mk_str name;
	int64_t n;

	while (next_count(&from, &name, &n)) {
		int64_t now = count_of(to, name);

		if (now > n) {
			return false;
		}
		smaller |= now >= 0 && now < n;
	}
	return smaller;
}

/*
 * Does the worker refuse the new size for good? Then the clone is made again, which ends its job;
 * so only after workerLostTimeout. Missing rights come back, and are waited for.
 */
static bool is_refused(struct pass *p, const struct clone *k)
{
	int64_t since = refusal_of_object(k->r);

	return since != INT64_MAX && k->r->refusal->rule == R_SHRINK &&
	       pass_is_due(p, since + p->e->o.worker_lost_timeout_ms);
}

bool inplace_shrink(struct pass *p, struct clone *k)
{
	struct arena *a = p->e->out->arena;
	struct op op = {.prio = PRIO_COMMIT, .subresource = ""};
	static const char hash[] = "/metadata/annotations/multikueued.io~1spec-hash";
	struct json *body, *spec;

	if (!inplace_is_elastic(p) || clone_is(k, F_TERMINATING) || clone_is(k, F_FINISHED) ||
	    !is_scaled_down(k->r->facts->s[S_COUNTS], p->f->s[S_COUNTS]) || is_refused(p, k)) {
		return false;
	}
	if (!pass_ready(p, k->r) || !pass_workload(p)) {
		return true;
	}
	body = ops_merge(p->e, k->r, &op);
	spec = json_dup(a, json_get(p->wl_json, "spec"));
	json_set(a, spec, STR("preemptionGates"), NULL); /* the clone has its own */
	(void)json_put(a, body, hash, json_new_str(a, clone_hash(p)));
	json_set(a, body, STR("spec"), spec);
	op.as = wall_author(p);
	ops_send(p->e, k->r, &op, R_SHRINK);
	return true;
}
