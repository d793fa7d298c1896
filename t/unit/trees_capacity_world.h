/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of capacityFrom: a fleet of workers, a clock, and the objects of the manager. */
#ifndef MK_T_UNIT_TREES_CAPACITY_WORLD_H
#define MK_T_UNIT_TREES_CAPACITY_WORLD_H

#include <stdlib.h>

#include "core/trees/capacity.h"
#include "t/lib/quota_objects.h"
#include "t/lib/tap.h"

enum { MINUTE = 60 * 1000, WALL = 1700000000 };

static const char tree_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1alpha1\n"
	"kind: ClusterQuotaTree\n"
	"metadata: {name: org, generation: 1}\n"
	"spec:\n"
	"  capacityFrom:\n"
	"    workers: {multiKueueConfig: fleet, flavorMap: {far: near}}\n"
	"  resourceGroup:\n"
	"    coveredResources: [cpu, memory]\n"
	"    flavors: [{name: near, resources: [{name: cpu, nominalQuota: 1}, {name: memory, "
	"nominalQuota: 0}]}]\n"
	"  hierarchies:\n"
	"    root: {weightedQuotas: [{name: left, minWeight: 50}, {name: right, minWeight: 50}]}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: l, namespace: ns}\n"
	"spec: {clusterQueue: left}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: r, namespace: ns}\n"
	"spec: {clusterQueue: right}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: other, namespace: ns}\n"
	"spec: {clusterQueue: elsewhere}\n";

/* A fleet of at most four workers, a clock, and the objects of the manager. */
struct world {
	struct arena a, pass;
	struct json *docs;
	struct trees_fleet *fleet;
	struct trees_settling settling;
	struct trees_worker workers[4];
	mk_str names[4];
	size_t n;
	int64_t now;
	int64_t lost_ms;
	struct trees_capacities totals;
};

static inline void tell(struct world *w)
{
	struct trees_config config = {STR("fleet"), w->names, w->n};
	struct trees_workers all = {.known = true,
				    .workers = w->workers,
				    .n_workers = w->n,
				    .configs = &config,
				    .n_configs = 1};

	if (!trees_fleet_set(w->fleet, &all)) {
		exit(2);
	}
}

/* ClusterQueue 'queue' of a worker has that of one flavor. */
static inline void has(struct world *w, uint32_t id, const char *queue, const char *flavor,
		       int64_t cpus)
{
	struct trees_quota q = {str_of(flavor), STR("cpu"), {.v = cpus * 1000}};

	trees_fleet_put_queue(w->fleet, id, str_of(queue), &q, 1);
}

static inline void leads(struct world *w, uint32_t id, const char *local, const char *queue)
{
	trees_fleet_put_local(w->fleet, id, STR("ns"), str_of(local), str_of(queue));
}

/* Worker 'id' can be seen, or not since now. */
static inline void sees(struct world *w, uint32_t id, bool seen)
{
	struct trees_worker *v = &w->workers[id - 1];

	v->hidden_ms = seen ? INT64_MAX : w->now;
	v->hidden_wall_ms = seen ? 0 : WALL * INT64_C(1000) + w->now;
	v->was_seen = v->was_seen || seen;
	tell(w);
}

/* Each worker has one ClusterQueue of 10 cpu in flavor far, to which both LocalQueues lead. */
static inline void begin(struct world *w, size_t n)
{
	static const char *const names[] = {"w1", "w2", "w3", "w4"};

	*w = (struct world){.n = n, .now = 1000, .lost_ms = 15 * MINUTE};
	arena_init(&w->a, 64 * 1024 * 1024);
	arena_init(&w->pass, 64 * 1024 * 1024);
	w->docs = objects_read(&w->a, tree_yaml);
	w->fleet = trees_fleet_new();
	trees_settling_init(&w->settling);
	for (uint32_t i = 0; i < n; i++) {
		w->names[i] = str_of(names[i]);
		w->workers[i] = (struct trees_worker){.name = w->names[i], .id = i + 1};
		trees_fleet_list(w->fleet, i + 1, TREES_LOCALS);
		trees_fleet_list(w->fleet, i + 1, TREES_QUEUES);
		has(w, i + 1, "queue", "far", 10);
		leads(w, i + 1, "l", "queue");
		leads(w, i + 1, "r", "queue");
		trees_fleet_listed(w->fleet, i + 1, TREES_LOCALS);
		trees_fleet_listed(w->fleet, i + 1, TREES_QUEUES);
		sees(w, i + 1, true);
	}
}

static inline void end(struct world *w)
{
	trees_settling_clear(&w->settling);
	trees_fleet_free(w->fleet);
	arena_done(&w->pass);
	arena_done(&w->a);
}

/* The root's ClusterQueue has that now, as a pass before this one wrote it. */
static inline void root_has(struct world *w, int64_t cpus)
{
	mk_str text = arena_printf(
		&w->a,
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
		"{\"name\":\"root\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\","
		"\"memory\"],\"flavors\":[{\"name\":\"near\",\"resources\":[{\"name\":\"cpu\","
		"\"nominalQuota\":\"%lld\"},{\"name\":\"memory\",\"nominalQuota\":\"0\"}]}]}]}}",
		(long long)cpus);

	objects_put(&w->a, w->docs, json_len(w->docs) > 4 ? "/4" : "/-", text.p);
}

static inline const struct trees_capacity *look(struct world *w)
{
	size_t n = json_len(w->docs);
	struct json **v;
	struct trees_capacity_input in = {.fleet = w->fleet, .lost_ms = w->lost_ms};

	arena_clear(&w->pass);
	v = arena_array(&w->pass, n, sizeof(*v));
	for (size_t i = 0; v != NULL && i < n; i++) {
		v[i] = json_elem(w->docs, i);
	}
	in.objects = v;
	in.n = n;
	in.mono_ms = w->now;
	in.wall_ms = WALL * INT64_C(1000) + w->now;
	if (!v || trees_capacity_find(&w->settling, &w->pass, &in, &w->totals, NULL) != ERR_OK) {
		return NULL;
	}
	return w->totals.n > 0 ? &w->totals.v[0] : NULL;
}

/* Cpus that the tree gets now, which are written at once. */
static inline int64_t total(struct world *w)
{
	const struct trees_capacity *c = look(w);
	int64_t cpus = c != NULL && c->n > 0 ? c->totals[0].amount.v / 1000 : -1;

	if (c != NULL && c->known) {
		root_has(w, cpus);
	}
	return cpus;
}

static inline int64_t later(struct world *w, int64_t ms)
{
	w->now += ms;
	return total(w);
}

static inline bool says(struct world *w, const char *reason, const char *part)
{
	const struct trees_capacity *c = look(w);
	bool good = c != NULL && str_is(str_of(c->reason), reason) &&
		    strstr(c->message.p, part) != NULL;

	if (!good && c != NULL) {
		printf("# %s %s: %s\n", c->status, c->reason, c->message.p);
	}
	return good;
}

#endif
