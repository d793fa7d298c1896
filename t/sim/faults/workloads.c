/* SPDX-License-Identifier: Apache-2.0 */
/* What users and other controllers change of Workloads and jobs on the manager. */
#include <stdio.h>

#include "t/sim/churn.h"
#include "t/sim/sim.h"

static void priority_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)f;
	(void)r;
	users_classed(s);
}

static void priority_act(struct sim *s, struct fault *f)
{
	static const char *const bodies[] = {
		"{\"spec\":{\"priority\":100,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"high\"}}}",
		"{\"spec\":{\"priority\":-5,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
		"\"kind\":\"WorkloadPriorityClass\",\"name\":\"low\"}}}",
	};
	const char *body = bodies[rng_below(&s->wide, 2)];
	struct plane *p = churn_home(s, f);

	churn_patch_workload(s, p, churn_pick(s, p->store, WORKLOADS, churn_is_open), body);
}

FAULT(priority) = {
	.family = FAULT_OF_CHURN,
	.number = 8,
	.name = "priorities change",
	.draw = priority_draw,
	.act = priority_act,
};

static void activate(struct sim *s, struct fault *f, mk_str body)
{
	churn_patch_named(s, churn_home(s, f), WORKLOAD_PATH, str_of(f->name), body);
}

static void pause_begin(struct sim *s, struct fault *f)
{
	const struct json *o = churn_pick(s, churn_home(s, f)->store, WORKLOADS, churn_is_open);

	snprintf(f->name, sizeof(f->name), "%.*s", STR_ARG(json_str_at(o, "/metadata/name")));
	if (o != NULL) {
		activate(s, f, STR("{\"spec\":{\"active\":false}}"));
	}
}

static void pause_over(struct sim *s, struct fault *f)
{
	if (f->name[0]) {
		activate(s, f, STR("{\"spec\":{\"active\":true}}"));
	} else {
		upkeep(s);
	}
}

/* The restore deactivates Workloads again, and the fault is over. */
static void pause_restored(struct sim *s, struct fault *f, const struct plane *p)
{
	if (f->name[0] && !f->on && !is_worker(p)) {
		activate(s, f, STR("{\"spec\":{\"active\":true}}"));
	}
}

FAULT(paused) = {
	.family = FAULT_OF_CHURN,
	.number = 9,
	.name = "Workload deactivated",
	.begin = pause_begin,
	.over = pause_over,
	.restored = pause_restored,
};

static void dropped_act(struct sim *s, struct fault *f)
{
	struct plane *p = churn_home(s, f);
	const struct json *o = churn_pick(s, p->store, WORKLOADS, churn_is_open);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));
	const char *path = churn_path(s, WORKLOAD_PATH, name, "");

	if (!o) {
		return;
	}
	say(s, "churn", "Workload %.*s is deleted by force", STR_ARG(name));
	(void)plane_request(p, "DELETE", path, NULL, STR("{}"));
	(void)plane_merge(p, path, STR("{\"metadata\":{\"finalizers\":null}}"));
}

/* After a deletion. */
FAULT(workload_dropped) = {
	.family = FAULT_OF_CHURN,
	.number = 10,
	.name = "Workload made anew",
	.drops_workloads = true,
	.act = dropped_act,
};

static void edited_act(struct sim *s, struct fault *f)
{
	struct plane *p = churn_home(s, f);

	churn_patch_workload(s, p, churn_pick(s, p->store, WORKLOADS, churn_is_open),
			     "{\"spec\":{\"maximumExecutionTimeSeconds\":3600}}");
}

/* Of Workloads while they race. */
FAULT(edited) = {
	.family = FAULT_OF_CHURN,
	.number = 11,
	.name = "spec edited",
	.act = edited_act,
};

static void note_act(struct sim *s, struct fault *f)
{
	struct plane *p = churn_home(s, f);
	const struct json *o = churn_pick(s, p->store, JOBS, churn_is_running);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

	if (o != NULL) {
		churn_patch_named(
			s, p, JOB_PATH, name,
			arena_printf(
				&s->arena,
				"{\"metadata\":{\"annotations\":{\"example.com/note\":\"%llu\"}}}",
				(unsigned long long)rng_below(&s->wide, 1000)));
	}
}

FAULT(note) = {
	.family = FAULT_OF_CHURN,
	.number = 17,
	.name = "forwarded field changes",
	.act = note_act,
};
