/* SPDX-License-Identifier: Apache-2.0 */
/* A changed priority; see priority.h. */
#include "core/engine/rules/priority.h"

#include "core/base/backoff.h"
#include "core/engine/act/note.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/wall.h"

enum {
	REST_FIRST_MS = 1000, /* between two writes of a priority that does not stay */
	REST_MAX_MS = 5 * 60 * 1000,
	TOLD_AT = 4, /* writes; the rests before took seven seconds */
};

static int64_t effective(const struct pass *p, const struct facts *f)
{
	return f->priority + (p->e->o.gates.priority_boost ? f->boost : 0);
}

static bool is_same(const struct pass *p, const struct facts *theirs)
{
	const struct facts *ours = p->f;

	if (facts_is(ours, F_POD_PRIORITY) || !facts_is(theirs, F_WORKLOAD_PRIORITY)) {
		return true;
	}
	return str_eq(ours->s[S_PRIORITY_CLASS], theirs->s[S_PRIORITY_CLASS]) &&
	       effective(p, ours) == effective(p, theirs);
}

/* The local value at 'pointer' for a merge patch: null where there is none. */
static struct json *value_or_null(struct pass *p, const char *pointer)
{
	struct arena *a = p->e->out->arena;
	const struct json *v = json_at(p->wl_json, pointer);

	return v ? json_dup(a, v) : json_new_null(a);
}

/* A priority that a wall keeps here is not sent; an Event tells of it. */
static bool is_walled(struct pass *p, struct wl_cluster *wc)
{
	const struct json *wl = pass_workload(p);
	mk_str why;

	if (!wl || !wall_stops(p, json_get(wl, "spec"), false, &why)) {
		return false;
	}
	if (why.n > 0 && p->e->may_write && wc->priority_generation != p->f->generation) {
		wc->priority_generation = p->f->generation;
		wc->priority_tries = 0;
		rule_hit(p->e, R_REJECTED_WALL);
		note_warn(p->e, p->local, NULL,
			  "The changed priority is not sent to the clone: %.*s", STR_ARG(why));
	}
	return true;
}

/*
 * Another client on the worker may put the old priority back each time: the writes for a generation
 * of the local spec come at growing rests. An Event tells of it once.
 */
static bool may_try(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	if (wc->priority_generation != p->f->generation) {
		wc->priority_generation = p->f->generation;
		wc->priority_tries = 0;
	}
	if (wc->priority_tries > 0 &&
	    !pass_is_due(p, wc->priority_at + backoff_ms(REST_FIRST_MS, wc->priority_tries - 1,
							 REST_MAX_MS))) {
		return false;
	}
	if (wc->priority_tries == TOLD_AT && !k->r->refusal) {
		note_warn(p->e, p->local, NULL,
			  "The changed priority does not stay on worker cluster \"%s\", where the "
			  "job has the old one; it is written again",
			  k->c->name);
	}
	return true;
}

void priority_sync(struct pass *p, struct clone *k)
{
	struct arena *a = p->e->out->arena;
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);
	struct op op = {.prio = PRIO_COMMIT, .subresource = ""};
	struct json *body;
	static const char boost[] = "/metadata/annotations/kueue.x-k8s.io~1priority-boost";

	if (is_same(p, k->r->facts)) {
		refusal_moot(k->r, R_PRIORITY);
		return;
	}
	if (clone_is(k, F_TERMINATING) || clone_is(k, F_FINISHED) || !wc || !pass_ready(p, k->r) ||
	    is_walled(p, wc) || !may_try(p, k, wc) || !pass_workload(p)) {
		return;
	}
	body = ops_merge(p->e, k->r, &op);
	(void)json_put(a, body, "/spec/priorityClassRef",
		       value_or_null(p, "/spec/priorityClassRef"));
	(void)json_put(a, body, "/spec/priority", value_or_null(p, "/spec/priority"));
	if (p->e->o.gates.priority_boost) {
		(void)json_put(a, body, boost, value_or_null(p, boost));
	}
	wc->priority_tries++;
	wc->priority_at = p->e->now;
	op.as = wall_author(p);
	ops_send(p->e, k->r, &op, R_PRIORITY);
}
