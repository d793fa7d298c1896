/* SPDX-License-Identifier: Apache-2.0 */
/* LocalQueues by namespace, and the Workloads in them; see locals.h. */
#include "core/admit/locals.h"

#include <string.h>

#include "core/base/alloc.h"

/* A namespace. */
struct space {
	struct list_node idle; /* its deleted queues without Workloads, the oldest first */
	size_t n_idle, n_known;
	size_t n_locals; /* with the names that only Workloads have */
	bool over;       /* not all of its queues are known */
	bool over_since; /* ... by what was seen since the list began */
	size_t name_n;
	char name[];
};

struct use {
	struct local *local;
	uint64_t mark;
};

void locals_init(struct locals *l)
{
	*l = (struct locals){.mark = 1, .uses_mark = 1};
	map_init(&l->queues);
	map_init(&l->spaces);
	map_init(&l->uses);
	list_init(&l->idle);
}

void locals_done(struct locals *l)
{
	struct map *maps[] = {&l->queues, &l->spaces, &l->uses};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		size_t pos = 0;
		void *val = NULL;

		while (map_next(maps[i], &pos, NULL, &val)) {
			if (i == 0) {
				mk_free(((struct local *)val)->cluster_queue);
			}
			mk_free(val);
		}
		map_done(maps[i]);
	}
}

/* "<namespace>/<name>". Empty when it is longer than any that the API server lets through. */
static mk_str key_of(mk_str ns, mk_str name, char out[static LOCALS_KEY_MAX])
{
	if (ns.n + name.n + 1 > LOCALS_KEY_MAX || name.n == 0) {
		return (mk_str){NULL, 0};
	}
	if (ns.n > 0) {
		memcpy(out, ns.p, ns.n);
	}
	out[ns.n] = '/';
	memcpy(out + ns.n + 1, name.p, name.n);
	return (mk_str){out, ns.n + 1 + name.n};
}

/* --- namespaces ------------------------------------------------------------------------------ */

/* Made when there is none; NULL: out of memory. */
static struct space *space_of(struct locals *l, mk_str ns)
{
	struct space *s = map_get(&l->spaces, ns);

	if (s) {
		return s;
	}
	s = mk_calloc(1, sizeof(*s) + ns.n + 1);
	if (!s) {
		return NULL;
	}
	list_init(&s->idle);
	s->name_n = ns.n;
	if (ns.n > 0) {
		memcpy(s->name, ns.p, ns.n);
	}
	if (!map_put(&l->spaces, ns, s)) {
		mk_free(s);
		return NULL;
	}
	return s;
}

static void space_drop(struct locals *l, struct space *s)
{
	if (s->n_locals == 0 && !s->over) {
		map_del(&l->spaces, (mk_str){s->name, s->name_n});
		mk_free(s);
	}
}

static void set_over(struct locals *l, struct space *s, bool over)
{
	if (over && !s->over) {
		l->n_over++;
	} else if (!over && s->over) {
		l->n_over--;
	}
	s->over = over;
}

/* --- queues ---------------------------------------------------------------------------------- */

static void idle_del(struct locals *l, struct local *q)
{
	if (q->idle) {
		q->idle = false;
		list_del(&q->of_all);
		list_del(&q->of_space);
		l->n_idle--;
		q->space->n_idle--;
	}
}

static void forget(struct locals *l, struct local *q)
{
	struct space *s = q->space;

	idle_del(l, q);
	map_del(&l->queues, (mk_str){q->key, q->key_n});
	if (q->cluster_queue) {
		l->n_known--;
		s->n_known--;
		l->version++;
		/*
		 * Only when a quarter of the room is free, so that not each deletion causes a list.
		 */
		l->room_again |= (s->over && s->n_known * 4 <= LOCALS_SPACE_MAX * 3) ||
				 (l->full && l->n_known * 4 <= LOCALS_MAX * 3);
	}
	s->n_locals--;
	space_drop(l, s);
	mk_free(q->cluster_queue);
	mk_free(q);
}

