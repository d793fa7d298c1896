/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in the engine's state, and the index of workloads; see state.h. */
#include "core/engine/state.h"

#include "core/base/alloc.h"
#include "core/engine/clusters/watches.h"
#include "core/engine/rules/copied.h"
#include "core/engine/rules/places.h"
#include "core/engine/store/kept.h"

#define RULE_NAME(id, text) [id] = text,
const char *const rule_names[R_N] = {RULES(RULE_NAME)};
#undef RULE_NAME

void rule_hit(struct engine *e, enum rule r)
{
	e->rules[r]++;
}

void say_no_memory(struct engine *e)
{
	e->no_memory = true;
}

bool keep_str(char **owned, mk_str s)
{
	char *copy = mk_strndup(s);

	if (!copy) {
		return false;
	}
	mk_free(*owned);
	*owned = copy;
	return true;
}

size_t cluster_place(const struct engine *e, cluster_id id)
{
	size_t lo = 0, hi = e->n_clusters;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->clusters[mid]->id < id) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

struct cluster *cluster_get(const struct engine *e, cluster_id id)
{
	size_t i = cluster_place(e, id);

	return i < e->n_clusters && e->clusters[i]->id == id ? e->clusters[i] : NULL;
}

struct cluster *cluster_named(const struct engine *e, mk_str name)
{
	return map_get(&e->cluster_by_name, name);
}

struct table *table_of(struct engine *e, struct cluster *c, uint16_t kind)
{
	if (kind >= KIND_MAX) {
		return NULL;
	}
	if (!c->tables[kind]) {
		c->tables[kind] = table_new(c->id, kind);
		if (!c->tables[kind]) {
			say_no_memory(e);
			return NULL;
		}
		c->tables[kind]->hidden_at = e->now;
		c->tables[kind]->share = &c->bytes;
	}
	return c->tables[kind];
}

bool table_known(const struct cluster *c, uint16_t kind)
{
	const struct table *t = c->tables[kind];

	return t && (cluster_up(c) || c->id == CLUSTER_MANAGER) && t->synced && !t->stale;
}

enum view table_view(const struct cluster *c, uint16_t kind)
{
	const struct table *t = c->tables[kind];

	if (!cluster_up(c) || !t || t->service == SERVICE_UNCLEAR) {
		return VIEW_HIDDEN;
	}
	if (t->service != SERVICE_YES) {
		return t->service == SERVICE_MISSING ? VIEW_MISSING : VIEW_REFUSED;
	}
	return table_known(c, kind) ? VIEW_KNOWN : VIEW_HIDDEN;
}

int64_t hidden_since(const struct cluster *c, uint16_t kind)
{
	const struct table *t = c->tables[kind];

	if (!cluster_up(c)) {
		return !c->failed                         ? INT64_MAX
		       : c->own.shown_at > c->own.lost_at ? c->own.shown_at
							  : c->own.lost_at;
	}
	return t && (t->service != SERVICE_YES || !t->synced) ? t->hidden_at : INT64_MAX;
}

void table_doubt(struct engine *e, struct table *t)
{
	if (t->synced) {
		e->seen++;
		t->synced = false;
		t->hidden_at = e->now;
	}
}

void table_break(struct engine *e, struct table *t)
{
	t->broken = true;
	e->any_broken = true;
}

struct record *manager_get(const struct engine *e, uint16_t kind, mk_str ns, mk_str name)
{
	return store_get(manager_table(e, kind), ns, name);
}

struct record *manager_named(const struct engine *e, uint16_t kind, mk_str name)
{
	return manager_get(e, kind, STR(""), name);
}

struct record *cluster_record(const struct engine *e, const struct cluster *c)
{
	return manager_named(e, KIND_CLUSTER, str_of(c->name));
}

struct wl *wl_find(const struct engine *e, mk_str ns, mk_str name)
{
	struct store_key k;

	return store_key(&k, ns, name) ? map_get(&e->wl_by_key, k.s) : NULL;
}

struct wl *wl_make(struct engine *e, mk_str ns, mk_str name)
{
	struct wl *w = wl_find(e, ns, name);
	struct store_key k;

