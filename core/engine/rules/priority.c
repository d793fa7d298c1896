/* SPDX-License-Identifier: Apache-2.0 */
/* A changed priority; see priority.h. */
#include "core/engine/rules/priority.h"

#include "core/engine/act/note.h"
#include "core/engine/rules/wall.h"

enum { TRIES_MAX = 8 };

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

/* Counts the tries for this generation of the local spec; false: TRIES_MAX were sent. */
static bool may_try(struct pass *p, const struct clone *k, struct wl_cluster *wc)
{
	if (wc->priority_generation != p->f->generation) {
		wc->priority_generation = p->f->generation;
		wc->priority_tries = 0;
	}
	if (wc->priority_tries == TRIES_MAX) {
		wc->priority_tries++;
		note_warn(p->e, p->local, NULL,
			  "The changed priority is refused on worker cluster "
			  "\"%s\", where the job keeps the old one",
			  k->c->name);
	}
	return wc->priority_tries < TRIES_MAX;
}

void priority_sync(struct pass *p, struct clone *k)
{
	struct arena *a = p->e->out->arena;
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);
	struct op op = {.prio = PRIO_COMMIT, .subresource = ""};
	struct json *body;
	static const char boost[] = "/metadata/annotations/kueue.x-k8s.io~1priority-boost";

	if (is_same(p, k->r->facts) || clone_is(k, F_TERMINATING) || clone_is(k, F_FINISHED) ||
	    !wc || !pass_ready(p, k->r) || is_walled(p, wc) || !may_try(p, k, wc) ||
	    !pass_workload(p)) {
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
	op.as = wall_author(p);
	ops_send(p->e, k->r, &op, R_PRIORITY);
}
