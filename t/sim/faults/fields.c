/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzzer of fields: any field that the engine reads, of any object on the manager or on a
 * worker, gets another value at any time, and keeps it. Nothing is to be done in the end: the judge
 * says what must hold all the same.
 */
#include "core/api/names.h"
#include "core/base/timefmt.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

#define QUEUE_PATH KUEUE "clusterqueues/"
#define POD_PATH PODS_PATH "/"
#define LABEL(key, value) "{\"metadata\":{\"labels\":{\"" key "\":" value "}}}"
#define GATE(name) "{\"spec\":{\"schedulingGates\":[{\"name\":\"" name "\"}]}}"
#define NOTE(key, value) "{\"metadata\":{\"annotations\":{\"" key "\":" value "}}}"

enum side { HOME, WORKER };
enum how {
	MERGE,     /* a merge patch; %s is a worker's name */
	CONDITION, /* "Type=True" */
	CHECK,     /* the state of the first check */
	OWNER,     /* the owner gets another uid */
	DELETE,    /* by that propagation policy */
	RELEASE,   /* without finalizers, at once */
};

/*
 * As store/facts*.c read them. Not here: spec.managedBy, which API servers do not let change; and
 * another worker as status.clusterName. Kueue takes back only what its own field manager wrote, so
 * that each later round of the Workload would begin with a winner that nothing was sent to.
 */
static const struct field {
	enum side side;
	const char *resource, *path, *sub;
	enum how how;
	const char *value;
} fields[] = {
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", MERGE, "{\"status\":{\"clusterName\":null}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", MERGE,
	 "{\"status\":{\"nominatedClusterNames\":[\"%s\"]}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", MERGE,
	 "{\"status\":{\"nominatedClusterNames\":null}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CHECK, "Pending"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CHECK, "Ready"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CHECK, "Retry"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Evicted=True"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Evicted=False"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Admitted=False"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "PodsReady=False"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"spec\":{\"active\":false}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"spec\":{\"active\":true}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"spec\":{\"priority\":7}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"metadata\":{\"labels\":null}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"metadata\":{\"annotations\":null}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", DELETE, "Background"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", RELEASE, "Background"},
	{HOME, JOBS, JOB_PATH, "", DELETE, "Orphan"},
	{HOME, JOBS, JOB_PATH, "", DELETE, "Foreground"},
	{HOME, JOBS, JOB_PATH, "", MERGE, "{\"metadata\":{\"annotations\":{\"a\":\"%s\"}}}"},
	{HOME, JOBS, JOB_PATH, "", MERGE, "{\"metadata\":{\"finalizers\":null}}"},
	{WORKER, CLUSTER_QUEUES, QUEUE_PATH, "", MERGE, "{\"spec\":{\"stopPolicy\":\"Hold\"}}"},
	{WORKER, CLUSTER_QUEUES, QUEUE_PATH, "", MERGE, "{\"spec\":{\"stopPolicy\":\"Hold\"}}"},
	{WORKER, CLUSTER_QUEUES, QUEUE_PATH, "", MERGE, "{\"spec\":{\"stopPolicy\":\"None\"}}"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "QuotaReserved=False"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Admitted=False"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Admitted=True"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Evicted=True"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "PodsReady=True"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"spec\":{\"active\":false}}"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"metadata\":{\"ownerReferences\":null}}"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"metadata\":{\"finalizers\":null}}"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, NOTE(NAME_SPEC_HASH, "\"0\"")},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", DELETE, "Background"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", RELEASE, "Background"},
	{WORKER, JOBS, JOB_PATH, "", MERGE, LABEL(NAME_PREBUILT, "\"another\"")},
	{WORKER, JOBS, JOB_PATH, "", MERGE, "{\"spec\":{\"parallelism\":1}}"},
	{WORKER, JOBS, JOB_PATH, "", DELETE, "Foreground"},
	{WORKER, JOBS, JOB_PATH, "", RELEASE, "Background"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, NOTE(NAME_MANAGER_ID, "null")},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, NOTE(NAME_MANAGER_ID, "\"another\"")},
	{WORKER, JOBS, JOB_PATH, "", MERGE, NOTE(NAME_MANAGER_ID, "null")},
	{WORKER, JOBS, JOB_PATH, "", MERGE, NOTE(NAME_MANAGER_ID, "\"another\"")},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, LABEL(NAME_ORIGIN, "null")},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "", MERGE, LABEL(NAME_ORIGIN, "\"another\"")},
	{WORKER, JOBS, JOB_PATH, "", MERGE, LABEL(NAME_ORIGIN, "null")},
	{WORKER, JOBS, JOB_PATH, "", MERGE, LABEL(NAME_ORIGIN, "\"another\"")},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Finished=True"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Finished=False"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Finished=True"},
	{WORKER, WORKLOADS, WORKLOAD_PATH, "/status", CONDITION, "Finished=False"},
	{HOME, JOBS, JOB_PATH, "", MERGE, "{\"spec\":{\"suspend\":true}}"},
	{HOME, JOBS, JOB_PATH, "", MERGE, "{\"spec\":{\"suspend\":false}}"},
	{WORKER, JOBS, JOB_PATH, "", MERGE, "{\"spec\":{\"suspend\":true}}"},
	{WORKER, JOBS, JOB_PATH, "", MERGE, "{\"spec\":{\"suspend\":false}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "/status", MERGE,
	 "{\"status\":{\"nominatedClusterNames\":[\"nowhere\",\"%s\"]}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", MERGE, "{\"metadata\":{\"ownerReferences\":null}}"},
	{HOME, WORKLOADS, WORKLOAD_PATH, "", OWNER, "another uid"},
};

