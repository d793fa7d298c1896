/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for the engine's tests: servers (engine_server.h) that tell the engine by events, and actors. Tests change
 * objects as Kueue and people do, and compare what the engine asks for.
 */
#ifndef MK_T_ENGINE_WORLD_H
#define MK_T_ENGINE_WORLD_H

#include "t/unit/engine_server.h"

/* The first 'n' that wait, as the engine is told of them; their objects are in 'objects'. To be freed. */
static struct event *w_events(const struct world *w, size_t n, struct arena *objects)
{
	struct event *ev = calloc(n + 1, sizeof(*ev));

	for (size_t i = 0; i < n; i++) {
		const struct pending *p = &w->q[i];
		struct json *v = NULL;

		ev[i] = p->ev;
		ev[i].ns = str_of(p->ns);
		ev[i].name = str_of(p->name);
		ev[i].uid = str_of(p->uid);
		ev[i].text = str_of(p->msg);
		if (p->text) {
			json_parse(objects, str_of(p->text), &v, NULL);
			ev[i].obj = v;
		}
	}
	return ev;
}

/* One step with what waits. */
static void w_step(struct world *w)
{
	struct op_list out = {.arena = &w->arena};
	struct arena objects;
	struct event *ev;
	size_t n = w->n_q;

	arena_init(&objects, 0);
	ev = w_events(w, n, &objects);
	if (w->fail_at > 0) {
		alloc_fail_after(w->fail_at);
	}
	engine_step(w->e, ev, n, w->now, w->wall, &out);
	if (w->fail_at > 0) {
		alloc_fail_after(0);
		w->fail_at = 0;
	}
	w_drop(w, n);
	free(ev);
	arena_done(&objects);
	for (size_t i = 0; i < out.n; i++) {
		w_log(w, &out.v[i], &w->arena);
		w->requests += out.v[i].type <= OP_GET;
		if (!w->hold) {
			w_do(w, &out.v[i], &w->arena);
		}
	}
	arena_clear(&w->arena);
}

/* Steps until nothing is left to do at this moment. */
static void w_settle(struct world *w)
{
	for (int i = 0; i < 1000; i++) {
		w_step(w);
		if (w->n_q == 0 && engine_next_ms(w->e) > w->now) {
			return;
		}
	}
	ok(false, "the engine comes to rest");
}

static void w_advance(struct world *w, int64_t ms)
{
	int64_t end = w->now + ms;

	while (engine_next_ms(w->e) <= end) {
		int64_t next = engine_next_ms(w->e);

		if (next > w->now) {
			w->wall += next - w->now;
			w->now = next;
		}
		w_settle(w);
	}
	w->wall += end - w->now;
	w->now = end;
	w_settle(w);
}

/* The log since the last call. */
static const char *w_take(struct world *w)
{
	static char copy[sizeof(w->log)];

	memcpy(copy, w->log, sizeof(copy));
	w->log[0] = 0;
	return copy;
}

/* The same without the lines about watches. */
static const char *w_take_work(struct world *w)
{
	static char work[sizeof(w->log)];
	const char *line = w_take(w);
	size_t n = 0;

	while (*line) {
		size_t len = strcspn(line, "\n") + 1;

		if (strncmp(line, "watch_", 6) != 0) {
			memcpy(work + n, line, len);
			n += len;
		}
		line += len;
	}
	work[n] = 0;
	return work;
}

static void w_list(struct world *w, cluster_id c, uint16_t kind)
{
	if (!w->up[c]) {
		return; /* when the link is back */
	}
	if (w_is_queue(kind) && w->no_queues[c]) {
		struct pending *p = w_event(w, EV_UNSERVED, c, kind);

		p->ev.code = MK_DENIED;
		p->msg = w_dup(STR("forbidden"));
		return;
	}
	w_event(w, EV_LIST_BEGIN, c, kind);
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (w->o[i].used && w->o[i].cluster == c && w->o[i].kind == kind) {
			w_tell(w, &w->o[i], EV_OBSERVED, VIA_LIST);
		}
	}
	w_event(w, EV_LIST_END, c, kind)->ev.rv = w->rv;
}

