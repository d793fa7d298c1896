/* SPDX-License-Identifier: Apache-2.0 */
/* What other writers do to the status of a Workload. */
#include <stdio.h>

#include "t/sim/churn.h"
#include "t/sim/sim.h"

static void patch_status(struct sim *s, struct plane *p, mk_str name, mk_str body)
{
	int status = plane_merge(p, churn_path(s, WORKLOAD_PATH, name, "/status"), body);

	say(s, "churn", "%s: status of %.*s gets %.*s: %d", p->name, STR_ARG(name), STR_ARG(body),
	    status);
}

static void cleared_act(struct sim *s, struct fault *f)
{
	struct plane *p = churn_home(s, f);
	const struct json *o = churn_pick(s, p->store, WORKLOADS, churn_has_won);

	if (o != NULL) {
		user_meddled(s, o);
		patch_status(s, p, arena_dup(&s->arena, json_str_at(o, "/metadata/name")),
			     STR("{\"status\":{\"clusterName\":null}}"));
	}
}

FAULT(cleared) = {
	.family = FAULT_OF_CHURN,
	.number = 12,
	.name = "clusterName cleared",
	.act = cleared_act,
};

static void unready_act(struct sim *s, struct fault *f)
{
	struct plane *p = churn_home(s, f);
	const struct json *o = churn_pick(s, p->store, WORKLOADS, churn_has_won);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));
	mk_str check = arena_dup(&s->arena, json_str_at(o, "/status/admissionChecks/0/name"));

	if (o != NULL) {
		user_meddled(s, o);
		patch_status(s, p, name,
			     arena_printf(&s->arena,
					  "{\"status\":{\"admissionChecks\":[{\"name\":\"%.*s\","
					  "\"state\":\"Pending\",\"message\":\"\","
					  "\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}",
					  STR_ARG(check)));
	}
}

/* To Pending. */
FAULT(unready) = {
	.family = FAULT_OF_CHURN,
	.number = 13,
	.name = "check taken back",
	.act = unready_act,
};

/* The scheduler of 'p' writes a member of the Workload's first assignment. */
static void assign(struct sim *s, struct plane *p, mk_str name, const char *key, struct json *value)
{
	struct arena *a = &s->arena;
	struct json *status =
		json_dup(a, json_get(ks_get(p->store, WORKLOADS, STR("default"), name), "status"));
	char pointer[128];

	if (json_at(status, "/admission/podSetAssignments/0") != NULL) {
		snprintf(pointer, sizeof(pointer), "/admission/podSetAssignments/0/%s", key);
		(void)json_put(a, status, pointer, value);
		say(s, "churn", "%s: %.*s gets %s: %d", p->name, STR_ARG(name), key,
		    churn_apply_status(s, p, name, status));
	}
}

/* The manager's queue waits for a topology that the winner's queue decides a moment later. */
static void topology_act(struct sim *s, struct fault *f)
{
	struct arena *a = &s->arena;
	struct plane *p = churn_home(s, f);
	const struct json *o = churn_pick(s, p->store, WORKLOADS, churn_has_won);
	struct json *topology = NULL;
	mk_str name = arena_dup(a, json_str_at(o, "/metadata/name"));
	struct plane *w = plane_of_cluster(s, json_str_at(o, "/status/clusterName"));

	if (!w) {
		return;
	}
	assign(s, p, name, "delayedTopologyRequest", json_new_str(a, STR("Pending")));
	(void)json_parse(a,
			 STR("{\"levels\":[\"kubernetes.io/hostname\"],\"slices\":[{"
			     "\"domainCount\":1,\"podCounts\":{\"universal\":1},"
			     "\"valuesPerLevel\":[{\"universal\":\"n1\"}]}]}"),
			 &topology, NULL);
	assign(s, w, name, "topologyAssignment", topology);
}

/* On workers, after the win. */
FAULT(topology) = {
	.family = FAULT_OF_CHURN,
	.number = 16,
	.name = "topology decided late",
	.act = topology_act,
};

static void tug_act(struct sim *s, struct fault *f)
{
	struct plane *p = churn_home(s, f);
	const struct json *o = churn_pick(s, p->store, WORKLOADS, churn_is_racing);
	bool others = rng_chance(&s->wide, 1, 3);

	churn_nominate(s, p, o, others ? churn_draw_clusters(s) : STR("[]"));
}

FAULT(tug) = {
	.family = FAULT_OF_CHURN,
	.number = 19,
	.name = "nominations undone",
	.act = tug_act,
};
