/* SPDX-License-Identifier: Apache-2.0 */
/* What others do on a worker to what managers made there. */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

static void clone_off_act(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	churn_patch_workload(s, p, churn_pick(s, p->store, WORKLOADS, churn_is_remote),
			     "{\"spec\":{\"active\":false}}");
}

FAULT(clone_off) = {
	.family = FAULT_OF_CHURN,
	.number = 1,
	.name = "clone deactivated",
	.act = clone_off_act,
};

static void delete_one(struct sim *s, struct plane *p, const char *resource, const char *path)
{
	const struct json *o = churn_pick(s, p->store, resource, churn_is_remote);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));
	int status;

	if (!o) {
		return;
	}
	status = plane_request(p, "DELETE", churn_path(s, path, name, ""), NULL,
			       STR("{\"propagationPolicy\":\"Background\"}"));
	say(s, "churn", "a client deletes %.*s on %s: %d", STR_ARG(name), p->name, status);
}

static void clones_act(struct sim *s, struct fault *f)
{
	delete_one(s, &s->plane[f->plane], WORKLOADS, WORKLOAD_PATH);
}

FAULT(clones_dropped) = {
	.family = FAULT_OF_CHURN,
	.number = 2,
	.name = "clones deleted by others",
	.act = clones_act,
};

static void jobs_act(struct sim *s, struct fault *f)
{
	delete_one(s, &s->plane[f->plane], JOBS, JOB_PATH);
}

FAULT(jobs_dropped) = {
	.family = FAULT_OF_CHURN,
	.number = 3,
	.name = "remote jobs deleted by others",
	.act = jobs_act,
};