	if (w || !store_key(&k, ns, name)) {
		return w;
	}
	w = mk_calloc(1, sizeof(*w) + k.s.n + 1);
	if (!w) {
		say_no_memory(e);
		return NULL;
	}
	memcpy(w->text, k.text, k.s.n);
	w->key = (mk_str){w->text, k.s.n};
	w->ns = str_sub(w->key, 0, ns.n);
	w->name = str_sub(w->key, ns.n + 1, name.n);
	w->hash_generation = -1;
	w->forgotten = e->forgotten;
	w->gc_round = (uint8_t)e->gc_rounds;
	w->pace = pace_new();
	w->round = round_new();
	w->fault_said_at = INT64_MIN;
	w->unnamed.since = INT64_MAX;
	w->explained_at = INT64_MIN;
	/* One that a list shows may have come to its stage long ago. */
	w->stage = manager_knows(e, KIND_WORKLOAD) ? STAGE_NONE : STAGE_UNKNOWN;
	queue_item_init(&w->item, ITEM_WORKLOAD, w->ns);
	list_init(&w->node);
	list_init(&w->owner_node);
	list_init(&w->waits);
	list_init(&w->line);
	if (!map_put(&e->wl_by_key, w->key, w)) {
		mk_free(w);
		say_no_memory(e);
		return NULL;
	}
	list_add_tail(&e->workloads, &w->node);
	e->phases[w->phase]++;
	e->walk_left += e->walk_left > 0;
	return w;
}

/* The workload after 'w' in the ring of all; NULL: there is no other. */
static struct wl *wl_after(const struct engine *e, const struct wl *w)
{
	struct list_node *n = w->node.next == &e->workloads ? e->workloads.next : w->node.next;
	struct wl *next = LIST_ENTRY(n, struct wl, node);

	return next == w ? NULL : next;
}

static void owner_leave(struct engine *e, struct wl *w)
{
	struct owner *o = w->owner;

	if (!o) {
		return;
	}
	w->owner = NULL;
	list_del(&w->owner_node);
	if (list_empty(&o->workloads)) {
		map_del(&e->owner_by_key, str_of(o->key));
		mk_free(o->key);
		mk_free(o);
	}
}

static void wl_cluster_done(struct wl_cluster *wc)
{
	mk_free(wc->why);
	mk_free(wc->hurdle);
}

/* It uses no tables of jobs of 'kind' any more, nor of their children. */
static void uses_end(struct engine *e, struct wl *w, uint16_t kind)
{
	watches_use(e, CLUSTER_MANAGER, kind, &w->counted, false);
	for (WL_CLUSTERS_EACH(wc, w)) {
		watches_use(e, wc->id, kind, &wc->uses, false);
		watches_use(e, wc->id, wc->child_kind, &wc->child_uses, false);
	}
}

void wl_free(struct engine *e, struct wl *w)
{
	uses_end(e, w, w->owner ? w->owner->kind : 0);
	for (WL_CLUSTERS_EACH(wc, w)) {
		wl_cluster_done(wc);
	}
	e->phases[w->phase]--;
	places_forget(e, w);
	owner_leave(e, w);
	if (w == e->walk) {
		e->walk = wl_after(e, w);
	}
	list_del(&w->waits);
	list_del(&w->line);
	e->stats.overdue -= w->is_overdue;
	queue_del(&e->queue, &w->item);
	map_del(&e->wl_by_key, w->key);
	list_del(&w->node);
	mk_free(w->fault);
	mk_free(w->said);
	mk_free(w->cl);
	mk_free(w);
}

/* In a key, "017/ns/name": bytes of the kind, and at most of namespace and name. */
enum { OWNER_KIND = 4, OWNER_TEXT = 338 };

static void put_kind(char *to, uint16_t kind)
{
	to[0] = (char)('0' + kind / 100 % 10);
	to[1] = (char)('0' + kind / 10 % 10);
	to[2] = (char)('0' + kind % 10);
	to[3] = '/';
}

static mk_str owner_key(struct arena *a, uint16_t kind, mk_str ns, mk_str name)
{
	char text[OWNER_KIND];

	put_kind(text, kind);
	return arena_printf(a, "%.*s%.*s/%.*s", OWNER_KIND, text, STR_ARG(ns), STR_ARG(name));
}

/* No API server takes longer names, but an owner reference may have any. */
static bool owner_fits(mk_str ns, mk_str name)
{
	return ns.n <= OWNER_TEXT && name.n <= OWNER_TEXT - ns.n;
}

