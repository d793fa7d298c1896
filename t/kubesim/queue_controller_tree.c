/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue trees of a cluster (KEP-1093), decided by core/quota: ClusterQueues with a parent, and
 * ClusterQuotaTrees. What waits in a leaf is admitted in the order of the tree, and what it
 * preempts is evicted by its own step. Queues outside any tree do not come here. Trees that are not
 * valid are none: their queues have their own quota alone.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/quota/api_build.h"
#include "core/quota/validate.h"
#include "t/kubesim/queue_controller.h"

struct cq_tree {
	struct quota *q;
	const struct api_model *model;
	bool dirty;       /* something changed since its cycle began */
	bool in_cycle;    /* of quota_cycle, not yet at its end */
	struct map works; /* struct item by the uid that the library knows */
};

struct cq_trees {
	struct arena a;
	struct api_set *set;
	struct api_models models;
	struct cq_tree *v;
};

enum { UID_SIZE = 24, TREES_ARENA_CAP = 256 * 1024 * 1024, RESERVE_MS = 300001 };

/* Of equal age the one seen first goes first, as in a queue without a tree. */
static mk_str uid_of(const struct item *wl, char buf[UID_SIZE])
{
	snprintf(buf, UID_SIZE, "%016" PRIx64, wl->order);
	return str_of(buf);
}

static struct quota_work *find(const struct cq *q, const struct item *wl)
{
	char uid[UID_SIZE];

	return quota_work_find(q->tree->q, uid_of(wl, uid));
}

static bool is_charged(const struct cq_tree *t, const struct quota_work *w)
{
	enum quota_state state = quota_work_at(t->q, w).state;

	return state == QUOTA_ADMITTED || state == QUOTA_EVICTING;
}

/* --- reading the trees ------------------------------------------------------------------------ */

static bool has_tree(const struct ks_actors *k)
{
	const struct json *o;
	size_t pos = 0;

	if (ks_each(k->store, RES_TREES, &pos) != NULL) {
		return true;
	}
	for (pos = 0; (o = ks_each(k->store, RES_CLUSTERQUEUES, &pos)) != NULL;) {
		if (obj_annotation(o, "kueue.x-k8s.io/parent").n > 0 ||
		    obj_annotation(o, "kueue.x-k8s.io/children").n > 0 ||
		    json_at(o, "/spec/parent") != NULL || json_at(o, "/spec/children") != NULL) {
			return true;
		}
	}
	return false;
}

/* The set keeps what it reads, so it gets copies. */
static bool read_set(const struct ks_actors *k, struct cq_trees *t)
{
	static const char *const kinds[] = {RES_TREES, RES_CLUSTERQUEUES, RES_LOCALQUEUES,
					    RES_FLAVORS};

	t->set = api_set_new(&t->a);
	for (size_t i = 0; t->set != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct json *o;
		size_t pos = 0;

		while ((o = ks_each(k->store, kinds[i], &pos)) != NULL) {
			if (api_set_add(t->set, json_dup(&t->a, o), 0, NULL) == ERR_NO_MEMORY) {
				return false;
			}
		}
	}
	return t->set != NULL && api_set_link(t->set, API_NONE, NULL) == ERR_OK;
}

static bool is_valid(struct ks_actors *k, struct cq_trees *t)
{
	struct validate_input in = {.now = t->set, .subject = API_NONE, .deleted = API_NONE};
	struct validate_errors errors;

	if (validate(&t->a, &in, &errors, NULL) != ERR_OK) {
		k->stale = true;
		return false;
	}
	if (errors.n > 0) {
		snprintf(k->last_error, sizeof(k->last_error), "queue trees: %.*s",
			 STR_ARG(validate_text(&t->a, errors.v, errors.n)));
	}
	return errors.n == 0;
}

static void place_queues(struct ks_actors *k, struct cq_tree *t)
{
	for (size_t i = 0; i < quota_n_nodes(t->q); i++) {
		struct quota_node_info n = quota_node_at(t->q, i);
		struct cq *q = n.n_children == 0 ? map_get(&k->queues->by_name, n.name) : NULL;

		if (q != NULL) {
			q->tree = t;
		}
	}
}

