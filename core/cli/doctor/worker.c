/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a worker, in four steps: its kubeconfig from the manager, one request that tells
 * whether the server is there and lets us in, its objects, and last what depends on those: rights
 * and dry runs. See doctor.h.
 */
#include "core/api/names.h"
#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/cli/doctor/doctor.h"
#include "core/kube/kubeconfig.h"

#define KUEUE "/apis/" NAME_API "/"

enum { WORKER_MEMORY = 512 * 1024 * 1024, TURN_MS = 50 };

typedef void step_fn(struct doctor_worker *w);

static void after_secret(struct doctor_worker *w);
static void after_version(struct doctor_worker *w);
static void after_objects(struct doctor_worker *w);
static void after_all(struct doctor_worker *w);

/* One of the step's questions was answered; the last one begins the next step. */
static void next(struct doctor_worker *w, step_fn *step)
{
	if (--w->under_way == 0) {
		step(w);
	}
}

static void on_secret(struct doctor_ask *q, void *ctx)
{
	(void)q;
	next(ctx, after_secret);
}

static void on_version(struct doctor_ask *q, void *ctx)
{
	(void)q;
	next(ctx, after_version);
}

static void on_object(struct doctor_ask *q, void *ctx)
{
	(void)q;
	next(ctx, after_objects);
}

static void on_last(struct doctor_ask *q, void *ctx)
{
	(void)q;
	next(ctx, after_all);
}

static void ask(struct doctor_worker *w, struct doctor_ask *q, mk_str path, bool is_list,
		mk_str body, void (*done)(struct doctor_ask *q, void *ctx))
{
	*q = (struct doctor_ask){.d = w->d,
				 .a = &w->a,
				 .to = w->to,
				 .path = path,
				 .is_list = is_list,
				 .as = q->as,
				 .about = q->about,
				 .done = done,
				 .ctx = w};
	w->under_way++;
	doctor_send(q, body);
}

/* --- what rules ask --------------------------------------------------------------------------- */

bool doctor_is_in(const struct doctor_worker *w)
{
	return doctor_has(&w->version) && w->identity.is_asked;
}

bool doctor_serves(const struct doctor_worker *w, const struct doctor_kind *k)
{
	const struct doctor_ask *q = w->versions ? &w->versions[k->version] : NULL;
	struct json_iter it = json_iter(q ? json_get(q->v, "resources") : NULL);

	while (json_next(&it)) {
		if (str_eq(row_text(it.val, "kind"), k->kind)) {
			return true;
		}
	}
	return !q || (!doctor_has(q) && q->status != 404);
}

/* Is the resource that of a kind which the manager or the worker does not serve? */
static bool is_absent(const struct doctor_worker *w, const struct doctor_right *r)
{
	for (size_t i = 0; i < w->d->m.n_kinds; i++) {
		const struct doctor_kind *k = &w->d->m.kinds[i];
		mk_str version = k->api_version, group = STR("");

		if (str_index(version, '/') >= 0) {
			str_split(&version, '/', &group);
		}
		if (str_eq(group, r->group) && str_eq(k->plural, r->resource)) {
			return !doctor_serves(w, k);
		}
	}
	/* Of a kind that the manager does not serve, which has no plural here. */
	return r->group.n > 0 && !str_is(r->group, NAME_GROUP);
}

const struct doctor_route *doctor_route_of(const struct doctor_worker *w, size_t *at)
{
	while (*at < w->d->m.n_routes) {
		const struct doctor_route *r = &w->d->m.routes[(*at)++];

		if (w->member[r->config]) {
			return r;
		}
	}
	return NULL;
}

const struct json *doctor_worker_local(const struct doctor_worker *w, mk_str ns, mk_str name)
{
	struct json_iter it = json_iter(w->locals.v);

	while (json_next(&it)) {
		if (str_eq(json_str_at(it.val, "/metadata/name"), name) &&
		    str_eq(json_str_at(it.val, "/metadata/namespace"), ns)) {
			return it.val;
		}
	}
	return NULL;
}

const struct json *doctor_worker_queue(const struct doctor_worker *w, mk_str name)
{
	return doctor_named(w->queues.v, name);
}

/* --- the kubeconfig --------------------------------------------------------------------------- */

