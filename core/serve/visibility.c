/* SPDX-License-Identifier: Apache-2.0 */
/* The visibility API; see visibility.h. */
#include "core/serve/visibility.h"

#include "core/base/clock.h"
#include "core/base/json.h"

#define VERSION "visibility.multikueued.io/v1alpha1"

enum { ANSWER_MEMORY = 64 * 1024 * 1024 };

/* A request while it is answered. */
struct call {
	const struct http_request *rq;
	struct http_answer *answer;
	const struct visibility *of;
	struct answer_env env;
	struct arena a;
};

/* --- answers ---------------------------------------------------------------------------------- */

static void put(struct call *c, const struct json *v)
{
	mk_str text = json_write(&c->a, v);

	if (!text.p || !buf_add(&c->answer->body, text)) {
		buf_clear(&c->answer->body);
		c->answer->status = 500;
		return;
	}
	buf_add(&c->answer->body, STR("\n"));
}

static void refuse(struct call *c, int code, const char *reason, mk_str message)
{
	struct json *o = json_new_obj(&c->a);

	c->answer->status = code;
	json_set_str(&c->a, o, "kind", STR("Status"));
	json_set_str(&c->a, o, "apiVersion", STR("v1"));
	json_set_str(&c->a, o, "status", STR("Failure"));
	json_set_str(&c->a, o, "reason", str_of(reason));
	json_set_str(&c->a, o, "message", message);
	json_set_int(&c->a, o, "code", code);
	put(c, o);
}

static void no_memory(struct call *c)
{
	refuse(c, 500, "InternalError", STR("out of memory"));
}

/* The answer of the engine, with its kind and version. */
static void give(struct call *c, struct json *answer, const char *kind)
{
	if (!answer) {
		no_memory(c);
		return;
	}
	json_set_str(&c->a, answer, "kind", str_of(kind));
	json_set_str(&c->a, answer, "apiVersion", STR(VERSION));
	put(c, answer);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Without %XX. False: a '%' that begins no such code, or out of memory. */
static bool decode(struct arena *a, mk_str s, mk_str *ret)
{
	char *p = arena_alloc_raw(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; p && i < s.n; i++) {
		if (s.p[i] != '%') {
			p[n++] = s.p[i];
			continue;
		}
		if (s.n - i < 3 || hex(s.p[i + 1]) < 0 || hex(s.p[i + 2]) < 0) {
			return false;
		}
		p[n++] = (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2]));
		i += 2;
	}
	if (!p) {
		return false;
	}
	p[n] = '\0';
	*ret = (mk_str){p, n};
	return true;
}

/* A parameter of a path: a text or a number. */
struct param {
	const char *name;
	mk_str *text;
	/* 'text' NULL: a number from 'least' on; what is larger than 'most' counts as that */
	uint64_t *number, least, most;
};

/* Ended by a NULL name. */
static void refuse_unknown(struct call *c, const struct param *params, mk_str name)
{
	mk_str names = STR("");

	for (size_t i = 0; params[i].name; i++) {
		const char *comma = i == 0 ? "" : !params[i + 1].name ? " or " : ", ";

		names = arena_printf(&c->a, "%.*s%s%s", STR_ARG(names), comma, params[i].name);
	}
	refuse(c, 400, "BadRequest",
	       arena_printf(&c->a, "unknown parameter \"%.*s\": expected %.*s", STR_ARG(name),
			    STR_ARG(names)));
}

static bool take_number(struct call *c, const struct param *p, mk_str value)
{
	uint64_t n;

	if (str_u64(value, &n) && n >= p->least) {
		*p->number = n < p->most ? n : p->most;
		return true;
	}
	refuse(c, 400, "BadRequest",
	       p->most == UINT64_MAX
		       ? arena_printf(&c->a, "%s=%.*s: expected a number", p->name, STR_ARG(value))
		       : arena_printf(&c->a, "%s=%.*s: expected a number from %llu to %llu",
				      p->name, STR_ARG(value), (unsigned long long)p->least,
				      (unsigned long long)p->most));
	return false;
}

/* One "name=value". False: 400 was answered. */
static bool take(struct call *c, const struct param *params, mk_str name, mk_str value)
{
	const struct param *p = params;
	mk_str text;

	if (!decode(&c->a, value, &text)) {
		refuse(c, 400, "BadRequest",
		       arena_printf(&c->a, "%.*s=%.*s: expected a value in URL encoding",
				    STR_ARG(name), STR_ARG(value)));
		return false;
	}
	while (p->name && !str_is(name, p->name)) {
		p++;
	}
	if (!p->name) {
		refuse_unknown(c, params, name);
		return false;
	}
	if (!p->text) {
		return take_number(c, p, text);
	}
	*p->text = text;
	return true;
}

