/* SPDX-License-Identifier: Apache-2.0 */
/* One simulated cluster with its controllers under a fake clock, for the tests of the actors. */
#ifndef MK_T_UNIT_KUBESIM_ACTORS_HELP_H
#define MK_T_UNIT_KUBESIM_ACTORS_HELP_H

#include <stdarg.h>
#include <stdlib.h>

#include "t/kubesim/actors.h"
#include "t/tap.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define JOBS "batch/v1/jobs"

struct world {
	struct ks_store *store;
	struct ks_actors *actors;
	struct arena a;
	int64_t now;
	uint64_t digest; /* of all commits */
	size_t commits;
};

static inline void world_commit(void *ctx, const struct ks_commit *c)
{
	struct world *w = ctx;
	mk_str parts[] = {c->resource, c->ns, c->name, c->verb, c->subresource, c->user};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (size_t j = 0; j < parts[i].n; j++) {
			w->digest = (w->digest ^ (uint8_t)parts[i].p[j]) * 1099511628211U;
		}
	}
	w->digest = (w->digest ^ c->rv) * 1099511628211U;
	w->commits++;
}

static inline int call(struct world *w, const char *method, const char *type, mk_str target,
		       const char *fmt, va_list ap, mk_str *ret_body)
{
	struct ks_request r = {
		.method = str_of(method),
		.target = target,
		.accept = STR("application/json"),
		.content_type = str_of(type),
		.body = arena_vprintf(&w->a, fmt, ap),
		.user = STR("tester"),
		.user_agent = STR("tester"),
	};
	struct ks_response resp = {.retry_after_ms = -1};

	r.body = ks_actors_admit(w->actors, &r, &w->a);
	ks_handle(w->store, &r, w->now, &w->a, &resp);
	if (ret_body != NULL) {
		*ret_body = resp.body;
	}
	return resp.status;
}

__attribute__((format(printf, 3, 4))) static inline int post(struct world *w, const char *target,
							     const char *fmt, ...)
{
	va_list ap;
	mk_str body;
	int status;

	va_start(ap, fmt);
	status = call(w, "POST", "application/json", str_of(target), fmt, ap, &body);
	va_end(ap);
	if (status != 201) {
		printf("# POST %s: %d %.*s\n", target, status, STR_ARG(body));
	}
	return status;
}

__attribute__((format(printf, 3, 4))) static inline int merge(struct world *w, const char *target,
							      const char *fmt, ...)
{
	va_list ap;
	mk_str body;
	int status;

	va_start(ap, fmt);
	status = call(w, "PATCH", "application/merge-patch+json", str_of(target), fmt, ap, &body);
	va_end(ap);
	if (status != 200) {
		printf("# PATCH %s: %d %.*s\n", target, status, STR_ARG(body));
	}
	return status;
}

static inline int apply_status(struct world *w, const char *name, const char *fmt, ...)
{
	mk_str target = arena_printf(&w->a,
				     KUEUE "namespaces/default/workloads/%s/status"
					   "?fieldManager=kueue-admission&force=true",
				     name);
	va_list ap;
	mk_str body;
	int status;

	va_start(ap, fmt);
	status = call(w, "PATCH", "application/apply-patch+yaml", target, fmt, ap, &body);
	va_end(ap);
	if (status != 200) {
		printf("# apply %s: %d %.*s\n", name, status, STR_ARG(body));
	}
	return status;
}

__attribute__((format(printf, 3, 4))) static inline int drop(struct world *w, const char *target,
							     const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = call(w, "DELETE", "application/json", str_of(target), fmt, ap, NULL);
	va_end(ap);
	return status;
}

/* Lets everything happen that is due until 'now + ms'. */
static inline void run_for(struct world *w, int64_t ms)
{
	int64_t end = w->now + ms;

	ks_actors_run(w->actors, w->now, 0);
	while (ks_actors_next_ms(w->actors) <= end) {
		int64_t next = ks_actors_next_ms(w->actors);

		w->now = next > w->now ? next : w->now;
		ks_actors_run(w->actors, w->now, 0);
	}
	w->now = end;
}

static inline const struct json *get(struct world *w, const char *resource, const char *name)
{
	return ks_get(w->store, resource, STR("default"), str_of(name));
}

