/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sorted array per kind, of texts that are counted; see store.h. Everything is under one lock,
 * which is held for a copy of pointers at most: objects are read and written before it is taken.
 */
#include "core/trees/store.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/alloc.h"
#include "core/trees/mentions.h"
#include "core/trees/owners.h"

enum {
	OBJECTS_MAX = 200000,       /* of one kind */
	PUT_MAX = 96 * 1024 * 1024, /* memory for one put */
	N_SHELVES = 7,
	N_CLAIMING = 2, /* the first: ClusterQueues and ClusterQuotaTrees make trees */
	N_PARTS = 4,    /* of a text */
};

/* Of an object: what its kind, place and JSON are. Does not change but for 'refs'. */
struct text {
	atomic_uint refs;
	uint64_t rv;
	size_t ns_n, name_n, json_n, mentions_n;
	size_t same_n; /* of the JSON: what comes before its resourceVersion */
	char p[];      /* namespace, name, JSON, mentions */
};

struct kept {
	struct text *text;
	uint64_t mark; /* of the list that named it last */
};

/* What is known of one kind, by namespace and name. */
struct shelf {
	enum api_kind kind;
	struct kept *v;
	size_t n, size;
	uint64_t mark;
	bool listing;
	bool listed; /* once, or not served */
	bool served; /* when 'listed' */
	bool lost;   /* something is missing, or older than what was put */
	bool failed; /* ... since the list under way began */
};

struct trees_store {
	pthread_mutex_t lock; /* of all that follows */
	struct shelf shelves[N_SHELVES];
	uint64_t version;
	struct trees_owners owners;
	bool owned; /* 'owners' are those of what is here now */
};

struct trees_snapshot {
	size_t n;
	struct text *texts[];
};

/* In the order of enum api_kind. */
static const enum api_kind shelf_kinds[N_SHELVES] = {API_QUEUE,  API_TREE,    API_STATUS, API_LQ,
						     API_FLAVOR, API_ELASTIC, API_COHORT};

/* --- texts ------------------------------------------------------------------------------------ */

static mk_str text_ns(const struct text *t)
{
	return (mk_str){t->p, t->ns_n};
}

static mk_str text_name(const struct text *t)
{
	return (mk_str){t->p + t->ns_n, t->name_n};
}

static mk_str text_json(const struct text *t)
{
	return (mk_str){t->p + t->ns_n + t->name_n, t->json_n};
}

static mk_str text_mentions(const struct text *t)
{
	return (mk_str){t->p + t->ns_n + t->name_n + t->json_n, t->mentions_n};
}

static struct text *text_ref(struct text *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

static void text_unref(struct text *t)
{
	if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) {
		mk_free(t);
	}
}

/* NULL: out of memory. 'parts' in the order of struct text. */
static struct text *text_new(const mk_str parts[static N_PARTS], uint64_t rv, size_t same_n)
{
	struct text *t = mk_malloc(sizeof(*t) + parts[0].n + parts[1].n + parts[2].n + parts[3].n);
	size_t at = 0;

	if (!t) {
		return NULL;
	}
	atomic_init(&t->refs, 1);
	t->rv = rv;
	t->ns_n = parts[0].n;
	t->name_n = parts[1].n;
	t->json_n = parts[2].n;
	t->mentions_n = parts[3].n;
	t->same_n = same_n;
	for (size_t i = 0; i < N_PARTS; i++) {
		if (parts[i].n > 0) {
			memcpy(t->p + at, parts[i].p, parts[i].n);
		}
		at += parts[i].n;
	}
	return t;
}

static bool text_same(const struct text *x, const struct text *y)
{
	return str_eq(str_sub(text_json(x), 0, x->same_n), str_sub(text_json(y), 0, y->same_n));
}

static void keep(struct arena *a, struct json *to, const struct json *from, const char *key)
{
	const struct json *v = json_get(from, key);

	if (v) {
		json_append(a, to, str_of(key), json_share(a, v));
	}
}

/* Without the copy of the object that `kubectl apply` leaves. */
static void keep_annotations(struct arena *a, struct json *meta, const struct json *from)
{
	const char *const copy = "kubectl.kubernetes.io/last-applied-configuration";
	struct json *notes = json_share(a, json_get(from, "annotations"));

	if (json_get(notes, copy)) {
		json_own(a, notes);
		json_set(a, notes, str_of(copy), NULL);
	}
	if (json_len(notes) > 0) {
		json_append(a, meta, STR("annotations"), notes);
	}
}