struct owner *owner_find(const struct engine *e, uint16_t kind, mk_str ns, mk_str name)
{
	char text[OWNER_KIND + 1 + OWNER_TEXT];
	const mk_str parts[] = {ns, STR("/"), name};
	size_t n = OWNER_KIND;

	if (!owner_fits(ns, name)) {
		return NULL;
	}
	put_kind(text, kind);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].n > 0) {
			memcpy(text + n, parts[i].p, parts[i].n);
		}
		n += parts[i].n;
	}
	return map_get(&e->owner_by_key, (mk_str){text, n});
}

static struct owner *owner_make(struct engine *e, uint16_t kind, mk_str ns, mk_str name)
{
	mk_str key = owner_key(&e->scratch, kind, ns, name);
	struct owner *o = key.p ? mk_calloc(1, sizeof(*o)) : NULL;

	if (!o) {
		return NULL;
	}
	list_init(&o->workloads);
	o->kind = kind;
	o->key = mk_strndup(key);
	if (!o->key || !map_put(&e->owner_by_key, key, o)) {
		mk_free(o->key);
		mk_free(o);
		return NULL;
	}
	o->ns = str_sub(str_of(o->key), 4, ns.n);
	o->name = str_sub(str_of(o->key), 4 + ns.n + 1, name.n);
	return o;
}

bool wl_bind(struct engine *e, struct wl *w, uint16_t kind, mk_str name)
{
	uint16_t old = w->owner ? w->owner->kind : 0;
	struct owner *o;

	kind = owner_fits(w->ns, name) ? kind : 0;
	o = kind ? owner_find(e, kind, w->ns, name) : NULL;
	if (o == w->owner && (o || !kind)) {
		return true;
	}
	if (kind && !o) {
		o = owner_make(e, kind, w->ns, name);
		if (!o) {
			say_no_memory(e);
			return false;
		}
	}
	if (old != kind) {
		uses_end(e, w, old);
	}
	owner_leave(e, w);
	if (o) {
		list_add_tail(&o->workloads, &w->owner_node);
	}
	w->owner = o;
	return true;
}

/* A number is given out again only after all others, so none of a new cluster is met here. */
void wl_clusters_tidy(struct engine *e, struct wl *w)
{
	size_t n = 0;

	if (w->forgotten == e->forgotten) {
		return;
	}
	for (WL_CLUSTERS_EACH(wc, w)) {
		if (cluster_get(e, wc->id)) {
			w->cl[n++] = *wc;
		} else {
			copied_lose(e, w, wc);
			wl_cluster_done(wc);
		}
	}
	w->n_cl = n;
	w->forgotten = e->forgotten;
}

struct wl_cluster *wl_cluster_known(const struct wl *w, cluster_id id)
{
	for (size_t i = 0; i < w->n_cl; i++) {
		if (w->cl[i].id == id) {
			return &w->cl[i];
		}
	}
	return NULL;
}

struct wl_cluster *wl_cluster(struct engine *e, struct wl *w, cluster_id id)
{
	struct wl_cluster *more = wl_cluster_known(w, id);

	if (more) {
		return more;
	}
	more = mk_realloc(w->cl, (w->n_cl + 1) * sizeof(*more));
	if (!more) {
		say_no_memory(e);
		return NULL;
	}
	w->cl = more;
	w->cl[w->n_cl] = (struct wl_cluster){.id = id};
	return &w->cl[w->n_cl++];
}

void wl_queue_all(struct engine *e)
{
	e->walk_left = map_len(&e->wl_by_key);
}

struct queue_item *wl_walk(struct engine *e)
{
	while (e->walk_left > 0 && !list_empty(&e->workloads)) {
		struct wl *w = e->walk ? e->walk : LIST_ENTRY(e->workloads.next, struct wl, node);

		e->walk = wl_after(e, w);
		e->walk_left--;
		if (!w->item.bucket) { /* else its turn comes */
			queue_del(&e->queue, &w->item);
			return &w->item;
		}
	}
	e->walk_left = 0;
	return NULL;
}

struct json *record_parse(struct engine *e, const struct record *r)
{
	struct json *v = NULL;

	if (!r || !r->kept) {
		return NULL;
	}
	if (json_parse(&e->scratch, kept_text(r->kept, &e->scratch), &v, NULL) != ERR_OK) {
		say_no_memory(e);
		return NULL;
	}
	return v;
}
