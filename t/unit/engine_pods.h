/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of Pods in the world of engine_world.h: pods as users and Kueue's webhook leave them, and the Workload of a group,
 * which all its pods own and none controls.
 */
#ifndef MK_T_ENGINE_PODS_H
#define MK_T_ENGINE_PODS_H

#include "t/unit/engine_world.h"

#define mk_plugin_entry pod_plugin
#define items pod_items
#define factories pod_factories
#define adapters pod_adapters
#define pod pod_adapter
#include "adapters/pod.c"
#undef adapters
#undef pod
#undef mk_plugin_entry
#undef items
#undef factories

enum { POD = JOB + 1 };

/* A local pod of 'group' (NULL: of none), gated. */
static struct object *a_pod(struct world *w, const char *name, const char *group)
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

/* The Workload 'name' with quota, owned by the pods 'names' (comma after each), none of which controls it. */
static struct object *a_pods_workload(struct world *w, const char *name, const char *names)
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

static struct object *pod_on(struct world *w, cluster_id c, const char *name)
{
	return w_find(w, c, POD, "ns", name);
}

/* Its worker's kubelet says so. */
static void pod_phase(struct world *w, cluster_id c, const char *name, const char *phase)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"PodScheduled\","
		 "\"status\":\"True\"}]}}",
		 phase);
	w_patch(w, pod_on(w, c, name), text);
}

static const char *phase_of(struct world *w, cluster_id c, const char *name)
{
	return w_str(w, pod_on(w, c, name), "/status/phase");
}

/* The local pod begins to go, and stays as long as Kueue's finalizer holds it. */
static void pod_goes(struct world *w, const char *name)
{
	w_patch(w, pod_on(w, 0, name),
		"{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"],"
		"\"deletionTimestamp\":\"2027-01-15T08:00:00Z\"}}");
}

/* Pods p-0, p-1, p-2 of group "grp" and their Workload. */
static struct object *a_group(struct world *w)
{
	a_pod(w, "p-0", "grp");
	a_pod(w, "p-1", "grp");
	a_pod(w, "p-2", "grp");
	return a_pods_workload(w, "grp", "p-0,p-1,p-2,");
}

/* The same, running on w2. */
static struct object *running_group(struct world *w)
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

static bool is_finished(struct world *w, const struct object *wl)
{
	return strstr(w_str(w, wl, "/status/conditions"), "\"Finished\"") != NULL;
}

static inline void pods_unused(void)
{
	(void)a_pod;
	(void)pod_goes;
	(void)running_group;
	(void)phase_of;
	(void)is_finished;
}

#endif