/*
 * What passes and reviews read of an object. Its resourceVersion comes last, so that two states of
 * it that differ in nothing else begin alike.
 */
static mk_str without_rest(struct arena *a, enum api_kind kind, const struct json *obj,
			   size_t *ret_same_n)
{
	static const char *const names[] = {"name",
					    "namespace",
					    "uid",
					    "generation",
					    "labels",
					    "finalizers",
					    "creationTimestamp",
					    "deletionTimestamp"};
	const struct json *from = json_get(obj, "metadata");
	const struct json *rv = json_get(from, "resourceVersion");
	struct json *meta = json_new_obj(a);
	struct json *out = json_new_obj(a);
	mk_str text;

	keep(a, out, obj, "apiVersion");
	keep(a, out, obj, "kind");
	keep(a, out, obj, "spec");
	/* That of a LocalQueue counts Workloads; a ResourceFlavor has none. */
	if (kind != API_LQ && kind != API_FLAVOR) {
		keep(a, out, obj, "status");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		keep(a, meta, from, names[i]);
	}
	keep_annotations(a, meta, from);
	keep(a, meta, from, "resourceVersion");
	json_append(a, out, STR("metadata"), meta);
	text = json_write(a, out);
	*ret_same_n = rv ? text.n - json_write(a, rv).n - 2 : text.n;
	return text;
}

/* NULL: out of memory, or no JSON object of at most 8 MiB. */
static struct text *text_made(enum api_kind kind, mk_str ns, mk_str name, uint64_t rv, mk_str json)
{
	struct arena a;
	struct json *obj = NULL;
	struct text *t = NULL;
	struct buf mentions;
	size_t same_n = 0;

	arena_init(&a, PUT_MAX);
	buf_init(&mentions, JSON_MAX_SIZE);
	if (json_parse_cut(&a, json, &obj, NULL) == ERR_OK && json_type(obj) == JSON_OBJ) {
		mk_str text = without_rest(&a, kind, obj, &same_n);

		if (trees_mentions_read(&a, kind, obj, &mentions) && !arena_failed(&a) &&
		    text.n <= JSON_MAX_SIZE) {
			const mk_str parts[N_PARTS] = {ns, name, text, buf_str(&mentions)};

			t = text_new(parts, rv, same_n);
		}
	}
	buf_done(&mentions);
	arena_done(&a);
	return t;
}

/* --- shelves ---------------------------------------------------------------------------------- */

struct trees_store *trees_store_new(void)
{
	struct trees_store *s = mk_calloc(1, sizeof(*s));

	if (s) {
		pthread_mutex_init(&s->lock, NULL);
		for (size_t i = 0; i < N_SHELVES; i++) {
			s->shelves[i].kind = shelf_kinds[i];
		}
	}
	return s;
}

void trees_store_free(struct trees_store *s)
{
	if (!s) {
		return;
	}
	for (size_t i = 0; i < N_SHELVES; i++) {
		for (size_t k = 0; k < s->shelves[i].n; k++) {
			text_unref(s->shelves[i].v[k].text);
		}
		mk_free(s->shelves[i].v);
	}
	trees_owners_done(&s->owners);
	pthread_mutex_destroy(&s->lock);
	mk_free(s);
}

/* Questions take a const pointer; the lock is all that they change. */
static void lock(const struct trees_store *s)
{
	pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&s->lock);
}

static void unlock(const struct trees_store *s)
{
	pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&s->lock);
}

/* NULL: the store has no such kind. */
static struct shelf *shelf_of(struct trees_store *s, enum api_kind kind)
{
	for (size_t i = 0; i < N_SHELVES; i++) {
		if (s->shelves[i].kind == kind) {
			return &s->shelves[i];
		}
	}
	return NULL;
}

/* Where the object is, or where it belongs. */
static size_t find(const struct shelf *f, mk_str ns, mk_str name, bool *ret_there)
{
	size_t lo = 0;
	size_t hi = f->n;

	*ret_there = false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = str_cmp(ns, text_ns(f->v[mid].text));

		order = order != 0 ? order : str_cmp(name, text_name(f->v[mid].text));
		if (order == 0) {
			*ret_there = true;
			return mid;
		}
		if (order < 0) {
			hi = mid;
		} else {
			lo = mid + 1;
		}
	}
	return lo;
}

