/* SPDX-License-Identifier: Apache-2.0 */
/* To whom a remote object belongs; see twin.h. */
#include "core/engine/rules/twin.h"

#include "core/engine/rules/former.h"
#include "core/engine/rules/group.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/slices.h"

enum { READ_MS = 10 * 1000 }; /* what was read is not older when it decides */

/*
 * The manager's id decides. The origin only selects what a watch shows, and may have been another
 * one when the object was made. TWIN_OURS means that our annotations are there.
 */
static enum twin base_twin(const struct pass *p, const struct facts *f)
{
	mk_str manager = f->s[S_MANAGER_ID];

	if (facts_is(f, F_CHILD)) {
		return TWIN_FOREIGN;
	}
	if (manager.n == 0) {
		/* Kueue's MultiKueue on another manager may have the same origin. */
		bool is_ours = !p->local || p->checked || p->f->s[S_CLUSTER].n > 0;

		return facts_is(f, F_ORIGIN) && is_ours ? TWIN_GO : TWIN_FOREIGN;
	}
	return str_eq(manager, str_of(p->e->manager_id)) ? TWIN_OURS : TWIN_FOREIGN;
}

enum twin twin_of_clone(struct pass *p, const struct cluster *c, const struct record *r)
{
	return table_known(c, KIND_WORKLOAD) ? twin_of_clone_seen(p, r) : TWIN_UNKNOWN;
}

enum twin twin_of_clone_seen(struct pass *p, const struct record *r)
{
	enum twin t;

	if (!r || !r->present) {
		return r && (r->unknown || r->inflight) ? TWIN_UNKNOWN : TWIN_ABSENT;
	}
	t = base_twin(p, r->facts);
	if (t == TWIN_FOREIGN && former_is_same(p, r->facts)) {
		return TWIN_FORMER;
	}
	if (t == TWIN_OURS && p->local &&
	    !str_eq(r->facts->s[S_LOCAL_UID], str_of(p->local->uid))) {
		return TWIN_STALE;
	}
	return t;
}

/* Is it a copy of the local object? Several Workloads share it. */
static bool of_this_object(const struct pass *p, const struct facts *f)
{
	mk_str uid = p->job ? str_of(p->job->uid) : p->f ? p->f->s[S_OWNER_UID] : STR("");

	return uid.n == 0 || f->s[S_ORIGIN_UID].n == 0 || str_eq(uid, f->s[S_ORIGIN_UID]);
}

bool twin_is_of_object(const struct pass *p, const struct record *r)
{
	return r && r->present && of_this_object(p, r->facts) && !facts_is(r->facts, F_ENDED);
}

enum twin twin_of_job(const struct pass *p, const struct record *r)
{
	const struct facts *f;
	enum twin t;

	if (!r || !r->present) {
		return r && (r->unknown || r->inflight) ? TWIN_UNKNOWN : TWIN_ABSENT;
	}
	f = r->facts;
	t = base_twin(p, f);
	if (!twin_is_ours(t)) {
		return t;
	}
	if (group_has_replicas(p)) {
		return of_this_object(p, f) ? t : TWIN_STALE;
	}
	if (f->s[S_PREBUILT].n > 0 && !str_eq(f->s[S_PREBUILT], p->w->name)) {
		return slices_inherits(p, f) ? t : TWIN_OTHER;
	}
	if (p->local && f->s[S_LOCAL_UID].n > 0 &&
	    !str_eq(f->s[S_LOCAL_UID], str_of(p->local->uid))) {
		return TWIN_STALE;
	}
	if (p->job && f->s[S_ORIGIN_UID].n > 0 &&
	    !str_eq(f->s[S_ORIGIN_UID], str_of(p->job->uid))) {
		return TWIN_STALE;
	}
	return t;
}

struct record *twin_record(const struct pass *p, const struct clone *k)
{
	return p->kind ? store_find(k->c->tables[p->kind], p->w->ns, p->object) : NULL;
}

enum twin twin_recorded(const struct pass *p, const struct clone *k)
{
	return p->grouped ? members_there(p, k, true) : twin_of_job(p, twin_record(p, k));
}

enum twin twin_there(const struct pass *p, const struct clone *k)
{
	enum view view = p->kind ? table_view(k->c, p->kind) : VIEW_MISSING;

	return view == VIEW_KNOWN     ? twin_recorded(p, k)
	       : view == VIEW_MISSING ? TWIN_ABSENT
				      : TWIN_UNKNOWN;
}

enum twin twin_left(const struct pass *p, const struct clone *k)
{
	const struct record *r = twin_record(p, k);

	if (p->grouped) {
		return members_there(p, k, false);
	}
	return r && r->present && facts_is(r->facts, F_TERMINATING) ? TWIN_ABSENT
								    : twin_of_job(p, r);
}

bool twin_is_read(struct pass *p, struct clone *k)
{
	struct record *r = twin_record(p, k);

	if (!r || !r->present || (r->asked_at != 0 && p->e->now - r->asked_at <= READ_MS)) {
		return true;
	}
	if (pass_ready(p, r)) {
		ops_get(p->e, r);
	}
	return false;
}

bool twin_surely_absent(struct pass *p, struct table *t, mk_str ns, mk_str name)
{
	struct record *r = store_touch(&p->e->store, t, ns, name, p->e->now);

	if (!r) {
		say_no_memory(p->e);
		return false;
	}
	if (r->absent || r->present) {
		return r->absent; /* a present object needs no get */
	}
	/* A member of the group, so that the get's answer queues the workload. */
	if (p->grouped && t->kind == p->kind && !record_join(&p->e->store, r, p->w->name)) {
		say_no_memory(p->e);
		return false;
	}
	if (pass_ready(p, r)) {
		ops_get(p->e, r);
	}
	return false;
}
