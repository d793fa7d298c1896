/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the win: nominate clusters, clone there, and commit the first clone that we see Admitted. Nominating and
 * cloning go in parallel; the win is one write, and it needs the nomination acknowledged, because Kueue's webhook does.
 */
#include "core/engine/pass.h"

enum { MAX_PICK = 20, ALONE_MS = 60 * 1000 };

/* The wanted nominations: names, and which clones they mean. */
struct pick {
	bool valid; /* false: leave everything as it is */
	mk_str names[MAX_PICK];
	size_t n;
};

static bool is_nominated(const struct pass *p, mk_str name)
{
	for (size_t i = 0; i < p->f->n_names; i++) {
		if (str_eq(p->f->names[i], name)) {
			return true;
		}
	}
	return false;
}

static bool is_picked(const struct pick *pick, mk_str name)
{
	for (size_t i = 0; i < pick->n; i++) {
		if (str_eq(pick->names[i], name)) {
			return true;
		}
	}
	return false;
}

static bool is_served(const struct pass *p, const struct cluster *c)
{
	const struct table *t = c->tables[p->kind];

	return !t || (!t->unserved && !t->unavailable);
}

static bool in_sync(struct pass *p, const struct clone *k)
{
	mk_str theirs = k->r->facts->s[S_SPEC_HASH];
	mk_str ours = clone_hash(p);

	return theirs.n == 0 || ours.n == 0 || str_eq(theirs, ours);
}

/* Clones that cannot win are taken away; true when one was there. */
static bool disqualify(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc;
	enum rule rule;

	if (k->twin == TWIN_STALE) {
		(void)remove_remote(p, k, R_STALE);
		return true;
	}
	if (!twin_is_ours(k->twin)) {
		return false;
	}
	if (!k->in_config || !is_served(p, k->c)) {
		(void)remove_remote(p, k, R_UNNOMINATED);
		return true;
	}
	if (!clone_is(k, F_FINISHED) && !clone_is(k, F_EVICTED) && in_sync(p, k)) {
		return clone_is(k, F_TERMINATING);
	}
	rule = in_sync(p, k) ? R_DISQUALIFIED : R_SPEC;
	if (rule == R_SPEC && breaker_holds(p->e)) {
		return true;
	}
	wc = wl_cluster(p->e, p->w, k->c->id);
	if (wc && wc->skip_until <= p->e->now) {
		skip_cluster(p, wc);
	}
	(void)remove_remote(p, k, rule);
	return true;
}

/* A delete of the clone, of an earlier round say, is under way or may have happened: it must not win. */
static bool is_going(struct pass *p, const struct clone *k)
{
	struct record *r = k->r;
	bool going = r->inflight ? r->inflight->type == OP_DELETE : r->unknown || r->settling;

	if (going) {
		(void)ops_ready(p->e, r, &p->w->item); /* asks, when nothing else tells */
	}
	return going;
}

static struct clone *winner(struct pass *p)
{
	struct clone *best = NULL;

	for (size_t i = 0; i < p->n_clones; i++) {
		struct clone *k = &p->clones[i];

		if (disqualify(p, k) || !twin_is_ours(k->twin) || !clone_is(k, F_ADMITTED) ||
		    !is_nominated(p, str_of(k->c->name)) || is_going(p, k)) {
			continue;
		}
		if (!best || k->r->admitted_step < best->r->admitted_step) {
			best = k;
		}
	}
	return best;
}

static void win(struct pass *p, const struct clone *k)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	mk_str name = arena_dup(a, str_of(k->c->name));
	mk_str message = arena_printf(a, "The workload was admitted on \"%.*s\"", STR_ARG(name));
	struct json *body, *status;

	if (!ops_ready(e, p->local, &p->w->item)) {
		return;
	}
	body = ssa_body(e, p->local);
	if (!body) {
		(void)pass_workload(p);
		return;
	}
	status = json_get(body, "status");
	json_set(a, status, STR("nominatedClusterNames"), NULL);
	json_set_str(a, status, "clusterName", name);
	ssa_check(p, body, CHECK_READY, message);
	ssa_send(e, p->local, body, R_WIN, PRIO_COMMIT, "Normal", message);
}