static bool grow(struct shelf *f)
{
	size_t size = f->size > 0 ? f->size * 2 : 16;
	struct kept *v;

	if (f->n < f->size) {
		return true;
	}
	v = f->n < OBJECTS_MAX ? mk_realloc(f->v, size * sizeof(*v)) : NULL;
	if (!v) {
		return false;
	}
	f->v = v;
	f->size = size;
	return true;
}

static void remove_at(struct trees_store *s, struct shelf *f, size_t i)
{
	s->owned = s->owned && f->v[i].text->mentions_n == 0;
	text_unref(f->v[i].text);
	f->n--;
	memmove(f->v + i, f->v + i + 1, (f->n - i) * sizeof(f->v[0]));
}

/* Takes 'owned_t'. */
static enum trees_kept put(struct trees_store *s, struct shelf *f, mk_str ns, mk_str name,
			   struct text *owned_t)
{
	bool there;
	size_t i = find(f, ns, name, &there);
	bool older = owned_t && there && !f->listing && owned_t->rv <= f->v[i].text->rv;
	bool same = owned_t && there && text_same(owned_t, f->v[i].text);

	if (there) {
		f->v[i].mark = f->mark;
	}
	if (older) {
		text_unref(owned_t);
		return TREES_SAME;
	}
	if (!owned_t || (!there && !grow(f))) {
		text_unref(owned_t);
		f->lost = true;
		f->failed = true;
		return TREES_NO_ROOM;
	}
	s->owned = s->owned &&
		   str_eq(text_mentions(owned_t), there ? text_mentions(f->v[i].text) : STR(""));
	if (there) {
		text_unref(f->v[i].text);
	} else {
		memmove(f->v + i + 1, f->v + i, (f->n - i) * sizeof(f->v[0]));
		f->n++;
	}
	f->v[i] = (struct kept){.text = owned_t, .mark = f->mark};
	s->version += same ? 0 : 1;
	return same ? TREES_SAME : TREES_KEPT;
}

enum trees_kept trees_store_put(struct trees_store *s, enum api_kind kind, mk_str ns, mk_str name,
				uint64_t rv, mk_str text)
{
	struct shelf *f = shelf_of(s, kind);
	enum trees_kept kept;
	struct text *t;

	if (!f) {
		return TREES_SAME;
	}
	t = text_made(kind, ns, name, rv, text);
	lock(s);
	kept = put(s, f, ns, name, t);
	unlock(s);
	return kept;
}

bool trees_store_drop(struct trees_store *s, enum api_kind kind, mk_str ns, mk_str name)
{
	struct shelf *f = shelf_of(s, kind);
	bool there = false;
	size_t i;

	lock(s);
	i = f ? find(f, ns, name, &there) : 0;
	if (there) {
		remove_at(s, f, i);
		s->version++;
	}
	unlock(s);
	return there;
}

void trees_store_list(struct trees_store *s, enum api_kind kind)
{
	struct shelf *f = shelf_of(s, kind);

	lock(s);
	if (f) {
		f->mark++;
		f->listing = true;
		f->failed = false;
	}
	unlock(s);
}

/* The kind is known; what has another mark than 'mark' is not there any more. */
static void sweep(struct trees_store *s, struct shelf *f, uint64_t mark, bool served)
{
	size_t n = 0;
	bool news = !f->listed || f->lost != f->failed || f->served != served;

	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].mark == mark) {
			f->v[n++] = f->v[i];
		} else {
			s->owned = s->owned && f->v[i].text->mentions_n == 0;
			text_unref(f->v[i].text);
		}
	}
	s->version += n < f->n || news ? 1 : 0;
	f->n = n;
	f->listing = false;
	f->listed = true;
	f->served = served;
	f->lost = f->failed;
}

void trees_store_listed(struct trees_store *s, enum api_kind kind)
{
	struct shelf *f = shelf_of(s, kind);

	lock(s);
	if (f) {
		sweep(s, f, f->mark, true);
	}
	unlock(s);
}

