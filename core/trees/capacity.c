/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the quota of workers, and when a tree follows; see capacity.h. */
#include "core/trees/capacity.h"

#include <stdio.h>

#include "core/quota/quota.h"
#include "core/trees/capacity_int.h"

__extension__ typedef __int128 wide;

enum {
	ONE = 1000,
	NAME_MAX_SHOWN = 253, /* bytes of a name, as the API has them at most */
	PAIR_MAX = 640,       /* of two names */
};

/* --- which workers ---------------------------------------------------------------------------- */

static void judge_seat(struct trees_tally *t, struct trees_seat *s, int64_t *next)
{
	const struct trees_worker *w = s->worker;
	int64_t until;

	if (w->hidden_ms == INT64_MAX) {
		s->state = w->was_seen && !w->torn ? TREES_COUNTED : TREES_UNKNOWN;
		return;
	}
	until = api_add(w->hidden_ms, s->lost_ms);
	if (t->in->mono_ms >= until) {
		s->state = TREES_LEFT_OUT;
		return;
	}
	s->state = w->was_seen && !w->torn ? TREES_LOST : TREES_UNKNOWN;
	*next = until < *next ? until : *next;
}

/* By name, and by what tells that two of them are one server. */
struct roll {
	struct map workers; /* name to struct trees_worker */
	struct map names, servers;
};

/* Is 'key' new? Then it is noted. */
static bool is_first(struct trees_tally *t, struct map *all, mk_str key)
{
	if (map_get(all, key)) {
		return false;
	}
	t->a->failed = !map_put(all, key, t) || t->a->failed;
	return true;
}

static void add_seat(struct trees_tally *t, struct roll *roll, mk_str name,
		     const struct trees_worker *w, int64_t *next)
{
	struct trees_seat s = {.name = name, .worker = w, .state = TREES_NO_SUCH};

	s.lost_ms = t->from->lost_ms >= 0 ? t->from->lost_ms : t->in->lost_ms;
	if (w && w->server.n > 0 && !is_first(t, &roll->servers, w->server)) {
		s.state = TREES_TWIN;
		s.worker = NULL;
	} else if (w) {
		judge_seat(t, &s, next);
	}
	t->seats[t->n_seats++] = s;
}

static void seats_of_config(struct trees_tally *t, struct roll *roll,
			    const struct trees_workers *all, const struct trees_config *config,
			    int64_t *next)
{
	t->seats = arena_array(t->a, config->n + 1, sizeof(*t->seats));
	for (size_t i = 0; t->seats && i < all->n_workers; i++) {
		struct trees_worker *w = &all->workers[i];

		t->a->failed = !map_put(&roll->workers, w->name, w) || t->a->failed;
	}
	for (size_t i = 0; t->seats && i < config->n; i++) {
		mk_str name = config->clusters[i];

		if (is_first(t, &roll->names, name)) {
			add_seat(t, roll, name, map_get(&roll->workers, name), next);
		}
	}
}

static void seats_of_selector(struct trees_tally *t, struct roll *roll,
			      const struct trees_workers *all, int64_t *next)
{
	t->seats = arena_array(t->a, all->n_workers + 1, sizeof(*t->seats));
	for (size_t i = 0; t->seats && t->from->selector && i < all->n_workers; i++) {
		const struct trees_worker *w = &all->workers[i];

		if (api_capacity_selects(t->from->selector, w->labels, w->n_labels)) {
			add_seat(t, roll, w->name, w, next);
		}
	}
}