static bool is_connected(struct pass *p, const struct clone *k)
{
	const struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (wc && wc->skip_until > p->e->now) {
		queue_add_at(&p->e->queue, &p->w->item, wc->skip_until);
		return false;
	}
	return wc && table_known(p->e, k->c->id, KIND_WORKLOAD) && is_served(p, k->c) &&
	       k->twin != TWIN_FOREIGN;
}

static struct json *cluster_list(struct pass *p)
{
	struct arena *a = &p->e->scratch;
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < p->n_clones && p->clones[i].in_config; i++) {
		struct clone *k = &p->clones[i];
		struct json *o = json_new_obj(a);

		json_set_str(a, o, "name", str_of(k->c->name));
		json_set_bool(a, o, "connected", is_connected(p, k));
		json_set_bool(a, o, "nominated", is_nominated(p, str_of(k->c->name)));
		json_add(a, list, o);
	}
	return list;
}

static void stored_pick(struct pass *p, struct pick *pick)
{
	pick->valid = true;
	for (size_t i = 0; i < p->f->n_names && pick->n < MAX_PICK; i++) {
		pick->names[pick->n++] = p->f->names[i];
	}
}

static void ask_dispatcher(struct pass *p, struct pick *pick)
{
	struct engine *e = p->e;
	struct plug_pick got = {0};
	struct json *list = cluster_list(p), *wl = pass_workload(p);
	struct mk_err err = {0};
	enum mk_code code;

	if (!wl || e->no_memory || fault_dispatcher_resting(p)) {
		return;
	}
	code = plug_nominate(e->o.plug, (size_t)e->dispatcher, wl, list, e->o.dispatcher_config,
			     e->wall, -1, &e->scratch, &got, &err);
	if (code != MK_OK || got.verdict < 0) {
		fault_tell(p, code, &err, got.verdict, got.said);
		return;
	}
	if (got.wait_ms >= 0) {
		queue_add_at(&e->queue, &p->w->item, e->now + got.wait_ms);
	}
	if (!(got.verdict & MK_SET)) {
		stored_pick(p, pick);
		return;
	}
	pick->valid = true;
	for (size_t i = 0; i < got.n && i < MAX_PICK && got.index[i] < p->n_clones; i++) {
		pick->names[pick->n++] = str_of(p->clones[got.index[i]].c->name);
	}
}

static bool same_set(const struct pass *p, const struct pick *pick)
{
	if (pick->n != p->f->n_names) {
		return false;
	}
	for (size_t i = 0; i < pick->n; i++) {
		if (!is_nominated(p, pick->names[i])) {
			return false;
		}
	}
	return true;
}

static void nominate(struct pass *p, const struct pick *pick)
{
	struct engine *e = p->e;
	struct arena *a = e->out->arena;
	struct json *body, *list = json_new_arr(a);

	if (same_set(p, pick) || !ops_ready(e, p->local, &p->w->item)) {
		return;
	}
	body = ssa_body(e, p->local);
	if (!body) {
		return;
	}
	for (size_t i = 0; i < pick->n; i++) {
		json_add(a, list, json_new_str(a, pick->names[i]));
	}
	json_set(a, json_get(body, "status"), STR("nominatedClusterNames"), pick->n ? list : NULL);
	ssa_send(e, p->local, body, R_NOMINATE, PRIO_COMMIT, NULL, (mk_str){NULL, 0});
}

/* Someone else's clone of that name: said once, then the cluster rests; after that it is tried again. */
static void foreign(struct pass *p, struct clone *k)
{
	struct wl_cluster *wc = wl_cluster(p->e, p->w, k->c->id);

	if (!wc || wc->skip_until > p->e->now) {
		return;
	}
	if (wc->rested) {
		/* Forget what we saw, so that a create finds out how it is now. */
		wc->rested = false;
		record_gone(&p->e->store, k->r, 0, k->r->epoch, p->e->now);
		k->twin = TWIN_ABSENT;
		return;
	}
	wc->rested = true;
	rule_hit(p->e, R_FOREIGN);
	skip_cluster(p, wc);
	if (!wc->reported) {
		wc->reported = true;
		note_record(
			p->e, p->local, "Warning",
			arena_printf(
				&p->e->scratch,
				"A Workload of this name on worker cluster \"%s\" is not ours; the "
				"cluster is left out",
				k->c->name));
	}
}

