/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes cost in a fleet of up to 1,000 clusters: how many clusters they look at, and how many
 * passes a link that flaps, a list that ends, or a change of the configuration brings.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/engine/engine.h"
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

enum { TEXT_MAX = 8192 };

/* What the Workloads of a fleet wait for. */
enum stage {
	WAITING, /* for quota on the manager */
	RACING,  /* nominated on all clusters of the config, no clone is there */
	RUNNING, /* on the first cluster */
};

struct fleet {
	struct engine *e;
	struct plug *plug;
	struct kinds kinds;
	struct arena objects, ops;
	struct op_list out;
	int64_t now;
	uint64_t rv;
	int n_clusters, n_named, n;
	enum stage stage;
	struct slice slice;
};

/* --- events ----------------------------------------------------------------------------------- */

static void step(struct fleet *f, const struct event *ev, size_t n)
{
	arena_clear(&f->ops);
	f->out = (struct op_list){.arena = &f->ops};
	for (size_t i = 0; i < n; i++) {
		engine_observe(f->e, &ev[i], f->now, WALL0 + f->now, &f->out);
	}
	engine_run(f->e, f->now, WALL0 + f->now, &f->out);
}

/* Steps until nothing is left to do at this moment. */
static void settle(struct fleet *f)
{
	while (engine_next_ms(f->e) <= f->now) {
		step(f, NULL, 0);
	}
}

static void show(struct fleet *f, cluster_id c, uint16_t kind, const char *text, enum event_via via)
{
	struct arena *a = &f->objects;
	struct json *v = NULL;
	struct event ev = {.type = EV_OBSERVED, .cluster = c, .kind = kind, .epoch = 1, .via = via};

	if (json_parse(a, str_of(text), &v, NULL) != ERR_OK) {
		printf("Bail out! bad JSON: %s\n", text);
		exit(1);
	}
	ev.rv = ++f->rv;
	ev.obj = v;
	ev.ns = json_str_at(v, "/metadata/namespace");
	ev.name = json_str_at(v, "/metadata/name");
	ev.uid = json_str_at(v, "/metadata/uid");
	ev.retry_after_ms = -1;
	step(f, &ev, 1);
	arena_clear(a);
}

static void list(struct fleet *f, cluster_id c, uint16_t kind, enum event_type type)
{
	struct event ev = {.type = type, .cluster = c, .kind = kind, .epoch = 1};

	ev.rv = type == EV_LIST_END ? f->rv : 0;
	ev.retry_after_ms = -1;
	step(f, &ev, 1);
}

static void set_link(struct fleet *f, cluster_id c, enum link_state state)
{
	char name[32];
	struct event ev = {.type = EV_LINK, .cluster = c, .link = state, .epoch = 1};

	snprintf(name, sizeof(name), c ? "server-%u" : "manager", c);
	ev.name = str_of(state == LINK_UP ? name : "");
	ev.code = state == LINK_UP ? ERR_OK : ERR_UNAVAILABLE;
	ev.reason = STR("ClientConnectionFailed");
	ev.text = STR("gone");
	ev.at_wall_ms = WALL0 + f->now;
	ev.retry_after_ms = -1;
	step(f, &ev, 1);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void show_workload(struct fleet *f, int i, enum event_via via)
{
	static const char *const stages[] = {
		"", "\"nominatedClusterNames\":[\"w1\",\"w2\",\"w3\"],\"conditions\":[" QUOTA "],",
		"\"clusterName\":\"w1\",\"conditions\":[" QUOTA "," ADMITTED "],"};
	char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"wl-%d\",\"namespace\":\"ns%d\",\"uid\":\"u%d\",\"generation\":1,"
		 "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
		 "\"j-%d\",\"uid\":\"j%d\",\"controller\":true}]},\"spec\":{\"active\":true,"
		 "\"queueName\":\"q\",\"podSets\":[]},\"status\":{%s\"admissionChecks\":[{\"name\":"
		 "\"mk\",\"state\":\"%s\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		 i, i % 7, i, i, i, stages[f->stage], f->stage == RUNNING ? "Ready" : "Pending");
	show(f, CLUSTER_MANAGER, KIND_WORKLOAD, text, via);
}

static void show_job(struct fleet *f, int i)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j-%d\","
		 "\"namespace\":\"ns%d\",\"uid\":\"j%d\",\"generation\":1},\"spec\":{"
		 "\"managedBy\":\"kueue.x-k8s.io/multikueue\",\"suspend\":%s}}",
		 i, i % 7, i, f->stage == RUNNING ? "false" : "true");
	show(f, CLUSTER_MANAGER, JOB, text, VIA_LIST);
}