static void w_link(struct world *w, cluster_id c, enum link_state s)
{
	struct pending *p;

	w->up[c] = s == LINK_UP;
	if (s == LINK_UP && c) {
		w_list(w, c, KIND_WORKLOAD);
		for (uint16_t k = JOB; k < JOB + 32; k++) {
			if (w->watching[c] & 1u << (k - JOB)) {
				w_list(w, c, k);
			}
		}
		if (w->queues[c]) {
			w_list(w, c, KIND_LOCAL_QUEUE);
			w_list(w, c, KIND_CLUSTER_QUEUE);
		}
	}
	p = w_event(w, EV_LINK, c, 0);
	p->ev.link = s;
	p->ev.code = s == LINK_UP ? MK_OK : MK_UNAVAILABLE;
	p->ev.at_wall_ms = w->wall;
	p->name = w_dup(c ? STR("worker-id") : STR("manager-id"));
	p->msg = w_dup(s == LINK_UP ? STR("") : STR("connection refused"));
}

static void w_count(void *ctx, enum engine_count what, mk_str cluster_queue, mk_str cluster)
{
	struct world *w = ctx;
	size_t n = strlen(w->counts);

	snprintf(w->counts + n, sizeof(w->counts) - n, "%s %.*s %.*s\n",
		 what == COUNT_ADMITTED ? "admitted" : "dispatched", STR_ARG(cluster_queue),
		 STR_ARG(cluster));
}

/* A new engine that reads the manager's lists; the workers' links come up by themselves. */
static void w_start(struct world *w)
{
	static const char all[] = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once";
	struct engine_options o = {.kinds = &w->kinds,
				   .plug = w->plug,
				   .origin = STR("multikueue"),
				   .namespace_ = STR("kueue-system"),
				   .dispatcher = str_of(w->dispatcher ? w->dispatcher : all),
				   .worker_lost_timeout_ms =
					   w->lost_timeout ? w->lost_timeout : 900000,
				   .gc_interval_ms = 60000,
				   .gates = {.identifier_annotations = true,
					     .quota_automation = w->gate_quota,
					     .remote_spec_sync = !w->gate_no_sync,
					     .elastic_slices = w->gate_elastic,
					     .orchestrated_preemption = w->gate_preemption,
					     .path_validation = w->gate_paths,
					     .cluster_profile = w->gate_profiles},
				   .has_profiles = w->has_profiles,
				   .providers = w->providers,
				   .n_providers = w->n_providers,
				   .seed = 1,
				   .count = w_count,
				   .count_ctx = w};
	struct mk_err err;

	w->e = engine_new(&o, &err);
	if (!w->e) {
		printf("Bail out! no engine: %s\n", err.msg);
		exit(1);
	}
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		w_list(w, 0, k);
	}
	w_link(w, 0, LINK_UP);
}

static void w_stop(struct world *w)
{
	engine_free(w->e);
	w->e = NULL;
	w_drop(w, w->n_q);
	w->log[0] = 0;
}

/* Kill -9 and a new process. */
static void w_restart(struct world *w)
{
	w_stop(w);
	w->now += 1000;
	w->wall += 1000;
	for (size_t i = 0; i < 8; i++) {
		w->up[i] = i == 0;
		w->watching[i] = 0;
		w->queues[i] = false;
	}
	w_start(w);
}

static const mk_entry *w_more; /* a test's own adapters: kinds JOB + 1, ... */

/* A manager with 'n' workers w1..wn behind check "mk". */
static struct world *w_new(size_t n)
{
	struct world *w = calloc(1, sizeof(*w));
	char text[2048];
	struct mk_err err;
	uint16_t id;

	kinds_init(&w->kinds);
	w->plug = plug_new(&err);
	if (plug_add(w->plug, &job_plugin, "", &err) != MK_OK ||
	    plug_add(w->plug, &dispatcher_plugin, "", &err) != MK_OK ||
	    (w_more && plug_add(w->plug, w_more, "", &err) != MK_OK)) {
		printf("Bail out! no plugins: %s\n", err.msg);
		exit(1);
	}
	kinds_add(&w->kinds, STR("batch"), STR("v1"), STR("Job"), STR("batch/v1, Kind=Job"), &id);
	for (size_t i = 1; i < plug_n_adapters(w->plug); i++) {
		const struct plug_adapter *ad = plug_adapter(w->plug, i);

		kinds_add(&w->kinds, ad->group, ad->version, ad->kind, ad->gvk, &id);
	}
	w->now = T0;
	w->wall = WALL0;
	w->up[0] = true;
	arena_init(&w->arena, 0);
	w_put(w, 0, KIND_CHECK,
	      "{\"metadata\":{\"name\":\"mk\",\"generation\":1},\"spec\":{\"controllerName\":"
	      "\"kueue.x-k8s.io/"
	      "multikueue\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
	      "\"MultiKueueConfig\",\"name\":\"cfg\"}}}");
	snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"cfg\"},\"spec\":{\"clusters\":[");
	for (size_t i = 1; i <= n; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\"w%zu\"",
			 i > 1 ? "," : "", i);
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "]}}");
	w_put(w, 0, KIND_CONFIG, text);
	for (size_t i = 1; i <= n; i++) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"w%zu\",\"generation\":1},\"spec\":{"
			 "\"clusterSource\":{"
			 "\"kubeConfig\":{\"location\":\"w%zu\",\"locationType\":\"Secret\"}}}}",
			 i, i);
		w_put(w, 0, KIND_CLUSTER, text);
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"w%zu\",\"namespace\":\"kueue-system\"},"
			 "\"data\":{"
			 "\"kubeconfig\":\"k%zu\"}}",
			 i, i);
		w_put(w, 0, KIND_SECRET, text);
	}
	w_drop(w, w->n_q); /* the lists will tell */
	w_start(w);
	w_settle(w);
	return w;
}