static bool make_trees(struct ks_actors *k, struct cq_trees *t)
{
	if (api_build(&t->a, t->set, &t->models, NULL) != ERR_OK) {
		return false;
	}
	t->v = arena_array(&t->a, t->models.n, sizeof(*t->v));
	for (size_t i = 0; t->v != NULL && i < t->models.n; i++) {
		struct mk_err err;

		t->v[i].model = &t->models.v[i];
		t->v[i].dirty = true;
		t->v[i].q = quota_new();
		if (!t->v[i].q) {
			return false;
		}
		if (quota_apply(t->v[i].q, &t->models.v[i].desc, &err) != ERR_OK) {
			snprintf(k->last_error, sizeof(k->last_error), "queue tree: %.400s",
				 err.msg);
			continue;
		}
		place_queues(k, &t->v[i]);
	}
	return t->v != NULL;
}

static void put_all(struct ks_actors *k)
{
	void *val;
	size_t pos = 0;

	while (map_next(&k->items, &pos, NULL, &val)) {
		struct item *it = val;
		struct cq *q = it->held_in != NULL ? it->held_in : it->pending_in;
		const struct json *obj;

		if (it->kind != ITEM_WORKLOAD || !q || !q->tree) {
			continue;
		}
		obj = ks_get(k->store, RES_WORKLOADS, it->ns, it->name);
		if (obj != NULL) {
			tree_put(k, q, it, obj, it->held_in != NULL);
			arena_clear(&k->a);
		}
	}
}

void tree_load_all(struct ks_actors *k)
{
	struct cq_trees *t;
	void *val;
	size_t pos = 0;

	tree_free_all(k);
	while (map_next(&k->queues->by_name, &pos, NULL, &val)) {
		((struct cq *)val)->tree = NULL;
	}
	if (!has_tree(k)) {
		return;
	}
	t = mk_calloc(1, sizeof(*t));
	if (!t) {
		k->stale = true;
		return;
	}
	arena_init(&t->a, TREES_ARENA_CAP);
	k->queues->trees = t;
	if (!read_set(k, t)) {
		k->stale = true;
	} else if (is_valid(k, t)) {
		k->stale |= !make_trees(k, t);
		put_all(k);
	}
}

void tree_free_all(struct ks_actors *k)
{
	struct cq_trees *t = k->queues->trees;

	for (size_t i = 0; t != NULL && t->v != NULL && i < t->models.n; i++) {
		quota_free(t->v[i].q);
		map_done(&t->v[i].works);
	}
	if (t != NULL) {
		arena_done(&t->a);
	}
	mk_free(t);
	k->queues->trees = NULL;
}

/* --- what waits and what holds quota ---------------------------------------------------------- */

void tree_put(struct ks_actors *k, struct cq *q, struct item *wl, const struct json *obj, bool held)
{
	struct api_object o = {.kind = API_WORKLOAD, .ns = wl->ns, .name = wl->name, .json = obj};
	struct cq_trees *trees = k->queues->trees;
	struct cq_tree *t = q->tree;
	struct api_faults faults = {.n = 0};
	struct api_work w;
	char uid[UID_SIZE];
	struct mk_err err;

	if (api_work_read(&k->a, trees->set, &o, &faults, &w) != ERR_OK) {
		k->stale = true;
		return;
	}
	w.uid = uid_of(wl, uid);
	w.queue = str_of(q->name);
	w.admitted = held;
	t->dirty = true;
	if (api_build_put(&k->a, trees->set, t->model, t->q, &w, &err) != ERR_OK) {
		snprintf(k->last_error, sizeof(k->last_error), "queue tree: %.*s: %.200s",
			 STR_ARG(wl->name), err.msg);
		return;
	}
	if (held && w.evicting) {
		tree_evict(q, wl);
	}
	if (!map_put(&t->works, w.uid, wl)) {
		k->stale = true;
	}
}

static void forget(const struct cq *q, const struct item *wl)
{
	char uid[UID_SIZE];

	quota_del(q->tree->q, uid_of(wl, uid));
	map_del(&q->tree->works, str_of(uid));
	q->tree->dirty = true;
}

void tree_unput(const struct cq *q, const struct item *wl)
{
	if (!tree_holds(q, wl)) {
		forget(q, wl);
	}
}

