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

static bool set_limit(mk_str value, struct answer_filter *f)
{
	uint64_t n;

	if (!str_u64(value, &n) || n < 1) {
		return false;
	}
	f->limit = n < ANSWER_ROWS_MAX ? (size_t)n : ANSWER_ROWS_MAX;
	return true;
}

/* One "name=value". False: 400 was answered. */
static bool take(struct call *c, mk_str name, mk_str value, struct answer_filter *f)
{
	const struct {
		const char *name;
		mk_str *into;
	} texts[] = {{"namespace", &f->ns},
		     {"phase", &f->phase},
		     {"cluster", &f->cluster},
		     {"clusterQueue", &f->queue},
		     {"continue", &f->after}};
	mk_str text;

	if (!decode(&c->a, value, &text)) {
		refuse(c, 400, "BadRequest",
		       arena_printf(&c->a, "%.*s=%.*s: expected a value in URL encoding",
				    STR_ARG(name), STR_ARG(value)));
		return false;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (str_is(name, texts[i].name)) {
			*texts[i].into = text;
			return true;
		}
	}
	if (!str_is(name, "limit")) {
		refuse(c, 400, "BadRequest",
		       arena_printf(
			       &c->a,
			       "unknown parameter \"%.*s\": expected namespace, phase, cluster, "
			       "clusterQueue, limit or continue",
			       STR_ARG(name)));
		return false;
	}
	if (!set_limit(text, f)) {
		refuse(c, 400, "BadRequest",
		       arena_printf(&c->a, "limit=%.*s: expected a number from 1 to %d",
				    STR_ARG(text), ANSWER_ROWS_MAX));
		return false;
	}
	return true;
}

static bool read_filter(struct call *c, struct answer_filter *f)
{
	mk_str left = c->rq->query;

	while (left.n > 0) {
		int64_t end = str_index(left, '&');
		mk_str one = end < 0 ? left : str_sub(left, 0, (size_t)end);
		int64_t is = str_index(one, '=');
		mk_str name = is < 0 ? one : str_sub(one, 0, (size_t)is);

		left = end < 0 ? STR("") : str_sub(left, (size_t)end + 1, left.n);
		if (one.n > 0 &&
		    !take(c, name, is < 0 ? STR("") : str_sub(one, (size_t)is + 1, one.n), f)) {
			return false;
		}
	}
	return true;
}

/* --- the paths -------------------------------------------------------------------------------- */

static void workloads(struct call *c)
{
	struct answer_filter f = {.limit = 0};
	struct json *page;

	if (!read_filter(c, &f)) {
		return;
	}
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
	} else {
		refuse(c, 404, "NotFound",
		       STR("expected /v1/workloads, /v1/workloads/NAMESPACE/NAME, /v1/clusters or "
			   "/v1/queues"));
	}
}

void visibility_handle(void *ctx, const struct http_request *rq, struct http_answer *answer)
{
	struct call c = {.rq = rq, .answer = answer};

	arena_init(&c.a, ANSWER_MEMORY);
	c.env = manager_answers(ctx, clock_mono_ms(), clock_wall_ms(), &c.a);
	answer->content_type = "application/json";
	dispatch(&c);
	arena_done(&c.a);
}
