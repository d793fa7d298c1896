/* SPDX-License-Identifier: Apache-2.0 */
/* Groups; see members.h. */
#include "core/engine/rules/members.h"

#include <stdlib.h>

#include "core/engine/rules/nominate.h"
#include "core/engine/rules/remove.h"
#include "core/engine/rules/twin.h"
#include "core/engine/rules/won.h"

static const struct list_node *records_on(const struct pass *p, const struct cluster *c)
{
	static struct list_node none = {&none, &none};
	const struct group *g = store_group(c->tables[p->kind], p->w->ns, p->w->name);

	return g ? &g->members : &none;
}

static struct record *record_at(struct list_node *n)
{
	return LIST_ENTRY(n, struct member, node)->record;
}

static bool stays(const struct record *local)
{
	return local && !facts_is(local->facts, F_TERMINATING);
}

/* A copy of ours, of this or an earlier object, or an object that may turn out to be one. */
static bool is_copy(const struct pass *p, const struct record *r)
{
	enum twin t = twin_of_job(p, r);

	return twin_is_ours(t) || t == TWIN_STALE || t == TWIN_UNKNOWN;
}

/* --- is there a group? ------------------------------------------------------------------------ */

/* The local object of a copy, if it is a member of this group. */
static struct record *local_of(const struct pass *p, const struct record *copy)
{
	struct record *r = store_get(manager_table(p->e, p->kind), copy->ns, copy->name);

	return r && str_eq(record_group(r), p->w->name) ? r : NULL;
}

/*
 * TWIN_OURS or TWIN_GO if any copy is, else TWIN_UNKNOWN if any is, else TWIN_STALE if any is, else
 * TWIN_ABSENT.
 */
static enum twin copies_on(const struct pass *p, const struct cluster *c, bool going)
{
	enum twin best = TWIN_ABSENT, t;
	struct pass of_one = *p;

	for (LIST_EACH(n, records_on(p, c))) {
		const struct record *r = record_at(n);

		of_one.job = local_of(p, r);
		t = twin_of_job(&of_one, r);
		if (r->present && !going && facts_is(r->facts, F_TERMINATING)) {
			continue;
		}
		if (twin_is_ours(t)) {
			return t;
		}
		if (t == TWIN_UNKNOWN || (t == TWIN_STALE && best == TWIN_ABSENT)) {
			best = t;
		}
	}
	return best;
}

/*
 * The member that stands for the group: one that we manage and that is not being deleted comes
 * first; of equals the first by name.
 */
static struct record *speaker(const struct pass *p)
{
	struct record *best = NULL;
	int best_rank = 0;

	for (LIST_EACH(n, records_on(p, p->e->clusters[CLUSTER_MANAGER]))) {
		struct record *r = record_at(n);
		int rank = r->present ? 1 + 2 * facts_is(r->facts, F_MANAGED) + stays(r) : 0;

		if (rank > best_rank ||
		    (best && rank == best_rank && str_cmp(r->name, best->name) < 0)) {
			best = r;
			best_rank = rank;
		}
	}
	return best;
}

void members_look(struct pass *p)
{
	struct record *first;

	if (!plug_adapter(p->e->o.plug, p->adapter)->d->group_key) {
		return;
	}
	if (p->local && p->job && !str_eq(record_group(p->job), p->w->name)) {
		return; /* a single object, whatever value others carry */
	}
	first = p->local ? speaker(p) : NULL;
	p->grouped = first != NULL;
	for (PEERS_EACH(struct group, g,
			store_group_peers(&p->e->store, p->kind, p->w->ns, p->w->name))) {
		const struct cluster *c = cluster_get(p->e, g->table->cluster);

		p->grouped = p->grouped || (c && copies_on(p, c, true) != TWIN_ABSENT);
	}
	if (p->grouped) {
		first = first ? first : speaker(p);
		p->job = first;
		p->object = first ? first->name : p->object;
		p->pace = first ? &first->member->pace : p->pace;
	}
}

enum twin members_there(const struct pass *p, const struct clone *k, bool going)
{
	return copies_on(p, k->c, going);
}

/* --- one after the other ---------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
	return str_cmp(((const struct twins *)x)->name, ((const struct twins *)y)->name);
}

static size_t count(const struct list_node *list)
{
	size_t n = 0;

	for (LIST_EACH(x, list)) {
		n++;
	}
	return n;
}

/* All members here or there, sorted by name, in the scratch arena; none when out of memory. */
static size_t members_of(struct pass *p, const struct clone *k, struct twins **ret)
{
	const struct list_node *here = records_on(p, p->e->clusters[CLUSTER_MANAGER]);
	const struct list_node *there = records_on(p, k->c);
	size_t max = count(here) + count(there), n = 0;
	struct twins *v = arena_array(&p->e->scratch, max ? max : 1, sizeof(*v));

	*ret = v;
	if (!v) {
		say_no_memory(p->e);
		return 0;
	}
	for (LIST_EACH(x, here)) {
		struct record *r = record_at(x);

		if (r->present) {
			v[n++] = (struct twins){r->name, r,
						store_find(k->c->tables[p->kind], r->ns, r->name)};
		}
	}
	for (LIST_EACH(x, there)) {
		struct record *r = record_at(x);

		if (is_copy(p, r) && !local_of(p, r)) {
			v[n++] = (struct twins){r->name, NULL, r};
		}
	}
	qsort(v, n, sizeof(*v), by_name);
	return n;
}

