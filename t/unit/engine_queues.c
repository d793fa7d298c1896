/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of ClusterQueues and Cohorts: quotas, usage, and who belongs to whom. */
#include "core/engine/answers/answers.h"
#include "t/lib/engine_world.h"

#define GROUP(cpu)                                                                    \
	"\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":" \
	"\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"" cpu "\"}]}]}]"

static void put(struct world *w, uint16_t kind, const char *name, const char *rest)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\",\"generation\":1},%s}", name,
		 rest);
	w_put(w, 0, kind, text);
}

static const char *said(struct world *w)
{
	static char text[4096];
	struct arena a;
	struct answer_env env;

	arena_init(&a, 0);
	env = (struct answer_env){w->e, w->now, w->wall, &a};
	snprintf(text, sizeof(text), "%.*s", STR_ARG(json_write(&a, answer_queues(&env))));
	arena_done(&a);
	return text;
}

int main(void)
{
	struct world *w = w_new(1);

	w_settle(w);
	is_str(said(w), "{\"items\":[],\"cohorts\":[]}", "an engine that reads no queues");
	w_stop(w);
	w->read_queues = true;
	w_restart(w);
	put(w, KIND_COHORT, "all", "\"spec\":{" GROUP("4") "}");
	put(w, KIND_COHORT, "team", "\"spec\":{\"parentName\":\"all\"}");
	put(w, KIND_CLUSTER_QUEUE, "cq",
	    "\"spec\":{\"cohortName\":\"team\"," GROUP(
		    "2") "},\"status\":{\"pendingWorkloads\":3,"
			 "\"flavorsReservation\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
			 "\"total\":"
			 "\"1500m\"}]}],\"conditions\":[{\"type\":\"Active\",\"status\":\"True\"}]"
			 "}");
	put(w, KIND_CLUSTER_QUEUE, "alone", "\"spec\":{}");
	w_settle(w);
	is_str(said(w),
	       "{\"items\":[{\"cluster\":\"\",\"name\":\"cq\",\"cohort\":\"team\",\"active\":true,"
	       "\"pending\":3,\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
	       "\"nominal\":2000,\"used\":1500}]}]},{\"cluster\":\"\",\"name\":\"alone\","
	       "\"active\":false,\"pending\":0,\"flavors\":[]}],\"cohorts\":[{\"name\":\"all\","
	       "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominal\":4000}]}]}"
	       ","
	       "{\"name\":\"team\",\"parent\":\"all\",\"flavors\":[]}]}",
	       "ClusterQueues with their Cohorts, Cohorts with their parents");
	w_del(w, w_find(w, 0, KIND_COHORT, "", "team"));
	w_settle(w);
	ok(!strstr(said(w), "parent"), "a Cohort is deleted");
	w_take(w);
	w_patch(w, w_find(w, 0, KIND_CLUSTER_QUEUE, "", "cq"),
		"{\"status\":{\"pendingWorkloads\":4}}");
	w_event(w, EV_UNSERVED, 0, KIND_COHORT)->ev.code = ERR_DENIED;
	w_settle(w);
	is_str(w_take(w), "", "queues that change cause no request");
	w_free(w);
	return done_testing();
}