/*
 * Those of Pods, beside the worlds that have some. A gate that is gone does not come back. Not yet
 * here: a label of the group, and the origin of a copy.
 */
static const struct field of_pods[] = {
	{HOME, PODS, POD_PATH, "", MERGE, "{\"spec\":{\"schedulingGates\":null}}"},
	{HOME, PODS, POD_PATH, "", MERGE,
	 "{\"spec\":{\"schedulingGates\":null,\"nodeName\":\"n\"}}"},
	{HOME, PODS, POD_PATH, "", MERGE, GATE("example.com/other")},
	{HOME, PODS, POD_PATH, "", MERGE, LABEL(NAME_QUEUE, "null")},
	{HOME, PODS, POD_PATH, "", MERGE, LABEL("kueue.x-k8s.io/managed", "null")},
	{HOME, PODS, POD_PATH, "", MERGE, "{\"metadata\":{\"annotations\":{\"a\":\"%s\"}}}"},
	{HOME, PODS, POD_PATH, "", DELETE, "Background"},
	{HOME, PODS, POD_PATH, "/status", MERGE, "{\"status\":{\"phase\":\"Pending\"}}"},
	{HOME, PODS, POD_PATH, "/status", MERGE, "{\"status\":{\"phase\":\"Running\"}}"},
	{WORKER, PODS, POD_PATH, "", MERGE, "{\"spec\":{\"schedulingGates\":null}}"},
	{WORKER, PODS, POD_PATH, "", MERGE,
	 "{\"spec\":{\"schedulingGates\":null,\"nodeName\":\"n\"}}"},
	{WORKER, PODS, POD_PATH, "", MERGE, GATE("example.com/other")},
	{WORKER, PODS, POD_PATH, "", MERGE, LABEL(NAME_PREBUILT, "\"another\"")},
	{WORKER, PODS, POD_PATH, "", MERGE, NOTE(NAME_MANAGER_ID, "null")},
	{WORKER, PODS, POD_PATH, "", MERGE, NOTE(NAME_MANAGER_ID, "\"another\"")},
	{WORKER, PODS, POD_PATH, "", DELETE, "Background"},
	{WORKER, PODS, POD_PATH, "", RELEASE, "Background"},
	{WORKER, PODS, POD_PATH, "/status", MERGE, "{\"status\":{\"phase\":\"Failed\"}}"},
	{WORKER, PODS, POD_PATH, "/status", MERGE, "{\"status\":{\"phase\":\"Pending\"}}"},
};

enum {
	N_FIELDS = sizeof(fields) / sizeof(*fields),
	N_OF_PODS = sizeof(of_pods) / sizeof(*of_pods),
};

/* On workers, what a manager made, whatever became of its marks; and their queues. */
static bool is_meant(const struct field *x, const struct json *o)
{
	if (!strcmp(x->resource, PODS) && x->sub[0] && job_over(o)) {
		return false; /* no kubelet takes an end back */
	}
	return x->side == HOME || !strcmp(x->resource, CLUSTER_QUEUES) ||
	       (json_str_at(o, WORKLOAD_UID).n > 0 && !json_at(o, "/metadata/deletionTimestamp"));
}

static const struct json *pick(struct rng *r, const struct ks_store *store, const struct field *x)
{
	size_t pos = 0, n = 0;
	const struct json *o, *best = NULL;

	while ((o = ks_each(store, x->resource, &pos)) != NULL) {
		if (is_meant(x, o) && rng_below(r, ++n) == 0) {
			best = o;
		}
	}
	return best;
}

/* The list with a condition as "Type=True" has it. */
static mk_str with_condition(struct sim *s, const struct json *o, const char *value)
{
	struct arena *a = &s->arena;
	mk_str status = str_of(value), type;
	struct json *list = json_new_arr(a), *c = NULL;
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));

	str_split(&status, '=', &type);
	while (json_next(&it)) {
		if (!str_eq(json_str(json_get(it.val, "type")), type)) {
			json_add(a, list, json_dup(a, it.val));
		}
	}
	(void)json_parse(
		a,
		arena_printf(a,
			     "{\"type\":\"%.*s\",\"status\":\"%.*s\",\"reason\":\"Fuzzed\","
			     "\"message\":\"by a client\",\"lastTransitionTime\":\"%.*s\"}",
			     STR_ARG(type), STR_ARG(status), STR_ARG(time_rfc3339(a, wall_of(s)))),
		&c, NULL);
	json_add(a, list, c);
	return arena_printf(a, "{\"status\":{\"conditions\":%.*s}}", STR_ARG(json_write(a, list)));
}

