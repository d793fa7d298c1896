/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that rules share; see pass.h. */
#include "core/engine/rules/pass.h"

#include "core/engine/clusters/check.h"
#include "core/engine/rules/alias.h"
#include "core/engine/rules/asked.h"
#include "core/engine/rules/authority.h"
#include "core/engine/rules/facts_queue.h"
#include "core/engine/rules/field.h"
#include "core/engine/rules/members.h"
#include "core/engine/rules/slices.h"
#include "core/engine/rules/twin.h"

void pass_again(struct pass *p, int64_t at)
{
	queue_add_at(&p->e->queue, &p->w->item, at);
}

bool pass_is_due(struct pass *p, int64_t at)
{
	if (p->e->now < at && at != INT64_MAX) {
		pass_again(p, at);
	}
	return p->e->now >= at;
}

struct json *pass_text(struct pass *p, struct record *r)
{
	struct json *v = record_parse(p->e, r);

	/* An explanation is made outside of a run, and sends nothing. */
	if (!v && r && p->e->out && !p->e->no_memory && pass_ready(p, r)) {
		ops_get(p->e, r);
	}
	return v;
}

/* --- the workload ----------------------------------------------------------------------------- */

bool pass_may_open(const struct engine *e)
{
	return e->manager_id[0] != 0 && manager_knows(e, KIND_WORKLOAD) &&
	       manager_knows(e, KIND_CHECK) && manager_knows(e, KIND_CONFIG) &&
	       manager_knows(e, KIND_CLUSTER);
}

static const struct record *config_of(const struct pass *p, const struct record *check)
{
	return manager_named(p->e, KIND_CONFIG, check->facts->s[S_CONFIG]);
}

/* Is that check the one that has won: does its config have the winner, and is it Ready? */
static int rank_of_check(const struct pass *p, size_t i, const struct record *check)
{
	const struct roster roster = roster_of(p->e, config_of(p, check));

	return 2 * roster_has(&roster, p->f->s[S_CLUSTER]) + (p->f->states[i] == CHECK_READY);
}

/*
 * Finds our check: the first of the Workload's checks whose AdmissionCheck belongs to our
 * controller. A queue that gains a second one does not take the winner from the first.
 */
static bool find_check(struct pass *p)
{
	const struct record *r = check_of(p->e, p->f, 0, &p->check), *other = r;

	for (size_t i = p->check; other != NULL;) {
		other = check_of(p->e, p->f, i + 1, &i);
		if (other && rank_of_check(p, i, other) > rank_of_check(p, p->check, r)) {
			r = other;
			p->check = i;
		}
	}
	p->state = r ? (enum check_state)p->f->states[p->check] : CHECK_OTHER;
	p->config = r ? config_of(p, r) : NULL;
	return r != NULL;
}

/* Is it the copy that was made for this Workload, and not for another one of the job's name? */
static bool is_of_workload(const struct pass *p, const struct facts *copy)
{
	mk_str uid = copy->s[S_LOCAL_UID];

	return uid.n == 0 || str_eq(uid, str_of(p->local->uid)) || slices_inherits(p, copy);
}

/* Was the copy that is seen made of this job? Without an owner reference nothing else tells. */
static bool is_copied(const struct pass *p)
{
	struct record *copies = store_peers(&p->e->store, p->kind, p->w->ns, p->object);

	for (PEERS_EACH(struct record, r, copies)) {
		if (r->present && str_eq(r->facts->s[S_ORIGIN_UID], str_of(p->job->uid)) &&
		    is_of_workload(p, r->facts)) {
			return true;
		}
	}
	return false;
}

static void look_at_job(struct pass *p)
{
	const struct owner *o = p->w->owner;

	if (!o) {
		return;
	}
	p->kind = o->kind;
	p->adapter = (size_t)o->kind - KIND_FIRST_JOB;
	p->object = o->name;
	p->job = manager_get(p->e, o->kind, o->ns, o->name);
	if (p->job && p->f && p->f->s[S_OWNER_UID].n > 0 &&
	    !str_eq(p->f->s[S_OWNER_UID], str_of(p->job->uid))) {
		/*
		 * The record is of another job of this name: of an earlier one that we still see,
		 * or of a later one.
		 */
		p->job = NULL;
	}
	if (p->job && p->f && !facts_is(p->f, F_OWNED) && !is_copied(p)) {
		p->job = NULL; /* perhaps a later one of this name */
	}
	members_look(p);
}

