/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the simulated store, above all the Status bodies of failures. */
#include "t/kubesim/store_int.h"

#include <stdio.h>

mk_str ks_kind_group(struct ks_ctx *c)
{
	return arena_printf(c->a, "%s%s%s", c->res->kind, c->res->group[0] ? "." : "",
			    c->res->group);
}

mk_str ks_plural_group(struct ks_ctx *c)
{
	return arena_printf(c->a, "%s%s%s", c->res->plural, c->res->group[0] ? "." : "",
			    c->res->group);
}

void ks_reply(struct ks_ctx *c, int code, mk_str body)
{
	c->ret->status = code;
	c->ret->body = body;
	c->ret->content_type = "application/json";
	c->done = true;
}

void ks_text(struct ks_ctx *c, int code, const char *text)
{
	ks_reply(c, code, str_of(text));
	c->ret->content_type = "text/plain; charset=utf-8";
}

static struct json *status_new(struct arena *a, int code, const char *reason, mk_str message,
			       struct json *details)
{
	struct json *s = json_new_obj(a);

	json_set_str(a, s, "kind", STR("Status"));
	json_set_str(a, s, "apiVersion", STR("v1"));
	json_set(a, s, STR("metadata"), json_new_obj(a));
	json_set_str(a, s, "status", STR("Failure"));
	json_set_str(a, s, "message", message);
	if (reason != NULL) {
		json_set_str(a, s, "reason", str_of(reason));
	}
	if (details != NULL) {
		json_set(a, s, STR("details"), details);
	}
	json_set_int(a, s, "code", code);
	return s;
}

mk_str ks_status_text(struct arena *a, int code, const char *reason, mk_str message,
		      struct json *details)
{
	return json_write(a, status_new(a, code, reason, message, details));
}

bool ks_fail(struct ks_ctx *c, int code, const char *reason, mk_str message, struct json *details,
	     struct json *causes)
{
	if (causes != NULL) {
		if (!details) {
			details = json_new_obj(c->a);
		}
		json_set(c->a, details, STR("causes"), causes);
	}
	ks_reply(c, code, ks_status_text(c->a, code, reason, message, details));
	return false;
}

bool ks_fail_named(struct ks_ctx *c, int code, const char *reason, mk_str message,
		   struct json *causes)
{
	struct json *d = json_new_obj(c->a);

	if (c->name.n > 0) {
		json_set_str(c->a, d, "name", c->name);
	}
	if (c->res->group[0] != '\0') {
		json_set_str(c->a, d, "group", str_of(c->res->group));
	}
	/* a 422 names the kind, everything else the plural, as the real one does */
	json_set_str(c->a, d, "kind", str_of(code == 422 ? c->res->kind : c->res->plural));
	return ks_fail(c, code, reason, message, d, causes);
}

bool ks_bad_request(struct ks_ctx *c, const char *fmt, ...)
{
	va_list ap;
	mk_str m;

	va_start(ap, fmt);
	m = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
	return ks_fail(c, 400, "BadRequest", m, NULL, NULL);
}

bool ks_server_error(struct ks_ctx *c, const char *fmt, ...)
{
	va_list ap;
	mk_str m;

	va_start(ap, fmt);
	m = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
	return ks_fail(c, 500, NULL, m, NULL, NULL);
}

bool ks_not_found(struct ks_ctx *c)
{
	return ks_fail_named(
		c, 404, "NotFound",
		arena_printf(c->a, "%s \"%.*s\" not found", ks_plural_group(c).p, STR_ARG(c->name)),
		NULL);
}

bool ks_conflict(struct ks_ctx *c, const char *why)
{
	return ks_fail_named(c, 409, "Conflict",
			     arena_printf(c->a, "Operation cannot be fulfilled on %s \"%.*s\": %s",
					  ks_plural_group(c).p, STR_ARG(c->name), why),
			     NULL);
}

bool ks_expired(struct ks_ctx *c, mk_str fresh_token)
{
	struct json *s;

	if (fresh_token.n == 0) {
		return ks_fail(c, 410, "Expired",
			       STR("The resourceVersion for the provided list is too old."), NULL,
			       NULL);
	}
	s = status_new(c->a, 410, "Expired",
		       STR("The provided continue parameter is too old to display a consistent "
			   "list result. You can start a new list without the continue parameter, "
			   "or use the continue token in this response to retrieve the remainder "
			   "of the results."),
		       NULL);
	json_set_str(c->a, json_get(s, "metadata"), "continue", fresh_token);
	ks_reply(c, 410, json_write(c->a, s));
	return false;
}

struct json *ks_too_large_details(struct arena *a)
{
	struct json *d = json_new_obj(a), *cause = json_new_obj(a), *list = json_new_arr(a);

	json_set_str(a, cause, "reason", STR("ResourceVersionTooLarge"));
	json_set_str(a, cause, "message", STR("Too large resource version"));
	json_add(a, list, cause);
	json_set(a, d, STR("causes"), list);
	json_set_int(a, d, "retryAfterSeconds", 1);
	return d;
}

struct json *ks_retry_details(struct arena *a, int seconds)
{
	struct json *d = json_new_obj(a);

	json_set_int(a, d, "retryAfterSeconds", seconds);
	return d;
}

bool ks_too_large_rv(struct ks_ctx *c, uint64_t asked)
{
	c->ret->retry_after_ms = 1000;
	return ks_fail(c, 504, "Timeout",
		       arena_printf(c->a, "Too large resource version: %llu, current: %llu",
				    (unsigned long long)asked, (unsigned long long)c->s->rv),
		       ks_too_large_details(c->a), NULL);
}

void ks_cause(struct ks_causes *v, const char *reason, const char *field, const char *fmt, ...)
{
	struct arena *a = v->c->a;
	struct json *o = json_new_obj(a);
	va_list ap;

	if (!v->list) {
		v->list = json_new_arr(a);
	}
	va_start(ap, fmt);
	json_set_str(a, o, "reason", str_of(reason));
	json_set_str(a, o, "message", arena_vprintf(a, fmt, ap));
	json_set_str(a, o, "field", str_of(field));
	va_end(ap);
	json_add(a, v->list, o);
}

bool ks_causes_ok(struct ks_causes *v)
{
	struct arena *a = v->c->a;
	struct json_iter it = json_iter(v->list);
	size_t n = json_len(v->list);
	mk_str all = STR("");

	if (n == 0) {
		return true;
	}
	while (json_next(&it)) {
		mk_str field = json_str(json_get(it.val, "field"));
		mk_str message = json_str(json_get(it.val, "message"));

		all = arena_printf(a, "%.*s%s%.*s: %.*s", STR_ARG(all), all.n ? ", " : "",
				   STR_ARG(field), STR_ARG(message));
	}
	return ks_fail_named(v->c, 422, "Invalid",
			     arena_printf(a,
					  n > 1 ? "%s \"%.*s\" is invalid: [%.*s]"
						: "%s \"%.*s\" is invalid: %.*s",
					  ks_kind_group(v->c).p, STR_ARG(v->c->name), STR_ARG(all)),
			     v->list);
}
