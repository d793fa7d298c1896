/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of Workloads; see tallies.h. */
#include "core/serve/tallies.h"

#include <stdio.h>

enum { REASONS_OF_PAIR = 4 }; /* rows: most ClusterQueues have few of them on a cluster */

/* From a fleet that is free to jobs of two weeks. */
static const double stage_seconds[] = {0.05,  0.1,   0.25,  0.5,    1,      2.5,    5,    10,
				       30,    60,    120,   300,    900,    1800,   3600, 7200,
				       14400, 43200, 86400, 259200, 604800, 1209600};

void tallies_init(struct tallies *t, struct fleet *fleet, bool elects)
{
	t->fleet = fleet;
	t->elects = elects;
	map_init(&t->pairs.by_name);
	t->dispatched =
		metric_counter("multikueue_workloads_dispatched_total", "Remote Workloads created.",
			       "cluster_queue", "cluster", "replica_role", NULL);
	t->admitted = metric_counter("multikueue_workloads_admitted_total",
				     "Admission checks turned Ready.", "cluster_queue", "cluster",
				     "replica_role", NULL);
	t->evicted = metric_counter("multikueue_workloads_evicted_total",
				    "Winners that Kueue on their worker evicted.", "cluster_queue",
				    "cluster", "reason", "replica_role", NULL);
	t->seconds = metric_histogram("multikueue_workload_stage_seconds",
				      "Time of a Workload from the stage before to this one.",
				      stage_seconds, sizeof(stage_seconds) / sizeof(*stage_seconds),
				      "stage", NULL);
}

void tallies_done(struct tallies *t)
{
	rows_pairs_clear(&t->pairs);
}

void tallies_limit(struct tallies *t)
{
	size_t n = t->fleet->n_clusters * map_len(&t->fleet->queues);

	metric_limit(t->dispatched, n);
	metric_limit(t->admitted, n);
	metric_limit(t->evicted, n * REASONS_OF_PAIR);
}

static void forget(struct tallies *t, size_t index, mk_str label)
{
	metric_forget(t->dispatched, index, label);
	metric_forget(t->admitted, index, label);
	metric_forget(t->evicted, index, label);
	rows_pairs_clear(&t->pairs);
}

void tallies_forget_cluster(struct tallies *t, mk_str label)
{
	forget(t, 1, label);
}

void tallies_forget_queue(struct tallies *t, mk_str label)
{
	forget(t, 0, label);
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_stage(struct tallies *t, const struct engine_count *c)
{
	const mk_str stage = str_of(engine_stages[c->stage]);

	rows_observe(&t->stages[c->stage], t->seconds, METRIC_LABELS(stage), (double)c->ms / 1000);
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* The word of a worker's Kueue, as long as there are few of them. */
static mk_str shown_reason(struct tallies *t, mk_str reason)
{
	size_t i = 0;

	while (i < t->n_reasons && !str_is(reason, t->reasons[i])) {
		i++;
	}
	if (i < t->n_reasons) {
		return reason;
	}
	for (size_t k = 0; k < reason.n; k++) {
		if (!is_letter(reason.p[k])) {
			return STR("_other");
		}
	}
	if (i == TALLIES_REASONS || reason.n == 0 || reason.n >= TALLIES_REASON_SIZE) {
		return STR("_other");
	}
	snprintf(t->reasons[t->n_reasons++], TALLIES_REASON_SIZE, "%.*s", STR_ARG(reason));
	return reason;
}

static mk_str role(const struct tallies *t)
{
	return t->elects ? STR("leader") : STR("standalone");
}

void tallies_count(struct tallies *t, const struct engine_count *c)
{
	char label[FLEET_LABEL_SIZE], queue_label[FLEET_LABEL_SIZE];
	struct rows_pair *pair;
	struct metric_row *row;
	mk_str queue, cluster;

	if (c->what == COUNT_STAGE) {
		count_stage(t, c);
		return;
	}
	pair = c->what == COUNT_EVICTED ? NULL : rows_pair(&t->pairs, c->cluster_queue, c->cluster);
	row = !pair ? NULL : c->what == COUNT_ADMITTED ? &pair->admitted : &pair->dispatched;
	if (row && metric_row_add(row, 1)) {
		return;
	}
	if (!map_get(&t->fleet->queues, c->cluster_queue)) {
		fleet_queue_seen(t->fleet, c->cluster_queue);
		tallies_limit(t);
	}
	queue = fleet_label(c->cluster_queue, queue_label);
	cluster = fleet_label(c->cluster, label);
	if (c->what == COUNT_EVICTED) {
		metric_add(t->evicted,
			   METRIC_LABELS(queue, cluster, shown_reason(t, c->reason), role(t)), 1);
	} else {
		rows_add(row, c->what == COUNT_ADMITTED ? t->admitted : t->dispatched,
			 METRIC_LABELS(queue, cluster, role(t)));
	}
}