void pass_open(struct pass *p, struct engine *e, struct wl *w)
{
	*p = (struct pass){.e = e, .w = w, .pace = &w->pace, .looks = LOOKS_MAX};
	p->local = manager_get(e, KIND_WORKLOAD, w->ns, w->name);
	p->f = p->local ? p->local->facts : NULL;
	p->state = CHECK_OTHER;
	p->checked = p->local && find_check(p);
	look_at_job(p);
	p->roster = roster_of(e, p->config);
	p->authority = authority_of(p);
}

/* --- the clusters ----------------------------------------------------------------------------- */

struct clone *pass_clone_on(const struct pass *p, const struct cluster *c)
{
	return c && c->seen_by == p->number ? &p->clones[c->place] : NULL;
}

/* Keeps the cluster's place in the pass's config for as long as nothing changes. */
static size_t keep_rank(const struct pass *p, struct cluster *c, size_t rank)
{
	c->ranked_in = p->config;
	c->ranked_at = p->e->seen;
	c->rank = rank;
	return rank;
}

/* The place of the cluster in the pass's config; SIZE_MAX: not there. */
static size_t rank_of(const struct pass *p, struct cluster *c)
{
	if (p->config && c->ranked_in == p->config && c->ranked_at == p->e->seen) {
		return c->rank;
	}
	return keep_rank(p, c, roster_place(&p->roster, str_of(c->name)));
}

/* Adds the cluster, after those of lower ranks and numbers; NULL and what is there is fine. */
static void add(struct pass *p, struct cluster *c, size_t rank)
{
	size_t i = p->n_clones;

	if (!c || pass_clone_on(p, c)) {
		return;
	}
	for (; i > 0; i--) {
		const struct clone *before = &p->clones[i - 1];

		if (before->rank < rank || (before->rank == rank && before->c->id < c->id)) {
			break;
		}
		p->clones[i] = *before;
		p->clones[i].c->place = i;
	}
	p->clones[i] = (struct clone){.c = c, .rank = rank, .in_config = rank != SIZE_MAX};
	p->n_clones++;
	c->seen_by = p->number;
	c->place = i;
}

static void add_number(struct pass *p, cluster_id id)
{
	struct cluster *c = cluster_get(p->e, id);

	if (c && !pass_clone_on(p, c)) {
		add(p, c, rank_of(p, c));
	}
}

/* Another name of a server may stand for it. */
static bool add_names(struct pass *p)
{
	struct engine *e = p->e;
	struct clone *all;
	size_t i = 0;

	while (i < p->n_clones && !p->clones[i].c->own.shared) {
		i++;
	}
	if (i == p->n_clones) {
		return true;
	}
	all = arena_array(&e->scratch, e->n_clusters, sizeof(*all));
	if (!all) {
		return false;
	}
	memcpy(all, p->clones, p->n_clones * sizeof(*all));
	p->clones = all;
	for (WORKERS_EACH(c, e)) {
		for (i = 0; c->own.shared && !pass_clone_on(p, c) && i < p->n_clones; i++) {
			if (alias_same_server(c, p->clones[i].c)) {
				add(p, c, rank_of(p, c));
			}
		}
	}
	return true;
}

static bool has_group_key(const struct pass *p)
{
	return p->kind && plug_adapter(p->e->o.plug, p->adapter)->d->group_key;
}

/*
 * Adds the clusters that hold objects of the Workload, or counts them: 'counted' is not NULL. An
 * upper bound, because one cluster may hold several.
 */
static void look_for_objects(struct pass *p, size_t *counted)
{
	const struct store *s = &p->e->store;
	mk_str ns = p->w->ns;
	struct record *clones = store_peers(s, KIND_WORKLOAD, ns, p->w->name);
	struct record *jobs = p->kind ? store_peers(s, p->kind, ns, p->object) : NULL;
	struct group *groups =
		has_group_key(p) ? store_group_peers(s, p->kind, ns, p->w->name) : NULL;
	size_t n = 0;

	for (PEERS_EACH(struct record, r, clones)) {
		n++;
		counted ? (void)0 : add_number(p, r->table->cluster);
	}
	for (PEERS_EACH(struct record, r, jobs)) {
		n++;
		counted ? (void)0 : add_number(p, r->table->cluster);
	}
	for (PEERS_EACH(struct group, g, groups)) {
		n++;
		counted ? (void)0 : add_number(p, g->table->cluster);
	}
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		n += wc->uses;
		counted || !wc->uses ? (void)0 : add_number(p, wc->id);
	}
	if (counted) {
		*counted = n;
	}
}

