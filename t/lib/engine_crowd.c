/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with many clusters and Workloads; see engine_crowd.h. */
#include "t/lib/engine_crowd.h"

#include <stdlib.h>

#include "core/base/alloc.h"

enum { TEXT_MAX = 8192 };

/* --- events ----------------------------------------------------------------------------------- */

void crowd_step(struct crowd *f, const struct event *ev, size_t n)
{
	arena_clear(&f->ops);
	f->out = (struct op_list){.arena = &f->ops};
	for (size_t i = 0; i < n; i++) {
		engine_observe(f->e, &ev[i], f->now, WALL0 + f->now, &f->out);
	}
	engine_run(f->e, f->now, WALL0 + f->now, &f->out);
}

void crowd_settle(struct crowd *f)
{
	while (engine_next_ms(f->e) <= f->now) {
		crowd_step(f, NULL, 0);
	}
}

static void show(struct crowd *f, cluster_id c, uint16_t kind, const char *text, enum event_via via)
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
	crowd_step(f, &ev, 1);
	arena_clear(a);
}

void crowd_list(struct crowd *f, cluster_id c, uint16_t kind, enum event_type type)
{
	struct event ev = {.type = type, .cluster = c, .kind = kind, .epoch = 1};

	ev.rv = type == EV_LIST_END ? f->rv : 0;
	ev.retry_after_ms = -1;
	crowd_step(f, &ev, 1);
}

void crowd_link(struct crowd *f, cluster_id c, enum link_state state)
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
	crowd_step(f, &ev, 1);
}

/* --- objects ---------------------------------------------------------------------------------- */

void crowd_show(struct crowd *f, int i, enum event_via via)
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

static void show_job(struct crowd *f, int i)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j-%d\","
		 "\"namespace\":\"ns%d\",\"uid\":\"j%d\",\"generation\":1},\"spec\":{"
		 "\"managedBy\":\"kueue.x-k8s.io/multikueue\",\"suspend\":%s}}",
		 i, i % 7, i, f->stage == RUNNING ? "false" : "true");
	show(f, CLUSTER_MANAGER, JOB, text, VIA_LIST);
}

void crowd_show_remote(struct crowd *f, int i, uint16_t kind)
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

void crowd_show_config(struct crowd *f, int n_named)
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

static void show_manager(struct crowd *f)
{
	char text[TEXT_MAX];

	show(f, CLUSTER_MANAGER, KIND_CHECK,
	     "{\"metadata\":{\"name\":\"mk\",\"uid\":\"mk\",\"generation\":1},\"spec\":{"
	     "\"controllerName\":\"kueue.x-k8s.io/multikueue\",\"parameters\":{\"apiGroup\":"
	     "\"kueue.x-k8s.io\",\"kind\":\"MultiKueueConfig\",\"name\":\"cfg\"}}}",
	     VIA_LIST);
	crowd_show_config(f, f->n_named);
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

static void make_engine(struct crowd *f)
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
static void list_worker(struct crowd *f, cluster_id c, uint16_t kind)
{
	crowd_list(f, c, kind, EV_LIST_BEGIN);
	for (int i = 0; c == 1 && f->stage == RUNNING && i < f->n; i++) {
		crowd_show_remote(f, i, kind);
	}
	crowd_list(f, c, kind, EV_LIST_END);
}

struct crowd *crowd_new(int n_clusters, int n_named, int n, enum crowd_stage stage)
{
	struct crowd *f = calloc(1, sizeof(*f));
	struct event leader = {.type = EV_LEADER, .may_write = true, .retry_after_ms = -1};

	*f = (struct crowd){.n_clusters = n_clusters, .n_named = n_named, .n = n, .now = T0};
	f->stage = stage;
	f->rv = 100;
	arena_init(&f->objects, 0);
	arena_init(&f->ops, 0);
	make_engine(f);
	crowd_step(f, &leader, 1);
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		crowd_list(f, CLUSTER_MANAGER, k, EV_LIST_BEGIN);
	}
	show_manager(f);
	for (int i = 0; i < n; i++) {
		crowd_show(f, i, VIA_LIST);
	}
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		crowd_list(f, CLUSTER_MANAGER, k, EV_LIST_END);
	}
	crowd_link(f, CLUSTER_MANAGER, LINK_UP);
	crowd_settle(f);
	crowd_list(f, CLUSTER_MANAGER, JOB, EV_LIST_BEGIN);
	for (int i = 0; i < n; i++) {
		show_job(f, i);
	}
	crowd_list(f, CLUSTER_MANAGER, JOB, EV_LIST_END);
	crowd_settle(f);
	return f;
}

uint64_t crowd_connect(struct crowd *f)
{
	struct engine_stats before, after;

	engine_get_stats(f->e, &before);
	for (int i = 1; i <= f->n_clusters; i++) {
		crowd_link(f, (cluster_id)i, LINK_UP);
		list_worker(f, (cluster_id)i, KIND_WORKLOAD);
		list_worker(f, (cluster_id)i, JOB);
	}
	crowd_settle(f);
	f->now += 5000;
	crowd_settle(f);
	engine_get_stats(f->e, &after);
	return after.passes - before.passes;
}

void crowd_free(struct crowd *f)
{
	engine_free(f->e);
	plug_free(f->plug);
	arena_done(&f->objects);
	arena_done(&f->ops);
	free(f);
}