static void clone_to(struct pass *p, struct clone *k)
{
	struct engine *e = p->e;
	struct op op = {.type = OP_CREATE, .prio = PRIO_START};
	struct table *t = table_of(e, k->c, KIND_WORKLOAD);
	struct record *r = t ? store_touch(&e->store, t, p->w->ns, p->w->name, e->now) : NULL;
	struct wl_cluster *wc = wl_cluster(e, p->w, k->c->id);

	if (!r || !wc) {
		say_no_memory(e);
		return;
	}
	if (!ops_ready(e, r, &p->w->item) || !breaker_may_create(p, wc)) {
		return;
	}
	/* The job's watch stands before the job is needed. */
	(void)watch_ready(e, k->c, p->kind);
	watch_use(e, k->c->id, p->kind, &wc->uses, true);
	wc->job_made = false;
	op.body = clone_body(p);
	if (op.body) {
		ops_send(e, r, &op, R_CREATE);
		wc->asked = true;
	}
	if (r->inflight) {
		breaker_created(p, k->c, wc);
	}
}

static bool others_ready(const struct pass *p)
{
	for (size_t i = 0; i < p->f->n_checks; i++) {
		if (i != p->check && p->f->states[i] != CHECK_READY) {
			return false;
		}
	}
	return true;
}

static void sync_clones(struct pass *p, const struct pick *pick)
{
	for (size_t i = 0; i < p->n_clones; i++) {
		struct clone *k = &p->clones[i];
		bool picked = k->in_config && is_picked(pick, str_of(k->c->name));

		if (k->twin == TWIN_UNKNOWN && k->r && k->r->unknown) {
			(void)ops_ready(p->e, k->r, &p->w->item);
		}
		if (picked && k->twin == TWIN_ABSENT && is_connected(p, k)) {
			clone_to(p, k);
		} else if (!picked && twin_is_ours(k->twin)) {
			(void)remove_remote(p, k, R_UNNOMINATED);
		}
	}
}

/* Another controller is to nominate: when none does for a minute, people are told, once a round. */
static void await_nomination(struct pass *p)
{
	struct engine *e = p->e;
	struct wl *w = p->w;

	if (p->f->n_names > 0) {
		w->alone_since = INT64_MAX;
		return;
	}
	if (w->alone_since == INT64_MAX) {
		w->alone_since = e->now;
	}
	if (w->alone_said || !e->may_write) {
		return;
	}
	if (e->now - w->alone_since < ALONE_MS) {
		queue_add_at(&e->queue, &w->item, w->alone_since + ALONE_MS);
		return;
	}
	w->alone_said = true;
	rule_hit(e, R_ALONE);
	note_record(e, p->local, "Warning",
		    arena_printf(&e->scratch,
				 "No cluster was nominated for %d seconds; this is left to the "
				 "dispatcher \"%.*s\", is it running?",
				 ALONE_MS / 1000, STR_ARG(e->o.dispatcher)));
}

void race(struct pass *p)
{
	struct clone *best = winner(p);
	struct pick pick = {0};

	if (best) {
		win(p, best);
		return;
	}
	for (size_t i = 0; i < p->n_clones; i++) {
		if (p->clones[i].twin == TWIN_FOREIGN && p->clones[i].in_config) {
			foreign(p, &p->clones[i]);
		}
	}
	if (!p->job || !facts_is(p->job->facts, F_MANAGED) ||
	    facts_is(p->job->facts, F_TERMINATING) || !facts_is(p->f, F_ACTIVE) || !p->config ||
	    !others_ready(p)) {
		return;
	}
	if (p->e->dispatcher < 0) {
		await_nomination(p);
		stored_pick(p, &pick);
	} else {
		ask_dispatcher(p, &pick);
	}
	if (!pick.valid || p->e->no_memory) {
		return;
	}
	nominate(p, &pick);
	sync_clones(p, &pick);
}