static bool read_query(struct call *c, const struct param *params)
{
	mk_str left = c->rq->query;

	while (left.n > 0) {
		int64_t end = str_index(left, '&');
		mk_str one = end < 0 ? left : str_sub(left, 0, (size_t)end);
		int64_t is = str_index(one, '=');
		mk_str name = is < 0 ? one : str_sub(one, 0, (size_t)is);

		left = end < 0 ? STR("") : str_sub(left, (size_t)end + 1, left.n);
		if (one.n > 0 && !take(c, params, name,
				       is < 0 ? STR("") : str_sub(one, (size_t)is + 1, one.n))) {
			return false;
		}
	}
	return true;
}

/* --- the paths -------------------------------------------------------------------------------- */

static void workloads(struct call *c)
{
	struct answer_filter f = {.limit = 0};
	uint64_t limit = ANSWER_ROWS_MAX;
	const struct param params[] = {
		{"namespace", .text = &f.ns},
		{"phase", .text = &f.phase},
		{"cluster", .text = &f.cluster},
		{"clusterQueue", .text = &f.queue},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{"continue", .text = &f.after},
		{.name = NULL}};
	struct json *page;

	if (!read_query(c, params)) {
		return;
	}
	f.limit = (size_t)limit;
	page = answer_workloads(&c->env, &f);
	if (!page && !arena_failed(&c->a) && f.after.n > 0) {
		refuse(c, 410, "Expired",
		       arena_printf(&c->a,
				    "continue=%.*s: this Workload is gone; begin again without it",
				    STR_ARG(f.after)));
		return;
	}
	give(c, page, "WorkloadList");
}

/* 'which' is "NAMESPACE/NAME". */
static void workload(struct call *c, mk_str which)
{
	int64_t slash = str_index(which, '/');
	struct json *answer;
	mk_str ns, name;

	if (slash < 0 || !decode(&c->a, str_sub(which, 0, (size_t)slash), &ns) ||
	    !decode(&c->a, str_sub(which, (size_t)slash + 1, which.n), &name)) {
		refuse(c, 400, "BadRequest", STR("expected /v1/workloads/NAMESPACE/NAME"));
		return;
	}
	answer = answer_workload(&c->env, ns, name);
	if (!answer && !arena_failed(&c->a)) {
		refuse(c, 404, "NotFound",
		       arena_printf(
			       &c->a,
			       "Workload \"%.*s\" in namespace \"%.*s\" is not known here: is its "
			       "name right, and has the daemon listed the Workloads (/readyz)?",
			       STR_ARG(name), STR_ARG(ns)));
		return;
	}
	give(c, answer, "Workload");
}

static void events(struct call *c)
{
	struct decisions_filter f = {.after = DECISIONS_ALL};
	uint64_t limit = ANSWER_ROWS_MAX;
	const struct param params[] = {
		{"after", .number = &f.after, .most = UINT64_MAX},
		{"namespace", .text = &f.ns},
		{"limit", .number = &limit, .least = 1, .most = ANSWER_ROWS_MAX},
		{.name = NULL}};

	if (read_query(c, params)) {
		f.limit = (size_t)limit;
		give(c, decisions_answer(c->of->decisions, &f, &c->a), "EventList");
	}
}

static void dispatch(struct call *c)
{
	mk_str path = c->rq->path;

	if (!str_is(str_of(c->rq->method), "GET") && !str_is(str_of(c->rq->method), "HEAD")) {
		refuse(c, 405, "MethodNotAllowed", STR("expected GET"));
	} else if (str_is(path, "/v1/workloads")) {
		workloads(c);
	} else if (str_starts(path, STR("/v1/workloads/"))) {
		workload(c, str_sub(path, strlen("/v1/workloads/"), path.n));
	} else if (str_is(path, "/v1/clusters")) {
		give(c, answer_clusters(&c->env), "ClusterList");
	} else if (str_is(path, "/v1/queues")) {
		give(c, answer_queues(&c->env), "ClusterQueueList");
	} else if (str_is(path, "/v1/events")) {
		events(c);
	} else if (str_is(path, "/v1/plugins")) {
		give(c, json_dup(&c->a, c->of->plugins), "PluginList");
	} else if (str_is(path, "/v1/settings")) {
		give(c, json_dup(&c->a, c->of->settings), "Settings");
	} else {
		refuse(c, 404, "NotFound",
		       STR("expected /v1/workloads, /v1/workloads/NAMESPACE/NAME, /v1/clusters, "
			   "/v1/queues, /v1/events, /v1/plugins or /v1/settings"));
	}
}

void visibility_handle(void *ctx, const struct http_request *rq, struct http_answer *answer)
{
	const struct visibility *v = ctx;
	struct call c = {.rq = rq, .answer = answer, .of = v};

	arena_init(&c.a, ANSWER_MEMORY);
	c.env = manager_answers(v->manager, clock_mono_ms(), clock_wall_ms(), &c.a);
	answer->content_type = "application/json";
	dispatch(&c);
	arena_done(&c.a);
}
