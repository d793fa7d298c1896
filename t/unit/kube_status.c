/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP answers to codes and outcomes, row by row; paths and queries. */
#include "core/base/alloc.h"
#include "core/kube/status.h"
#include "core/kube/url.h"
#include "t/lib/tap.h"

static struct arena arena;

struct row {
	const char *name;
	int http;
	const char *body;
	bool is_write;
	enum mk_code code;
	enum op_outcome outcome;
	const char *reason, *text; /* NULL = any */
};

#define ST(code, reason, message)                                                                \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"" reason \
	"\",\"message\":\"" message "\",\"code\":" #code "}"

static const struct row rows[] = {
	{"200 object", 200, "{\"kind\":\"Job\"}", true, ERR_OK, OUTCOME_APPLIED, "", ""},
	{"201 object", 201, "{\"kind\":\"Job\"}", true, ERR_OK, OUTCOME_APPLIED, "", ""},
	{"200 Status of a delete", 200, "{\"kind\":\"Status\",\"status\":\"Success\"}", true,
	 ERR_OK, OUTCOME_APPLIED, "", ""},
	{"202 nothing", 202, "", true, ERR_OK, OUTCOME_APPLIED, "", ""},
	{"200 HTML to a write", 200, "<html>", true, ERR_UNKNOWN, OUTCOME_UNKNOWN, "", NULL},
	{"200 HTML to a read", 200, "<html>", false, ERR_UNAVAILABLE, OUTCOME_REFUSED, "", NULL},
	{"200 truncated", 200, "{\"kind\":", true, ERR_UNKNOWN, OUTCOME_UNKNOWN, "", NULL},
	{"200 list of nothing", 200, "[]", false, ERR_UNAVAILABLE, OUTCOME_REFUSED, "", NULL},
	{"404 object", 404, ST(404, "NotFound", "jobs.batch x not found"), true, ERR_NOT_FOUND,
	 OUTCOME_REFUSED, "NotFound", "jobs.batch x not found"},
	{"404 kind", 404, "404 page not found\n", true, ERR_UNAVAILABLE, OUTCOME_REFUSED,
	 "KindNotServed", "the server could not find the requested resource"},
	{"404 of another server", 404, "<html>404 page not found</html>", true, ERR_UNAVAILABLE,
	 OUTCOME_REFUSED, "", "the server could not find the requested resource"},
	{"404 nothing", 404, "", false, ERR_UNAVAILABLE, OUTCOME_REFUSED, "",
	 "the server could not find the requested resource"},
	{"409 AlreadyExists", 409, ST(409, "AlreadyExists", "x already exists"), true, ERR_EXISTS,
	 OUTCOME_REFUSED, "AlreadyExists", "x already exists"},
	{"409 being deleted", 409,
	 ST(409, "AlreadyExists", "object is being deleted: x already exists"), true, ERR_EXISTS,
	 OUTCOME_REFUSED, "AlreadyExists", NULL},
	{"409 Conflict", 409, ST(409, "Conflict", "the object has been modified"), true,
	 ERR_CONFLICT, OUTCOME_REFUSED, "Conflict", NULL},
	{"409 uid and no object", 409,
	 ST(409, "Conflict",
	    "uid mismatch: the provided object specified uid a, and no "
	    "existing object was found"),
	 true, ERR_NOT_FOUND, OUTCOME_REFUSED, "Conflict", NULL},
	{"422", 422, ST(422, "Invalid", "spec.x: Invalid value"), true, ERR_INVALID,
	 OUTCOME_REFUSED, "Invalid", NULL},
	{"400", 400, ST(400, "BadRequest", "no"), true, ERR_INVALID, OUTCOME_REFUSED, "BadRequest",
	 NULL},
	{"406", 406, ST(406, "NotAcceptable", "no"), true, ERR_INVALID, OUTCOME_REFUSED, NULL,
	 NULL},
	{"415", 415, ST(415, "UnsupportedMediaType", "no"), true, ERR_INVALID, OUTCOME_REFUSED,
	 NULL, NULL},
	{"405", 405, "", true, ERR_INVALID, OUTCOME_REFUSED, "",
	 "the server does not allow this method on the requested resource"},
	{"413", 413, ST(413, "RequestEntityTooLarge", "limit is 3145728"), true, ERR_TOO_BIG,
	 OUTCOME_REFUSED, NULL, NULL},
	{"401", 401, ST(401, "Unauthorized", "Unauthorized"), true, ERR_DENIED, OUTCOME_REFUSED,
	 NULL, "Unauthorized"},
	{"401 bare", 401, "", true, ERR_DENIED, OUTCOME_REFUSED, "",
	 "the server has asked for the client to provide credentials"},
	{"403", 403, ST(403, "Forbidden", "no"), true, ERR_DENIED, OUTCOME_REFUSED, "Forbidden",
	 "no"},
	{"403 bare", 403, "", true, ERR_DENIED, OUTCOME_REFUSED, "", "forbidden"},
	{"403 of a proxy", 403, "go\taway \"x\"\n", true, ERR_DENIED, OUTCOME_REFUSED, "",
	 "forbidden: \"go\\taway \\\"x\\\"\""},
	{"408", 408, "", true, ERR_TIMEOUT, OUTCOME_REFUSED, "", NULL},
	{"410", 410, ST(410, "Expired", "too old"), false, ERR_GONE, OUTCOME_REFUSED, "Expired",
	 NULL},
	{"418", 418, "", true, ERR_INVALID, OUTCOME_REFUSED, "",
	 "the server responded with the status code 418 but did not return more information"},
	{"418 Status", 418, ST(418, "", ""), true, ERR_INVALID, OUTCOME_REFUSED, "", NULL},
	{"429", 429, ST(429, "TooManyRequests", "slow down"), true, ERR_LIMITED, OUTCOME_REFUSED,
	 NULL, NULL},
	{"500 typed patch", 500,
	 ST(500, "", "failed to create typed patch object (x): unknown field"), true, ERR_INVALID,
	 OUTCOME_REFUSED, "", NULL},
	{"500 rv on create", 500,
	 ST(500, "", "resourceVersion should not be set on objects to be created"), true,
	 ERR_INVALID, OUTCOME_REFUSED, "", NULL},
	{"500 without reason", 500, ST(500, "", "boom"), true, ERR_UNKNOWN, OUTCOME_UNKNOWN, "",
	 "boom"},
	{"500 to a read", 500, ST(500, "", "boom"), false, ERR_UNAVAILABLE, OUTCOME_REFUSED, "",
	 "boom"},
	{"500 with reason", 500, ST(500, "InternalError", "should not be set by etcd"), true,
	 ERR_UNKNOWN, OUTCOME_UNKNOWN, NULL, NULL},
	{"502", 502, "<html>\001</html>", true, ERR_UNKNOWN, OUTCOME_UNKNOWN, "",
	 "an error on the server (\"<html>\\x01</html>\") has prevented the request from "
	 "succeeding (get jobs.batch)"},
	{"500 empty", 500, "", false, ERR_UNAVAILABLE, OUTCOME_REFUSED, "",
	 "an error on the server (\"unknown\") has prevented the request from succeeding (get "
	 "jobs.batch)"},
	{"503 of the server", 503, ST(503, "ServiceUnavailable", "shutting down"), true,
	 ERR_UNAVAILABLE, OUTCOME_REFUSED, NULL, NULL},
	{"503 of a proxy", 503, "no backend", true, ERR_UNKNOWN, OUTCOME_UNKNOWN, "", NULL},
	{"504", 504, ST(504, "Timeout", "etcd"), true, ERR_UNKNOWN, OUTCOME_UNKNOWN, NULL, NULL},
	{"504 to a read", 504, ST(504, "Timeout", "etcd"), false, ERR_TIMEOUT, OUTCOME_REFUSED,
	 NULL, NULL},
	{"302", 302, "", true, ERR_UNKNOWN, OUTCOME_UNKNOWN, "", NULL},
	{"deep bomb", 500, NULL, false, ERR_UNAVAILABLE, OUTCOME_REFUSED, "", NULL},
};

