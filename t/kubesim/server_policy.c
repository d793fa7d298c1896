/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an API server asks others about a request, made up by the control path policy: which rights
 * the client has (access reviews), and one that it impersonates, what webhooks do to a write, and
 * how its clock differs.
 */
#include <stdio.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "t/kubesim/server_priv.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/"

bool policy_set(struct cluster *c, mk_str text)
{
	char *owned = mk_strndup(text);

	if (!owned) {
		return false;
	}
	mk_free(c->policy);
	c->policy = owned;
	return true;
}

static struct json *read_policy(const struct cluster *c, struct arena *a)
{
	struct json *o = NULL;

	if (!c->policy) {
		return NULL;
	}
	(void)json_parse(a, str_of(c->policy), &o, NULL);
	return o;
}

static struct json *policy_of(struct exchange *ex)
{
	return read_policy(ex->conn->cluster, &ex->a);
}

const struct json *policy_show(const struct cluster *c, struct arena *a)
{
	return json_get(read_policy(c, a), "show");
}

mk_str policy_date(struct exchange *ex)
{
	int64_t skew = json_int(json_get(policy_of(ex), "skewMs"), 0);
	time_t seconds = (time_t)((clock_wall_ms() + skew) / 1000);
	char text[40] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm) != NULL) {
		(void)strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	}
	return arena_dup(&ex->a, str_of(text));
}

/* --- access reviews --------------------------------------------------------------------------- */

/* "delete batch/jobs", "patch kueue.x-k8s.io/workloads/status"; the core group is "". */
static bool is_denied(struct exchange *ex, const struct json *attributes)
{
	mk_str sub = json_str(json_get(attributes, "subresource"));
	mk_str right = arena_printf(&ex->a, "%.*s %.*s/%.*s%s%.*s",
				    STR_ARG(json_str(json_get(attributes, "verb"))),
				    STR_ARG(json_str(json_get(attributes, "group"))),
				    STR_ARG(json_str(json_get(attributes, "resource"))),
				    sub.n > 0 ? "/" : "", STR_ARG(sub));
	struct json_iter it = json_iter(json_get(policy_of(ex), "deny"));

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), right)) {
			return true;
		}
	}
	return false;
}

/* --- accounts --------------------------------------------------------------------------------- */

/* A request by another's rights: what it does to which resource. */
struct right {
	mk_str verb, group, resource, ns;
};

static struct right right_of(const struct exchange *ex, mk_str path)
{
	struct right r = {.verb = str_is(ex->method, "POST")     ? STR("create")
				  : str_is(ex->method, "PATCH")  ? STR("patch")
				  : str_is(ex->method, "DELETE") ? STR("delete")
								 : STR("get"),
			  .group = STR(""),
			  .ns = STR("")};
	mk_str part, rest = path;

	str_split(&rest, '/', &part); /* before the first slash */
	str_split(&rest, '/', &part);
	if (str_is(part, "apis")) {
		str_split(&rest, '/', &r.group);
	}
	str_split(&rest, '/', &part); /* the version */
	str_split(&rest, '/', &r.resource);
	if (str_is(r.resource, "namespaces") && rest.n > 0) {
		str_split(&rest, '/', &r.ns);
		str_split(&rest, '/', &r.resource);
	}
	return r;
}

/* Has the account that right, of those that the policy gives to accounts? */
static bool account_may(struct exchange *ex, mk_str verb, mk_str group, mk_str resource)
{
	const struct json *accounts = json_get(policy_of(ex), "accounts");
	mk_str right = arena_printf(&ex->a, "%.*s %.*s/%.*s", STR_ARG(verb), STR_ARG(group),
				    STR_ARG(resource));
	struct json_iter it = json_iter(json_getn(accounts, ex->as));

	while (json_next(&it)) {
		if (str_eq(json_str(it.val), right)) {
			return true;
		}
	}
	return !accounts;
}

