/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and records; see store.h. */
#include "core/engine/store/store.h"

#include "core/base/alloc.h"
#include "core/engine/rules/assume.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/state.h"
#include "core/engine/store/cohort.h"
#include "core/engine/store/ending.h"
#include "core/engine/store/kept.h"

/* Estimate of a record's other memory: entries in maps, its uid, and the struct wl of its name. */
enum { RECORD_MORE = 768 };

void store_init(struct store *s)
{
	*s = (struct store){0};
	list_init(&s->tombs);
	list_init(&s->endings);
}

void store_done(struct store *s)
{
	for (size_t i = 0; i < KIND_MAX; i++) {
		map_done(&s->names[i]);
		map_done(&s->groups[i]);
		models_free(s->models[i][0]);
		models_free(s->models[i][1]);
	}
}

struct models *store_models(struct store *s, const struct table *t)
{
	struct models **m = &s->models[t->kind][t->cluster != CLUSTER_MANAGER];

	*m = *m ? *m : models_new();
	return *m;
}

/* --- one name on several workers -------------------------------------------------------------- */

static bool has_peers(const struct table *t)
{
	return t->cluster != CLUSTER_MANAGER &&
	       (t->kind == KIND_WORKLOAD || t->kind >= KIND_FIRST_JOB);
}

/* False: out of memory. */
static bool ring_join(struct map *rings, mk_str key, struct list_node *n)
{
	struct list_node *one = map_get(rings, key);

	if (!one) {
		return map_put(rings, key, n);
	}
	list_add_tail(one, n);
	return true;
}

static void ring_leave(struct map *rings, mk_str key, struct list_node *n)
{
	if (map_get(rings, key) == n) {
		if (list_empty(n)) {
			map_del(rings, key);
		} else {
			(void)map_put(rings, key, n->next); /* replacing needs no memory */
		}
	}
	list_del(n);
}

static struct list_node *ring_find(const struct map *rings, mk_str ns, mk_str name)
{
	struct store_key k;

	return store_key(&k, ns, name) ? map_get(rings, k.s) : NULL;
}

struct record *store_peers(const struct store *s, uint16_t kind, mk_str ns, mk_str name)
{
	struct list_node *n = ring_find(&s->names[kind], ns, name);

	return n ? LIST_ENTRY(n, struct record, peers) : NULL;
}

struct group *store_group_peers(const struct store *s, uint16_t kind, mk_str ns, mk_str value)
{
	struct list_node *n = ring_find(&s->groups[kind], ns, value);

	return n ? LIST_ENTRY(n, struct group, peers) : NULL;
}

/* --- tables and records ----------------------------------------------------------------------- */

struct table *table_new(cluster_id cluster, uint16_t kind)
{
	struct table *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		return NULL;
	}
	list_init(&t->records);
	map_init(&t->by_key);
	map_init(&t->groups);
	map_init(&t->cohorts);
	map_init(&t->accounts);
	t->cluster = cluster;
	t->kind = kind;
	return t;
}

static void weigh(struct store *s, const struct table *t, size_t more, size_t less)
{
	s->bytes += more - less;
	if (t->share) {
		*t->share += more - less;
	}
}

static void forget_state(struct store *s, struct record *r)
{
	record_drop_text(s, r);
	if (r->facts) {
		cohort_remove(r->table, r->facts);
		weigh(s, r->table, 0, r->facts->size);
		mk_free(r->facts);
		r->facts = NULL;
	}
}

static void leave(struct store *s, struct record *r)
{
	struct group *g;

	if (!r->member) {
		return;
	}
	g = r->member->group;
	list_del(&r->member->node);
	weigh(s, r->table, 0, sizeof(*r->member));
	mk_free(r->member);
	r->member = NULL;
	if (list_empty(&g->members)) {
		if (has_peers(g->table)) {
			ring_leave(&s->groups[g->table->kind], str_of(g->key), &g->peers);
		}
		map_del(&r->table->groups, str_of(g->key));
		mk_free(g->key);
		mk_free(g);
	}
}

void record_free(struct store *s, struct record *r)
{
	leave(s, r);
	assume_drop(r);
	refusal_end(r);
	ending_free(s, r);
	if (has_peers(r->table)) {
		ring_leave(&s->names[r->table->kind], r->key, &r->peers);
	}
	map_del(&r->table->by_key, r->key);
	list_del(&r->node);
	list_del(&r->tomb);
	forget_state(s, r);
	if (r->present) {
		r->table->n_present--;
	}
	s->n_records--;
	weigh(s, r->table, 0, sizeof(*r) + r->key.n + RECORD_MORE);
	mk_free(r->uid);
	mk_free(r);
}

