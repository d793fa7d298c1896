/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/engine_actors.h"

#include "t/lib/engine_world.h"

const char *w_str(struct world *w, const struct object *o, const char *pointer)
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

const char *w_active(struct world *w, uint16_t kind, const char *name)
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

void add_secret(struct world *w, size_t i)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"w%zu\",\"namespace\":\"kueue-system\"},\"data\":{"
		 "\"kubeconfig\":\"k%zu\"}}",
		 i, i);
	w_put(w, 0, KIND_SECRET, text);
}

void add_cluster(struct world *w, size_t i, const char *meta)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"w%zu\",\"generation\":1%s},\"spec\":{\"clusterSource\":{"
		"\"kubeConfig\":{\"location\":\"w%zu\",\"locationType\":\"Secret\"}}}}",
		i, meta, i);
	w_put(w, 0, KIND_CLUSTER, text);
}

struct object *a_workload(struct world *w, const char *name)
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

struct object *a_job(struct world *w, const char *name)
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

void many_jobs(struct world *w, int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		a_job(w, name);
	}
	w_settle(w);
}

void they_nominate(struct world *w, const char *names)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"status\":{\"nominatedClusterNames\":[%s]}}", names);
	w_patch(w, w_find(w, 0, KIND_WORKLOAD, "ns", "wl-j"), text);
	w_settle(w);
}

void evict(struct world *w, struct object *wl, const char *message)
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

void release_quota(struct world *w, struct object *wl)
{
	w_apply(w, wl,
		"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		"\"Pending\"},{\"type\":"
		"\"Evicted\",\"status\":\"True\",\"reason\":\"Preempted\",\"message\":\"P\"}],"
		"\"admissionChecks\":[{"
		"\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"Reset\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

void give_quota(struct world *w, struct object *wl)
{
	w_apply(w, wl,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA
		",{\"type\":\"Evicted\",\"status\":"
		"\"False\",\"reason\":\"QuotaReserved\",\"message\":\"\"}],\"admissionChecks\":[{"
		"\"name\":\"mk\",\"state\":"
		"\"Pending\",\"message\":\"Reset\"}]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

void queue_again(struct world *w, struct object *wl)
{
	release_quota(w, wl);
	w_settle(w);
	give_quota(w, wl);
	w_settle(w);
}

void quota_at(struct world *w, struct object *wl, const char *cluster)
{
	char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"admission\":{\"clusterQueue\":\"cq\"},%s%s%s\"conditions\":[" QUOTA
		"],\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\"}]}",
		cluster ? "\"clusterName\":\"" : "", cluster ? cluster : "", cluster ? "\"," : "");
	w_apply(w, wl, text);
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
}

struct object *clone_of(struct world *w, cluster_id c, const char *name)
{
	return w_find(w, c, KIND_WORKLOAD, "ns", name);
}

void admit(struct world *w, cluster_id c, const char *name)
{
	struct object *o = clone_of(w, c, name);

	w_apply(w, o,
		"{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "," ADMITTED
		"]}");
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
}

void refuse_jobs(struct world *w, enum op_type type, unsigned times)
{
	w->rig = (struct rig){.times = times,
			      .type = type,
			      .cluster = 2,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
}

void clone_condition(struct world *w, cluster_id c, const char *name, const char *type,
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

struct object *running_job_on(struct world *w, cluster_id c)
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

struct object *running_job(struct world *w)
{
	return running_job_on(w, 2);
}

const char *check_message(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admissionChecks/0/message");
}

const char *clash_of(struct world *w)
{
	static char text[128];
	const struct object *o = w_find(w, 0, KIND_CLUSTER, "", "w1");
	char path[64];
	size_t n;

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/status/conditions/%d/type", i);
		if (strcmp(w_str(w, o, path), "multikueued.io/OriginClash") != 0) {
			continue;
		}
		snprintf(path, sizeof(path), "/status/conditions/%d/status", i);
		n = (size_t)snprintf(text, sizeof(text), "%s ", w_str(w, o, path));
		snprintf(path, sizeof(path), "/status/conditions/%d/reason", i);
		snprintf(text + n, sizeof(text) - n, "%s", w_str(w, o, path));
		return text;
	}
	return "";
}

size_t objects_on(const struct world *w, cluster_id c)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_o; i++) {
		n += w->o[i].used && w->o[i].cluster == c;
	}
	return n;
}

void orphans(struct world *w, int n)
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

const char *check_state(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/admissionChecks/0/state");
}

const char *nominated(struct world *w, const struct object *wl)
{
	return w_str(w, wl, "/status/nominatedClusterNames");
}

void w_later(struct world *w, int64_t ms)
{
	w_settle(w);
	w_advance(w, ms);
}

size_t w_times(const char *log, const char *what)
{
	size_t n = 0;

	for (log = strstr(log, what); log; log = strstr(log + 1, what)) {
		n++;
	}
	return n;
}
