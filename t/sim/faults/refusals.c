/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server refuses one verb of one resource or subresource, for seconds or for longer than any
 * timeout, with the answer of a real API server: rights that are missing, an admission policy, a
 * body that is too large or invalid, a server that is busy or broken. What is read can be refused
 * by rights and by such a server only.
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

/* Drawn for half of the seeds instead. */
static const struct duty more[] = {
	{false, "PATCH", "patch", "/workloads", ""},
	{false, "GET", "get", "/workloads", ""},
	{false, "GET", "get", "/jobs", ""},
	{false, "GET", "list", "/workloads", ""},
	{false, "GET", "list", "/jobs", ""},
	{false, "GET", "watch", "/workloads", ""},
	{false, "GET", "watch", "/jobs", ""},
	{true, "GET", "get", "/workloads", ""},
	{true, "GET", "get", "/jobs", ""},
	{true, "GET", "list", "/workloads", ""},
	{true, "GET", "list", "/jobs", ""},
	{true, "GET", "list", "/multikueueclusters", ""},
	{true, "GET", "list", "/multikueueconfigs", ""},
	{true, "GET", "list", "/admissionchecks", ""},
	{true, "GET", "list", "/secrets", ""},
	{true, "GET", "watch", "/workloads", ""},
	{true, "GET", "watch", "/jobs", ""},
	{true, "GET", "watch", "/multikueueclusters", ""},
	{true, "GET", "watch", "/multikueueconfigs", ""},
	{true, "GET", "watch", "/admissionchecks", ""},
	{true, "GET", "watch", "/secrets", ""},
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

/* Of these, ways to refuse what is read. */
static const unsigned reads[] = {0, 1, 5, 6, 7};

enum {
	N_DUTIES = sizeof(duties) / sizeof(*duties),
	N_MORE = sizeof(more) / sizeof(*more),
	N_ALL = N_DUTIES + N_MORE, /* a variant is the duty plus so many times the way */
	N_WAYS = sizeof(ways) / sizeof(*ways),
	N_READS = sizeof(reads) / sizeof(*reads),
};

static const struct duty *duty_of(const struct fault *f)
{
	unsigned i = f->variant % N_ALL;

	return i < N_DUTIES ? &duties[i] : &more[i - N_DUTIES];
}

static bool is_read(const struct duty *d)
{
	return strcmp(d->method, "GET") == 0;
}

/* What a daemon knows of a server, it knows by lists and watches. */
static bool blinds(const struct duty *d)
{
	return is_read(d) && strcmp(d->verb, "get") != 0;
}

static bool is_jobs(const struct duty *d)
{
	return strcmp(d->collection, "/jobs") == 0;
}

/* Where there are groups, copies are Pods more often than Jobs. */
static const char *collection_of(const struct sim *s, const struct fault *f)
{
	return s->pods && is_jobs(duty_of(f)) ? "/pods" : duty_of(f)->collection;
}

static const struct way *way_of(const struct fault *f)
{
	return &ways[f->variant / N_ALL];
}

/* Half of the seeds are as they were before there was more to draw. */
static unsigned draw_variant(struct rng *r)
{
	unsigned old = (unsigned)rng_below(r, N_DUTIES * N_WAYS);

	return old % N_DUTIES + old / N_DUTIES * N_ALL;
}

static unsigned draw_more(struct rng *r)
{
	unsigned i = (unsigned)rng_below(r, N_MORE);

	return N_DUTIES + i +
	       N_ALL * (is_read(&more[i]) ? reads[rng_below(r, N_READS)]
					  : (unsigned)rng_below(r, N_WAYS));
}

/*
 * A report about a Workload needs nothing of the manager's jobs; but 401 is an answer about
 * whatever the same credentials ask for.
 */
static void refusals_draw(struct sim *s, struct fault *f, struct rng *r)
{
	bool lasts = rng_chance(r, 1, 2);

	f->variant = draw_variant(r);
	f->until = f->at + (lasts ? 30 * MINUTE : rng_range(r, 5 * SECOND, 5 * MINUTE));
	if (rng_chance(r, 1, 2)) {
		f->variant = draw_more(r);
	}
	f->plane = duty_of(f)->home ? s->site[0].home : f->plane;
	f->hides = blinds(duty_of(f)) &&
		   !(duty_of(f)->home && is_jobs(duty_of(f)) && way_of(f)->status != 401);
}

/*
 * "/jobs/job-01/status?fieldManager=x" is of "/jobs" and "/status"; "/jobs?watch=1" is what is
 * watched, "/jobs?limit=500" what is listed.
 */
static bool is_of(mk_str target, const struct duty *d, const char *collection)
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
	if (is_read(d)) {
		return strcmp(d->verb, path.n > 0                         ? "get"
				       : str_starts(rest, STR("watch=1")) ? "watch"
									  : "list") == 0;
	}
	return d->sub[0] ? str_ends(path, str_of(d->sub)) : !str_ends(path, STR("/status"));
}

