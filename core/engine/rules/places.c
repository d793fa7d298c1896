/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters as places; see places.h. */
#include "core/engine/rules/places.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/engine/rules/twin.h"

enum {
	IDLE_MAX = 1024,       /* groups of which no job is placed now; the newest are kept */
	MINUTE_MS = 60 * 1000, /* a bucket of failures */
};

/* --- groups of jobs --------------------------------------------------------------------------- */

struct at_cluster {
	cluster_id id;
	size_t n; /* jobs of the group that are placed there */
};

/* Jobs with the same value of NAME_PLACE_GROUP in one namespace. */
struct place_group {
	struct list_node idle; /* in engine.idle_groups while none is placed */
	char *key;             /* "ns/value" */
	struct at_cluster *at; /* ascending by id, those with jobs */
	size_t n_at;
	cluster_id last; /* where the last one was placed */
};

/* The index of the first cluster whose number is not below 'id'. */
static size_t place_of(const struct place_group *g, cluster_id id)
{
	size_t lo = 0, hi = g->n_at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->at[mid].id < id) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

static size_t placed_at(const struct place_group *g, cluster_id id)
{
	size_t i = place_of(g, id);

	if (g->n_at == 0) {
		return g->last == id;
	}
	return i < g->n_at && g->at[i].id == id ? g->at[i].n : 0;
}

static void group_free(struct engine *e, struct place_group *g)
{
	e->n_idle_groups -= !list_empty(&g->idle);
	list_del(&g->idle);
	map_del(&e->place_groups, str_of(g->key));
	mk_free(g->at);
	mk_free(g->key);
	mk_free(g);
}

/* No job of it is placed: it stays for a while, for what comes after it. */
static void group_rest(struct engine *e, struct place_group *g)
{
	list_add_tail(&e->idle_groups, &g->idle);
	e->n_idle_groups++;
	if (e->n_idle_groups > IDLE_MAX) {
		group_free(e, LIST_ENTRY(e->idle_groups.next, struct place_group, idle));
	}
}

static struct place_group *group_find(const struct engine *e, mk_str ns, mk_str value)
{
	struct store_key k;

	return value.n > 0 && store_key(&k, ns, value) ? map_get(&e->place_groups, k.s) : NULL;
}

/* NULL: out of memory, or no name that an API server takes. */
static struct place_group *group_make(struct engine *e, mk_str ns, mk_str value)
{
	struct place_group *g = group_find(e, ns, value);
	struct store_key k;

	if (g || !store_key(&k, ns, value)) {
		return g;
	}
	g = mk_calloc(1, sizeof(*g));
	if (!g) {
		return NULL;
	}
	list_init(&g->idle);
	g->key = mk_strndup(k.s);
	if (!g->key || !map_put(&e->place_groups, k.s, g)) {
		mk_free(g->key);
		mk_free(g);
		return NULL;
	}
	return g;
}

static bool group_enter(struct engine *e, struct place_group *g, cluster_id id)
{
	size_t i = place_of(g, id);
	struct at_cluster *more = g->at;

	if (i == g->n_at || g->at[i].id != id) {
		more = mk_realloc(g->at, (g->n_at + 1) * sizeof(*more));
		if (!more) {
			return false;
		}
		g->at = more;
		memmove(more + i + 1, more + i, (g->n_at - i) * sizeof(*more));
		more[i] = (struct at_cluster){.id = id};
		g->n_at++;
	}
	more[i].n++;
	g->last = id;
	e->n_idle_groups -= !list_empty(&g->idle);
	list_del(&g->idle);
	return true;
}

static void group_leave(struct engine *e, struct place_group *g, cluster_id id)
{
	size_t i = place_of(g, id);

	if (--g->at[i].n == 0) {
		g->n_at--;
		memmove(g->at + i, g->at + i + 1, (g->n_at - i) * sizeof(*g->at));
	}
	if (g->n_at == 0) {
		group_rest(e, g);
	}
}

static mk_str group_value(const struct pass *p)
{
	return p->job ? p->job->facts->s[S_PLACE_GROUP] : STR("");
}

static bool is_of(const struct place_group *g, mk_str ns, mk_str value)
{
	mk_str key = g ? str_of(g->key) : STR("");

	return g && str_eq(str_sub(key, ns.n + 1, key.n), value);
}

void places_forget(struct engine *e, struct wl *w)
{
	if (w->placed.group) {
		group_leave(e, w->placed.group, w->placed.on);
		w->placed.group = NULL;
	}
}

void places_done(struct engine *e)
{
	while (!list_empty(&e->idle_groups)) {
		group_free(e, LIST_ENTRY(e->idle_groups.next, struct place_group, idle));
	}
	map_done(&e->place_groups);
}

/* The Workload runs on cluster 'on', 0: on none. */
static void note_group(struct pass *p, cluster_id on)
{
	struct wl *w = p->w;
	mk_str value = group_value(p);
	struct place_group *g;

	if (w->placed.group && w->placed.on == on &&
	    (!p->job || is_of(w->placed.group, w->ns, value))) {
		return;
	}
	places_forget(p->e, w);
	if (on == 0 || value.n == 0) {
		return;
	}
	g = group_make(p->e, w->ns, value);
	if (g && group_enter(p->e, g, on)) {
		w->placed.group = g;
		w->placed.on = on;
	} else if (g && g->n_at == 0 && list_empty(&g->idle)) {
		group_free(p->e, g);
	}
}

/* --- notes ------------------------------------------------------------------------------------ */

