/* SPDX-License-Identifier: Apache-2.0 */
/* The visibility API; see visibility.h. */
#include "core/serve/visibility.h"

#include "core/base/clock.h"
#include "core/serve/call.h"

enum { ANSWER_MEMORY = 64 * 1024 * 1024 };

/* A request, and what it is answered from. */
struct question {
	struct call c;
	const struct visibility *of;
	struct answer_env env;
};

static void no_memory(struct question *q)
{
	call_refuse(&q->c, 500, "InternalError", STR("out of memory"));
}

/* The answer of the engine, with its kind and version. */
static void give(struct question *q, struct json *answer, const char *kind)
{
	if (!answer) {
		no_memory(q);
		return;
	}
	json_set_str(&q->c.a, answer, "kind", str_of(kind));
	json_set_str(&q->c.a, answer, "apiVersion", STR(NAME_VISIBILITY_API));
	call_put(&q->c, answer);
}

/* --- the paths -------------------------------------------------------------------------------- */

static void workloads(struct question *q)
{
	struct answer_filter f = {.limit = 0};
	uint64_t limit = ANSWER_ROWS_MAX, requests = 0;
	const struct call_param params[] = {
		{"namespace", .text = &f.ns},
		{"phase", .text = &f.phase},
		{"cluster", .text = &f.cluster},
		{"clusterQueue", .text = &f.queue},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{"continue", .text = &f.after},
		{"requests", .number = &requests, .most = 1},
		{.name = NULL}};
	struct json *page;

	if (!call_query(&q->c, params)) {
		return;
	}
	f.limit = (size_t)limit;
	f.requests = requests > 0;
	page = answer_workloads(&q->env, &f);
	if (!page && !arena_failed(&q->c.a) && f.after.n > 0) {
		call_refuse(
			&q->c, 410, "Expired",
			arena_printf(&q->c.a,
				     "continue=%.*s: this Workload is gone; begin again without it",
				     STR_ARG(f.after)));
		return;
	}
	give(q, page, "WorkloadList");
}

/* 'which' is "NAMESPACE/NAME". */
static void workload(struct question *q, mk_str which)
{
	int64_t slash = str_index(which, '/');
	struct json *answer;
	mk_str ns, name;

	if (slash < 0 || !call_decode(&q->c.a, str_sub(which, 0, (size_t)slash), &ns) ||
	    !call_decode(&q->c.a, str_sub(which, (size_t)slash + 1, which.n), &name)) {
		call_refuse(&q->c, 400, "BadRequest", STR("expected /v1/workloads/NAMESPACE/NAME"));
		return;
	}
	answer = answer_workload(&q->env, ns, name);
	if (!answer && !arena_failed(&q->c.a)) {
		call_refuse(
			&q->c, 404, "NotFound",
			arena_printf(
				&q->c.a,
				"Workload \"%.*s\" in namespace \"%.*s\" is not known here: is its "
				"name right, and has the daemon listed the Workloads (/readyz)?",
				STR_ARG(name), STR_ARG(ns)));
		return;
	}
	give(q, answer, "Workload");
}

static void events(struct question *q)
{
	struct decisions_filter f = {.after = DECISIONS_ALL};
	uint64_t limit = ANSWER_ROWS_MAX;
	const struct call_param params[] = {
		{"after", .number = &f.after, .most = UINT64_MAX},
		{"namespace", .text = &f.ns},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{.name = NULL}};

	if (call_query(&q->c, params)) {
		f.limit = (size_t)limit;
		give(q, decisions_answer(q->of->decisions, &f, &q->c.a), "EventList");
	}
}

static void dispatch(struct question *q)
{
	mk_str path = q->c.rq->path;

	if (!str_is(str_of(q->c.rq->method), "GET") && !str_is(str_of(q->c.rq->method), "HEAD")) {
		call_refuse(&q->c, 405, "MethodNotAllowed", STR("expected GET"));
	} else if (str_is(path, "/v1/workloads")) {
		workloads(q);
	} else if (str_starts(path, STR("/v1/workloads/"))) {
		workload(q, str_sub(path, strlen("/v1/workloads/"), path.n));
	} else if (str_is(path, "/v1/clusters")) {
		give(q, answer_clusters(&q->env), "ClusterList");
	} else if (str_is(path, "/v1/queues")) {
		give(q, answer_queues(&q->env), "ClusterQueueList");
	} else if (str_is(path, "/v1/events")) {
		events(q);
	} else if (str_is(path, "/v1/plugins")) {
		give(q, json_dup(&q->c.a, q->of->plugins), "PluginList");
	} else if (str_is(path, "/v1/settings")) {
		give(q, json_dup(&q->c.a, q->of->settings), "Settings");
	} else {
		call_refuse(
			&q->c, 404, "NotFound",
			STR("expected /v1/workloads, /v1/workloads/NAMESPACE/NAME, /v1/clusters, "
			    "/v1/queues, /v1/events, /v1/plugins or /v1/settings"));
	}
}

void visibility_handle(void *ctx, const struct http_request *rq, struct http_answer *answer)
{
	const struct visibility *v = ctx;
	struct question q = {.c = {.rq = rq, .answer = answer}, .of = v};

	arena_init(&q.c.a, ANSWER_MEMORY);
	q.env = manager_answers(v->manager, clock_mono_ms(), clock_wall_ms(), &q.c.a);
	answer->content_type = "application/json";
	dispatch(&q);
	arena_done(&q.c.a);
}