static void test_rows(void)
{
	struct buf deep;

	buf_init(&deep, 100000);
	for (int i = 0; i < 10000; i++) {
		buf_add(&deep, STR("[{\"a\":"));
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct status st;
		bool bare = r->text != NULL && !strstr(r->text, "(get jobs.batch)");

		status_read(&arena,
			    &(struct status_in){.http = r->http,
						.body = r->body != NULL ? str_of(r->body)
									: buf_str(&deep),
						.retry_after_ms = -1,
						.is_write = r->is_write,
						.verb = bare ? NULL : "get",
						.resource = "jobs.batch"},
			    &st);
		is_str(err_code_name(st.code), err_code_name(r->code), r->name);
		is_int(st.outcome, r->outcome, r->name);
		if (r->reason != NULL) {
			ok(str_is(st.reason, r->reason), r->name);
		}
		if (r->text != NULL && !ok(str_is(st.text, r->text), r->name)) {
			printf("# found %.*s\n", STR_ARG(st.text));
		}
	}
	buf_done(&deep);
}

static void test_details(void)
{
	struct status st;
	struct status_in in = {
		.http = 429,
		.retry_after_ms = -1,
		.body = STR("{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":3}}")};
	struct json *doc = NULL;
	struct buf b;

	status_read(&arena, &in, &st);
	is_int(st.retry_after_ms, 3000, "Retry-After from the details");
	in.retry_after_ms = 7000;
	status_read(&arena, &in, &st);
	is_int(st.retry_after_ms, 7000, "the header wins");
	in.retry_after_ms = -1;
	in.body = STR("{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":-5}}");
	status_read(&arena, &in, &st);
	is_int(st.retry_after_ms, -1, "nonsense does not count");
	in.body = STR("{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":99999999}}");
	status_read(&arena, &in, &st);
	is_int(st.retry_after_ms, -1, "nor does a day");

	in = (struct status_in){.http = 504,
				.retry_after_ms = -1,
				.body = STR("{\"kind\":\"Status\",\"details\":{\"causes\":[{"
					    "\"reason\":\"x\"},{\"reason\":"
					    "\"ResourceVersionTooLarge\"}]}}")};
	status_read(&arena, &in, &st);
	ok(st.rv_too_large, "504 of a store that is behind");
	in.body = STR("{\"kind\":\"Status\",\"message\":\"Timeout: Too large resource version: 9, "
		      "current: 3\"}");
	status_read(&arena, &in, &st);
	ok(st.rv_too_large, "by its words where causes are missing");

	json_parse(&arena,
		   STR("{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too "
		       "old\"}"),
		   &doc, NULL);
	status_of_error(&arena, doc, &st);
	is_int(st.code, ERR_GONE, "an ERROR event's object");
	status_of_error(&arena, NULL, &st);
	is_int(st.code, ERR_UNAVAILABLE, "an ERROR event without one");
	ok(st.text.n > 0, "has words too");

	buf_init(&b, 100000);
	buf_add(&b, STR("{\"kind\":\"Status\",\"message\":\""));
	while (b.n < 5000) {
		buf_add(&b, STR("\303\274\303\274"));
	}
	buf_add(&b, STR("\"}"));
	in = (struct status_in){.http = 422, .retry_after_ms = -1, .body = buf_str(&b)};
	status_read(&arena, &in, &st);
	is_int(st.text.n, STATUS_TEXT_MAX, "a long message is cut");
	buf_done(&b);
}

