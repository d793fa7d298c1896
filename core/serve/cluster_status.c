/* SPDX-License-Identifier: Apache-2.0 */
/* The gauge of what clusters' conditions say; see cluster_status.h. */
#include "core/serve/cluster_status.h"

#include "core/base/alloc.h"
#include "core/serve/fleet.h"

enum { PAIRS_MAX = METRIC_TOP_SERIES / ACTIVE_N, KEY_MAX = 512, NO_ROWS = -1 };

static const char *const words[ACTIVE_N] = {
	[ACTIVE_UNKNOWN] = "Unknown", [ACTIVE_FALSE] = "False", [ACTIVE_TRUE] = "True"};

struct pair {
	struct list_node node;    /* of all */
	struct list_node changed; /* while its rows are not those of 'active' */
	uint64_t round;           /* that saw it last */
	int active, told;         /* enum engine_active, or NO_ROWS; as it is, and in the rows */
	mk_str queue, cluster;    /* in 'text' */
	char text[];              /* "queue/cluster": the key */
};

void cluster_status_init(struct cluster_status *s, bool elects)
{
	s->elects = elects;
	map_init(&s->by_name);
	list_init(&s->pairs);
	list_init(&s->changed);
	s->active = metric_gauge("multikueue_cluster_status",
				 "1 for what the cluster's condition Active says.", "cluster_queue",
				 "cluster", "active", "replica_role", NULL);
}

void cluster_status_done(struct cluster_status *s)
{
	size_t pos = 0;
	void *val = NULL;

	while (map_next(&s->by_name, &pos, NULL, &val)) {
		mk_free(val);
	}
	map_done(&s->by_name);
}

/* --- which changed ---------------------------------------------------------------------------- */

static mk_str key_of(const struct pair *p)
{
	return (mk_str){p->text, p->queue.n + 1 + p->cluster.n};
}

/* NULL: out of memory, or too many; the next round tries again. */
static struct pair *pair_new(struct cluster_status *s, mk_str key, size_t n_queue)
{
	struct pair *p = map_len(&s->by_name) < PAIRS_MAX ? mk_malloc(sizeof(*p) + key.n) : NULL;

	if (!p) {
		return NULL;
	}
	*p = (struct pair){.active = NO_ROWS, .told = NO_ROWS};
	memcpy(p->text, key.p, key.n);
	p->queue = (mk_str){p->text, n_queue};
	p->cluster = (mk_str){p->text + n_queue + 1, key.n - n_queue - 1};
	if (!map_put(&s->by_name, key, p)) {
		mk_free(p);
		return NULL;
	}
	list_init(&p->node);
	list_init(&p->changed);
	metric_limit(s->active, map_len(&s->by_name) * ACTIVE_N);
	return p;
}

static void set_active(struct cluster_status *s, struct pair *p, int active)
{
	p->active = active;
	list_del(&p->changed);
	if (active != p->told || active == NO_ROWS) {
		list_add_tail(&s->changed, &p->changed);
	}
}

/*
 * The pair of that key; NULL: there is none, and none can be made. Most often it is the one that
 * came next in the last round. Those that this round saw stand before 's->at'.
 */
static struct pair *take_next(struct cluster_status *s, mk_str key, size_t n_queue)
{
	struct pair *p = s->at != &s->pairs ? LIST_ENTRY(s->at, struct pair, node) : NULL;

	if (p && str_eq(key_of(p), key)) {
		s->at = s->at->next;
		return p;
	}
	p = map_get(&s->by_name, key);
	p = p ? p : pair_new(s, key, n_queue);
	if (p && p->round != s->round) {
		list_del(&p->node);
		list_add_tail(s->at, &p->node);
	}
	return p;
}

static void see(void *ctx, mk_str queue, mk_str cluster, enum engine_active active)
{
	struct cluster_status *s = ctx;
	char text[KEY_MAX];
	mk_str key = {text, queue.n + 1 + cluster.n};
	struct pair *p;

	if (queue.n >= KEY_MAX || cluster.n >= KEY_MAX || key.n > KEY_MAX) {
		return; /* no API server takes names of that length */
	}
	memcpy(text, str_chars(queue), queue.n);
	text[queue.n] = '/';
	memcpy(text + queue.n + 1, str_chars(cluster), cluster.n);
	p = take_next(s, key, queue.n);
	if (p) {
		p->round = s->round;
		if (p->active != (int)active) {
			set_active(s, p, (int)active);
		}
	}
}

void cluster_status_gather(struct cluster_status *s, const struct engine *e, bool leads)
{
	s->round++;
	s->at = s->pairs.next;
	if (leads) {
		engine_uses(e, see, s);
	}
	for (struct list_node *n = s->at; n != &s->pairs; n = n->next) {
		set_active(s, LIST_ENTRY(n, struct pair, node), NO_ROWS);
	}
}

/* --- their rows ------------------------------------------------------------------------------- */

/* Sets the rows of a pair, or takes them away. */
static void set_rows(struct cluster_status *s, struct pair *p)
{
	const mk_str role = s->elects ? STR("leader") : STR("standalone");
	char queue[FLEET_LABEL_SIZE], cluster[FLEET_LABEL_SIZE];

	fleet_label(p->queue, queue);
	fleet_label(p->cluster, cluster);
	for (int i = 0; i < ACTIVE_N; i++) {
		const mk_str labels[] = {str_of(queue), str_of(cluster), str_of(words[i]), role};

		if (p->active == NO_ROWS) {
			metric_drop(s->active, labels);
		} else {
			metric_set(s->active, labels, i == p->active ? 1 : 0);
		}
	}
	p->told = p->active;
}

bool cluster_status_write(struct cluster_status *s)
{
	size_t n = 0;

	while (n < CLUSTER_STATUS_TURN && !list_empty(&s->changed)) {
		struct pair *p = LIST_ENTRY(s->changed.next, struct pair, changed);

		n++;
		set_rows(s, p);
		list_del(&p->changed);
		if (p->active == NO_ROWS) {
			list_del(&p->node);
			map_del(&s->by_name, key_of(p));
			mk_free(p);
		}
	}
	return n == 0;
}