static void find_seats(struct trees_tally *t, const struct trees_workers *all, int64_t *next)
{
	const struct trees_config *config = NULL;
	struct roll roll;

	map_init(&roll.workers);
	map_init(&roll.names);
	map_init(&roll.servers);
	t->fleet_known = all->known;
	for (size_t i = 0; t->from->config.set && i < all->n_configs && !config; i++) {
		config = str_eq(all->configs[i].name, t->from->config.v) ? &all->configs[i] : NULL;
	}
	t->no_config = t->from->config.set && !config;
	if (config) {
		seats_of_config(t, &roll, all, config, next);
	} else {
		seats_of_selector(t, &roll, all, next);
	}
	map_done(&roll.workers);
	map_done(&roll.names);
	map_done(&roll.servers);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* One worker being added to a tree. */
struct adding {
	struct trees_tally *t;
	const struct api_quotas *total;
	bool present;
};

/* Names are the worker's: however many and long they are, little of them is kept. */
static void add_stranger(struct trees_tally *t, mk_str flavor, mk_str resource)
{
	char text[PAIR_MAX];
	mk_str one = {text, 0};

	if (t->n_strangers == TREES_STRANGERS) {
		return;
	}
	flavor = str_cut(flavor, NAME_MAX_SHOWN);
	resource = str_cut(resource, NAME_MAX_SHOWN);
	snprintf(text, sizeof(text), "%.*s in flavor %.*s", STR_ARG(resource), STR_ARG(flavor));
	one.n = strlen(text);
	/* Another worker, or queue, may have it too. */
	if (!str_in(one, t->strangers, t->n_strangers)) {
		t->strangers[t->n_strangers++] = arena_dup(t->a, one);
	}
}

/* That pair of the tree; NULL: it has none. */
static const struct api_quota *declared_as(const struct api_quotas *total, mk_str flavor,
					   mk_str resource)
{
	char key[PAIR_MAX];

	if (flavor.n + resource.n + 1 >= sizeof(key)) {
		return NULL; /* names of the API are shorter */
	}
	snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(flavor), STR_ARG(resource));
	return api_quotas_get(total, str_of(key));
}

static void add_quota(void *ctx, const struct trees_quota *q)
{
	struct adding *x = ctx;
	struct trees_tally *t = x->t;
	const struct api_quota *declared =
		declared_as(x->total, api_capacity_flavor(t->from, q->flavor), q->resource);
	struct trees_pair *p;
	int64_t amount;

	if (!declared) {
		add_stranger(t, q->flavor, q->resource);
		return;
	}
	amount = q->nominal.v > 0 ? q->nominal.v : 0;
	p = &t->pairs[declared - x->total->v];
	if (p->sure == 0 && q->nominal.v > 0) {
		p->format = q->nominal.format; /* as Go's Quantity adds */
	}
	p->sure = api_add(p->sure, amount);
	if (x->present) {
		p->present = api_add(p->present, amount);
	}
}

static int64_t times(int64_t v, int64_t thousandths)
{
	wide product = (wide)v * thousandths / ONE;

	return product > QUOTA_MAX_AMOUNT ? QUOTA_MAX_AMOUNT : (int64_t)product;
}

static void add_up(struct trees_tally *t, const struct api_quotas *total, const mk_str *locals,
		   size_t n_locals)
{
	for (size_t i = 0; i < t->n_seats; i++) {
		const struct trees_seat *s = &t->seats[i];
		struct adding x = {t, total, s->state == TREES_COUNTED};

		if (s->state == TREES_COUNTED || s->state == TREES_LOST) {
			t->n_queues += trees_fleet_sum(t->in->fleet, s->worker->id, locals,
						       n_locals, add_quota, &x);
		}
	}
	for (size_t i = 0; i < t->n_pairs; i++) {
		t->pairs[i].sure = times(t->pairs[i].sure, t->from->multiplier);
		t->pairs[i].present = times(t->pairs[i].present, t->from->multiplier);
	}
}

/* Can the sum be trusted? */
static bool is_sure(const struct trees_tally *t)
{
	for (size_t i = 0; i < t->n_seats; i++) {
		if (t->seats[i].state == TREES_UNKNOWN) {
			return false;
		}
	}
	return t->fleet_known && t->n_seats > 0 && !t->no_config;
}

/* --- a tree ----------------------------------------------------------------------------------- */

static bool begin_pairs(struct trees_tally *t, const struct api_quotas *total,
			const struct api_place *root)
{
	t->pairs = arena_array(t->a, total->n + 1, sizeof(*t->pairs));
	t->out->totals = arena_array(t->a, total->n + 1, sizeof(*t->out->totals));
	if (!t->pairs || !t->out->totals) {
		return false;
	}
	t->n_pairs = t->out->n = total->n;
	for (size_t i = 0; i < total->n; i++) {
		const struct api_quota *q = &total->v[i];
		mk_str key = api_pair(t->a, q->flavor, q->resource);
		const struct api_quota *now =
			root->queue && key.p ? api_quotas_get(&root->queue->quotas, key) : NULL;

		t->pairs[i] = (struct trees_pair){.declared = q, .format = q->nominal.format};
		if (now && !now->bad) {
			t->pairs[i].has_current = true;
			t->pairs[i].current = now->nominal.v;
		}
	}
	return true;
}