static void begin(struct doctor_worker *w)
{
	const struct json *source = json_at(w->object, "/spec/clusterSource/kubeConfig");
	mk_str type = row_text(source, "locationType");

	if (!source || (type.n > 0 && !str_is(type, "Secret"))) {
		doctor_note(w->d, w,
			    STR("the worker itself: only the daemon can read its kubeconfig "
				"(a file, or a ClusterProfile)"));
		after_all(w);
		return;
	}
	w->to = w->d->m.server;
	ask(w, &w->secret,
	    arena_printf(&w->a, "/api/v1/namespaces/%.*s/secrets/%.*s", STR_ARG(w->d->ns),
			 STR_ARG(row_text(source, "location"))),
	    false, STR(""), on_secret);
}

static bool open_server(struct doctor_worker *w, mk_str text, struct mk_err *err)
{
	/* What the daemon is told of networks is not known here: a rule of its own looks. */
	const struct kubeconfig_options o = {.allow_loopback = true, .allow_link_local = true};

	if (kubeconfig_parse(&w->a, text, &o, &w->endpoint, err) != ERR_OK) {
		return false;
	}
	w->has_endpoint = true;
	w->to = asker_open(w->d->asker, &w->endpoint, err);
	return w->to != NULL;
}

static void after_secret(struct doctor_worker *w)
{
	mk_str data = json_str_at(w->secret.v, "/data/kubeconfig"), text;
	struct mk_err err;

	if (!doctor_has(&w->secret) && w->secret.status != 404) {
		doctor_note(w->d, w,
			    doctor_text(w->d, "the worker itself: its Secret cannot be read: %.*s",
					STR_ARG(w->secret.text)));
	}
	if (data.n == 0) {
		after_all(w);
		return;
	}
	if (base64_decode(&w->a, data, &text, &err) != ERR_OK || !open_server(w, text, &err)) {
		w->kubeconfig_error = arena_dup(&w->a, str_of(err.msg));
		after_all(w);
		return;
	}
	ask(w, &w->version, STR("/version"), false, STR(""), on_version);
}

/* --- the server ------------------------------------------------------------------------------- */

/*
 * The anonymous may read the version: whether we are let in shows in another answer, which is that
 * of the Namespace.
 */
static void after_version(struct doctor_worker *w)
{
	const struct doctor_manager *m = &w->d->m;
	mk_str origin = daemon_encode(w->d->c, m->origin);

	w->versions = arena_array(&w->a, m->n_versions + 1, sizeof(*w->versions));
	if (!doctor_has(&w->version) || !w->versions) {
		after_all(w);
		return;
	}
	w->under_way++; /* until all are sent */
	ask(w, &w->identity, STR("/api/v1/namespaces/kube-system"), false, STR(""), on_object);
	ask(w, &w->kueue, STR("/apis"), false, STR(""), on_object);
	ask(w, &w->locals, STR(KUEUE "localqueues"), true, STR(""), on_object);
	ask(w, &w->queues, STR(KUEUE "clusterqueues"), true, STR(""), on_object);
	ask(w, &w->checks, STR(KUEUE "admissionchecks"), true, STR(""), on_object);
	ask(w, &w->workload_priorities, STR(KUEUE "workloadpriorityclasses"), true, STR(""),
	    on_object);
	ask(w, &w->priorities, STR("/apis/scheduling.k8s.io/v1/priorityclasses"), true, STR(""),
	    on_object);
	ask(w, &w->clones,
	    arena_printf(&w->a,
			 KUEUE "workloads?limit=100&labelSelector=kueue.x-k8s.io%%2F"
			       "multikueue-origin%%3D%.*s",
			 STR_ARG(origin)),
	    false, STR(""), on_object);
	for (size_t i = 0; i < m->n_versions; i++) {
		ask(w, &w->versions[i], m->versions[i].path, false, STR(""), on_object);
	}
	next(w, after_objects);
}

/* --- rights and dry runs ---------------------------------------------------------------------- */

static mk_str workload_body(struct doctor_worker *w, const struct doctor_route *r)
{
	return arena_printf(
		&w->a,
		"{\"apiVersion\":\"" NAME_API "\",\"kind\":\"Workload\",\"metadata\":"
		"{\"name\":\"multikueued-doctor\",\"namespace\":\"%.*s\",\"labels\":"
		"{\"" NAME_ORIGIN "\":\"%.*s\"},\"annotations\":{\"" NAME_MANAGER_ID
		"\":\"%.*s\"}},\"spec\":{\"active\":true,\"queueName\":\"%.*s\",\"podSets\":"
		"[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"restartPolicy\":"
		"\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"none\",\"resources\":"
		"{\"requests\":{\"cpu\":\"1m\"}}}]}}}]}}",
		STR_ARG(json_str_at(r->local, "/metadata/namespace")), STR_ARG(w->d->m.origin),
		STR_ARG(w->d->m.uid), STR_ARG(json_str_at(r->local, "/metadata/name")));
}

