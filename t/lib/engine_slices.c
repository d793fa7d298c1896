/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of an elastic job; see engine_slices.h. */
#include "t/lib/engine_slices.h"

char old_name[SLICE_NAME], new_name[SLICE_NAME];

const char *slice_name(struct world *w, char *to, int generation)
{
	struct object *j = w_find(w, 0, JOB, "ns", "j");
	struct arena a;
	mk_str name;

	arena_init(&a, 0);
	name = plug_workload_name(&a, STR("Job"), STR("batch"), STR("j"), str_of(j->uid),
				  arena_printf(&a, "%d", generation));
	snprintf(to, SLICE_NAME, "%.*s", STR_ARG(name));
	arena_done(&a);
	return to;
}

struct object *a_slice(struct world *w, const char *name, const char *of, int count)
{
	struct object *j = w_find(w, 0, JOB, "ns", "j");
	char text[2048], more[512] = "";

	if (of) {
		snprintf(more, sizeof(more),
			 ",\"kueue.x-k8s.io/workload-slice-replacement-for\":\"ns/%s\"", of);
	}
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"%s\",\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
		 "\"kueue.x-k8s.io/elastic-job\":\"true\"%s},\"ownerReferences\":[{\"apiVersion\":"
		 "\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\",\"controller\":"
		 "true}]},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":%d}]},\"status\":{"
		 "\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Pending\",\"message\":\"\","
		 "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
		 name, more, j->uid, count);
	return w_put(w, 0, KIND_WORKLOAD, text);
}

void slice_finish(struct world *w, struct object *wl, const char *reason)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"status\":{\"conditions\":[" QUOTA
		 ",{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"%s\",\"message\":\"m\"}"
		 "]}}",
		 reason);
	w_patch(w, wl, text);
}

struct world *slice_races(struct object **old)
{
	struct world *w = w_new(2);

	w->gate_elastic = true;
	w_restart(w);
	w_put(w, 0, JOB,
	      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
	      "\"namespace\":\"ns\",\"generation\":1,\"annotations\":{"
	      "\"kueue.x-k8s.io/elastic-job\":\"true\"}},\"spec\":{\"parallelism\":2,"
	      "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\",\"template\":{}}}");
	*old = a_slice(w, slice_name(w, old_name, 1), NULL, 2);
	quota_at(w, *old, NULL);
	w_settle(w);
	return w;
}

struct world *slice_grown(struct object **old, struct object **new)
{
	struct world *w = slice_races(old);

	admit(w, 2, old_name);
	w_settle(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":false},\"status\":{\"active\":2}}");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"metadata\":{\"generation\":2},\"spec\":{\"suspend\":false,\"parallelism\":4}}");
	w_settle(w);
	*new = a_slice(w, slice_name(w, new_name, 2), old_name, 4);
	w_settle(w);
	w_take(w);
	return w;
}

struct world *slice_waits(struct object **new, int64_t timeout)
{
	struct object *old;
	struct world *w = slice_grown(&old, new);

	if (timeout > 0) {
		w->placement_timeout = timeout;
		w_restart(w);
	}
	slice_finish(w, old, "WorkloadSliceReplaced");
	w_settle(w);
	quota_at(w, *new, "w2");
	w_settle(w);
	w_take(w);
	return w;
}

const char *remote_size(struct world *w)
{
	return w_str(w, w_find(w, 2, JOB, "ns", "j"), "/spec/parallelism");
}