static void forget_oldest(struct locals *l, struct space *s)
{
	forget(l, s ? LIST_ENTRY(s->idle.next, struct local, of_space)
		    : LIST_ENTRY(l->idle.next, struct local, of_all));
}

/*
 * Called when the queue may be unused. A deleted one stays among the idle for a while; a mere name
 * is freed at once.
 */
static void settle(struct locals *l, struct local *q)
{
	struct space *s = q->space;

	if (q->users > 0 || !l->uses_known || q->idle || (q->cluster_queue && !q->gone)) {
		return;
	}
	if (!q->cluster_queue) {
		forget(l, q);
		return;
	}
	q->idle = true;
	list_add_tail(&l->idle, &q->of_all);
	list_add_tail(&s->idle, &q->of_space);
	l->n_idle++;
	s->n_idle++;
	/* The one just added is the newest of both, so that 's' outlives this. */
	if (s->n_idle > LOCALS_SPACE_IDLE_MAX) {
		forget_oldest(l, s);
	}
	if (l->n_idle > LOCALS_IDLE_MAX) {
		forget_oldest(l, NULL);
	}
}

/* Made when there is none, as a mere name; NULL: out of memory. */
static struct local *local_of(struct locals *l, struct space *s, mk_str key)
{
	struct local *q = map_get(&l->queues, key);

	if (q) {
		return q;
	}
	q = mk_calloc(1, sizeof(*q) + key.n + 1);
	if (!q) {
		return NULL;
	}
	list_init(&q->of_all);
	list_init(&q->of_space);
	q->space = s;
	q->key_n = key.n;
	memcpy(q->key, key.p, key.n);
	if (!map_put(&l->queues, key, q)) {
		mk_free(q);
		return NULL;
	}
	s->n_locals++;
	return q;
}

/* Room for one more of the namespace; what is idle makes some. */
static bool make_room(struct locals *l, struct space *s)
{
	if (s->n_known >= LOCALS_SPACE_MAX && s->n_idle > 0) {
		s->n_locals++; /* it is needed after this */
		forget_oldest(l, s);
		s->n_locals--;
	}
	if (l->n_known >= LOCALS_MAX && l->n_idle > 0) {
		s->n_locals++;
		forget_oldest(l, NULL);
		s->n_locals--;
	}
	l->full |= l->n_known >= LOCALS_MAX;
	return s->n_known < LOCALS_SPACE_MAX && l->n_known < LOCALS_MAX;
}

static bool set_cluster_queue(struct locals *l, struct local *q, mk_str cluster_queue)
{
	char *copy = mk_strndup(cluster_queue.n > 0 ? cluster_queue : STR(""));

	if (!copy) {
		return false;
	}
	if (!q->cluster_queue) {
		l->n_known++;
		q->space->n_known++;
	}
	mk_free(q->cluster_queue);
	q->cluster_queue = copy;
	l->version++;
	return true;
}

bool locals_observe(struct locals *l, mk_str ns, mk_str name, mk_str cluster_queue)
{
	char text[LOCALS_KEY_MAX];
	mk_str key = key_of(ns, name, text);
	struct space *s = key.n > 0 ? space_of(l, ns) : NULL;
	struct local *q = key.n > 0 ? map_get(&l->queues, key) : NULL;

	if (!s) {
		return key.n == 0;
	}
	if (!(q && q->cluster_queue) && !make_room(l, s)) {
		set_over(l, s, true);
		s->over_since = true;
		return true;
	}
	q = local_of(l, s, key);
	if (!q || (!(q->cluster_queue && str_is(cluster_queue, q->cluster_queue)) &&
		   !set_cluster_queue(l, q, cluster_queue))) {
		if (q && !q->cluster_queue) {
			settle(l, q);
		} else if (!q) {
			space_drop(l, s);
		}
		return false;
	}
	idle_del(l, q);
	q->gone = false;
	q->mark = l->mark;
	return true;
}

void locals_gone(struct locals *l, mk_str ns, mk_str name)
{
	char text[LOCALS_KEY_MAX];
	mk_str key = key_of(ns, name, text);
	struct local *q = key.n > 0 ? map_get(&l->queues, key) : NULL;

	if (q && q->cluster_queue) {
		q->gone = true;
		settle(l, q);
	}
}

