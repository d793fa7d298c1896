/* SPDX-License-Identifier: Apache-2.0 */
/* Quota of workers; see fleet.h. */
#include "core/trees/fleet_int.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/map.h"

enum {
	OBJECTS_MAX = 200000,
	WORKER_MAX = 64 * 1024 * 1024, /* bytes that objects of one worker have */
	LOOK_MAX = 64 * 1024 * 1024,
	KEY_MAX = 600,
	SLOT = 128, /* of an object, beside its text: about what a map needs for it */
};

/* A LocalQueue (where it leads) or a ClusterQueue (its quotas). */
struct item {
	uint64_t mark; /* of the list that named it last */
	uint64_t sum;  /* number of the sum that counted it last */
	size_t size;   /* bytes of all of it */
	size_t n;      /* of 'quotas' */
	mk_str queue;
	struct trees_quota *quotas;
	char text[]; /* what the two point to; 'quotas' comes first */
};

struct side {
	struct map items; /* by "ns/name", or by name */
	uint64_t mark;
	bool listing;
	bool torn;   /* something may be missing, until the kind is listed */
	bool failed; /* ... also then */
};

/* Of one worker: what its events told. */
struct worker {
	uint32_t id;
	struct side sides[TREES_SIDES];
	size_t bytes; /* of their objects */
	bool named;   /* by the last trees_fleet_set */
	struct worker *next;
};

struct trees_fleet {
	pthread_mutex_t lock; /* of all that follows but 'version' */
	struct worker *workers;
	struct map by_id;      /* the same, by the bytes of 'id' */
	struct arena arena[2]; /* of 'now', and of the one before */
	unsigned turn;
	struct trees_workers now;
	uint64_t sums;
	atomic_uint_fast64_t version;
};

static void changed(struct trees_fleet *f)
{
	atomic_fetch_add_explicit(&f->version, 1, memory_order_release);
}

uint64_t trees_fleet_version(const struct trees_fleet *f)
{
	return atomic_load_explicit(&f->version, memory_order_acquire);
}

/* --- life ------------------------------------------------------------------------------------- */

struct trees_fleet *trees_fleet_new(void)
{
	struct trees_fleet *f = mk_calloc(1, sizeof(*f));

	if (f) {
		pthread_mutex_init(&f->lock, NULL);
		map_init(&f->by_id);
		arena_init(&f->arena[0], LOOK_MAX);
		arena_init(&f->arena[1], LOOK_MAX);
		atomic_init(&f->version, 1);
	}
	return f;
}

static void free_worker(struct worker *w)
{
	for (size_t i = 0; i < TREES_SIDES; i++) {
		size_t pos = 0;
		void *item;

		while (map_next(&w->sides[i].items, &pos, NULL, &item)) {
			mk_free(item);
		}
		map_done(&w->sides[i].items);
	}
	mk_free(w);
}

void trees_fleet_free(struct trees_fleet *f)
{
	if (!f) {
		return;
	}
	while (f->workers) {
		struct worker *w = f->workers;

		f->workers = w->next;
		free_worker(w);
	}
	map_done(&f->by_id);
	arena_done(&f->arena[0]);
	arena_done(&f->arena[1]);
	pthread_mutex_destroy(&f->lock);
	mk_free(f);
}

static mk_str id_key(const uint32_t *id)
{
	return (mk_str){(const char *)id, sizeof(*id)};
}

static struct worker *find(const struct trees_fleet *f, uint32_t id)
{
	return map_get(&f->by_id, id_key(&id));
}

static struct worker *find_or_make(struct trees_fleet *f, uint32_t id)
{
	struct worker *w = find(f, id);

	if (w) {
		return w;
	}
	w = mk_calloc(1, sizeof(*w));
	if (w && !map_put(&f->by_id, id_key(&id), w)) {
		mk_free(w);
		w = NULL;
	}
	if (w) {
		w->id = id;
		for (size_t i = 0; i < TREES_SIDES; i++) {
			map_init(&w->sides[i].items);
			/* There may have been no memory for it before. */
			w->sides[i].torn = true;
		}
		w->next = f->workers;
		f->workers = w;
	}
	return w;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* "ns/name", or the name alone, in 'out'; empty: names of the API are shorter. */
static mk_str key_of(char out[static KEY_MAX], mk_str ns, mk_str name)
{
	size_t at = 0;

	if (ns.n + name.n + 1 > KEY_MAX || name.n == 0) {
		return STR("");
	}
	if (ns.n > 0) {
		memcpy(out, ns.p, ns.n);
		out[ns.n] = '/';
		at = ns.n + 1;
	}
	memcpy(out + at, name.p, name.n);
	return (mk_str){out, at + name.n};
}

static mk_str copy(char **at, mk_str s)
{
	mk_str to = {*at, s.n};

	if (s.n > 0) {
		memcpy(*at, s.p, s.n);
	}
	*at += s.n;
	return to;
}

static struct item *item_new(mk_str queue, const struct trees_quota *quotas, size_t n)
{
	size_t size = sizeof(struct item) + n * sizeof(*quotas) + queue.n;
	struct item *item;
	char *at;

