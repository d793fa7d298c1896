/* SPDX-License-Identifier: Apache-2.0 */
/* Objects with former labels or annotations of ours; see former.h. */
#include "core/engine/rules/former.h"

#include "core/engine/act/note.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/clone.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/job.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/twin.h"

enum {
	LOOK_AGAIN_MS = 30 * 1000,
	FIRST_LOOK_MS = 10 * 1000, /* a new process waits for a first look at each worker */
};

bool former_is_named(const struct engine *e, mk_str id)
{
	return str_in(id, e->o.former_managers, e->o.n_former_managers);
}

/* --- what is in the way ----------------------------------------------------------------------- */

bool former_is_same(struct pass *p, const struct facts *clone)
{
	mk_str theirs = clone->s[S_SPEC_HASH];

	return p->local && (facts_is(p->f, F_QUOTA) || !facts_is(p->f, F_ACTIVE)) &&
	       !facts_is(p->f, F_FINISHED) && p->kind && facts_is(clone, F_ORIGIN) &&
	       theirs.n > 0 && str_eq(theirs, clone_hash(p));
}

static void tell(struct pass *p, const struct cluster *c, mk_str manager, mk_str name)
{
	rule_hit(p->e, R_FORMER);
	if (p->w->round.former_said || !p->e->may_write) {
		return;
	}
	p->w->round.former_said = true;
	note_warn(p->e, p->local, "FormerManager",
		  "Worker cluster \"%s\" has Workload \"%.*s\" of the same job, made by another "
		  "manager "
		  "(%.*s): this one is not sent out beside it. If that manager was this one before "
		  "it was "
		  "rebuilt, name its id in multiKueue.formerManagers: a Workload of the same name "
		  "is taken "
		  "over then. Else wait for its end, or delete it there",
		  c->name, STR_ARG(name), STR_ARG(manager));
}

void former_tell(struct pass *p, const struct clone *k)
{
	mk_str manager = k->r->facts->s[S_MANAGER_ID];

	if (manager.n > 0 && !former_is_named(p->e, manager)) {
		tell(p, k->c, manager, p->w->name);
	}
}

void former_left(struct pass *p)
{
	if (facts_is(p->f, F_ACTIVE) || p->w->round.former_said || !p->e->may_write) {
		return;
	}
	for (CLONES_EACH(k, p)) {
		if (k->twin != TWIN_FORMER) {
			continue;
		}
		rule_hit(p->e, R_FORMER);
		p->w->round.former_said = true;
		note_once(p->e, p->local, "FormerManager", p->f->made_ms,
			  arena_printf(
				  &p->e->scratch,
				  "This Workload is inactive, but worker cluster \"%s\" has one of "
				  "the same job, made by another manager (%.*s), which goes on "
				  "there: it is left alone. Delete it there, if that manager "
				  "was this one before it was rebuilt",
				  k->c->name, STR_ARG(k->r->facts->s[S_MANAGER_ID])));
		return; /* one Event for all */
	}
}

/* Is there a former manager's Workload of our job under a name that was made from another uid? */
static bool is_under_other_name(struct pass *p)
{
	struct engine *e = p->e;

	for (LIST_EACH_AS(struct wl, w, &p->w->owner->workloads, owner_node)) {
		if (w == p->w || manager_get(e, KIND_WORKLOAD, w->ns, w->name)) {
			continue;
		}
		for (PEERS_EACH(struct record, r,
				store_peers(&e->store, KIND_WORKLOAD, w->ns, w->name))) {
			const struct cluster *c = cluster_get(e, r->table->cluster);

			if (c && r->present && r->facts->s[S_MANAGER_ID].n > 0 &&
			    !str_is(r->facts->s[S_MANAGER_ID], e->manager_id) &&
			    (former_is_named(e, r->facts->s[S_MANAGER_ID]) ||
			     former_is_same(p, r->facts))) {
				tell(p, c, r->facts->s[S_MANAGER_ID], w->name);
				pass_again(p, e->now + LOOK_AGAIN_MS);
				return true;
			}
		}
	}
	return false;
}

