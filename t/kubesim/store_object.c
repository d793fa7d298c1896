/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the simulated store: hash and order per resource, versions as
 * shared text, history, commits.
 */
#include "t/kubesim/store_int.h"

#include <stdlib.h>

enum {
	FIRST_BUCKETS = 16,
	FIRST_ORDER = 16,
	FIRST_RING = 16,
	KEEP_FACTOR =
		4, /* an object's memory may grow to this many times its first state before a fresh start */
};

struct arena *ks_arena_new(void)
{
	struct arena *a = mk_malloc(sizeof(*a));

	if (a != NULL) {
		arena_init(a, KS_ARENA_CAP);
	}
	return a;
}

void ks_arena_free(struct arena *a)
{
	if (a != NULL) {
		arena_done(a);
		mk_free(a);
	}
}

/* --- versions --------------------------------------------------------------------------------- */
void ks_unref(struct ks_version *v)
{
	if (v != NULL && --v->refs == 0) {
		mk_free(v);
	}
}

static char *put(char *at, mk_str s, mk_str *ret)
{
	*ret = (mk_str){at, s.n};
	if (s.n > 0) {
		memcpy(at, s.p, s.n);
	}
	at[s.n] = '\0';
	return at + s.n + 1;
}

/*
 * Lists and partial objects are slices of the text, so that it must begin
 * with apiVersion, kind, metadata.
 */
static const struct json *ordered(struct arena *a, const struct json *tree)
{
	static const char *const first[] = {"apiVersion", "kind", "metadata"};
	struct json_iter it = json_iter(tree);
	struct json *o;
	size_t n = 0;

	while (n < 3 && json_next(&it) && str_is(it.key, first[n])) {
		n++;
	}
	if (n == 3) {
		return tree;
	}
	o = json_new_obj(a);
	for (size_t i = 0; i < 3; i++) {
		json_set(a, o, str_of(first[i]), json_dup(a, json_get(tree, first[i])));
	}
	it = json_iter(tree);
	while (json_next(&it)) {
		if (!json_getn(o, it.key)) {
			json_set(a, o, it.key, json_dup(a, it.val));
		}
	}
	return o;
}

struct ks_version *ks_version_new(struct arena *tmp, const struct json *tree, uint64_t rv)
{
	const struct json *meta = json_get(tree, "metadata");
	mk_str ns = json_str(json_get(meta, "namespace")), name = json_str(json_get(meta, "name"));
	mk_str text = json_write(tmp, ordered(tmp, tree));
	struct json_iter it = json_iter(json_get(meta, "labels"));
	size_t n_labels = 0, label_bytes = 0, at = 0;
	struct ks_version *v = NULL;
	char *p;

	while (json_next(&it)) {
		n_labels++;
		label_bytes += it.key.n + json_str(it.val).n + 2;
	}
	if (text.p != NULL && !arena_failed(tmp)) {
		v = mk_malloc(sizeof(*v) + n_labels * 2 * sizeof(mk_str) + label_bytes + ns.n +
			      name.n + text.n + 3);
	}
	if (!v) {
		return NULL;
	}
	*v = (struct ks_version){.refs = 1, .rv = rv, .n_labels = (uint32_t)n_labels};
	v->labels = (mk_str *)(v + 1);
	p = (char *)(v->labels + 2 * n_labels);
	it = json_iter(json_get(meta, "labels"));
	while (json_next(&it)) {
		p = put(p, it.key, &v->labels[at++]);
		p = put(p, json_str(it.val), &v->labels[at++]);
	}
	p = put(p, ns, &v->ns);
	p = put(p, name, &v->name);
	(void)put(p, text, &v->text);
	return v;
}

/* --- hash and order --------------------------------------------------------------------------- */
static uint64_t key_hash(mk_str ns, mk_str name)
{
	uint64_t h = 1469598103934665603U;

	for (size_t i = 0; i < ns.n; i++) {
		h = (h ^ (unsigned char)ns.p[i]) * 1099511628211U;
	}
	h = (h ^ '/') * 1099511628211U;
	for (size_t i = 0; i < name.n; i++) {
		h = (h ^ (unsigned char)name.p[i]) * 1099511628211U;
	}
	return h ^ (h >> 29);
}