static void test_no_memory(void)
{
	struct arena a;
	struct status st;

	arena_init(&a, 0);
	alloc_fail_after(1);
	status_read(&a, &(struct status_in){.http = 200, .body = STR("{}"), .retry_after_ms = -1},
		    &st);
	is_int(st.code, ERR_NO_MEMORY, "out of memory in a read");
	status_read(&a,
		    &(struct status_in){
			    .http = 500, .body = STR("x"), .retry_after_ms = -1, .is_write = true},
		    &st);
	is_int(st.outcome, OUTCOME_UNKNOWN, "and in a write");
	status_read(&a,
		    &(struct status_in){.http = 404,
					.body = STR(ST(404, "NotFound", "m")),
					.retry_after_ms = -1},
		    &st);
	ok(st.code == ERR_UNAVAILABLE && !st.not_served,
	   "a 404 that could not be read says nothing of the kind");
	alloc_fail_after(0);
	arena_done(&a);
}

static const char *path(const struct url_target *t)
{
	static char out[URL_MAX];
	struct buf b;

	buf_init(&b, URL_MAX);
	url_path(&b, t);
	snprintf(out, sizeof(out), "%s", b.failed ? "failed" : b.p);
	buf_done(&b);
	return out;
}

static void test_url(void)
{
	struct kinds ks;
	struct buf b;
	uint64_t rv = 7;
	static char big[URL_MAX + 10];

	kinds_init(&ks);
	is_str(path(&(struct url_target){.kind = &ks.k[KIND_WORKLOAD],
					 .ns = STR("n"),
					 .name = STR("w"),
					 .subresource = "status"}),
	       "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w/status",
	       "an object's status");
	is_str(path(&(struct url_target){.kind = &ks.k[KIND_SECRET]}), "/api/v1/secrets",
	       "a collection of the core group");
	is_str(path(&(struct url_target){.kind = &ks.k[KIND_WORKLOAD],
					 .plural = STR("p"),
					 .name = STR("a/b?c%"),
					 .subresource = ""}),
	       "/apis/kueue.x-k8s.io/v1beta2/p/a%2Fb%3Fc%25", "names are escaped");
	is_str(path(&(struct url_target){.kind = &ks.k[KIND_WORKLOAD], .ns = STR("..")}), "failed",
	       "dots are refused");
	is_str(path(&(struct url_target){.kind = &ks.k[KIND_WORKLOAD], .ns = STR(".")}), "failed",
	       "one dot too");
	memset(big, 'a', sizeof(big) - 1);
	is_str(path(&(struct url_target){.kind = &ks.k[KIND_WORKLOAD], .ns = str_of(big)}),
	       "failed", "too long");
	buf_init(&b, URL_MAX);
	buf_add(&b, STR("/x"));
	url_query(&b, "a", STR("k in (v, w~)"));
	url_query_u64(&b, "n", UINT64_MAX);
	url_query(&b, "e", STR(""));
	is_str(b.p, "/x?a=k%20in%20%28v%2C%20w~%29&n=18446744073709551615&e=", "a query");
	buf_clear(&b);
	buf_add(&b, STR("/x"));
	url_query_u64(&b, "n", 1);
	is_str(b.p, "/x?n=1", "a number first");
	buf_done(&b);
	ok(url_rv(STR("12"), &rv) && rv == 12, "a version");
	ok(!url_rv(STR("0"), &rv) && !url_rv(STR(""), &rv) && !url_rv(STR("12a"), &rv) &&
		   !url_rv(STR("-1"), &rv) && !url_rv(STR("99999999999999999999"), &rv) && rv == 12,
	   "what is none");
}

int main(void)
{
	arena_init(&arena, 0);
	test_rows();
	test_details();
	test_no_memory();
	test_url();
	arena_done(&arena);
	return done_testing();
}