/* A new process has not seen every worker: a copy may exist where it has not looked yet. */
static bool is_looked_at(struct pass *p)
{
	int64_t until = p->e->start_ms + FIRST_LOOK_MS;

	if (p->e->now >= until) {
		return true;
	}
	for (size_t i = 0; i < p->roster.n; i++) {
		const struct cluster *c = cluster_named(p->e, p->roster.names[i]);

		if (c && !c->decided) {
			pass_again(p, until);
			return false;
		}
	}
	return true;
}

/* The clone is another manager's, and the copy beside it ours, of a Workload before this one. */
static void remove_stale(struct pass *p, struct clone *k)
{
	if (watches_ready(p->e, k->c, p->kind) && twin_recorded(p, k) == TWIN_STALE) {
		(void)remove_remote(p, k, R_STALE);
	}
}

bool former_holds(struct pass *p)
{
	struct clone *former = NULL;

	for (CLONES_EACH(k, p)) {
		if (twin_is_ours(k->twin)) {
			return false; /* dispatched: two managers would wait for each other */
		}
		former = k->twin == TWIN_FORMER ? k : former;
	}
	if (former) {
		former_tell(p, former);
		remove_stale(p, former);
		return true;
	}
	return is_under_other_name(p) || !is_looked_at(p);
}

/* --- marks ------------------------------------------------------------------------------------ */

static void mark_origin(struct pass *p, struct json *body)
{
	struct arena *a = p->e->out->arena;

	(void)json_put(a, body, "/metadata/labels", json_new_obj(a));
	json_set_str(a, json_at(body, "/metadata/labels"), NAME_ORIGIN, p->e->o.origin);
}

static void mark_clone(struct pass *p, struct json *body)
{
	struct arena *a = p->e->out->arena;

	mark_origin(p, body);
	(void)json_put(a, body, "/metadata/annotations", json_new_obj(a));
	json_set_str(a, json_at(body, "/metadata/annotations"), NAME_MANAGER_ID,
		     str_of(p->e->manager_id));
	json_set_str(a, json_at(body, "/metadata/annotations"), NAME_WORKLOAD_UID,
		     str_of(p->local->uid));
}

static void mark(struct pass *p, struct record *r)
{
	struct op op = {.prio = PRIO_COMMIT, .subresource = ""};
	struct json *body;

	if (!pass_ready(p, r)) {
		return;
	}
	body = ops_merge(p->e, r, &op);
	if (str_is(r->facts->s[S_MANAGER_ID], p->e->manager_id)) {
		mark_origin(p, body);
	} else if (r->table->kind == KIND_WORKLOAD) {
		mark_clone(p, body);
	} else {
		job_stamp(p, body);
	}
	ops_send(p->e, r, &op, R_ADOPT);
}

/* Was the job made by a former manager for this Workload? */
static bool is_former_job(const struct pass *p, const struct record *r)
{
	return r && r->present && former_is_named(p->e, r->facts->s[S_MANAGER_ID]) &&
	       (group_has_replicas(p) || str_eq(r->facts->s[S_PREBUILT], p->w->name));
}

/* Writes the marks of one object. True: it has them, or does not exist. */
static bool job_is_marked(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);
	bool ours = twin_of_job(p, r) == TWIN_OURS;

	if (!r || !r->present) {
		/* A job with another origin is not listed. */
		return clone_is(k, F_ORIGIN) ||
		       twin_surely_absent(p, k->c->tables[p->kind], p->w->ns, p->object);
	}
	if (!is_former_job(p, r) && !(ours && facts_is(r->facts, F_RELABEL))) {
		return true;
	}
	if (p->job) {
		mark(p, r);
	}
	return false; /* without the local job there is no uid to mark it with */
}

void former_adopt(struct pass *p)
{
	if (!p->kind) {
		return;
	}
	for (CLONES_EACH(k, p)) {
		bool marked =
			k->twin == TWIN_FORMER
				? p->grouped || !former_is_named(p->e, k->r->facts->s[S_MANAGER_ID])
				: k->twin != TWIN_OURS || !clone_is(k, F_RELABEL);

		if (marked) {
			if (twin_is_ours(k->twin) && !p->grouped) {
				/* Another client may have removed the marks of the job. */
				(void)job_is_marked(p, k);
			}
		} else if (watches_ready(p->e, k->c, p->kind)
				   ? members_each(p, k, job_is_marked)
				   : table_view(k->c, p->kind) == VIEW_MISSING) {
			mark(p, k->r);
		}
	}
}