static mk_str job_body(struct doctor_worker *w, const struct doctor_route *r)
{
	return arena_printf(
		&w->a,
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
		"\"multikueued-doctor\",\"namespace\":\"%.*s\",\"labels\":{\"" NAME_ORIGIN
		"\":\"%.*s\",\"" NAME_QUEUE "\":\"%.*s\"}},\"spec\":{\"suspend\":true,"
		"\"backoffLimit\":0,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
		"\"containers\":[{\"name\":\"main\",\"image\":\"none\",\"resources\":{"
		"\"requests\":{\"cpu\":\"1m\"}}}]}}}}",
		STR_ARG(json_str_at(r->local, "/metadata/namespace")), STR_ARG(w->d->m.origin),
		STR_ARG(json_str_at(r->local, "/metadata/name")));
}

/* Was the namespace of route 'r' seen in a copy of that user already? */
static bool is_copied(const struct doctor_worker *w, const struct doctor_route *r, mk_str as)
{
	mk_str ns = json_str_at(r->local, "/metadata/namespace");

	for (size_t i = 0; i < w->n_copies; i++) {
		const struct doctor_route *other = w->copies[i].about;

		if (str_eq(json_str_at(other->local, "/metadata/namespace"), ns) &&
		    str_eq(w->copies[i].as, as)) {
			return true;
		}
	}
	return false;
}

static void copy(struct doctor_worker *w, const struct doctor_route *r, mk_str path, mk_str body)
{
	struct doctor_ask *q = &w->copies[w->n_copies++];

	q->about = r;
	q->as = doctor_author(w->d, r);
	ask(w, q, path, false, body, on_last);
}

/* Is an adapter of the kind loaded? */
static bool has_kind(const struct doctor *d, const char *api_version, const char *kind)
{
	for (size_t i = 0; i < d->m.n_kinds; i++) {
		if (str_is(d->m.kinds[i].kind, kind) &&
		    str_is(d->m.kinds[i].api_version, api_version)) {
			return true;
		}
	}
	return false;
}

/* One of each kind in each namespace. */
static void copy_all(struct doctor_worker *w)
{
	const struct doctor_route *r;
	bool jobs = has_kind(w->d, "batch/v1", "Job");
	size_t at = 0;
	mk_str ns;

	w->copies = arena_array(&w->a, w->d->m.n_routes * 2 + 1, sizeof(*w->copies));
	if (!w->copies ||
	    !(doctor_wants_group(w->d, "copies") || doctor_wants_group(w->d, "queues") ||
	      doctor_wants_group(w->d, "kueue") || doctor_wants_group(w->d, "rights"))) {
		return;
	}
	for (r = doctor_route_of(w, &at); r; r = doctor_route_of(w, &at)) {
		if (is_copied(w, r, doctor_author(w->d, r))) {
			continue;
		}
		ns = json_str_at(r->local, "/metadata/namespace");
		copy(w, r,
		     arena_printf(&w->a, KUEUE "namespaces/%.*s/workloads?dryRun=All", STR_ARG(ns)),
		     workload_body(w, r));
		if (jobs) {
			copy(w, r,
			     arena_printf(&w->a, "/apis/batch/v1/namespaces/%.*s/jobs?dryRun=All",
					  STR_ARG(ns)),
			     job_body(w, r));
		}
	}
}

bool doctor_is_of_users(const struct json *priority_class)
{
	return !str_starts(json_str_at(priority_class, "/metadata/name"), STR("system-"));
}

/* A namespace that is there: one with a LocalQueue of ours, else that which each cluster has. */
static mk_str namespace_there(const struct doctor_worker *w)
{
	size_t at = 0;

	for (const struct doctor_route *r = doctor_route_of(w, &at); r;
	     r = doctor_route_of(w, &at)) {
		mk_str ns = json_str_at(r->local, "/metadata/namespace");

		if (doctor_worker_local(w, ns, json_str_at(r->local, "/metadata/name"))) {
			return ns;
		}
	}
	return STR("default");
}

/*
 * Where classes may not be listed, a Pod with the class tells: it is refused without it, and comes
 * back with its value.
 */