static const char *group_of(const char *resource)
{
	return strcmp(resource, "jobs") == 0                                       ? "batch"
	       : strcmp(resource, "pods") == 0 || strcmp(resource, "secrets") == 0 ? ""
	       : strcmp(resource, "events") == 0                                   ? "events.k8s.io"
						 : "kueue.x-k8s.io";
}

/* As the authorizer writes it, for one object and for a collection. */
static mk_str forbidden(struct sim *s, const struct duty *d, const struct way *w,
			const char *resource, mk_str name)
{
	const char *group = group_of(resource);
	mk_str object =
		name.n > 0 ? arena_printf(&s->arena, " \\\"%.*s\\\"", STR_ARG(name)) : STR("");

	return arena_printf(&s->arena,
			    "%s%s%s%.*s is forbidden: %s %s resource \\\"%s%s\\\" in API group "
			    "\\\"%s\\\" %s",
			    resource, group[0] ? "." : "", group, STR_ARG(object), w->words,
			    d->verb, resource, d->sub, group,
			    blinds(d) ? "at the cluster scope"
				      : "in the namespace \\\"default\\\"");
}

static mk_str answer(struct sim *s, const struct fault *f, mk_str target)
{
	const struct way *w = way_of(f);
	const struct duty *d = duty_of(f);
	const char *resource = collection_of(s, f) + 1;
	const char *group = group_of(resource);
	const char *dot = group[0] ? "." : "";
	mk_str name = STR(""), rest = target, text;

	while (str_split(&rest, '/', &name) && rest.n > 0 && !str_eq(name, str_of(resource))) {
	}
	str_split(&rest, '/', &name);
	rest = name;
	str_split(&rest, '?', &name);
	text = w->status == 401 || w->status == 413 || w->status == 429 || w->status >= 500
		       ? str_of(w->words)
	       : strstr(w->words, "cannot") ? forbidden(s, d, w, resource, name)
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

	if (!str_is(method, d->method) || !is_of(target, d, collection_of(s, f))) {
		return 0;
	}
	*ret = answer(s, f, target);
	return way_of(f)->status;
}

/* Watches that are open are none that a server refuses: they end, and cannot be resumed. */
static void refusals_begin(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];
	const struct duty *d = duty_of(f);

	say(s, p->name, "refuses to %s %s%s: %d", d->verb, collection_of(s, f) + 1, d->sub,
	    way_of(f)->status);
	if (blinds(duty_of(f))) {
		ks_compact(p->store);
		ks_watch_end_all(p->store);
		plane_watches(p);
	}
}

FAULT(refusals) = {
	.family = FAULT_OF_WORLD,
	.number = 13,
	.name = "one verb refused",
	.world = "refusals",
	.on_request = true, /* older seeds would have another meaning */
	.stays = true,
	.draw = refusals_draw,
	.begin = refusals_begin,
	.refuses = refuses,
};