struct ks_object *ks_find(const struct ks_resource *r, mk_str ns, mk_str name)
{
	uint64_t h = key_hash(ns, name);
	struct ks_object *o;

	if (r->n_buckets == 0) {
		return NULL;
	}
	for (o = r->buckets[h & (r->n_buckets - 1)]; o != NULL; o = o->next) {
		if (o->hash == h && str_eq(o->v->name, name) && str_eq(o->v->ns, ns)) {
			return o;
		}
	}
	return NULL;
}

static bool grow_buckets(struct ks_resource *r)
{
	size_t n = r->n_buckets ? r->n_buckets * 2 : FIRST_BUCKETS;
	struct ks_object **b = mk_calloc(n, sizeof(struct ks_object *));

	if (!b) {
		return false;
	}
	for (size_t i = 0; i < r->n_buckets; i++) {
		struct ks_object *next;

		for (struct ks_object *o = r->buckets[i]; o != NULL; o = next) {
			next = o->next;
			o->next = b[o->hash & (n - 1)];
			b[o->hash & (n - 1)] = o;
		}
	}
	mk_free(r->buckets);
	r->buckets = b;
	r->n_buckets = n;
	return true;
}

static bool insert(struct ks_resource *r, struct ks_object *o)
{
	if (r->n_objects >= r->n_buckets && !grow_buckets(r)) {
		return false;
	}
	if (r->n_order == r->order_size) {
		size_t n = r->order_size ? r->order_size * 2 : FIRST_ORDER;
		struct ks_object **p = mk_realloc(r->order, n * sizeof(struct ks_object *));

		if (!p) {
			return false;
		}
		r->order = p;
		r->order_size = n;
	}
	o->hash = key_hash(o->v->ns, o->v->name);
	o->next = r->buckets[o->hash & (r->n_buckets - 1)];
	r->buckets[o->hash & (r->n_buckets - 1)] = o;
	o->index = r->n_order;
	r->order[r->n_order++] = o;
	r->n_objects++;
	return true;
}

static void object_free(struct ks_object *o)
{
	ks_unref(o->v);
	ks_arena_free(o->a);
	mk_free(o);
}

/* Takes the object out of hash and order; the order keeps a hole. */
static void unlink_object(struct ks_resource *r, struct ks_object *o)
{
	struct ks_object **at = &r->buckets[o->hash & (r->n_buckets - 1)];

	while (*at != o) {
		at = &(*at)->next;
	}
	*at = o->next;
	r->order[o->index] = NULL;
	r->n_holes++;
	r->n_objects--;
}

static int by_key(const void *x, const void *y)
{
	const struct ks_object *a = *(struct ks_object *const *)x;
	const struct ks_object *b = *(struct ks_object *const *)y;
	int d = str_cmp(a->v->ns, b->v->ns);

	return d ? d : str_cmp(a->v->name, b->v->name);
}

/* Merges two sorted runs that lie one after the other. */
static bool merge_runs(struct ks_object **p, size_t mid, size_t n)
{
	struct ks_object **tail = mk_malloc((n - mid) * sizeof(struct ks_object *));
	size_t i = mid, j = n - mid, at = n;

	if (!tail) {
		return false;
	}
	memcpy(tail, p + mid, (n - mid) * sizeof(struct ks_object *));
	while (j > 0) {
		if (i > 0 && by_key(&p[i - 1], &tail[j - 1]) > 0) {
			p[--at] = p[--i];
		} else {
			p[--at] = tail[--j];
		}
	}
	mk_free(tail);
	return true;
}

void ks_sort(struct ks_resource *r)
{
	size_t n = 0, mid = 0;

	if (r->n_holes == 0 && r->n_sorted == r->n_order) {
		return;
	}
	for (size_t i = 0; i < r->n_order; i++) {
		if (i == r->n_sorted) {
			mid = n;
		}
		if (r->order[i] != NULL) {
			r->order[n++] = r->order[i];
		}
	}
	if (r->n_sorted >= r->n_order) {
		mid = n;
	}
	qsort(r->order + mid, n - mid, sizeof(struct ks_object *), by_key);
	if (mid > 0 && mid < n && !merge_runs(r->order, mid, n)) {
		qsort(r->order, n, sizeof(struct ks_object *), by_key);
	}
	for (size_t i = 0; i < n; i++) {
		r->order[i]->index = i;
	}
	r->n_order = r->n_sorted = n;
	r->n_holes = 0;
}

