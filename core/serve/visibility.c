/* SPDX-License-Identifier: Apache-2.0 */
/* The visibility API; see visibility.h. */
#include "core/serve/visibility.h"

#include "core/base/clock.h"
#include "core/manager/pages.h"
#include "core/serve/call.h"

enum { ANSWER_MEMORY = 64 * 1024 * 1024, PLACE_MAX = 1000 * 1000 * 1000 };

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
	mk_str match = STR("");
	uint64_t limit = ANSWER_ROWS_MAX, requests = 0;
	const struct call_param params[] = {
		{"namespace", .text = &f.ns},
		{"phase", .text = &f.phase},
		{"cluster", .text = &f.cluster},
		{"clusterQueue", .text = &f.queue},
		{"match", .text = &match},
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
	page = answer_workloads_matching(&q->env, &f, match);
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
	struct answer_part part = {.limit = 0};
	uint64_t limit = 0, from = 0;
	const struct call_param params[] = {
		{"reason", .text = &part.reason},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{"continue", .number = &from, .most = PLACE_MAX},
		{.name = NULL}};
	struct json *answer;
	mk_str ns, name;

	if (slash < 0 || !call_decode(&q->c.a, str_sub(which, 0, (size_t)slash), &ns) ||
	    !call_decode(&q->c.a, str_sub(which, (size_t)slash + 1, which.n), &name)) {
		call_refuse(&q->c, 400, "BadRequest", STR("expected /v1/workloads/NAMESPACE/NAME"));
		return;
	}
	if (!call_query(&q->c, params)) {
		return;
	}
	part.limit = (size_t)limit;
	part.from = (size_t)from;
	if (limit == 0 && (from > 0 || part.reason.n > 0)) {
		call_refuse(&q->c, 400, "BadRequest",
			    STR("reason and continue choose clusters of a page: expected limit, "
				"too"));
		return;
	}
	answer = answer_workload_part(&q->env, ns, name, limit > 0 ? &part : NULL);
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

/* Is the value one of 'known'? "" is. False: 400 was answered. */
static bool is_known(struct question *q, const char *name, mk_str value, mk_str word,
		     const char *const *known)
{
	struct arena *a = &q->c.a;
	mk_str words = STR("");

	for (size_t i = 0; known[i]; i++) {
		if (word.n == 0 || str_is(word, known[i])) {
			return true;
		}
		words = arena_printf(a, "%.*s%s%s", STR_ARG(words),
				     i == 0          ? ""
				     : !known[i + 1] ? " or "
						     : ", ",
				     known[i]);
	}
	call_refuse(
		&q->c, 400, "BadRequest",
		arena_printf(a, "%s=%.*s: expected %.*s", name, STR_ARG(value), STR_ARG(words)));
	return false;
}

static void clusters(struct question *q)
{
	struct answer_clusters_filter f = {.problem = false};
	uint64_t limit = 0, from = 0, problem = 0;
	const struct call_param params[] = {
		{"state", .text = &f.state},
		{"match", .text = &f.match},
		{"problem", .number = &problem, .most = 1},
		{"order", .text = &f.order},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{"continue", .number = &from, .most = PLACE_MAX},
		{.name = NULL}};

	if (!call_query(&q->c, params) || !is_known(q, "state", f.state, f.state, answer_states) ||
	    !is_known(q, "order", f.order,
		      str_starts(f.order, STR("-")) ? str_sub(f.order, 1, SIZE_MAX) : f.order,
		      answer_orders)) {
		return;
	}
	f.problem = problem > 0;
	f.limit = (size_t)limit;
	f.from = (size_t)from;
	give(q, answer_clusters_page(&q->env, &f), "ClusterList");
}

static void queues(struct question *q)
{
	/* In the order of enum answer_queues. */
	static const char *const kinds[] = {"manager", "cohorts", "workers", NULL};
	struct answer_queues_filter f = {.of = QUEUES_ALL};
	uint64_t limit = 0, from = 0;
	mk_str of = STR("");
	const struct call_param params[] = {
		{"of", .text = &of},
		{"match", .text = &f.match},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{"continue", .number = &from, .most = PLACE_MAX},
		{.name = NULL}};

	if (!call_query(&q->c, params) || !is_known(q, "of", of, of, kinds)) {
		return;
	}
	for (size_t i = 0; kinds[i]; i++) {
		if (str_is(of, kinds[i])) {
			f.of = (enum answer_queues)(QUEUES_MANAGER + i);
		}
	}
	f.limit = (size_t)limit;
	f.from = (size_t)from;
	give(q, answer_queues_page(&q->env, &f), "ClusterQueueList");
}

static void events(struct question *q)
{
	struct decisions_filter f = {.after = DECISIONS_ALL};
	uint64_t limit = ANSWER_ROWS_MAX, last = 0;
	const struct call_param params[] = {
		{"after", .number = &f.after, .most = UINT64_MAX},
		{"namespace", .text = &f.ns},
		{"workload", .text = &f.name},
		{"last", .number = &last, .least = 1, .most = ANSWER_ROWS_MAX},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{.name = NULL}};

	if (call_query(&q->c, params)) {
		f.limit = (size_t)limit;
		f.last = (size_t)last;
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
		clusters(q);
	} else if (str_is(path, "/v1/queues")) {
		queues(q);
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