static mk_str with_state(struct sim *s, const struct json *o, const char *state)
{
	struct arena *a = &s->arena;
	struct json *checks = json_dup(a, json_at(o, "/status/admissionChecks"));

	if (json_put(a, checks, "/0/state", json_new_str(a, str_of(state))) != ERR_OK) {
		return STR("{}");
	}
	return arena_printf(a, "{\"status\":{\"admissionChecks\":%.*s}}",
			    STR_ARG(json_write(a, checks)));
}

static mk_str with_owner(struct sim *s, const struct json *o)
{
	struct arena *a = &s->arena;
	struct json *owners = json_dup(a, json_at(o, "/metadata/ownerReferences"));

	if (json_put(a, owners, "/0/uid", json_new_str(a, STR("another"))) != ERR_OK) {
		return STR("{}");
	}
	return arena_printf(a, "{\"metadata\":{\"ownerReferences\":%.*s}}",
			    STR_ARG(json_write(a, owners)));
}

static int change(struct sim *s, struct fault *f, struct plane *p, const struct field *x,
		  const struct json *o)
{
	struct arena *a = &s->arena;
	mk_str name = arena_dup(a, json_str_at(o, "/metadata/name"));
	const char *path = churn_path(s, x->path, name, x->sub);
	mk_str worker =
		arena_printf(a, "w%llu", 1 + (unsigned long long)rng_below(&f->rng, s->n_workers));
	const char *at = strstr(x->value, "%s");

	switch ((int)x->how) {
	case CONDITION:
		return plane_merge(p, path, with_condition(s, o, x->value));
	case CHECK:
		return plane_merge(p, path, with_state(s, o, x->value));
	case OWNER:
		return plane_merge(p, path, with_owner(s, o));
	case MERGE:
		return plane_merge(p, path,
				   !at ? str_of(x->value)
				       : arena_printf(a, "%.*s%.*s%s", (int)(at - x->value),
						      x->value, STR_ARG(worker), at + 2));
	default:
		break;
	}
	(void)plane_request(p, "DELETE", path, NULL,
			    arena_printf(a, "{\"propagationPolicy\":\"%s\"}", x->value));
	return x->how == RELEASE ? plane_merge(p, path, STR("{\"metadata\":{\"finalizers\":null}}"))
				 : 200;
}

/*
 * How a job ended may be unknown where a client changed its Workload, or the marks of its copy.
 * What becomes of a clone is no excuse.
 */
static void meddle(struct sim *s, const struct field *x, const struct json *o)
{
	struct user *u;

	if (x->side == HOME && !strcmp(x->resource, WORKLOADS)) {
		user_meddled(s, o);
	} else if (x->side == WORKER && strcmp(x->resource, WORKLOADS) != 0 &&
		   strstr(x->value, "metadata")) {
		u = user_by_uid(s, json_str_at(o, ORIGIN_UID));
		if (u) {
			u->meddled = true;
		}
	}
}

static const struct field *draw_field(const struct sim *s, struct rng *r)
{
	return s->pods && rng_chance(r, 1, 2) ? &of_pods[rng_below(r, N_OF_PODS)]
					      : &fields[rng_below(r, N_FIELDS)];
}

static void fields_act(struct sim *s, struct fault *f)
{
	const struct field *x = draw_field(s, &f->rng);
	struct plane *p = x->side == HOME ? churn_home(s, f)
					  : &s->plane[1 + rng_below(&f->rng, s->n_workers)];
	const struct json *o = pick(&f->rng, p->store, x);
	mk_str name = arena_dup(&s->arena, json_str_at(o, "/metadata/name"));

	if (o != NULL) {
		meddle(s, x, o);
		say(s, "fields", "%s: %.*s gets %s: %d", p->name, STR_ARG(name), x->value,
		    change(s, f, p, x, o));
	}
}

static void fields_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->until = f->at + rng_range(r, 30 * SECOND, 4 * MINUTE);
	for (size_t i = 0; i < s->n_users; i++) {
		if (rng_chance(r, 1, 2)) {
			s->user[i].run_ms = rng_range(r, 10 * SECOND, 4 * MINUTE);
		}
	}
}

FAULT(fuzzed) = {
	.family = FAULT_OF_WORLD,
	.number = 14,
	.name = "fields change",
	.world = "fields",
	.on_request = true,
	.alone = "nothing is to be done in its end, which other worlds expect",
	.beside = "fleet,groups,pods",
	.stays = true,
	.is_lawless = true,
	.drops_workloads = true,
	.draw = fields_draw,
	.act = fields_act,
};
