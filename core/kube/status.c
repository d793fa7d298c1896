/* SPDX-License-Identifier: Apache-2.0 */
/* The table from HTTP answers to codes. */
#include "core/kube/status.h"

#include <inttypes.h>

enum { BODY_TEXT_MAX = 256 };

struct row {
	int http;
	enum mk_code code;
	const char *text; /* Go's generic words; NULL = depends on the body */
};

static const struct row rows[] = {
	{400, ERR_INVALID, "the server rejected our request for an unknown reason"},
	{401, ERR_DENIED, "the server has asked for the client to provide credentials"},
	{403, ERR_DENIED, NULL},
	{404, ERR_NOT_FOUND, "the server could not find the requested resource"},
	{405, ERR_INVALID, "the server does not allow this method on the requested resource"},
	{406, ERR_INVALID,
	 "the server was unable to respond with a content type that the client supports"},
	{408, ERR_TIMEOUT, "the server closed the request before it was complete"},
	{409, ERR_CONFLICT, "the server reported a conflict"},
	{410, ERR_GONE, "the requested version is no longer available"},
	{413, ERR_TOO_BIG, "the request is larger than the server accepts"},
	{415, ERR_INVALID,
	 "the server was unable to process the request with the content type that was sent"},
	{422, ERR_INVALID, "the server rejected our request due to an error in our request"},
	{429, ERR_LIMITED,
	 "the server has received too many requests and has asked us to try again later"},
	{503, ERR_UNAVAILABLE, "the server is currently unable to handle the request"},
	{504, ERR_TIMEOUT,
	 "the server was unable to return a response in the time allotted, but may still be "
	 "processing the request"},
};

static const struct row *row_of(int http)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].http == http) {
			return &rows[i];
		}
	}
	return NULL;
}

/* A body as Go's %q would show it, cut, and without control characters. */
static mk_str quoted(struct arena *a, mk_str body)
{
	struct buf b;
	mk_str out = {NULL, 0};
	mk_str s = str_cut(str_trim(body), BODY_TEXT_MAX);

	buf_init(&b, 8 * (size_t)BODY_TEXT_MAX);
	buf_add(&b, STR("\""));
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\') {
			buf_printf(&b, "\\%c", c);
		} else if (c == '\n') {
			buf_add(&b, STR("\\n"));
		} else if (c == '\t') {
			buf_add(&b, STR("\\t"));
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(&b, "\\x%02x", c);
		} else {
			buf_add(&b, (mk_str){s.p + i, 1});
		}
	}
	buf_add(&b, STR("\""));
	out = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return out;
}

mk_str status_generic_text(struct arena *a, int http, mk_str body)
{
	const struct row *row = row_of(http);

	if (row != NULL && row->text != NULL) {
		return str_of(row->text);
	}
	if (http == 403) {
		mk_str s = str_cut(str_trim(body), BODY_TEXT_MAX);

		return s.n == 0 ? STR("forbidden")
				: arena_printf(a, "forbidden: %.*s", STR_ARG(quoted(a, s)));
	}
	if (http >= 500) {
		mk_str q = quoted(a, str_trim(body).n == 0 ? STR("unknown") : body);

		return arena_printf(a,
				    "an error on the server (%.*s) has prevented the request from "
				    "succeeding",
				    STR_ARG(q));
	}
	return arena_printf(a,
			    "the server responded with the status code %d but did not return more "
			    "information",
			    http);
}

static bool contains(mk_str s, const char *part)
{
	return s.n > 0 && memmem(s.p, s.n, part, strlen(part)) != NULL;
}

static bool has_cause(const struct json *st, const char *reason)
{
	struct json_iter it = json_iter(json_at(st, "/details/causes"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "reason")), reason)) {
			return true;
		}
	}
	return false;
}

static void refine_conflict(struct status *r)
{
	if (str_is(r->reason, "AlreadyExists")) {
		r->code = ERR_EXISTS; /* also "object is being deleted: …": a read tells which */
	} else if (contains(r->text, "uid mismatch") && contains(r->text, "no existing object")) {
		r->code = ERR_NOT_FOUND; /* an apply that named a uid met no object */
	}
}

static void refine_500(struct status *r)
{
	if (r->reason.n == 0 && (contains(r->text, "failed to create typed patch object") ||
				 contains(r->text, "should not be set"))) {
		r->permanent = true;
		r->code = ERR_INVALID;
	}
}