void tree_release(const struct cq *q, const struct item *wl)
{
	if (tree_holds(q, wl)) {
		forget(q, wl);
	}
}

void tree_evict(const struct cq *q, const struct item *wl)
{
	struct quota_work *w = find(q, wl);

	if (w != NULL && quota_evict(q->tree->q, w, NULL) == ERR_OK) {
		q->tree->dirty = true;
	}
}

bool tree_holds(const struct cq *q, const struct item *wl)
{
	const struct quota_work *w = find(q, wl);

	return w != NULL && is_charged(q->tree, w);
}

/* --- decisions -------------------------------------------------------------------------------- */

struct chosen {
	const struct quota *q;
	const struct quota_work *w;
};

static mk_str flavor_of(void *ctx, size_t set, mk_str resource)
{
	const struct chosen *c = ctx;
	size_t n = quota_work_at(c->q, c->w).n_asks;

	for (size_t i = 0; i < n; i++) {
		struct quota_ask ask = quota_work_ask(c->q, c->w, i);

		if (ask.pod == set && str_eq(ask.resource, resource)) {
			return ask.flavor;
		}
	}
	return (mk_str){NULL, 0};
}

static void admit(struct ks_actors *k, struct cq_tree *t, struct item *it,
		  const struct quota_work *w, const struct json *wl)
{
	struct chosen c = {t->q, w};
	struct cq_quota_use use[QUOTA_MAX_USES];
	struct cq *q = it->pending_in;
	struct json *admission;
	size_t n_use;

	if (!q) {
		return;
	}
	admission = cq_admission(k, q, wl, flavor_of, &c, use, &n_use);
	pending_del(it);
	cq_quota_take(k, q, it, use, n_use);
	reserve(k, q, it, wl, admission, STR(""));
}

static struct item *item_of(const struct cq_tree *t, const struct quota_work *w)
{
	char uid[QUOTA_MAX_UID + 1];

	return map_get(&t->works, quota_work_uid(w, uid));
}

/* Each victim's own step writes the eviction. */
static void preempt(struct ks_actors *k, struct cq_tree *t, const struct quota_plan *plan,
		    const struct item *it)
{
	mk_str whom = arena_printf(&k->a, "%.*s/%.*s", STR_ARG(it->ns), STR_ARG(it->name));

	for (size_t i = 0; i < plan->n; i++) {
		struct item *v = item_of(t, plan->victims[i].work);

		if (v != NULL && v->held_in != NULL) {
			v->evict_for = intern(k, whom);
			item_at(k, v, 0);
		}
	}
}

static void say_why(struct ks_actors *k, struct cq_tree *t, struct item *it,
		    const struct quota_row *row, const struct json *wl)
{
	const struct json *c = obj_condition(wl, "QuotaReserved");
	char text[512];

	if (str_is(json_str(json_get(c, "reason")), "Pending")) {
		return;
	}
	quota_row_text(t->q, row, text, sizeof(text));
	write_unreserved(k, it, wl, STR("Pending"), str_of(text));
}

void tree_step(struct ks_actors *k, struct cq *q, struct item *it)
{
	struct cq_tree *t = q->tree;
	const struct json *wl;
	struct quota_step s;
	struct item *about;

	if (!t->in_cycle && !t->dirty) {
		return;
	}
	if (!t->in_cycle) {
		t->dirty = false;
		t->in_cycle = true;
		quota_cycle(t->q, k->now_ms);
	}
	if (quota_step(t->q, k->now_ms, &s) != ERR_OK) {
		k->stale = true;
		return;
	}
	t->in_cycle = s.event != QUOTA_END;
	if (t->in_cycle || t->dirty) {
		item_at(k, it, 0);
	}
	about = s.event != QUOTA_END ? item_of(t, s.work) : NULL;
	wl = about != NULL ? ks_get(k->store, RES_WORKLOADS, about->ns, about->name) : NULL;
	if (!wl) {
		return;
	}
	if (s.event == QUOTA_ADMIT) {
		admit(k, t, about, s.work, wl);
	} else if (s.event == QUOTA_BLOCK) {
		say_why(k, t, about, &s.decision.row, wl);
	} else {
		preempt(k, t, &s.plan, about);
		item_at(k, it, k->now_ms + RESERVE_MS);
	}
}