static bool is_placed(const struct pass *p)
{
	return p->local && p->checked && facts_is(p->f, F_QUOTA) && p->f->s[S_CLUSTER].n > 0 &&
	       !(p->f->flags & (F_EVICTED | F_FINISHED | F_TERMINATING)) &&
	       p->state != CHECK_RETRY && p->state != CHECK_REJECTED;
}

static void note_clones(struct pass *p)
{
	for (CLONES_EACH(k, p)) {
		bool here = twin_is_ours(k->twin) && k->r->present;
		struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);

		if (wc && here != (wc->there_at != 0)) {
			/* 0 is "not there"; the first millisecond of the clock is as good as it. */
			wc->there_at = here ? p->e->now : 0;
		}
	}
}

void places_note(struct pass *p)
{
	const struct cluster *c = is_placed(p) ? cluster_named(p->e, p->f->s[S_CLUSTER]) : NULL;

	if (c) {
		p->w->placed.ran = c->id;
		p->w->placed.ran_at = p->e->now;
	}
	if (p->w->placed.group || c) {
		note_group(p, c ? c->id : 0);
	}
	note_clones(p);
}

/* Clears the buckets of minutes in which nothing was counted. */
static void turn(struct failures *f, int64_t minute)
{
	for (int64_t i = f->minute + 1; i <= minute && i <= f->minute + FAILURE_MINUTES; i++) {
		f->n[i % FAILURE_MINUTES] = 0;
	}
	f->minute = minute > f->minute ? minute : f->minute;
}

static unsigned failures_of(const struct engine *e, struct cluster *c)
{
	struct failures *f = &c->own.failures;
	unsigned sum = 0;

	turn(f, e->now / MINUTE_MS);
	for (size_t i = 0; i < FAILURE_MINUTES; i++) {
		sum += f->n[i];
	}
	return sum;
}

void places_failed(struct pass *p)
{
	struct cluster *c = cluster_named(p->e, p->f->s[S_CLUSTER]);
	struct failures *f = c ? &c->own.failures : NULL;
	uint16_t *n;

	if (!f || p->w->round.failed) {
		return;
	}
	p->w->round.failed = true;
	turn(f, p->e->now / MINUTE_MS);
	n = &f->n[f->minute % FAILURE_MINUTES];
	*n = (uint16_t)(*n < UINT16_MAX ? *n + 1 : *n);
}

/* --- what dispatchers are told ---------------------------------------------------------------- */

static struct json *clone_of(struct pass *p, const struct clone *k)
{
	struct arena *a = &p->e->scratch;
	const struct wl_cluster *wc = wl_cluster_known(p->w, k->c->id);
	struct json *o = json_new_obj(a);
	bool quota = facts_is(k->r->facts, F_QUOTA);

	json_set_int(a, o, "sinceMs", wc && wc->there_at != 0 ? p->e->now - wc->there_at : 0);
	json_set_bool(a, o, "quota", quota);
	json_set_str(a, o, "says", quota ? STR("") : k->r->facts->s[S_MESSAGE]);
	return o;
}

void places_of_cluster(struct pass *p, const struct clone *k, const struct card *card,
		       struct json *o)
{
	struct arena *a = &p->e->scratch;
	const struct table *clones = k->c->tables[KIND_WORKLOAD];
	const struct place_group *g = group_find(p->e, p->w->ns, group_value(p));

	json_append_lit(a, o, STR("labels"), json_share(a, card->labels));
	json_append_lit(a, o, STR("annotations"), json_share(a, card->annotations));
	if (twin_is_ours(k->twin) && k->r->present) {
		json_append_lit(a, o, STR("clone"), clone_of(p, k));
	}
	if (p->w->placed.ran == k->c->id) {
		json_append_lit(a, o, STR("ranMs"),
				json_new_int(a, p->e->now - p->w->placed.ran_at));
	}
	json_append_lit(a, o, STR("group"),
			json_new_int(a, g ? (int64_t)placed_at(g, k->c->id) : 0));
	json_append_lit(a, o, STR("running"),
			json_new_int(a, clones ? (int64_t)clones->n_running : 0));
	json_append_lit(a, o, STR("failures"), json_new_int(a, failures_of(p->e, k->c)));
}

struct pair {
	mk_str name, value;
};

static int by_name(const void *x, const void *y)
{
	return str_cmp(((const struct pair *)x)->name, ((const struct pair *)y)->name);
}

static struct json *members_of(struct arena *a, const struct json *map)
{
	struct pair *v = arena_array(a, json_len(map), sizeof(*v));
	struct json *list = json_new_arr(a);
	struct json_iter it = json_iter(map);
	size_t n = 0;

	if (!v || json_type(map) != JSON_OBJ) {
		return list;
	}
	while (json_next(&it)) {
		v[n++] = (struct pair){.name = it.key, .value = json_str(it.val)};
	}
	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		card_add_pair(a, list, v[i].name, v[i].value);
	}
	return list;
}

struct json *places_job(struct pass *p)
{
	struct arena *a = &p->e->scratch;
	const struct json *job = pass_job(p);
	struct json *o;

	if (!job) {
		return NULL;
	}
	o = json_new_obj(a);
	json_set_str(a, o, "kind", p->e->o.kinds->k[p->kind].gvk);
	json_set_str(a, o, "name", p->object);
	json_set(a, o, STR("labels"), members_of(a, json_at(job, "/metadata/labels")));
	json_set(a, o, STR("annotations"), members_of(a, json_at(job, "/metadata/annotations")));
	return o;
}
