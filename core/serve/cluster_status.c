/* SPDX-License-Identifier: Apache-2.0 */
/* The gauge of what clusters' conditions say; see cluster_status.h. */
#include "core/serve/cluster_status.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/serve/fleet.h"

enum { PAIRS_MAX = METRIC_TOP_SERIES / ACTIVE_N, KEY_MAX = 512 };

static const char *const words[ACTIVE_N] = {
	[ACTIVE_UNKNOWN] = "Unknown", [ACTIVE_FALSE] = "False", [ACTIVE_TRUE] = "True"};

struct pair {
	uint64_t round; /* that saw it last */
	int told;       /* enum engine_active of its rows; -1: it has none yet */
	char queue[FLEET_LABEL_SIZE], cluster[FLEET_LABEL_SIZE];
};

void cluster_status_init(struct cluster_status *s, bool elects)
{
	s->elects = elects;
	map_init(&s->pairs);
	s->active = metric_gauge("multikueue_cluster_status",
				 "1 for what the cluster's condition Active says.", "cluster_queue",
				 "cluster", "active", "replica_role", NULL);
}

void cluster_status_done(struct cluster_status *s)
{
	size_t pos = 0;
	void *val = NULL;

	while (map_next(&s->pairs, &pos, NULL, &val)) {
		mk_free(val);
	}
	map_done(&s->pairs);
}

static struct pair *pair_of(struct cluster_status *s, mk_str queue, mk_str cluster)
{
	char text[KEY_MAX];
	int n = snprintf(text, sizeof(text), "%.*s/%.*s", STR_ARG(queue), STR_ARG(cluster));
	mk_str key = {text, n < 0 ? 0 : (size_t)n};
	struct pair *p;

	if (key.n == 0 || key.n >= sizeof(text)) {
		return NULL; /* no API server takes names of that length */
	}
	p = map_get(&s->pairs, key);
	if (!p && map_len(&s->pairs) < PAIRS_MAX) {
		p = mk_calloc(1, sizeof(*p));
		if (!p || !map_put(&s->pairs, key, p)) {
			mk_free(p); /* the next round tries again */
			return NULL;
		}
		p->told = -1;
		fleet_label(queue, p->queue);
		fleet_label(cluster, p->cluster);
		metric_limit(s->active, map_len(&s->pairs) * ACTIVE_N);
	}
	return p;
}

/* Sets the rows of a pair, or takes them away when 'active' is -1. */
static void set_rows(struct cluster_status *s, const struct pair *p, int active)
{
	const mk_str role = s->elects ? STR("leader") : STR("standalone");

	for (int i = 0; i < ACTIVE_N; i++) {
		const mk_str labels[] = {str_of(p->queue), str_of(p->cluster), str_of(words[i]),
					 role};

		if (active < 0) {
			metric_drop(s->active, labels);
		} else {
			metric_set(s->active, labels, i == active ? 1 : 0);
		}
	}
}

static void see(void *ctx, mk_str queue, mk_str cluster, enum engine_active active)
{
	struct cluster_status *s = ctx;
	struct pair *p = pair_of(s, queue, cluster);

	if (!p) {
		return;
	}
	p->round = s->round;
	if (p->told != (int)active) {
		p->told = (int)active;
		set_rows(s, p, p->told);
	}
}

void cluster_status_gather(struct cluster_status *s, const struct engine *e, bool leads)
{
	size_t pos = 0;
	mk_str key;
	void *val = NULL;

	s->round++;
	if (leads) {
		engine_uses(e, see, s);
	}
	while (map_next(&s->pairs, &pos, &key, &val)) {
		struct pair *p = val;

		if (p->round != s->round) {
			set_rows(s, p, -1);
			map_del(&s->pairs, key);
			mk_free(p);
		}
	}
}