void table_free(struct store *s, struct table *t)
{
	if (!t) {
		return;
	}
	while (!list_empty(&t->records)) {
		record_free(s, LIST_ENTRY(t->records.next, struct record, node));
	}
	map_done(&t->by_key);
	map_done(&t->groups);
	cohort_done(t);
	map_done(&t->accounts); /* the last claim on a queue took its account along */
	mk_free(t->why);
	mk_free(t);
}

bool store_key(struct store_key *k, mk_str ns, mk_str name)
{
	if (ns.n + name.n + 1 > sizeof(k->text) || name.n == 0) {
		return false;
	}
	if (ns.n) {
		memcpy(k->text, ns.p, ns.n);
	}
	k->text[ns.n] = '/';
	memcpy(k->text + ns.n + 1, name.p, name.n);
	k->s = (mk_str){k->text, ns.n + 1 + name.n};
	return true;
}

struct group *store_group(const struct table *t, mk_str ns, mk_str value)
{
	struct store_key k;

	return t && store_key(&k, ns, value) ? map_get(&t->groups, k.s) : NULL;
}

mk_str record_group(const struct record *r)
{
	mk_str key = r->member ? str_of(r->member->group->key) : STR("");

	return key.n > 0 ? str_sub(key, r->ns.n + 1, key.n) : key;
}

static struct group *group_make(struct store *s, struct table *t, mk_str key)
{
	struct group *g = mk_calloc(1, sizeof(*g));

	if (!g) {
		return NULL;
	}
	list_init(&g->members);
	list_init(&g->peers);
	g->table = t;
	g->key = mk_strndup(key);
	if (!g->key || !map_put(&t->groups, str_of(g->key), g) ||
	    (has_peers(t) && !ring_join(&s->groups[t->kind], key, &g->peers))) {
		map_del(&t->groups, key);
		mk_free(g->key);
		mk_free(g);
		return NULL;
	}
	return g;
}

bool record_join(struct store *s, struct record *r, mk_str value)
{
	struct member *m;
	struct group *g;
	struct store_key k;

	if (str_eq(value, record_group(r))) {
		return true;
	}
	if (!store_key(&k, r->ns, value)) {
		leave(s, r);
		return true;
	}
	m = mk_calloc(1, sizeof(*m));
	if (!m) {
		return false;
	}
	g = store_group(r->table, r->ns, value);
	if (!g) {
		g = group_make(s, r->table, k.s);
	}
	if (!g) {
		mk_free(m);
		return false;
	}
	leave(s, r);
	*m = (struct member){.group = g, .record = r, .pace = pace_new()};
	list_add_tail(&g->members, &m->node);
	weigh(s, r->table, sizeof(*m), 0);
	r->member = m;
	return true;
}

struct record *store_find(const struct table *t, mk_str ns, mk_str name)
{
	struct store_key k;

	return t && store_key(&k, ns, name) ? map_get(&t->by_key, k.s) : NULL;
}

struct record *store_get(const struct table *t, mk_str ns, mk_str name)
{
	struct record *r = store_find(t, ns, name);

	return r && r->present ? r : NULL;
}

struct record *store_touch(struct store *s, struct table *t, mk_str ns, mk_str name, int64_t now)
{
	struct record *r = store_find(t, ns, name);
	struct store_key k;

	if (r || !store_key(&k, ns, name)) {
		return r;
	}
	r = mk_calloc(1, sizeof(*r) + k.s.n + 1);
	if (!r) {
		return NULL;
	}
	memcpy(r->text, k.s.p, k.s.n);
	r->key = (mk_str){r->text, k.s.n};
	r->ns = (mk_str){r->text, ns.n};
	r->name = (mk_str){r->text + ns.n + 1, name.n};
	r->table = t;
	r->gone_at = now;
	list_init(&r->node);
	list_init(&r->tomb);
	list_init(&r->peers);
	if (!map_put(&t->by_key, r->key, r) ||
	    (has_peers(t) && !ring_join(&s->names[t->kind], r->key, &r->peers))) {
		map_del(&t->by_key, r->key);
		mk_free(r);
		return NULL;
	}
	list_add_tail(&t->records, &r->node);
	list_add_tail(&s->tombs, &r->tomb);
	s->n_records++;
	weigh(s, t, sizeof(*r) + k.s.n + RECORD_MORE, 0);
	return r;
}

