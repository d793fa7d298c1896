/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/engine_pods.h"

struct object *a_pod(struct world *w, const char *name, const char *group)
{
	char text[1024], label[128] = "";

	w->pods_pend = true;
	if (group) {
		snprintf(label, sizeof(label), ",\"kueue.x-k8s.io/pod-group-name\":\"%s\"", group);
	}
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"ns\",\"labels\":{\"kueue.x-k8s.io/managed\":\"true\"%s},"
		 "\"annotations\":{\"kueue.x-k8s.io/pod-group-total-count\":\"3\"}},"
		 "\"spec\":{\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],"
		 "\"containers\":[{\"name\":\"c\"}]},\"status\":{\"phase\":\"Pending\","
		 "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
		 "\"reason\":\"SchedulingGated\"}]}}",
		 name, label);
	return w_put(w, 0, POD, text);
}

struct object *a_pods_workload(struct world *w, const char *name, const char *names)
{
	char text[4096];
	struct object *wl;
	size_t n;

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"%s\",\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
		 "\"kueue.x-k8s.io/is-group-workload\":\"true\"},\"ownerReferences\":[",
		 name);
	for (const char *at = names; *at; at += strcspn(at, ",") + 1) {
		char pod[64];

		snprintf(pod, sizeof(pod), "%.*s", (int)strcspn(at, ","), at);
		n = strlen(text);
		snprintf(
			text + n, sizeof(text) - n,
			"%s{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"%s\",\"uid\":\"%s\"}",
			at == names ? "" : ",", pod, w_find(w, 0, POD, "ns", pod)->uid);
	}
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n,
		 "]},\"spec\":{\"active\":true,\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\","
		 "\"count\":3}]},\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":"
		 "\"Pending\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	wl = w_put(w, 0, KIND_WORKLOAD, text);
	w_apply(w, wl, "{\"admission\":{\"clusterQueue\":\"cq\"},\"conditions\":[" QUOTA "]}");
	w_tell(w, wl, EV_OBSERVED, VIA_WATCH);
	return wl;
}

struct object *pod_on(struct world *w, cluster_id c, const char *name)
{
	return w_find(w, c, POD, "ns", name);
}

void pod_phase(struct world *w, cluster_id c, const char *name, const char *phase)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"PodScheduled\","
		 "\"status\":\"True\"}]}}",
		 phase);
	w_patch(w, pod_on(w, c, name), text);
}

const char *phase_of(struct world *w, cluster_id c, const char *name)
{
	return w_str(w, pod_on(w, c, name), "/status/phase");
}

void pod_goes(struct world *w, const char *name)
{
	w_patch(w, pod_on(w, 0, name),
		"{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"],"
		"\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
}

struct object *a_group(struct world *w)
{
	a_pod(w, "p-0", "grp");
	a_pod(w, "p-1", "grp");
	a_pod(w, "p-2", "grp");
	return a_pods_workload(w, "grp", "p-0,p-1,p-2,");
}

struct object *running_group(struct world *w)
{
	struct object *wl = a_group(w);

	w_settle(w);
	admit(w, 2, "grp");
	w_settle(w);
	pod_phase(w, 2, "p-0", "Running");
	pod_phase(w, 2, "p-1", "Running");
	pod_phase(w, 2, "p-2", "Running");
	w_settle(w);
	w_take(w);
	return wl;
}

bool is_finished(struct world *w, const struct object *wl)
{
	return strstr(w_str(w, wl, "/status/conditions"), "\"Finished\"") != NULL;
}