static bool finish(struct trees_settling *all, struct trees_tally *t, int64_t *next)
{
	bool sure = is_sure(t);

	t->out->known = true;
	for (size_t i = 0; i < t->n_pairs; i++) {
		struct trees_pair *p = &t->pairs[i];

		if (!sure) {
			p->goal = p->has_current ? p->current : 0;
			t->out->known = t->out->known && p->has_current;
		} else if (!trees_settle(all, t, p, next)) {
			return false;
		}
		t->out->totals[i] = (struct api_total){
			p->declared->flavor, p->declared->resource, {p->goal, p->format}};
	}
	trees_capacity_say(t);
	return true;
}

/* LocalQueues by the tree that their queue is in. */
struct locals {
	struct arena *a;
	const struct api_set *set;
	struct map trees; /* key of a tree to struct bundle */
};

struct bundle {
	mk_str *v;
	size_t n, size;
};

/* The root of the tree that 'p' is compiled with, across grafts. */
static const struct api_place *top_of(const struct api_set *set, struct api_place *p)
{
	const struct api_tree *tree = p->tree;

	for (size_t i = 0; tree && tree->graft_tree.set && i < set->n_trees; i++) {
		tree = api_set_tree(set, tree->graft_tree.v);
	}
	if (!p->tree) {
		return api_place_root(p);
	}
	return tree && tree->n_roots == 1 ? api_set_place(set, tree->roots[0]) : NULL;
}

static bool add_local(struct locals *l, const struct json *lq)
{
	struct api_place *p = api_set_place(l->set, json_str_at(lq, "/spec/clusterQueue"));
	const struct api_place *top = p ? top_of(l->set, p) : NULL;
	struct bundle *b = top ? map_get(&l->trees, top->name) : NULL;
	mk_str name =
		arena_printf(l->a, "%.*s/%.*s", STR_ARG(json_str_at(lq, "/metadata/namespace")),
			     STR_ARG(json_str_at(lq, "/metadata/name")));

	if (!b || !name.p) {
		return name.p != NULL;
	}
	if (b->n == b->size) {
		size_t size = b->size ? b->size * 2 : 16;
		mk_str *bigger = arena_array(l->a, size, sizeof(*bigger));

		if (!bigger) {
			return false;
		}
		if (b->n > 0) {
			memcpy(bigger, b->v, b->n * sizeof(*bigger));
		}
		b->v = bigger;
		b->size = size;
	}
	b->v[b->n++] = name;
	return true;
}

/* --- all trees -------------------------------------------------------------------------------- */

/* One that has its total from workers. */
struct claim {
	const struct api_capacity *from;
	const struct api_quotas *total;
	const struct api_place *root;
	struct bundle locals;
	mk_str tree;
	bool parents;
};

static bool is_sound(const struct api_capacity *c, const struct api_object *o)
{
	return c->set && o->faults.n == 0 && !o->duplicate &&
	       !json_at(o->json, "/metadata/deletionTimestamp");
}

static size_t find_claims(const struct api_set *set, struct claim *v)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n_trees; i++) {
		const struct api_tree *t = set->trees[i];
		const struct api_place *root =
			t->n_roots == 1 ? api_set_place(set, t->roots[0]) : NULL;

		if (is_sound(&t->capacity, t->object) && root && root->tree == t &&
		    !t->graft_tree.set) {
			v[n++] = (struct claim){.from = &t->capacity,
						.total = &t->total,
						.root = root,
						.tree = t->name};
		}
	}
	for (size_t i = 0; i < set->n_queues; i++) {
		const struct api_queue *q = set->queues[i];
		const struct api_place *p = api_set_place(set, q->name);

		if (is_sound(&q->capacity, q->object) && p && !p->tree && !p->parent &&
		    p->n_children > 0) {
			v[n++] = (struct claim){.from = &q->capacity,
						.total = &q->quotas,
						.root = p,
						.tree = q->name,
						.parents = true};
		}
	}
	return n;
}