/* Code, reason, text and flags from a Status object. */
static void from_status(struct arena *a, const struct json *st, struct status *r)
{
	const struct row *row = row_of(r->http);
	int64_t after = json_int(json_at(st, "/details/retryAfterSeconds"), -1);

	r->code = row != NULL                       ? row->code
		  : r->http >= 400 && r->http < 500 ? ERR_INVALID
						    : ERR_UNAVAILABLE;
	r->reason = arena_dup(a, str_cut(json_str(json_get(st, "reason")), 128));
	r->text = arena_dup(a, str_cut(json_str(json_get(st, "message")), STATUS_TEXT_MAX));
	if (r->text.n == 0) {
		r->text = status_generic_text(a, r->http, (mk_str){NULL, 0});
	}
	if (r->retry_after_ms < 0 && after >= 0 && after <= 3600) {
		r->retry_after_ms = after * 1000;
	}
	if (r->http == 409) {
		refine_conflict(r);
	} else if (r->http == 500) {
		refine_500(r);
	} else if (r->http == 504) {
		r->rv_too_large = has_cause(st, "ResourceVersionTooLarge") ||
				  contains(r->text, "Too large resource version");
	}
}

/* May the server, or something before it, have executed a write that it answered so? */
static enum op_outcome outcome_of(const struct status *r, bool is_status)
{
	if (r->permanent || (r->http >= 400 && r->http < 500)) {
		return OUTCOME_REFUSED;
	}
	if (r->http == 503 && is_status) {
		/* the API server itself, which is shutting down and did not begin */
		return OUTCOME_REFUSED;
	}
	return OUTCOME_UNKNOWN;
}

static void no_status_text(struct arena *a, const struct status_in *in, struct status *r)
{
	mk_str t = status_generic_text(a, in->http, in->body);

	if (in->verb != NULL && in->resource != NULL) {
		t = arena_printf(a, "%.*s (%s %s)", STR_ARG(t), in->verb, in->resource);
	}
	r->text = str_cut(t, STATUS_TEXT_MAX);
}

/*
 * What a kube-apiserver says where it serves nothing. Any other 404 without a Status may come from
 * a proxy: to take a kind for gone because of it would delete work.
 */
static bool is_unknown_path(mk_str body)
{
	return str_is(str_trim(body), "404 page not found");
}

static void read_failure(struct arena *a, const struct status_in *in, const struct json *doc,
			 struct status *r)
{
	bool is_status = str_is(json_str(json_get(doc, "kind")), "Status");
	const struct row *row = row_of(in->http);

	if (is_status) {
		from_status(a, doc, r);
	} else {
		r->code = row != NULL                         ? row->code
			  : in->http >= 400 && in->http < 500 ? ERR_INVALID
							      : ERR_UNAVAILABLE;
		no_status_text(a, in, r);
		if (in->http == 404) {
			/* Not ERR_NOT_FOUND: the engine would take the object for deleted. */
			r->code = ERR_UNAVAILABLE;
			r->not_served = is_unknown_path(in->body);
		}
		if (r->not_served) {
			r->reason = STR("KindNotServed");
		}
	}
	r->outcome = in->is_write ? outcome_of(r, is_status) : OUTCOME_REFUSED;
	if (r->outcome == OUTCOME_UNKNOWN) {
		r->code = ERR_UNKNOWN;
	}
}

static void read_success(const struct status_in *in, enum mk_code parsed, const struct json *doc,
			 struct status *r)
{
	if (str_trim(in->body).n == 0 || str_is(json_str(json_get(doc, "kind")), "Status")) {
		return; /* done, and nothing to show: a DELETE answers so */
	}
	if (parsed == ERR_OK && json_type(doc) == JSON_OBJ) {
		r->obj = doc;
		return;
	}
	/* A complete 2xx that is no JSON object comes from something that is no API server. */
	r->outcome = in->is_write ? OUTCOME_UNKNOWN : OUTCOME_REFUSED;
	r->code = in->is_write              ? ERR_UNKNOWN
		  : parsed == ERR_NO_MEMORY ? ERR_NO_MEMORY
					    : ERR_UNAVAILABLE;
	r->text = STR("the answer is not a JSON object");
}

void status_read(struct arena *a, const struct status_in *in, struct status *ret)
{
	struct json *doc = NULL;
	enum mk_code parsed = ERR_OK;

	*ret = (struct status){.code = ERR_OK,
			       .outcome = OUTCOME_APPLIED,
			       .http = in->http,
			       .retry_after_ms = in->retry_after_ms};
	if (in->body.n > 0) {
		parsed = json_parse_cut(a, in->body, &doc, NULL);
	}
	if (in->http >= 200 && in->http < 300) {
		read_success(in, parsed, doc, ret);
	} else {
		read_failure(a, in, doc, ret);
	}
}

void status_of_error(struct arena *a, const struct json *status, struct status *ret)
{
	int64_t code = json_int(json_get(status, "code"), 0);

	*ret = (struct status){.outcome = OUTCOME_REFUSED,
			       .http = code > 0 && code < 1000 ? (int)code : 500,
			       .retry_after_ms = -1};
	from_status(a, status, ret);
}