/* The clone and the copy of the job on the first cluster. */
static void show_remote(struct fleet *f, int i, uint16_t kind)
{
	char text[TEXT_MAX];

	if (kind == KIND_WORKLOAD) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"wl-%d\",\"namespace\":\"ns%d\",\"uid\":\"c%d\","
			 "\"generation\":1,\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":"
			 "\"multikueue\"},\"annotations\":{\"multikueued.io/manager-id\":"
			 "\"manager\",\"multikueued.io/workload-uid\":\"u%d\","
			 "\"multikueued.io/owner-kind\":\"batch/v1, Kind=Job\","
			 "\"multikueued.io/"
			 "owner-name\":\"j-%d\"}},\"status\":{\"conditions\":[" QUOTA "," ADMITTED
			 "]}}",
			 i, i % 7, i, i, i);
	} else {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"j-%d\",\"namespace\":\"ns%d\",\"uid\":\"r%d\","
			 "\"generation\":1,\"labels\":{\"kueue.x-k8s.io/multikueue-origin\":"
			 "\"multikueue\"},\"annotations\":{\"multikueued.io/manager-id\":"
			 "\"manager\",\"multikueued.io/workload-uid\":\"u%d\","
			 "\"kueue.x-k8s.io/multikueue-origin-uid\":\"j%d\","
			 "\"kueue.x-k8s.io/prebuilt-workload-name\":\"wl-%d\"}},"
			 "\"spec\":{\"suspend\":false},\"status\":{\"active\":1}}",
			 i, i % 7, i, i, i, i);
	}
	show(f, 1, kind, text, VIA_LIST);
}

static void show_config(struct fleet *f, int n_named)
{
	char text[TEXT_MAX] = "{\"metadata\":{\"name\":\"cfg\",\"uid\":\"cfg\"},"
			      "\"spec\":{\"clusters\":[";
	size_t n = strlen(text);

	for (int i = 1; i <= n_named; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"w%d\"", i > 1 ? "," : "", i);
	}
	snprintf(text + n, sizeof(text) - n, "]}}");
	show(f, CLUSTER_MANAGER, KIND_CONFIG, text, VIA_LIST);
}

static void show_manager(struct fleet *f)
{
	char text[TEXT_MAX];

	show(f, CLUSTER_MANAGER, KIND_CHECK,
	     "{\"metadata\":{\"name\":\"mk\",\"uid\":\"mk\",\"generation\":1},\"spec\":{"
	     "\"controllerName\":\"kueue.x-k8s.io/multikueue\",\"parameters\":{\"apiGroup\":"
	     "\"kueue.x-k8s.io\",\"kind\":\"MultiKueueConfig\",\"name\":\"cfg\"}}}",
	     VIA_LIST);
	show_config(f, f->n_named);
	show(f, CLUSTER_MANAGER, KIND_SECRET,
	     "{\"metadata\":{\"name\":\"s\",\"namespace\":\"kueue-system\",\"uid\":\"s\"},"
	     "\"data\":{\"kubeconfig\":\"k\"}}",
	     VIA_LIST);
	for (int i = 1; i <= f->n_clusters; i++) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"w%d\",\"uid\":\"m%d\",\"generation\":1},"
			 "\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"s\","
			 "\"locationType\":\"Secret\"}}},\"status\":{\"conditions\":[{\"type\":"
			 "\"Active\",\"status\":\"True\",\"reason\":\"Active\",\"message\":"
			 "\"Connected\"}]}}",
			 i, i);
		show(f, CLUSTER_MANAGER, KIND_CLUSTER, text, VIA_LIST);
	}
}

