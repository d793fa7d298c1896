/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/kubesim_cluster.h"

void sim_commit(void *ctx, const struct ks_commit *c)
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

static int sim_call(struct world *w, const char *method, const char *type, mk_str target,
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

int sim_post(struct world *w, const char *target, const char *fmt, ...)
{
	va_list ap;
	mk_str body;
	int status;

	va_start(ap, fmt);
	status = sim_call(w, "POST", "application/json", str_of(target), fmt, ap, &body);
	va_end(ap);
	if (status != 201) {
		printf("# POST %s: %d %.*s\n", target, status, STR_ARG(body));
	}
	return status;
}

int sim_merge(struct world *w, const char *target, const char *fmt, ...)
{
	va_list ap;
	mk_str body;
	int status;

	va_start(ap, fmt);
	status = sim_call(w, "PATCH", "application/merge-patch+json", str_of(target), fmt, ap,
			  &body);
	va_end(ap);
	if (status != 200) {
		printf("# PATCH %s: %d %.*s\n", target, status, STR_ARG(body));
	}
	return status;
}

int sim_apply_status(struct world *w, const char *name, const char *fmt, ...)
{
	mk_str target = arena_printf(&w->a,
				     KUEUE "namespaces/default/workloads/%s/status"
					   "?fieldManager=kueue-admission&force=true",
				     name);
	va_list ap;
	mk_str body;
	int status;

	va_start(ap, fmt);
	status = sim_call(w, "PATCH", "application/apply-patch+yaml", target, fmt, ap, &body);
	va_end(ap);
	if (status != 200) {
		printf("# apply %s: %d %.*s\n", name, status, STR_ARG(body));
	}
	return status;
}

int sim_delete(struct world *w, const char *target, const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = sim_call(w, "DELETE", "application/json", str_of(target), fmt, ap, NULL);
	va_end(ap);
	return status;
}

void sim_run(struct world *w, int64_t ms)
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

const struct json *sim_get(struct world *w, const char *resource, const char *name)
{
	return ks_get(w->store, resource, STR("default"), str_of(name));
}

const struct json *sim_condition(const struct json *o, const char *type)
{
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return it.val;
		}
	}
	return NULL;
}

const char *sim_condition_text(struct world *w, const char *resource, const char *name,
			       const char *type)
{
	const struct json *c = sim_condition(sim_get(w, resource, name), type);

	if (!c) {
		return "-";
	}
	return arena_printf(&w->a, "%.*s %.*s %.*s", STR_ARG(json_str(json_get(c, "status"))),
			    STR_ARG(json_str(json_get(c, "reason"))),
			    STR_ARG(json_str(json_get(c, "message"))))
		.p;
}

const char *sim_at(struct world *w, const char *resource, const char *name, const char *pointer)
{
	const struct json *v = json_at(sim_get(w, resource, name), pointer);

	if (!v) {
		return "-";
	}
	return json_type(v) == JSON_STR ? arena_dup(&w->a, json_str(v)).p : json_write(&w->a, v).p;
}

bool sim_init(struct world *w, enum ks_role role, int64_t admit_ms, int64_t run_ms, uint64_t seed)
{
	struct ks_store_options so = {.name = "test", .seed = seed};
	struct ks_actors_options ao = {
		.role = role,
		.seed = seed,
		.admit_delay_ms_min = admit_ms,
		.admit_delay_ms_max = admit_ms,
		.run_ms_min = run_ms,
		.run_ms_max = run_ms,
		.on_commit = sim_commit,
		.on_commit_ctx = w,
	};

	*w = (struct world){.now = INT64_C(1800000000000), .digest = 14695981039346656037U};
	arena_init(&w->a, 0);
	w->store = ks_store_new(&so);
	w->actors = w->store != NULL ? ks_actors_new(w->store, &ao) : NULL;
	return w->actors != NULL;
}

void sim_done(struct world *w)
{
	if (ks_actors_refused(w->actors) != 0) {
		printf("# refused: %s\n", ks_actors_last_error(w->actors));
	}
	ks_actors_free(w->actors);
	ks_store_free(w->store);
	arena_done(&w->a);
}

void sim_queues(struct world *w, int cpus, bool check)
{
	sim_post(w, KUEUE "resourceflavors",
		 KUEUE_HEAD "\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"}}");
	sim_post(w, KUEUE "clusterqueues",
		 KUEUE_HEAD
		 "\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
		 "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
		 "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
		 "\"nominalQuota\":\"%d\"}]}]}]%s}}",
		 cpus,
		 check ? ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}"
		       : "");
	sim_post(w, KUEUE "namespaces/default/localqueues",
		 KUEUE_HEAD
		 "\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},"
		 "\"spec\":{\"clusterQueue\":\"cq\"}}");
}

int sim_job(struct world *w, const char *name, int pods, const char *annotations)
{
	return sim_post(
		w, "/apis/batch/v1/namespaces/default/jobs",
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"},"
		"\"annotations\":{%s}},\"spec\":{" JOB_SPEC "}}",
		name, annotations, pods, pods);
}

const char *sim_workload_of(struct world *w, const char *job)
{
	mk_str prefix = arena_printf(&w->a, "job-%s-", job);
	size_t pos = 0;

	for (;;) {
		const struct json *o = ks_each(w->store, WORKLOADS, &pos);

		if (!o) {
			return "-";
		}
		if (str_starts(json_str_at(o, "/metadata/name"), prefix)) {
			return arena_dup(&w->a, json_str_at(o, "/metadata/name")).p;
		}
	}
}