static void w_free(struct world *w)
{
	w_stop(w);
	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		if (w->o[i].used) {
			w_free_object(&w->o[i]);
		}
	}
	plug_free(w->plug);
	arena_done(&w->arena);
	free(w);
}

/* --- actors -------------------------------------------------------------------------------------------- */

/* The string at 'pointer' of an object; "" when either is missing. */
static const char *w_str(struct world *w, const struct object *o, const char *pointer)
{
	static char text[4096];
	struct arena a;
	struct json *v = NULL;

	(void)w;
	text[0] = 0;
	if (o) {
		arena_init(&a, 0);
		json_parse(&a, str_of(o->text), &v, NULL);
		v = json_at(v, pointer);
		snprintf(text, sizeof(text), "%.*s",
			 STR_ARG(json_type(v) == JSON_STR ? json_str(v)
				 : v                      ? json_write(&a, v)
							  : STR("")));
		arena_done(&a);
	}
	return text;
}

#define QUOTA                                                                           \
	"{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":\"QuotaReserved\"," \
	"\"message\":\"\","                                                             \
	"\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}"
#define ADMITTED                                                                               \
	"{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\"," \
	"\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}"

/* "<status> <reason>: <message>" of an object's first condition. */
static const char *w_active(struct world *w, uint16_t kind, const char *name)
{
	static char text[1024];
	const struct object *o = w_find(w, 0, kind, "", name);
	size_t n;

	snprintf(text, sizeof(text), "%s", w_str(w, o, "/status/conditions/0/status"));
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, " %s", w_str(w, o, "/status/conditions/0/reason"));
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, ": %s", w_str(w, o, "/status/conditions/0/message"));
	return text;
}

/* Kueue's Workload "wl-<name>" of the user's job 'name', with quota. */
static struct object *a_workload(struct world *w, const char *name)
{
	const char *uid = w_find(w, 0, JOB, "ns", name)->uid;
	char text[4096];
	struct object *wl;

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/"
		 "v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"wl-%s\","
		 "\"namespace\":\"ns\",\"generation\":1,\"labels\":{\"kueue.x-k8s.io/"
		 "job-uid\":\"%s\"},"
		 "\"ownerReferences\":[{\"apiVersion\":\"batch/"
		 "v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":\"%s\","
		 "\"controller\":true}]},\"spec\":{\"active\":true,\"queueName\":\"q\",\"podSets\":"
		 "[{\"name\":\"main\","
		 "\"count\":2}]},\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		 "\"Pending\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		 name, uid, name, uid);
	wl = w_put(w, 0, KIND_WORKLOAD, text);
	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"invented\":{\"x\":1},\"conditions\":"
		"[" QUOTA "]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	return wl;
}

/* A user's job 'name' and its Workload. */
static struct object *a_job(struct world *w, const char *name)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"batch/"
		 "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
		 "\"generation\":1,\"labels\":{\"team\":\"blue\"}},\"spec\":{\"parallelism\":2,"
		 "\"suspend\":true,"
		 "\"ttlSecondsAfterFinished\":5,\"managedBy\":\"kueue.x-k8s.io/"
		 "multikueue\",\"selector\":{},"
		 "\"template\":{\"metadata\":{\"labels\":{\"job-name\":\"%s\"}},\"spec\":{}}}}",
		 name, name);
	w_put(w, 0, JOB, text);
	return a_workload(w, name);
}