	for (size_t i = 0; i < n; i++) {
		size += quotas[i].flavor.n + quotas[i].resource.n;
	}
	item = size <= WORKER_MAX ? mk_malloc(size) : NULL;
	if (!item) {
		return NULL;
	}
	*item = (struct item){.size = size, .n = n};
	item->quotas = (struct trees_quota *)(void *)item->text;
	at = item->text + n * sizeof(*quotas);
	item->queue = copy(&at, queue);
	for (size_t i = 0; i < n; i++) {
		item->quotas[i] = quotas[i];
		item->quotas[i].flavor = copy(&at, quotas[i].flavor);
		item->quotas[i].resource = copy(&at, quotas[i].resource);
	}
	return item;
}

static bool is_same(const struct item *x, mk_str queue, const struct trees_quota *quotas, size_t n)
{
	bool same = str_eq(x->queue, queue) && x->n == n;

	for (size_t i = 0; same && i < n; i++) {
		same = x->quotas[i].nominal.v == quotas[i].nominal.v &&
		       x->quotas[i].nominal.format == quotas[i].nominal.format &&
		       str_eq(x->quotas[i].flavor, quotas[i].flavor) &&
		       str_eq(x->quotas[i].resource, quotas[i].resource);
	}
	return same;
}

/* With the map's part; 0 of none. */
static size_t weight(const struct item *item)
{
	return item ? item->size + SLOT : 0;
}

static bool has_room(const struct worker *w, const struct side *s, const struct item *old,
		     const struct item *item)
{
	return (old || map_len(&s->items) < OBJECTS_MAX) &&
	       w->bytes - weight(old) + weight(item) <= WORKER_MAX;
}

static bool put_in(struct trees_fleet *f, struct worker *w, struct side *s, mk_str key,
		   mk_str queue, const struct trees_quota *quotas, size_t n)
{
	struct item *old = map_get(&s->items, key);
	struct item *item;

	if (old && is_same(old, queue, quotas, n)) {
		old->mark = s->mark;
		return true;
	}
	item = item_new(queue, quotas, n);
	if (!item || !has_room(w, s, old, item) || !map_put(&s->items, key, item)) {
		mk_free(item);
		return false;
	}
	item->mark = s->mark;
	w->bytes += weight(item) - weight(old);
	mk_free(old);
	changed(f);
	return true;
}

/* It is not whole from here on; nor is one of which nothing can be kept at all. */
static void lose(struct trees_fleet *f, uint32_t id, enum trees_side side)
{
	struct worker *w = find_or_make(f, id);

	if (w) {
		w->sides[side].failed = w->sides[side].torn = true;
		changed(f);
	}
}

void trees_fleet_lose(struct trees_fleet *f, uint32_t id, enum trees_side side)
{
	pthread_mutex_lock(&f->lock);
	lose(f, id, side);
	pthread_mutex_unlock(&f->lock);
}

static bool put(struct trees_fleet *f, uint32_t id, enum trees_side side, mk_str key, mk_str queue,
		const struct trees_quota *quotas, size_t n)
{
	struct worker *w;
	bool good;

	pthread_mutex_lock(&f->lock);
	w = find_or_make(f, id);
	good = w && key.n > 0 && put_in(f, w, &w->sides[side], key, queue, quotas, n);
	if (!good) {
		lose(f, id, side);
	}
	pthread_mutex_unlock(&f->lock);
	return good;
}

bool trees_fleet_put_local(struct trees_fleet *f, uint32_t id, mk_str ns, mk_str name, mk_str queue)
{
	char text[KEY_MAX];

	return put(f, id, TREES_LOCALS, key_of(text, ns, name), queue, NULL, 0);
}

bool trees_fleet_put_queue(struct trees_fleet *f, uint32_t id, mk_str name,
			   const struct trees_quota *quotas, size_t n)
{
	char text[KEY_MAX];

	return put(f, id, TREES_QUEUES, key_of(text, STR(""), name), STR(""), quotas, n);
}

void trees_fleet_drop(struct trees_fleet *f, uint32_t id, enum trees_side side, mk_str ns,
		      mk_str name)
{
	char text[KEY_MAX];
	mk_str key = key_of(text, ns, name);
	struct worker *w;

	pthread_mutex_lock(&f->lock);
	w = find(f, id);
	if (w) {
		struct item *old = map_del(&w->sides[side].items, key);

		if (old) {
			w->bytes -= weight(old);
			mk_free(old);
			changed(f);
		}
	}
	pthread_mutex_unlock(&f->lock);
}

bool trees_fleet_list(struct trees_fleet *f, uint32_t id, enum trees_side side)
{
	struct worker *w;

	pthread_mutex_lock(&f->lock);
	w = find_or_make(f, id);
	if (w) {
		struct side *s = &w->sides[side];

		s->listing = true;
		s->failed = false;
		s->mark++;
	}
	pthread_mutex_unlock(&f->lock);
	return w != NULL;
}

void trees_fleet_listed(struct trees_fleet *f, uint32_t id, enum trees_side side)
{
	struct worker *w;
	size_t pos = 0;
	mk_str key;
	void *item;

	pthread_mutex_lock(&f->lock);
	w = find(f, id);
	if (w && w->sides[side].listing) {
		struct side *s = &w->sides[side];
		bool was = s->torn;

		while (map_next(&s->items, &pos, &key, &item)) {
			if (((struct item *)item)->mark != s->mark) {
				(void)map_del(&s->items, key);
				w->bytes -= weight(item);
				mk_free(item);
				changed(f);
			}
		}
		s->listing = false;
		s->torn = s->failed;
		if (was != s->torn) {
			changed(f);
		}
	}
	pthread_mutex_unlock(&f->lock);
}

/* Is the worker seen, and nothing kept of it? */
static bool is_missing(const struct trees_fleet *f, const struct trees_worker *w)
{
	return w->was_seen && !find(f, w->id);
}

bool trees_fleet_torn(struct trees_fleet *f, uint32_t *ret_id, enum trees_side *ret_side)
{
	bool found = false;

	pthread_mutex_lock(&f->lock);
	for (const struct worker *w = f->workers; w && !found; w = w->next) {
		for (size_t i = 0; i < TREES_SIDES && !found; i++) {
			found = w->sides[i].torn && !w->sides[i].listing;
			if (found) {
				*ret_id = w->id;
				*ret_side = (enum trees_side)i;
			}
		}
	}
	/* Either kind: then there is one, of which the other is torn. */
	for (size_t i = 0; i < f->now.n_workers && !found; i++) {
		found = is_missing(f, &f->now.workers[i]);
		if (found) {
			*ret_id = f->now.workers[i].id;
			*ret_side = TREES_LOCALS;
		}
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

/* --- workers ---------------------------------------------------------------------------------- */

/* Forgets workers that are none any more. */
static void forget(struct trees_fleet *f)
{
	struct worker **at = &f->workers;

	for (struct worker *w = f->workers; w; w = w->next) {
		w->named = false;
	}
	for (size_t i = 0; i < f->now.n_workers; i++) {
		struct worker *w = find(f, f->now.workers[i].id);

		if (w) {
			w->named = true;
		}
	}
	while (*at) {
		struct worker *w = *at;

		if (w->named) {
			at = &w->next;
		} else {
			*at = w->next;
			(void)map_del(&f->by_id, id_key(&w->id));
			free_worker(w);
		}
	}
}

bool trees_fleet_set(struct trees_fleet *f, const struct trees_workers *now)
{
	struct trees_workers copied;
	bool good;

	pthread_mutex_lock(&f->lock);
	good = trees_workers_copy(&f->arena[!f->turn], now, &copied);
	if (good) {
		trees_workers_keep_times(&f->now, &copied);
	}
	if (good && !trees_workers_same(&f->now, &copied)) {
		f->now = copied;
		f->turn = !f->turn;
		forget(f);
		changed(f);
	}
	arena_clear(&f->arena[!f->turn]);
	pthread_mutex_unlock(&f->lock);
	return good;
}

bool trees_fleet_look(struct trees_fleet *f, struct arena *a, struct trees_workers *ret)
{
	bool good;

	pthread_mutex_lock(&f->lock);
	good = trees_workers_copy(a, &f->now, ret);
	for (size_t i = 0; good && i < ret->n_workers; i++) {
		const struct worker *w = find(f, ret->workers[i].id);

		ret->workers[i].torn =
			w ? w->sides[0].torn || w->sides[1].torn : ret->workers[i].was_seen;
	}
	pthread_mutex_unlock(&f->lock);
	return good;
}

/* --- sums ------------------------------------------------------------------------------------- */

size_t trees_fleet_sum(struct trees_fleet *f, uint32_t id, const mk_str *locals, size_t n,
		       void (*add)(void *ctx, const struct trees_quota *q), void *ctx)
{
	struct worker *w;
	size_t n_queues = 0;

	pthread_mutex_lock(&f->lock);
	w = find(f, id);
	f->sums++;
	for (size_t i = 0; w && i < n; i++) {
		const struct item *local = map_get(&w->sides[0].items, locals[i]);
		struct item *queue = local ? map_get(&w->sides[1].items, local->queue) : NULL;

		if (!queue || queue->sum == f->sums) {
			continue;
		}
		queue->sum = f->sums;
		n_queues++;
		for (size_t k = 0; k < queue->n; k++) {
			add(ctx, &queue->quotas[k]);
		}
	}
	pthread_mutex_unlock(&f->lock);
	return n_queues;
}