bool record_is_newer(const struct record *r, uint32_t epoch, uint64_t rv)
{
	if (epoch != r->epoch) {
		return r->epoch > epoch;
	}
	return rv != 0 && r->rv > rv;
}

static bool is_waiting(const struct record *r)
{
	return r->present && r->table->kind == KIND_WORKLOAD && facts_is(r->facts, F_ORIGIN) &&
	       (r->facts->flags & (F_QUOTA | F_FINISHED)) == 0;
}

static bool is_running(const struct record *r)
{
	return r->present && r->table->kind == KIND_WORKLOAD &&
	       facts_is(r->facts, F_ORIGIN | F_QUOTA) && !facts_is(r->facts, F_FINISHED);
}

/* Counts the record among those that wait, or run; 'by' is 1, or -1. */
static void tell_table(struct record *r, int by)
{
	r->table->n_waiting += is_waiting(r) ? (size_t)by : 0;
	r->table->n_running += is_running(r) ? (size_t)by : 0;
}

bool record_put(struct store *s, struct record *r, mk_str uid, uint64_t rv, uint32_t epoch,
		struct facts *facts, struct kept *kept)
{
	if (!cohort_add(r->table, facts)) {
		return false;
	}
	if (!r->uid || !str_eq(str_of(r->uid), uid)) {
		char *copy = mk_strndup(uid);

		if (!copy) {
			cohort_remove(r->table, facts);
			return false;
		}
		mk_free(r->uid);
		r->uid = copy;
		r->admitted_step = 0;
		r->doomed = false;
		r->let_go = false;
		if (r->member) {
			/* The copy belonged to the object of the earlier uid. */
			r->member->pace = pace_new();
			r->member->copied = false;
			r->member->ended = false;
		}
	}
	tell_table(r, -1);
	forget_state(s, r);
	r->facts = facts;
	r->kept = kept;
	weigh(s, r->table, facts->size + kept_size(kept), 0);
	r->rv = rv;
	r->epoch = epoch;
	r->absent = false;
	r->ended = false;
	if (!r->present) {
		r->present = true;
		r->table->n_present++;
		list_del(&r->tomb);
		refusal_seen(r);
	}
	tell_table(r, 1);
	return true;
}

void record_gone(struct store *s, struct record *r, uint64_t rv, uint32_t epoch, int64_t now)
{
	if (rv || epoch != r->epoch) {
		r->rv = rv; /* a version of an earlier epoch cannot be compared in this one */
		r->ended = false;
	}
	r->epoch = epoch;
	r->admitted_step = 0;
	if (!r->present) {
		return;
	}
	tell_table(r, -1);
	forget_state(s, r);
	r->present = false;
	refusal_seen(r);
	r->table->n_present--;
	r->gone_at = now;
	list_add_tail(&s->tombs, &r->tomb);
}

void record_take_state(struct store *s, struct record *r, struct facts **ret_facts,
		       struct kept **ret_kept)
{
	tell_table(r, -1);
	weigh(s, r->table, 0, r->facts->size + kept_size(r->kept));
	*ret_facts = r->facts;
	*ret_kept = r->kept;
	r->facts = NULL;
	r->kept = NULL;
}

void record_drop_text(struct store *s, struct record *r)
{
	weigh(s, r->table, 0, kept_size(r->kept));
	kept_free(r->kept);
	r->kept = NULL;
}

bool store_sweep(struct store *s, int64_t before, size_t max)
{
	bool freed = false;

	while (!list_empty(&s->tombs)) {
		struct record *r = LIST_ENTRY(s->tombs.next, struct record, tomb);

		if (r->gone_at >= before) {
			return false;
		}
		if (max-- == 0) {
			return freed;
		}
		if (r->inflight || r->unknown || r->ending || r->retry_at > before) {
			/* Still needed: comes after those behind it. */
			list_del(&r->tomb);
			r->gone_at = before + 1;
			list_add_tail(&s->tombs, &r->tomb);
			continue;
		}
		record_free(s, r);
		freed = true;
	}
	return false;
}
