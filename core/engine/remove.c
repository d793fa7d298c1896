/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose remote objects are, and taking ours away. A delete names the uid just observed. The job goes first and the
 * clone only when the job is gone or going: a clone without a job leads to nothing, a job without a clone is hard to find.
 */
#include "core/engine/pass.h"

enum { SKIP_FIRST_MS = 1000, SKIP_MAX_MS = 1000 * 1000 };

/*
 * By manager alone, whatever the origin, which only selects what is shown: it may have been another one when the object was
 * made. TWIN_OURS means that our annotations are there.
 */
static enum twin base_twin(const struct pass *p, const struct facts *f)
{
	mk_str manager = f->s[S_MANAGER_ID];

	if (manager.n == 0) {
		return facts_is(f, F_ORIGIN) ? TWIN_GO : TWIN_FOREIGN;
	}
	return str_eq(manager, str_of(p->e->manager_id)) ? TWIN_OURS : TWIN_FOREIGN;
}

enum twin clone_twin(struct pass *p, const struct cluster *c, const struct record *r)
{
	enum twin t;

	if (!table_known(p->e, c->id, KIND_WORKLOAD)) {
		return TWIN_UNKNOWN;
	}
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

/* Several Workloads share the copy: it is the local object that it stands for. */
static bool of_this_object(const struct pass *p, const struct facts *f)
{
	mk_str uid = p->job ? str_of(p->job->uid) : p->f ? p->f->s[S_OWNER_UID] : STR("");

	return uid.n == 0 || f->s[S_ORIGIN_UID].n == 0 || str_eq(uid, f->s[S_ORIGIN_UID]);
}

enum twin job_twin(const struct pass *p, const struct record *r)
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
	if (has_replicas(p)) {
		return of_this_object(p, f) ? t : TWIN_STALE;
	}
	if (f->s[S_PREBUILT].n > 0 && !str_eq(f->s[S_PREBUILT], p->w->name)) {
		return slice_inherits(p, f) ? t : TWIN_OTHER;
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

struct record *remote_job(const struct pass *p, const struct clone *k)
{
	return p->kind ? store_find(k->c->tables[p->kind], p->w->ns, p->object) : NULL;
}

enum twin job_recorded(const struct pass *p, const struct clone *k)
{
	return p->grouped ? members_there(p, k, true) : job_twin(p, remote_job(p, k));
}

enum twin job_there(const struct pass *p, const struct clone *k)
{
	enum view view = p->kind ? table_view(p->e, k->c, p->kind) : VIEW_MISSING;

	return view == VIEW_KNOWN     ? job_recorded(p, k)
	       : view == VIEW_MISSING ? TWIN_ABSENT
				      : TWIN_UNKNOWN;
}

enum twin job_left(const struct pass *p, const struct clone *k)
{
	const struct record *r = remote_job(p, k);

	if (p->grouped) {
		return members_there(p, k, false);
	}
	return r && r->present && facts_is(r->facts, F_TERMINATING) ? TWIN_ABSENT : job_twin(p, r);
}

void skip_cluster(struct pass *p, struct wl_cluster *wc)
{
	wc->skip_until = p->e->now + backoff_ms(SKIP_FIRST_MS, wc->fails++, SKIP_MAX_MS);
	pass_again(p, wc->skip_until);
}

/* May an object of this standing be taken away in this pass? Go's only while its twin lives, or by the collector. */
static bool may_remove(const struct pass *p, enum twin t)
{
	return t == TWIN_OURS || t == TWIN_STALE || (t == TWIN_GO && (p->local || p->w->gc));
}

static void send_delete(struct pass *p, struct record *r, enum rule rule)
{
	struct op op = {.type = OP_DELETE,
			.prio = r->table->kind == KIND_WORKLOAD ? PRIO_CLEANUP : PRIO_STOP,
			.uid = str_of(r->uid)};
	struct wl_cluster *wc = wl_cluster_known(p->w, r->table->cluster);

	if (!gc_may(p, r) || !pass_ready(p, r)) {
		return;
	}
	ops_send(p->e, r, &op, rule);
	if (r->inflight) {
		gc_spend(p, r);
		member_taken(p);
	}
	if (wc) {
		wc->bout.there = false;
		wc->bout.made &= rule == R_SPEC;
		wc->leaving |= rule != R_SPEC;
	}
}

/*
 * An adopted clone may carry Kueue's finalizer, which on a worker nobody else would take off: it goes first. Its text may
 * be missing, and is asked for then.
 */
static void strip(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	struct op op = {.prio = PRIO_CLEANUP, .subresource = ""};
	struct json *left = json_new_arr(a), *obj;
	struct json_iter it;

	if (!gc_may(p, k->r) || !pass_ready(p, k->r)) {
		return;
	}
	obj = pass_text(p, k->r);
	if (!obj) {
		return;
	}
	it = json_iter(json_at(obj, "/metadata/finalizers"));
	while (json_next(&it)) {
		if (!str_is(json_str(it.val), NAME_IN_USE)) {
			json_add(a, left, json_dup(a, it.val));
		}
	}
	(void)json_put(a, ops_merge(e, k->r, &op), "/metadata/finalizers", left);
	ops_send(e, k->r, &op, R_STRIP);
}

static bool remove_object(struct pass *p, struct clone *k)
{
	struct record *r = remote_job(p, k);

	if (job_twin(p, r) == TWIN_UNKNOWN) {
		pass_ask(p, r); /* asks, when that is what it takes */
		return false;
	}
	if (!may_remove(p, job_twin(p, r)) || facts_is(r->facts, F_TERMINATING) ||
	    (job_twin(p, r) != TWIN_STALE && group_needs(p, k->c))) {
		return true;
	}
	send_delete(p, r, p->removing);
	return false;
}

/* True when no job of ours is in the way of removing the clone. */
static bool remove_job(struct pass *p, struct clone *k, enum rule rule)
{
	const struct table *t = k->c->tables[p->kind];

	if (p->kind == 0 || table_is_unserved(t)) {
		return true;
	}
	if (k->r && k->r->present && !watch_ready(p->e, k->c, p->kind)) {
		return false;
	}
	p->removing = rule;
	return each_object(p, k, remove_object);
}

bool remove_remote(struct pass *p, struct clone *k, enum rule rule)
{
	if (k->twin == TWIN_ALIAS) {
		return true;
	}
	if (k->r && twin_is_ours(job_recorded(p, k)) && slice_is_inherited(p)) {
		return false; /* a newer slice takes the job over */
	}
	if (!table_known(p->e, k->c->id, KIND_WORKLOAD) || !remove_job(p, k, rule)) {
		return false;
	}
	if (k->twin == TWIN_UNKNOWN) {
		pass_ask(p, k->r);
		return false;
	}
	if (!may_remove(p, k->twin)) {
		return true;
	}
	if (clone_is(k, F_HELD)) {
		strip(p, k);
	} else if (!clone_is(k, F_TERMINATING)) {
		send_delete(p, k->r, rule);
	}
	return false;
}

void remove_all(struct pass *p, enum rule rule)
{
	for (CLONES_EACH(k, p)) {
		(void)remove_remote(p, k, rule);
	}
}

/* A job of ours whose clone is gone. One that is not seen yet tells, when it is asked for, whether this is the winner's server. */
static bool is_left_alone(struct pass *p, const struct clone *k)
{
	return k->twin == TWIN_ABSENT && p->kind && twin_is_ours(job_there(p, k)) &&
	       surely_absent(p, k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name);
}

void remove_losers(struct pass *p, const struct clone *keep)
{
	for (CLONES_EACH(k, p)) {
		if (k != keep && (twin_is_ours(k->twin) || k->twin == TWIN_STALE ||
				  k->twin == TWIN_UNKNOWN || is_left_alone(p, k))) {
			(void)remove_remote(p, k, k->twin == TWIN_STALE ? R_STALE : R_LOSER);
		}
	}
}

bool surely_absent(struct pass *p, struct table *t, mk_str ns, mk_str name)
{
	struct record *r = store_touch(&p->e->store, t, ns, name, p->e->now);

	if (!r) {
		say_no_memory(p->e);
		return false;
	}
	if (r->absent || r->present) {
		return r->absent; /* what is there need not be asked for */
	}
	if (pass_ready(p, r)) {
		ops_get(p->e, r);
	}
	return false;
}