/* --- history ---------------------------------------------------------------------------------- */
static void drop_oldest(struct ks_resource *r)
{
	struct ks_event *e = &r->ring[r->first_seq % r->ring_size];

	r->floor = e->rv;
	ks_unref(e->now);
	ks_unref(e->old);
	r->first_seq++;
}

static bool grow_ring(struct ks_resource *r)
{
	size_t n = r->ring_size ? r->ring_size * 2 : FIRST_RING;
	struct ks_event *ring = mk_calloc(n, sizeof(*ring));

	if (!ring) {
		return false;
	}
	for (uint64_t i = r->first_seq; i < r->next_seq; i++) {
		ring[i % n] = r->ring[i % r->ring_size];
	}
	mk_free(r->ring);
	r->ring = ring;
	r->ring_size = n;
	return true;
}

/* Takes the references 'now' and 'old'. */
static void record(struct ks_ctx *c, enum ks_event_type type, struct ks_version *now,
		   struct ks_version *old)
{
	struct ks_resource *r = c->res;

	while (r->next_seq - r->first_seq >= c->s->history) {
		drop_oldest(r);
	}
	if (r->next_seq - r->first_seq == r->ring_size && !grow_ring(r)) {
		if (r->ring_size == 0) {
			ks_unref(now);
			ks_unref(old);
			return;
		}
		drop_oldest(r);
	}
	r->ring[r->next_seq++ % r->ring_size] =
		(struct ks_event){.type = type, .rv = now->rv, .now = now, .old = old};
}

static struct ks_version *ref(struct ks_version *v)
{
	v->refs++;
	return v;
}

/* --- commits ---------------------------------------------------------------------------------- */
static void tell(struct ks_ctx *c, const struct json *before, const struct json *after,
		 const struct ks_version *v)
{
	struct ks_commit k = {
		.store = c->s,
		.resource = str_of(c->res->id),
		.ns = v->ns,
		.name = v->name,
		.verb = str_of(c->verb),
		.subresource = c->sub,
		.user = c->r->user,
		.user_agent = c->r->user_agent,
		.before = before,
		.after = after,
		.rv = v->rv,
		.now_ms = c->now_ms,
	};

	if (c->s->on_commit != NULL) {
		c->s->on_commit(c->s->on_commit_ctx, &k);
	}
}

static bool stamp_rv(struct arena *a, struct json *tree, uint64_t rv)
{
	json_set_str(a, json_get(tree, "metadata"), "resourceVersion",
		     arena_printf(a, "%llu", (unsigned long long)rv));
	return !arena_failed(a);
}

static struct ks_object *create_object(struct ks_resource *r, struct arena *a, struct json *tree,
				       struct ks_version *v)
{
	struct ks_object *o = mk_calloc(1, sizeof(*o));

	if (!o) {
		return NULL;
	}
	o->v = v;
	o->a = a;
	o->tree = tree;
	if (!insert(r, o)) {
		mk_free(o);
		return NULL;
	}
	return o;
}

struct json *ks_fork(struct ks_ctx *c, const struct ks_object *o)
{
	struct json *tree = json_share(c->a, o->tree);

	/* Defaults of these two kinds reach below what a patch names. */
	if (strcmp(c->res->id, "v1/secrets") == 0 || strcmp(c->res->id, "v1/namespaces") == 0) {
		return json_dup(c->a, o->tree);
	}
	json_own(c->a, tree);
	json_own(c->a, json_get(tree, "metadata"));
	c->forked = true;
	return tree;
}

struct ks_object *ks_commit_put(struct ks_ctx *c, struct ks_object *o, struct json *tree)
{
	bool beside = o != NULL && c->forked && !arena_failed(o->a) &&
		      o->a->used < KEEP_FACTOR * o->n_live;
	struct arena *a = beside ? o->a : ks_arena_new(), *old_a = NULL;
	struct ks_version *v = NULL, *old_v = NULL;
	struct json *before = NULL;