void trees_store_unserved(struct trees_store *s, enum api_kind kind)
{
	struct shelf *f = shelf_of(s, kind);

	lock(s);
	if (f) {
		f->failed = false;
		sweep(s, f, ++f->mark, false);
	}
	unlock(s);
}

bool trees_store_whole(const struct trees_store *s, enum api_kind *ret_kind)
{
	bool whole = true;

	lock(s);
	for (size_t i = 0; whole && i < N_SHELVES; i++) {
		const struct shelf *f = &s->shelves[i];

		whole = (f->listed && !f->lost) || f->kind == API_ELASTIC;
		if (!whole && ret_kind) {
			*ret_kind = f->kind;
		}
	}
	unlock(s);
	return whole;
}

enum trees_service trees_store_service(const struct trees_store *s, enum api_kind kind)
{
	enum trees_service service = TREES_AWAITED;

	lock(s);
	for (size_t i = 0; i < N_SHELVES; i++) {
		const struct shelf *f = &s->shelves[i];

		if (f->kind == kind && f->listed && !f->lost) {
			service = f->served ? TREES_SERVED : TREES_UNSERVED;
		}
	}
	unlock(s);
	return service;
}

enum trees_place trees_store_place(const struct trees_store *s, mk_str queue)
{
	bool child = false;
	bool parent = false;

	lock(s);
	for (size_t i = 0; i < N_SHELVES; i++) {
		const struct shelf *f = &s->shelves[i];

		for (size_t k = 0; k < f->n && (f->kind == API_QUEUE || f->kind == API_TREE); k++) {
			trees_mentions_find(text_mentions(f->v[k].text), queue, &child, &parent);
		}
	}
	unlock(s);
	return parent ? TREES_INNER : child ? TREES_LEAF : TREES_OUTSIDE;
}

/* False: out of memory. */
static bool find_owners(struct trees_store *s)
{
	size_t most = s->shelves[0].n + s->shelves[1].n;
	struct trees_claim *v = mk_calloc(most + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v && i < N_CLAIMING; i++) {
		const struct shelf *f = &s->shelves[i];

		for (size_t k = 0; k < f->n; k++) {
			const struct text *t = f->v[k].text;

			if (t->mentions_n > 0) {
				v[n++] = (struct trees_claim){text_name(t), f->kind == API_TREE,
							      text_mentions(t)};
			}
		}
	}
	s->owned = v && trees_owners_make(&s->owners, v, n);
	mk_free(v);
	return s->owned;
}

bool trees_store_owns(struct trees_store *s, mk_str queue)
{
	bool known, owns;

	lock(s);
	known = s->owned || find_owners(s);
	owns = known && trees_owners_has(&s->owners, queue);
	unlock(s);
	return known ? owns : trees_store_place(s, queue) != TREES_OUTSIDE;
}

uint64_t trees_store_version(const struct trees_store *s)
{
	uint64_t version;

	lock(s);
	version = s->version;
	unlock(s);
	return version;
}

/* --- snapshots -------------------------------------------------------------------------------- */

struct trees_snapshot *trees_store_snapshot(struct trees_store *s)
{
	struct trees_snapshot *n;
	size_t count = 0;

	lock(s);
	for (size_t i = 0; i < N_SHELVES; i++) {
		count += s->shelves[i].n;
	}
	n = mk_malloc(sizeof(*n) + count * sizeof(n->texts[0]));
	if (n) {
		n->n = 0;
		for (size_t i = 0; i < N_SHELVES; i++) {
			for (size_t k = 0; k < s->shelves[i].n; k++) {
				n->texts[n->n++] = text_ref(s->shelves[i].v[k].text);
			}
		}
	}
	unlock(s);
	return n;
}

void trees_snapshot_free(struct trees_snapshot *n)
{
	if (!n) {
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		text_unref(n->texts[i]);
	}
	mk_free(n);
}

enum mk_code trees_snapshot_objects(const struct trees_snapshot *n, struct arena *a,
				    struct json ***ret, size_t *ret_n, struct mk_err *err)
{
	struct json **v = arena_array(a, n->n, sizeof(*v));

	for (size_t i = 0; v && i < n->n; i++) {
		enum mk_code code = json_parse_cut(a, text_json(n->texts[i]), &v[i], err);

		if (code != ERR_OK) {
			return code;
		}
	}
	if (!v) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret = v;
	*ret_n = n->n;
	return ERR_OK;
}