bool policy_lets(struct exchange *ex, mk_str path, mk_str *user)
{
	struct right r = right_of(ex, path);
	struct json *impersonate = json_new_obj(&ex->a);
	mk_str last = ex->as, part;

	if (ex->as.n == 0) {
		return true;
	}
	while (str_split(&last, ':', &part) && last.n > 0) {
	}
	json_set_str(&ex->a, impersonate, "verb", STR("impersonate"));
	json_set_str(&ex->a, impersonate, "resource", STR("serviceaccounts"));
	if (is_denied(ex, impersonate)) {
		exchange_status(
			ex, 403, "Forbidden",
			arena_printf(&ex->a,
				     "serviceaccounts \"%.*s\" is forbidden: User \"%.*s\" "
				     "cannot impersonate resource \"serviceaccounts\" in API "
				     "group \"\" in the namespace \"%.*s\"",
				     STR_ARG(part), STR_ARG(*user), STR_ARG(r.ns))
				.p);
		return false;
	}
	*user = ex->as;
	if (str_starts(path, STR(REVIEWS)) || account_may(ex, r.verb, r.group, r.resource)) {
		return true;
	}
	exchange_status(ex, 403, "Forbidden",
			arena_printf(&ex->a,
				     "%.*s.%.*s is forbidden: User \"%.*s\" cannot %.*s resource "
				     "\"%.*s\" in API group \"%.*s\" in the namespace \"%.*s\"",
				     STR_ARG(r.resource), STR_ARG(r.group), STR_ARG(ex->as),
				     STR_ARG(r.verb), STR_ARG(r.resource), STR_ARG(r.group),
				     STR_ARG(r.ns))
				.p);
	return false;
}

static bool review_allows(struct exchange *ex, const struct json *attributes)
{
	return !is_denied(ex, attributes) &&
	       (ex->as.n == 0 || account_may(ex, json_str(json_get(attributes, "verb")),
					     json_str(json_get(attributes, "group")),
					     json_str(json_get(attributes, "resource"))));
}

static bool answer_review(struct exchange *ex, mk_str path)
{
	struct json *o = NULL, *status = json_new_obj(&ex->a);

	if (!str_is(ex->method, "POST") || !str_starts(path, STR(REVIEWS)) ||
	    !str_ends(path, STR("subjectaccessreviews"))) {
		return false;
	}
	if (json_parse(&ex->a, buf_str(&ex->body), &o, NULL) != ERR_OK) {
		exchange_status(ex, 400, "BadRequest", "the body is no JSON");
		return true;
	}
	json_set_bool(&ex->a, status, "allowed",
		      review_allows(ex, json_at(o, "/spec/resourceAttributes")));
	json_set(&ex->a, o, STR("status"), status);
	exchange_answer(ex, 201, "application/json", json_write(&ex->a, o));
	return true;
}

/* --- webhooks --------------------------------------------------------------------------------- */

/* What a webhook makes of the body. */
static void change(struct exchange *ex, const struct json *merge)
{
	struct json *o = NULL;
	mk_str text;

	if (json_parse(&ex->a, buf_str(&ex->body), &o, NULL) != ERR_OK) {
		return;
	}
	text = json_write(&ex->a, json_merge(&ex->a, o, merge));
	buf_clear(&ex->body);
	buf_add(&ex->body, text);
}

/* "body" as JSON, or "text", which need not be any, so many "times". */
static bool answer_rule(struct exchange *ex, const struct json *rule, int status)
{
	mk_str text = json_str(json_get(rule, "text"));
	size_t times = (size_t)json_int(json_get(rule, "times"), 1);
	char *all;

	if (json_get(rule, "body")) {
		exchange_answer(ex, status, "application/json",
				json_write(&ex->a, json_get(rule, "body")));
		return true;
	}
	all = json_get(rule, "text") ? arena_alloc(&ex->a, text.n * times + 1) : NULL;
	for (size_t i = 0; all && i < times; i++) {
		memcpy(all + i * text.n, str_chars(text), text.n);
	}
	if (all) {
		exchange_answer(ex, status, "application/json", (mk_str){all, text.n * times});
	}
	return all != NULL;
}

bool policy_answers(struct exchange *ex, mk_str path)
{
	struct json_iter it = json_iter(json_get(policy_of(ex), "rules"));
	mk_str line = arena_printf(&ex->a, "%.*s %.*s", STR_ARG(ex->method), STR_ARG(ex->target));

	if (!line.p || answer_review(ex, path)) {
		return line.p != NULL;
	}
	while (json_next(&it)) {
		const char *match = json_str(json_get(it.val, "match")).p;
		int64_t status = json_int(json_get(it.val, "status"), 0);

		if (!match || !strstr(line.p, match)) {
			continue;
		}
		if (status > 0 && answer_rule(ex, it.val, (int)status)) {
			return true;
		}
		if (status > 0) {
			exchange_status(ex, (int)status, status == 403 ? "Forbidden" : "Failure",
					str_chars(json_str(json_get(it.val, "message"))));
			return true;
		}
		change(ex, json_get(it.val, "merge"));
	}
	return false;
}