static void try_pods(struct doctor_worker *w)
{
	const struct json *classes = doctor_items(w->d, FACT_PRIORITIES);
	struct json_iter it = json_iter(classes);
	mk_str ns = namespace_there(w);
	size_t at = 0;

	if (!doctor_route_of(w, &at) || w->priorities.status != 403 ||
	    !has_kind(w->d, "v1", "Pod") || !doctor_wants_group(w->d, "queues")) {
		return;
	}
	w->pods = arena_array(&w->a, json_len(classes) + 1, sizeof(*w->pods));
	while (w->pods && json_next(&it)) {
		struct doctor_ask *q = &w->pods[w->n_pods];

		if (!doctor_is_of_users(it.val)) {
			continue;
		}
		w->n_pods++;
		q->about = it.val;
		ask(w, q,
		    arena_printf(&w->a, "/api/v1/namespaces/%.*s/pods?dryRun=All", STR_ARG(ns)),
		    false,
		    arena_printf(&w->a,
				 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
				 "\"multikueued-doctor\",\"namespace\":\"%.*s\"},\"spec\":"
				 "{\"priorityClassName\":\"%.*s\",\"containers\":[{\"name\":"
				 "\"main\",\"image\":\"none\"}]}}",
				 STR_ARG(ns), STR_ARG(json_str_at(it.val, "/metadata/name"))),
		    on_last);
	}
}

static void after_objects(struct doctor_worker *w)
{
	const struct doctor_manager *m = &w->d->m;
	size_t n = doctor_wants_group(w->d, "rights") ? m->n_rights : 0;

	w->uid = json_str_at(w->identity.v, "/metadata/uid");
	w->uid = w->uid.n > 0 ? arena_dup(&w->d->c->a, w->uid) : STR("");
	w->under_way++; /* until all are sent */
	w->reviews = arena_array(&w->a, m->n_rights + 1, sizeof(*w->reviews));
	for (size_t i = 0; w->reviews && i < n; i++) {
		if (!is_absent(w, &m->rights[i])) {
			ask(w, &w->reviews[i],
			    STR("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), false,
			    doctor_review(&w->a, &m->rights[i], STR("")), on_last);
		}
	}
	if (w->identity.status != 401) {
		copy_all(w);
		try_pods(w);
	}
	next(w, after_all);
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool start(struct doctor *d, size_t i)
{
	struct doctor_worker *w = &d->workers[i];
	struct json_iter it = json_iter(doctor_items(d, FACT_CONFIGS));
	size_t k = 0;

	arena_init(&w->a, WORKER_MEMORY);
	w->member = arena_array(&w->a, json_len(it.container) + 1, sizeof(*w->member));
	if (!w->member) {
		return false;
	}
	for (; json_next(&it); k++) {
		w->member[k] = doctor_config_has(it.val, doctor_item(d, FACT_CLUSTERS, w->name));
	}
	begin(w);
	return true;
}

static void after_all(struct doctor_worker *w)
{
	struct doctor *d = w->d;

	if (arena_failed(&w->a)) {
		doctor_note(d, w, STR("the worker: what it has needs more than 512 MiB"));
	} else {
		doctor_look(d, w);
	}
	kubeconfig_wipe(&w->endpoint);
	arena_done(&w->a);
	w->secret = w->version = w->identity = (struct doctor_ask){.status = 0};
	d->n_done++;
	doctor_progress(d);
}

bool doctor_read_workers(struct doctor *d)
{
	struct json_iter it = json_iter(doctor_items(d, FACT_CLUSTERS));
	size_t begun = 0;

	d->workers = arena_array(&d->c->a, json_len(it.container) + 1, sizeof(*d->workers));
	if (!d->workers) {
		return cli_no_memory(d->c) == CLI_OK;
	}
	while (json_next(&it)) {
		mk_str name = json_str_at(it.val, "/metadata/name");

		if (doctor_wants_worker(d, name)) {
			d->workers[d->n_workers++] = (struct doctor_worker){
				.d = d, .object = it.val, .name = name, .uid = STR("")};
		}
	}
	while (d->n_done < d->n_workers) {
		while (begun < d->n_workers && begun - d->n_done < DOCTOR_WORKERS) {
			if (!start(d, begun++)) {
				return cli_no_memory(d->c) == CLI_OK;
			}
		}
		if (!doctor_wait(d, TURN_MS)) {
			return false;
		}
		doctor_progress(d);
	}
	return !arena_failed(&d->c->a) || cli_no_memory(d->c) == CLI_OK;
}