/* --- a fleet ---------------------------------------------------------------------------------- */

static void make_engine(struct fleet *f)
{
	struct engine_options o = {
		.kinds = &f->kinds,
		.plug = f->plug,
		.origin = STR("multikueue"),
		.namespace_ = STR("kueue-system"),
		.dispatcher = STR("kueue.x-k8s.io/multikueue-dispatcher-all-at-once"),
		.worker_lost_timeout_ms = 900000,
		.gc_interval_ms = 60000,
		.gates = {.identifier_annotations = true, .remote_spec_sync = true},
		.seed = 1,
		.slice = &f->slice};
	struct mk_err err;
	uint16_t id;

	f->plug = plug_new(&err);
	o.plug = f->plug;
	kinds_init(&f->kinds);
	kinds_add(&f->kinds, STR("batch"), STR("v1"), STR("Job"), STR("batch/v1, Kind=Job"), &id);
	if (plug_add(f->plug, &mk_entry_job, "", &err) != ERR_OK ||
	    plug_add(f->plug, &mk_entry_all_at_once, "", &err) != ERR_OK) {
		printf("Bail out! no plugins: %s\n", err.msg);
		exit(1);
	}
	f->e = engine_new(&o, &err);
	if (!f->e) {
		printf("Bail out! no engine: %s\n", err.msg);
		exit(1);
	}
}

/* The list of a worker's kind; its link is down, or up, meanwhile. */
static void list_worker(struct fleet *f, cluster_id c, uint16_t kind)
{
	list(f, c, kind, EV_LIST_BEGIN);
	for (int i = 0; c == 1 && f->stage == RUNNING && i < f->n; i++) {
		show_remote(f, i, kind);
	}
	list(f, c, kind, EV_LIST_END);
}

/*
 * A manager of 'n_clusters' that has begun to lead, with 'n' Workloads of a check whose config
 * names the first 'n_named' clusters. No request is answered.
 */
static struct fleet *fleet_new(int n_clusters, int n_named, int n, enum stage stage)
{
	struct fleet *f = calloc(1, sizeof(*f));
	struct event leader = {.type = EV_LEADER, .may_write = true, .retry_after_ms = -1};

	*f = (struct fleet){.n_clusters = n_clusters, .n_named = n_named, .n = n, .now = T0};
	f->stage = stage;
	f->rv = 100;
	arena_init(&f->objects, 0);
	arena_init(&f->ops, 0);
	make_engine(f);
	step(f, &leader, 1);
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		list(f, CLUSTER_MANAGER, k, EV_LIST_BEGIN);
	}
	show_manager(f);
	for (int i = 0; i < n; i++) {
		show_workload(f, i, VIA_LIST);
	}
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		list(f, CLUSTER_MANAGER, k, EV_LIST_END);
	}
	set_link(f, CLUSTER_MANAGER, LINK_UP);
	settle(f);
	list(f, CLUSTER_MANAGER, JOB, EV_LIST_BEGIN);
	for (int i = 0; i < n; i++) {
		show_job(f, i);
	}
	list(f, CLUSTER_MANAGER, JOB, EV_LIST_END);
	settle(f);
	return f;
}

/* The links come up, with all lists. Returns the passes of Workloads. */
static uint64_t fleet_connect(struct fleet *f)
{
	struct engine_stats before, after;

	engine_get_stats(f->e, &before);
	for (int i = 1; i <= f->n_clusters; i++) {
		set_link(f, (cluster_id)i, LINK_UP);
		list_worker(f, (cluster_id)i, KIND_WORKLOAD);
		list_worker(f, (cluster_id)i, JOB);
	}
	settle(f);
	f->now += 5000;
	settle(f);
	engine_get_stats(f->e, &after);
	return after.passes - before.passes;
}

static void fleet_free(struct fleet *f)
{
	engine_free(f->e);
	plug_free(f->plug);
	arena_done(&f->objects);
	arena_done(&f->ops);
	free(f);
}