/* Core Kueue evicts on the manager: names go, the check is Pending again. */
static void evict(struct world *w, struct object *wl, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		 ",{\"type\":\"Evicted\",\"status\":"
		 "\"True\",\"reason\":\"Preempted\",\"message\":\"%s\"}],\"admissionChecks\":[{"
		 "\"name\":\"mk\","
		 "\"state\":\"Pending\",\"message\":\"Reset\"}]}",
		 message);
	w_apply(w, wl, text);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

/* ... and releases the quota. */
static void release_quota(struct world *w, struct object *wl)
{
	w_apply(w, wl,
		"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		"\"Pending\"},{\"type\":"
		"\"Evicted\",\"status\":\"True\",\"reason\":\"Preempted\",\"message\":\"P\"}],"
		"\"admissionChecks\":[{"
		"\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"Reset\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

static void give_quota(struct world *w, struct object *wl)
{
	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		",{\"type\":\"Evicted\",\"status\":"
		"\"False\",\"reason\":\"QuotaReserved\",\"message\":\"\"}],\"admissionChecks\":[{"
		"\"name\":\"mk\",\"state\":"
		"\"Pending\",\"message\":\"Reset\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

static struct object *clone_of(struct world *w, cluster_id c, const char *name)
{
	return w_find(w, c, KIND_WORKLOAD, "ns", name);
}

static void admit(struct world *w, cluster_id c, const char *name)
{
	struct object *o = clone_of(w, c, name);

	w_apply(w, o,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "," ADMITTED
		"]}");
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
}

/* The next operations of a type on Jobs of w2 are answered 503. */
static void refuse_jobs(struct world *w, enum op_type type, unsigned times)
{
	w->rig = (struct rig){.times = times,
			      .type = type,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = MK_UNAVAILABLE};
}

/* A condition of the clone turns True, the others stay. */
static void clone_condition(struct world *w, cluster_id c, const char *name, const char *type,
			    const char *reason, bool admitted)
{
	struct object *o = clone_of(w, c, name);
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		 "%s,{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"%s\",\"message\":\"m\"}]}",
		 admitted ? "," ADMITTED : "", type, reason);
	w_apply(w, o, text);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
}

/* The job "j" up to running on cluster 'c'. */
static struct object *running_job_on(struct world *w, cluster_id c)
{
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, c, "wl-j");
	w_settle(w);
	w_patch(w, w_find(w, c, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":false}}");
	w_settle(w);
	w_take(w);
	return wl;
}

static struct object *running_job(struct world *w)
{
	return running_job_on(w, 2);
}

static const char *check_message(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admissionChecks/0/message");
}

static size_t objects_on(const struct world *w, cluster_id c)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_OBJECTS; i++) {
		n += w->o[i].used && w->o[i].cluster == c;
	}
	return n;
}

/* Clones of ours on w1 that no Workload of the manager knows, as after its store was restored. */
static void orphans(struct world *w, int n)
{
	char text[1024];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"wl-%d\",\"namespace\":\"ns\",\"labels\":{"
			 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
			 "\"multikueued.io/manager-id\":\"manager-id\","
			 "\"multikueued.io/workload-uid\":\"u%d\","
			 "\"multikueued.io/owner-kind\":\"batch/v1, Kind=Job\","
			 "\"multikueued.io/owner-name\":\"j%d\"}},\"spec\":{}}",
			 i, i, i);
		w_put(w, 1, KIND_WORKLOAD, text);
	}
}

static const char *check_state(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admissionChecks/0/state");
}

static const char *nominated(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/nominatedClusterNames");
}

static void w_later(struct world *w, int64_t ms)
{
	w_settle(w);
	w_advance(w, ms);
}

/* How often the log has these words. */
static size_t w_times(const char *log, const char *what)
{
	size_t n = 0;

	for (log = strstr(log, what); log; log = strstr(log + 1, what)) {
		n++;
	}
	return n;
}

static inline void w_unused(void)
{
	(void)refuse_jobs;
	(void)w_take;
	(void)w_take_work;
	(void)w_advance;
	(void)w_restart;
	(void)w_patch;
	(void)w_free;
	(void)w_new;
	(void)w_active;
	(void)a_job;
	(void)admit;
	(void)w_str;
	(void)evict;
	(void)release_quota;
	(void)give_quota;
	(void)clone_condition;
	(void)running_job;
	(void)check_message;
	(void)check_state;
	(void)nominated;
	(void)objects_on;
	(void)orphans;
	(void)w_later;
	(void)w_times;
}

#endif