	stamp_rv(c->a, tree, c->s->rv + 1);
	if (a != NULL) {
		tree = beside ? json_dup_beside(a, tree, o->tree) : json_dup(a, tree);
	}
	v = a && tree && !arena_failed(a) ? ks_version_new(c->a, tree, c->s->rv + 1) : NULL;
	if (!v) {
		ks_arena_free(beside ? NULL : a);
		return NULL;
	}
	if (!o) {
		o = create_object(c->res, a, tree, v);
		if (!o) {
			ks_unref(v);
			ks_arena_free(a);
			return NULL;
		}
	} else {
		before = o->tree;
		old_a = beside ? NULL : o->a;
		old_v = o->v;
		o->v = v;
		o->a = a;
		o->tree = tree;
	}
	o->n_live = beside ? o->n_live : a->used;
	c->s->rv++;
	record(c, before ? KS_MODIFIED : KS_ADDED, ref(v), old_v);
	tell(c, before, tree, v);
	ks_arena_free(old_a);
	return o;
}

bool ks_replace_tree(struct ks_object *o, const struct json *tree)
{
	struct arena *a = ks_arena_new();
	struct json *copy = a ? json_dup(a, tree) : NULL;

	if (!copy || arena_failed(a)) {
		ks_arena_free(a);
		return false;
	}
	ks_arena_free(o->a);
	o->a = a;
	o->tree = copy;
	return true;
}

void ks_commit_delete(struct ks_ctx *c, struct ks_object *o, struct ks_version **ret_final)
{
	struct ks_version *v = NULL;

	if (stamp_rv(o->a, o->tree, c->s->rv + 1)) {
		v = ks_version_new(c->a, o->tree, c->s->rv + 1);
	}
	unlink_object(c->res, o);
	c->s->rv++;
	if (!v) {
		v = ref(o->v);
	}
	*ret_final = ref(v);
	record(c, KS_DELETED, v, ref(o->v));
	tell(c, o->tree, NULL, v);
	object_free(o);
}

bool ks_install(struct ks_resource *r, const struct json *tree, uint64_t rv)
{
	struct arena *a = ks_arena_new();
	struct json *copy = a ? json_dup(a, tree) : NULL;
	struct ks_version *v = copy ? ks_version_new(a, copy, rv) : NULL;

	if (v != NULL && create_object(r, a, copy, v) != NULL) {
		return true;
	}
	ks_unref(v);
	ks_arena_free(a);
	return false;
}

void ks_drop_history(struct ks_resource *r)
{
	while (r->first_seq < r->next_seq) {
		drop_oldest(r);
	}
}

bool ks_add_namespaces(struct ks_store *s)
{
	static const char *const names[] = {"default", "kube-system", "kube-public",
					    "kube-node-lease"};
	struct ks_resource *r = ks_resource_find(s, STR(""), STR("v1"), STR("namespaces"));
	struct arena a;
	bool ok = true;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		mk_str uid = ks_uuid(s, &a);
		mk_str text = arena_printf(
			&a,
			"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%"
			"s\","
			"\"uid\":\"%s\",\"resourceVersion\":\"1\","
			"\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":"
			"{\"kubernetes.io/metadata.name\":\"%s\"}},\"spec\":{\"finalizers\":"
			"[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
			names[i], uid.p, names[i]);
		struct json *tree;

		ok = ok && json_parse(&a, text, &tree, NULL) == ERR_OK && ks_install(r, tree, 1);
	}
	arena_done(&a);
	return ok;
}

void ks_resource_clear(struct ks_resource *r)
{
	for (size_t i = 0; i < r->n_order; i++) {
		if (r->order[i] != NULL) {
			object_free(r->order[i]);
		}
	}
	if (r->n_buckets > 0) {
		memset(r->buckets, 0, r->n_buckets * sizeof(struct ks_object *));
	}
	r->n_order = r->n_sorted = r->n_holes = r->n_objects = 0;
	ks_drop_history(r);
}

void ks_resource_free(struct ks_resource *r)
{
	if (!r) {
		return;
	}
	ks_resource_clear(r);
	mk_free(r->buckets);
	mk_free(r->order);
	mk_free(r->ring);
	mk_free(r->group);
	mk_free(r->version);
	mk_free(r->plural);
	mk_free(r->kind);
	mk_free(r->singular);
	mk_free(r->id);
	mk_free(r->api_version);
	mk_free(r);
}