static bool gather_locals(struct arena *a, const struct api_set *set, struct claim *claims,
			  size_t n, const struct trees_capacity_input *in)
{
	struct locals l = {.a = a, .set = set};
	bool good = true;

	map_init(&l.trees);
	for (size_t i = 0; good && i < n; i++) {
		good = map_put(&l.trees, claims[i].root->name, &claims[i].locals);
	}
	for (size_t i = 0; good && i < in->n; i++) {
		if (str_is(json_str(json_get(in->objects[i], "kind")), "LocalQueue")) {
			good = add_local(&l, in->objects[i]);
		}
	}
	map_done(&l.trees);
	return good;
}

static bool matters(const struct json *o)
{
	mk_str kind = json_str(json_get(o, "kind"));

	return str_is(kind, "ClusterQueue") || str_is(kind, "ClusterQuotaTree");
}

/* NULL: out of memory. */
static struct api_set *make_set(struct arena *a, const struct trees_capacity_input *in)
{
	struct api_set *set = api_set_new(a);

	for (size_t i = 0; set && i < in->n; i++) {
		if (matters(in->objects[i]) &&
		    api_set_add(set, in->objects[i], i, NULL) == ERR_NO_MEMORY) {
			return NULL;
		}
	}
	return set && api_set_link(set, API_NONE, NULL) == ERR_OK ? set : NULL;
}

bool trees_capacity_asked(const struct json *o)
{
	const struct json *notes = json_at(o, "/metadata/annotations");
	mk_str kind = json_str(json_get(o, "kind"));

	return (str_is(kind, "ClusterQuotaTree") && json_at(o, "/spec/capacityFrom")) ||
	       (str_is(kind, "ClusterQueue") &&
		json_getn(notes, STR(API_ANNOTATION "capacity-from")));
}

bool trees_capacity_asked_by_any(struct json *const *objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (trees_capacity_asked(objects[i])) {
			return true;
		}
	}
	return false;
}

static bool find_one(struct trees_settling *s, struct arena *a,
		     const struct trees_capacity_input *in, const struct trees_workers *workers,
		     const struct claim *claim, struct trees_capacities *out)
{
	struct trees_capacity *c = &out->v[out->n++];
	struct trees_tally t = {.a = a, .in = in, .from = claim->from, .out = c};

	*c = (struct trees_capacity){.parents = claim->parents, .tree = claim->tree};
	find_seats(&t, workers, &out->next_ms);
	if (!t.seats || !begin_pairs(&t, claim->total, claim->root)) {
		return false;
	}
	add_up(&t, claim->total, claim->locals.v, claim->locals.n);
	return finish(s, &t, &out->next_ms) && !arena_failed(a);
}

enum mk_code trees_capacity_find(struct trees_settling *s, struct arena *a,
				 const struct trees_capacity_input *in,
				 struct trees_capacities *ret, struct mk_err *err)
{
	struct trees_capacities out = {.next_ms = INT64_MAX};
	struct trees_workers workers;
	struct claim *claims = NULL;
	struct api_set *set = NULL;
	size_t n = 0;
	bool good = true;

	s->passes++;
	if (trees_capacity_asked_by_any(in->objects, in->n)) {
		set = make_set(a, in);
		claims = set ? arena_array(a, set->n_trees + set->n_queues + 1, sizeof(*claims))
			     : NULL;
		good = claims && trees_fleet_look(in->fleet, a, &workers);
	}
	if (good && set) {
		n = find_claims(set, claims);
		out.v = arena_array(a, n + 1, sizeof(*out.v));
		good = out.v && gather_locals(a, set, claims, n, in);
	}
	for (size_t i = 0; good && i < n; i++) {
		good = find_one(s, a, in, &workers, &claims[i], &out);
	}
	if (!good) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	trees_settling_end(s);
	*ret = out;
	return ERR_OK;
}

const struct trees_capacity *trees_capacity_get(const struct trees_capacities *all, bool parents,
						mk_str tree)
{
	for (size_t i = 0; all && i < all->n; i++) {
		if (all->v[i].parents == parents && str_eq(all->v[i].tree, tree)) {
			return &all->v[i];
		}
	}
	return NULL;
}