static void pick(struct pass *p, const struct twins *t)
{
	p->object = t->name;
	p->job = t->local;
	p->job_json = NULL;
	p->pace = &(t->local ? t->local : t->remote)->member->pace;
}

/* Restores the pass's object after members were picked. */
static void go_back(struct pass *p, const struct pass *was)
{
	p->object = was->object;
	p->job = was->job;
	p->job_json = was->job_json;
	p->pace = was->pace;
}

bool members_each(struct pass *p, struct clone *k, bool (*done)(struct pass *p, struct clone *k))
{
	const struct pass was = *p;
	struct twins *v;
	bool all = true;
	size_t n = 0;

	if (!p->grouped) {
		return done(p, k);
	}
	n = members_of(p, k, &v);
	all = v != NULL;
	for (size_t i = 0; i < n; i++) {
		pick(p, &v[i]);
		all &= done(p, k);
	}
	go_back(p, &was);
	return all;
}

bool members_here(struct pass *p, bool (*fn)(struct pass *p))
{
	const struct pass was = *p;
	bool all = true;

	if (!p->grouped) {
		return fn(p);
	}
	for (LIST_EACH(n, records_on(p, p->e->clusters[CLUSTER_MANAGER]))) {
		struct record *r = record_at(n);

		if (all && r->present && stays(r)) {
			pick(p, &(struct twins){.name = r->name, .local = r});
			all = fn(p);
		}
	}
	go_back(p, &was);
	return all;
}

/* Is the local object of the copy gone? A list without it does not suffice. */
static bool is_gone_here(struct pass *p)
{
	struct table *t = manager_table(p->e, p->kind);

	if (!manager_knows(p->e, p->kind)) {
		return false;
	}
	if (p->job || store_get(t, p->w->ns, p->object)) {
		return true; /* it is being deleted, or is in another group, as we see */
	}
	return twin_surely_absent(p, t, p->w->ns, p->object);
}

/* The local object of a copy is gone or is being deleted. */
static void prune(struct pass *p, struct record *remote)
{
	if (!remote || !is_copy(p, remote)) {
		return;
	}
	if (twin_of_job(p, remote) == TWIN_UNKNOWN) {
		pass_ask(p, remote);
	} else if (is_gone_here(p)) {
		remove_copy(p, remote, R_MEMBER);
	}
}

void members_run(struct pass *p, struct clone *k, struct wl_cluster *wc)
{
	const struct pass was = *p;
	struct twins *v;
	size_t n = members_of(p, k, &v);
	bool all = n > 0;

	for (size_t i = 0; i < n; i++) {
		if (!stays(v[i].local)) {
			pick(p, &v[i]);
			prune(p, v[i].remote);
		}
	}
	for (size_t i = 0; i < n && !p->over; i++) {
		if (stays(v[i].local)) {
			pick(p, &v[i]);
			won_run_object(p, k, wc);
			all &= facts_is(p->job->facts, F_ENDED) ||
			       twin_is_ours(twin_of_job(p, v[i].remote));
		}
	}
	go_back(p, &was);
	if (all) {
		wc->rested = false;
	}
}

/* --- what is kept between passes -------------------------------------------------------------- */

void members_new_round(struct pass *p)
{
	if (!p->grouped) {
		return;
	}
	for (LIST_EACH_AS(struct member, m, records_on(p, p->e->clusters[CLUSTER_MANAGER]), node)) {
		m->pace = pace_new();
		m->copied = false;
		m->ended = false;
	}
}

void members_taken(struct pass *p)
{
	if (p->grouped && p->job) {
		p->job->member->copied = false;
		p->job->member->ended = false;
	}
}

void members_drop_texts(struct pass *p)
{
	if (!p->grouped) {
		return;
	}
	for (LIST_EACH(n, records_on(p, p->e->clusters[CLUSTER_MANAGER]))) {
		record_drop_text(&p->e->store, record_at(n));
	}
}

/* The versions that the result of a status hook depends on: of Workload, object and copy. */
static struct view_key view_of(const struct pass *p, const struct record *remote)
{
	return (struct view_key){
		.rv = {p->local->rv, p->job->rv, remote ? remote->rv : 0},
		.epoch = {p->local->epoch, p->job->epoch, remote ? remote->epoch : UINT32_MAX}};
}

bool members_is_told(const struct pass *p, const struct record *remote)
{
	struct view_key k;

	if (!p->grouped || !p->local || !p->job) {
		return false;
	}
	k = view_of(p, remote);
	return memcmp(&k, &p->job->member->told, sizeof(k)) == 0;
}

void members_told(struct pass *p, const struct record *remote)
{
	if (p->grouped && p->local) {
		p->job->member->told = view_of(p, remote);
	}
}

bool members_may_look(struct pass *p)
{
	if (!p->grouped) {
		return true;
	}
	if (p->looks == 0) {
		pass_again(p, p->e->now + 1);
		return false;
	}
	p->looks--;
	return true;
}