static inline const struct json *condition(const struct json *o, const char *type)
{
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return it.val;
		}
	}
	return NULL;
}

/* "<status> <reason> <message>" of a condition, or "-". */
static inline const char *cond(struct world *w, const char *resource, const char *name,
			       const char *type)
{
	const struct json *c = condition(get(w, resource, name), type);

	if (c == NULL) {
		return "-";
	}
	return arena_printf(&w->a, "%.*s %.*s %.*s", STR_ARG(json_str(json_get(c, "status"))),
			    STR_ARG(json_str(json_get(c, "reason"))),
			    STR_ARG(json_str(json_get(c, "message"))))
		.p;
}

/* Text at a pointer, or "-". */
static inline const char *at(struct world *w, const char *resource, const char *name,
			     const char *pointer)
{
	const struct json *v = json_at(get(w, resource, name), pointer);

	if (v == NULL) {
		return "-";
	}
	return json_type(v) == JSON_STR ? arena_dup(&w->a, json_str(v)).p : json_write(&w->a, v).p;
}

static inline bool world_init(struct world *w, enum ks_role role, int64_t admit_ms, int64_t run_ms,
			      uint64_t seed)
{
	struct ks_store_options so = {.name = "test", .seed = seed};
	struct ks_actors_options ao = {
		.role = role,
		.seed = seed,
		.admit_delay_ms_min = admit_ms,
		.admit_delay_ms_max = admit_ms,
		.run_ms_min = run_ms,
		.run_ms_max = run_ms,
		.on_commit = world_commit,
		.on_commit_ctx = w,
	};

	*w = (struct world){.now = INT64_C(1800000000000), .digest = 14695981039346656037U};
	arena_init(&w->a, 0);
	w->store = ks_store_new(&so);
	w->actors = w->store != NULL ? ks_actors_new(w->store, &ao) : NULL;
	return w->actors != NULL;
}

static inline void world_done(struct world *w)
{
	if (ks_actors_refused(w->actors) != 0) {
		printf("# refused: %s\n", ks_actors_last_error(w->actors));
	}
	ks_actors_free(w->actors);
	ks_store_free(w->store);
	arena_done(&w->a);
}

#define KUEUE_HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

/* Flavor "f", ClusterQueue "cq" with that many cpus (with check "mk" when asked), LocalQueue "lq". */
static inline void make_queues(struct world *w, int cpus, bool check)
{
	post(w, KUEUE "resourceflavors",
	     KUEUE_HEAD "\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"}}");
	post(w, KUEUE "clusterqueues",
	     KUEUE_HEAD
	     "\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
	     "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
	     "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
	     "\"nominalQuota\":\"%d\"}]}]}]%s}}",
	     cpus,
	     check ? ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}" : "");
	post(w, KUEUE "namespaces/default/localqueues",
	     KUEUE_HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},"
			"\"spec\":{\"clusterQueue\":\"cq\"}}");
}

#define JOB_SPEC                                                                          \
	"\"parallelism\":%d,\"completions\":%d,\"suspend\":true,\"template\":{\"spec\":{" \
	"\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","    \
	"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}"

/* A Job of queue lq with that many pods of one cpu; 'annotations' is the inside of an object. */
static inline int make_job(struct world *w, const char *name, int pods, const char *annotations)
{
	return post(w, "/apis/batch/v1/namespaces/default/jobs",
		    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
		    "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"},"
		    "\"annotations\":{%s}},\"spec\":{" JOB_SPEC "}}",
		    name, annotations, pods, pods);
}

/* Name of the only Workload that belongs to Job 'job', or "-". */
static inline const char *workload_of(struct world *w, const char *job)
{
	mk_str prefix = arena_printf(&w->a, "job-%s-", job);
	size_t pos = 0;

	for (;;) {
		const struct json *o = ks_each(w->store, WORKLOADS, &pos);

		if (o == NULL) {
			return "-";
		}
		if (str_starts(json_str_at(o, "/metadata/name"), prefix)) {
			return arena_dup(&w->a, json_str_at(o, "/metadata/name")).p;
		}
	}
}

#endif