/* One link goes down and up again. Returns the passes of Workloads. */
static uint64_t flap(struct fleet *f, cluster_id c)
{
	struct engine_stats before, after;

	engine_get_stats(f->e, &before);
	set_link(f, c, LINK_DOWN);
	settle(f);
	set_link(f, c, LINK_UP);
	settle(f);
	engine_get_stats(f->e, &after);
	return after.passes - before.passes;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* The clusters that a pass of each Workload looks at, in hundredths. */
static uint64_t visits(int n_clusters, int n_named, enum stage stage)
{
	struct fleet *f = fleet_new(n_clusters, n_named, 20, stage);
	struct engine_stats before, after;

	(void)fleet_connect(f);
	engine_get_stats(f->e, &before);
	for (int i = 0; i < f->n; i++) {
		show_workload(f, i, VIA_WATCH);
	}
	settle(f);
	engine_get_stats(f->e, &after);
	ok(after.passes - before.passes >= 20, "each change of a Workload brings a pass");
	fleet_free(f);
	return (after.visits - before.visits) * 100 / (after.passes - before.passes);
}

static void a_pass(void)
{
	static const int sizes[] = {20, 300, 1000};
	static const char *const names[] = {"waiting for quota", "racing", "running"};

	for (int stage = WAITING; stage <= RUNNING; stage++) {
		uint64_t small = visits(3, 3, (enum stage)stage);

		ok(small <= 300, names[stage]);
		for (size_t i = 0; i < 3; i++) {
			is_int(visits(sizes[i], 3, (enum stage)stage), small,
			       "a pass looks at no cluster that does not concern it");
		}
	}
	is_int(visits(1000, 20, RACING), 2000, "a race looks at all clusters of its config");
	is_int(visits(1000, 20, RUNNING), 100, "after the win only the winner counts");
}

static void a_flap(void)
{
	struct fleet *f = fleet_new(1000, 3, 100, RUNNING);

	(void)fleet_connect(f);
	is_int(flap(f, 1000), 0, "no config names the cluster: no pass");
	is_int(flap(f, 3), 0, "all have another winner: no pass");
	is_int(flap(f, 1), 200, "the winner is lost, and found: two passes each");
	fleet_free(f);
	f = fleet_new(1000, 3, 100, RACING);
	(void)fleet_connect(f);
	is_int(flap(f, 1000), 0, "a race without that cluster");
	ok(flap(f, 3) >= 100, "a race with it");
	fleet_free(f);
	f = fleet_new(1000, 3, 100, WAITING);
	(void)fleet_connect(f);
	is_int(flap(f, 3), 0, "no race has begun");
	fleet_free(f);
}

static void a_start(void)
{
	struct fleet *f = fleet_new(300, 3, 100, RUNNING);

	ok(fleet_connect(f) <= 1000, "300 links and their lists: a few passes a Workload");
	fleet_free(f);
}

/* All Workloads are concerned: none is forgotten, and no step has more than a slice of them. */
static void a_new_config(void)
{
	struct fleet *f = fleet_new(20, 3, 1000, RUNNING);
	struct engine_stats before, after;
	uint64_t most = 0, all = 0;

	(void)fleet_connect(f);
	list(f, CLUSTER_MANAGER, KIND_CONFIG, EV_LIST_BEGIN);
	engine_get_stats(f->e, &before);
	show_config(f, 4);
	engine_get_stats(f->e, &after);
	all = most = after.passes - before.passes;
	while (engine_next_ms(f->e) <= f->now) {
		before = after;
		step(f, NULL, 0);
		engine_get_stats(f->e, &after);
		most = after.passes - before.passes > most ? after.passes - before.passes : most;
		all += after.passes - before.passes;
	}
	is_int(all, 1000, "one pass each");
	ok(most <= 64, "in small steps");
	fleet_free(f);
}

/* Every slice is spent at once: a run is one pass. */
static int64_t spent(void)
{
	static int64_t us;

	us += 1000;
	return us;
}

/* One that is large is not touched and freed at once when it is taken out. */
static void a_large_worker(void)
{
	enum { N = 2000, FREED = 500 };
	struct fleet *f = fleet_new(2, 2, N, RUNNING);
	struct event gone = {.type = EV_GONE, .kind = KIND_CLUSTER, .epoch = 1, .ns = STR("")};
	struct engine_stats before, last, now;
	size_t most = 0;

	(void)fleet_connect(f);
	engine_get_stats(f->e, &before);
	f->slice = (struct slice){.clock_us = spent};
	gone.name = STR("w1");
	gone.uid = STR("m1");
	gone.rv = ++f->rv;
	gone.retry_after_ms = -1;
	last = before;
	step(f, &gone, 1);
	while (engine_next_ms(f->e) <= f->now) {
		engine_get_stats(f->e, &now);
		most = last.objects - now.objects > most ? last.objects - now.objects : most;
		last = now;
		step(f, NULL, 0);
	}
	engine_get_stats(f->e, &now);
	is_int((long long)(before.objects - now.objects), 2 * N,
	       "a worker is taken out: what is known of its objects is freed");
	ok(most > 0 && most <= FREED, "a few in each pass");
	ok(now.passes - before.passes >= N, "each Workload that had some has a pass");
	ok(now.bytes < before.bytes, "and the memory is that of the others");
	fleet_free(f);

	f = fleet_new(2, 2, N, RUNNING);
	(void)fleet_connect(f);
	f->slice = (struct slice){.clock_us = spent};
	step(f, &gone, 1);
	step(f, NULL, 0);
	fleet_free(f);
	ok(true, "an engine that ends meanwhile frees it, too");
}

/* A link's event does not queue all objects of a large worker at once, nor is one forgotten. */
static void a_large_worker_flaps(void)
{
	enum { N = 5000, A_FEW = 2100 };
	struct fleet *f = fleet_new(2, 2, N, RUNNING);
	struct engine_stats before, after;
	size_t most = 0;

	(void)fleet_connect(f);
	f->slice = (struct slice){.clock_us = spent};
	for (int i = 0; i < 2; i++) {
		engine_get_stats(f->e, &before);
		set_link(f, 1, i == 0 ? LINK_DOWN : LINK_UP);
		most = f->e->queue.n > most ? f->e->queue.n : most;
		settle(f);
		engine_get_stats(f->e, &after);
		ok(after.passes - before.passes >= N,
		   i == 0 ? "a link goes down: each Workload has a pass" : "it comes up: again");
	}
	ok(most > 0 && most <= A_FEW, "few of them are queued at once");
	fleet_free(f);
}

static size_t queued(const struct fleet *f)
{
	struct engine_stats st;

	engine_get_stats(f->e, &st);
	return st.queued;
}

/* Clones without a Workload, so many that the collector does not look at all of them at once. */
static void much_garbage(void)
{
	enum { N = 3000, SEEN = 1000, INTERVAL_MS = 60000 };
	struct fleet *f = fleet_new(1, 1, 0, RUNNING);
	struct engine_stats before, after;
	size_t most = 0, last;

	(void)fleet_connect(f);
	for (int i = 0; i < N; i++) {
		show_remote(f, i, KIND_WORKLOAD);
	}
	settle(f);
	f->slice = (struct slice){.clock_us = spent};
	engine_get_stats(f->e, &before);
	f->now += INTERVAL_MS;
	last = queued(f);
	while (engine_next_ms(f->e) <= f->now) {
		step(f, NULL, 0);
		most = queued(f) > last && queued(f) - last > most ? queued(f) - last : most;
		last = queued(f);
	}
	engine_get_stats(f->e, &after);
	ok(most > 0 && most <= SEEN + 10, "the collector looks at some Workloads in each pass");
	ok(after.passes - before.passes >= N && after.passes - before.passes < 2 * N,
	   "each has one pass in an interval");
	fleet_free(f);
}

int main(void)
{
	a_pass();
	a_flap();
	a_start();
	a_new_config();
	a_large_worker();
	a_large_worker_flaps();
	much_garbage();
	return done_testing();
}