/* Those of the config's that a dispatcher is asked about: all, or the turn of this pass. */
static void look_at_config(struct pass *p)
{
	for (size_t i = 0; i < p->n_turn; i++) {
		add(p, p->turn[i], rank_of(p, p->turn[i]));
	}
	for (size_t i = 0; !p->turn && i < p->roster.n; i++) {
		struct cluster *c = cluster_named(p->e, p->roster.names[i]);

		if (c && !pass_clone_on(p, c)) {
			add(p, c, keep_rank(p, c, i));
		}
	}
}

/* Those of them that have to do with the Workload. */
static void look_at_some(struct pass *p)
{
	for (size_t i = 0; i < p->f->n_names; i++) {
		struct cluster *c = cluster_named(p->e, p->f->names[i]);

		add(p, c, c ? rank_of(p, c) : 0);
	}
	for (WL_CLUSTERS_EACH(wc, p->w)) {
		add_number(p, wc->id);
	}
}

static bool look(struct pass *p)
{
	struct engine *e = p->e;
	bool choosing =
		p->config && p->f && (p->f->s[S_CLUSTER].n == 0 || facts_is(p->f, F_EVICTED));
	size_t max;

	p->number = ++e->looks;
	p->n_clones = 0;
	look_for_objects(p, &max);
	p->turn = NULL;
	p->n_turn = 0;
	p->keeps = false;
	max += 1 + (!choosing         ? 0
		    : p->is_narrow    ? p->f->n_names + p->w->n_cl
		    : field_choose(p) ? p->n_turn
				      : p->roster.n);
	max = max < e->n_clusters ? max : e->n_clusters;
	p->clones = e->no_memory ? NULL : arena_array(&e->scratch, max, sizeof(struct clone));
	if (!p->clones) {
		say_no_memory(e);
		return false;
	}
	if (choosing) {
		p->is_narrow ? look_at_some(p) : look_at_config(p);
	}
	look_for_objects(p, NULL);
	if (p->f && p->f->s[S_CLUSTER].n > 0) {
		struct cluster *winner = cluster_named(e, p->f->s[S_CLUSTER]);

		add(p, winner, winner ? rank_of(p, winner) : 0);
	}
	for (size_t i = 0; p->is_narrow && i < p->n_clones; i++) {
		if (p->clones[i].c->own.shared) {
			return pass_look(p); /* any name in the config may stand for it */
		}
	}
	if (!add_names(p)) {
		say_no_memory(e);
		return false;
	}
	for (CLONES_EACH(k, p)) {
		k->r = store_find(k->c->tables[KIND_WORKLOAD], p->w->ns, p->w->name);
		k->twin = twin_of_clone(p, k->c, k->r);
	}
	alias_mark(p);
	return true;
}

bool pass_look(struct pass *p)
{
	p->is_narrow = false;
	return look(p);
}

bool pass_look_narrow(struct pass *p)
{
	p->is_narrow = asked_same(p);
	return look(p);
}

/* --- texts ------------------------------------------------------------------------------------ */

struct json *pass_workload(struct pass *p)
{
	if (!p->wl_json) {
		struct json *meta;

		p->wl_json = pass_text(p, p->local);
		meta = json_get(p->wl_json, "metadata");
		p->wl_fields = json_get(meta, "managedFields");
		json_set(&p->e->scratch, meta, STR("managedFields"), NULL);
	}
	return p->wl_json;
}

struct json *pass_requests(struct pass *p)
{
	const struct json *wl = pass_workload(p);

	if (!p->requests && wl) {
		p->requests = facts_requests(p, wl);
	}
	return p->requests;
}

struct json *pass_job(struct pass *p)
{
	if (!p->job_json && p->job) {
		p->job_json = pass_text(p, p->job);
	}
	return p->job_json;
}

const struct json *pass_copy(struct pass *p, const struct record *copy)
{
	if (p->copy_of != copy || !p->copy_json) {
		p->copy_of = copy;
		p->copy_json = record_parse(p->e, copy);
	}
	return p->copy_json;
}
