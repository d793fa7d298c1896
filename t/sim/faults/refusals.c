/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server refuses one verb of one resource or subresource, for seconds or for longer than any
 * timeout, with the answer of a real API server: rights that are missing, an admission policy, a
 * body that is too large or invalid, a server that is busy or broken.
 */
#include <string.h>

#include "t/sim/sim.h"

/* What is refused. */
struct duty {
	bool home; /* by the manager's server */
	const char *method, *verb, *collection, *sub;
};

static const struct duty duties[] = {
	{true, "PATCH", "patch", "/jobs", "/status"},
	{true, "PATCH", "patch", "/workloads", "/status"},
	{true, "POST", "create", "/events", ""},
	{false, "POST", "create", "/workloads", ""},
	{false, "POST", "create", "/jobs", ""},
	{false, "DELETE", "delete", "/workloads", ""},
	{false, "DELETE", "delete", "/jobs", ""},
	{false, "PATCH", "patch", "/workloads", "/status"},
	{false, "PATCH", "patch", "/jobs", ""},
};

/* How; %s: resource, name, resource, verb and so on, as is written below. */
static const struct way {
	int status;
	const char *reason;
	const char *words; /* of the message, after the object's name */
} ways[] = {
	{401, "Unauthorized", "Unauthorized"},
	{403, "Forbidden", "User \\\"multikueued\\\" cannot"},
	{403, "Forbidden", "denied the request: the team's policy"},
	{413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"},
	{422, "Invalid", "is invalid: spec: Invalid value: \\\"x\\\": field is immutable"},
	{429, "TooManyRequests", "too many requests, please try again later"},
	{500, "InternalError",
	 "Internal error occurred: etcdserver: mvcc: database space exceeded"},
	{504, "Timeout", "request did not complete within the allotted timeout"},
};

enum { N_DUTIES = sizeof(duties) / sizeof(*duties), N_WAYS = sizeof(ways) / sizeof(*ways) };

static const struct duty *duty_of(const struct fault *f)
{
	return &duties[f->variant % N_DUTIES];
}

/* Where there are groups, copies are Pods more often than Jobs. */
static const char *collection_of(const struct sim *s, const struct fault *f)
{
	const char *collection = duty_of(f)->collection;

	return s->pods && strcmp(collection, "/jobs") == 0 ? "/pods" : collection;
}

static const struct way *way_of(const struct fault *f)
{
	return &ways[f->variant / N_DUTIES];
}

static void refusals_draw(struct sim *s, struct fault *f, struct rng *r)
{
	bool lasts = rng_chance(r, 1, 2);

	f->variant = (unsigned)rng_below(r, N_DUTIES * N_WAYS);
	f->plane = duty_of(f)->home ? s->site[0].home : f->plane;
	f->until = f->at + (lasts ? 30 * MINUTE : rng_range(r, 5 * SECOND, 5 * MINUTE));
}

/* "/jobs/job-01/status?fieldManager=x" is of "/jobs" and "/status". */
static bool is_of(mk_str target, const char *collection, const char *sub)
{
	const char *at = memmem(target.p, target.n, collection, strlen(collection));
	mk_str path = STR(""), rest;

	if (!at) {
		return false;
	}
	rest = str_sub(target, (size_t)(at - target.p) + strlen(collection), target.n);
	str_split(&rest, '?', &path);
	if (path.n > 0 && path.p[0] != '/') {
		return false; /* a longer word */
	}
	return sub[0] ? str_ends(path, str_of(sub)) : !str_ends(path, STR("/status"));
}

static mk_str answer(struct sim *s, const struct fault *f, mk_str target)
{
	const struct way *w = way_of(f);
	const struct duty *d = duty_of(f);
	const char *resource = collection_of(s, f) + 1;
	const char *group = strcmp(resource, "jobs") == 0     ? "batch"
			    : strcmp(resource, "pods") == 0   ? ""
			    : strcmp(resource, "events") == 0 ? "events.k8s.io"
							      : "kueue.x-k8s.io";
	const char *dot = group[0] ? "." : "";
	mk_str name = STR(""), rest = target, text;

	while (str_split(&rest, '/', &name) && rest.n > 0 && !str_eq(name, str_of(resource))) {
	}
	str_split(&rest, '/', &name);
	rest = name;
	str_split(&rest, '?', &name);
	text = w->status == 401 || w->status == 413 || w->status == 429 || w->status >= 500
		       ? str_of(w->words)
	       : strstr(w->words, "cannot")
		       ? arena_printf(
				 &s->arena,
				 "%s%s%s \\\"%.*s\\\" is forbidden: %s %s resource \\\"%s%s\\\" in "
				 "API group \\\"%s\\\" in the namespace \\\"default\\\"",
				 resource, dot, group, STR_ARG(name), w->words, d->verb, resource,
				 d->sub, group)
	       : w->status == 403
		       ? arena_printf(&s->arena,
				      "%s%s%s \\\"%.*s\\\" is forbidden: ValidatingAdmissionPolicy "
				      "'p' with binding 'b' %s",
				      resource, dot, group, STR_ARG(name), w->words)
		       : arena_printf(&s->arena, "%s%s%s \\\"%.*s\\\" %s", resource, dot, group,
				      STR_ARG(name), w->words);
	return arena_printf(
		&s->arena,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"%.*s\",\"reason\":\"%s\",\"details\":{\"name\":\"%.*s\",\"group\":"
		"\"%s\",\"kind\":\"%s\"},\"code\":%d}",
		STR_ARG(text), w->reason, STR_ARG(name), group, resource, w->status);
}

static int refuses(struct sim *s, const struct fault *f, mk_str method, mk_str target, mk_str *ret)
{
	const struct duty *d = duty_of(f);

	if (!str_is(method, d->method) || !is_of(target, collection_of(s, f), d->sub)) {
		return 0;
	}
	*ret = answer(s, f, target);
	return way_of(f)->status;
}

FAULT(refusals) = {
	.family = FAULT_OF_WORLD,
	.number = 13,
	.name = "one verb refused",
	.world = "refusals",
	.on_request = true, /* older seeds would have another meaning */
	.stays = true,
	.draw = refusals_draw,
	.refuses = refuses,
};