void locals_list_begin(struct locals *l)
{
	size_t pos = 0;
	void *val = NULL;

	l->mark++;
	l->room_again = false;
	l->full = false;
	while (map_next(&l->spaces, &pos, NULL, &val)) {
		((struct space *)val)->over_since = false;
	}
}

void locals_list_end(struct locals *l)
{
	size_t pos = 0;
	void *val = NULL;

	while (map_next(&l->queues, &pos, NULL, &val)) {
		struct local *q = val;

		if (q->cluster_queue && q->mark != l->mark) {
			q->gone = true;
			settle(l, q);
		}
	}
	pos = 0;
	while (map_next(&l->spaces, &pos, NULL, &val)) {
		struct space *s = val;

		set_over(l, s, s->over_since);
		space_drop(l, s);
	}
}

/* --- Workloads ------------------------------------------------------------------------------- */

static void leave(struct locals *l, struct local *q)
{
	q->users--;
	settle(l, q);
}

static void drop_use(struct locals *l, mk_str key)
{
	struct use *u = map_del(&l->uses, key);

	if (u) {
		leave(l, u->local);
		mk_free(u);
	}
}

static bool fail_use(struct locals *l)
{
	l->uses_known = false;
	l->uses_lost = true;
	return false;
}

bool locals_use(struct locals *l, mk_str ns, mk_str name, mk_str queue)
{
	char text[LOCALS_KEY_MAX];
	char queue_text[LOCALS_KEY_MAX];
	mk_str key = key_of(ns, name, text);
	mk_str queue_key = key_of(ns, queue, queue_text);
	struct use *u = map_get(&l->uses, key);
	struct local *q = NULL;
	struct space *s;

	if (key.n == 0 || queue_key.n == 0) {
		drop_use(l, key);
		return true;
	}
	s = space_of(l, ns);
	q = s ? local_of(l, s, queue_key) : NULL;
	if (!q) {
		if (s) {
			space_drop(l, s);
		}
		return fail_use(l);
	}
	if (u && u->local == q) {
		u->mark = l->uses_mark;
		return true;
	}
	q->users++; /* first, so that the queue is not forgotten below */
	idle_del(l, q);
	drop_use(l, key);
	u = mk_calloc(1, sizeof(*u));
	if (!u || !map_put(&l->uses, key, u)) {
		mk_free(u);
		(void)fail_use(l);
		leave(l, q);
		return false;
	}
	*u = (struct use){.local = q, .mark = l->uses_mark};
	return true;
}

void locals_uses_begin(struct locals *l)
{
	l->uses_mark++;
	l->uses_known = false;
	l->uses_lost = false;
}

void locals_uses_end(struct locals *l)
{
	size_t pos = 0;
	mk_str key;
	void *val = NULL;

	while (map_next(&l->uses, &pos, &key, &val)) {
		if (((struct use *)val)->mark != l->uses_mark) {
			drop_use(l, key);
		}
	}
	l->uses_known = !l->uses_lost;
	pos = 0;
	while (map_next(&l->queues, &pos, NULL, &val)) {
		settle(l, val);
	}
}

/* --- questions ------------------------------------------------------------------------------- */

const struct local *locals_find(const struct locals *l, mk_str ns, mk_str name, bool *ret_sure)
{
	char text[LOCALS_KEY_MAX];
	mk_str key = key_of(ns, name, text);
	const struct local *q = key.n > 0 ? map_get(&l->queues, key) : NULL;
	const struct space *s = map_get(&l->spaces, ns);

	*ret_sure = (q && q->cluster_queue) || !(s && s->over);
	return q && q->cluster_queue ? q : NULL;
}

mk_str locals_over(const struct locals *l)
{
	size_t pos = 0;
	void *val = NULL;

	while (l->n_over > 0 && map_next(&l->spaces, &pos, NULL, &val)) {
		const struct space *s = val;

		if (s->over) {
			return (mk_str){s->name, s->name_n};
		}
	}
	return STR("");
}
