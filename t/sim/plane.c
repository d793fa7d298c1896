/* SPDX-License-Identifier: Apache-2.0 */
/* API servers with the controllers beside them, and the objects that are there from the start. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/base64.h"
#include "t/sim/sim.h"

#define HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

static void on_commit(void *ctx, const struct ks_commit *c)
{
	struct plane *p = ctx;

	check_commit(p->sim, p, c);
}

void plane_init(struct sim *s, size_t index, struct site *site)
{
	struct plane *p = &s->plane[index];
	struct ks_store_options so = {
		.name = p->name, .seed = s->seed * 31 + index, .bookmark_ms = 60000};
	struct ks_actors_options ao = {.role = site != NULL ? KS_MANAGER : KS_WORKER,
				       .seed = s->seed * 37 + index,
				       .admit_delay_ms_min = s->admit_ms ? s->admit_ms : 5,
				       .admit_delay_ms_max = s->admit_ms ? s->admit_ms : 400,
				       .run_ms_min = 100,
				       .run_ms_max = 8000,
				       .publish_usage = s->places != NULL && !site,
				       .on_commit = on_commit,
				       .on_commit_ctx = p};

	p->sim = s;
	p->site = site;
	p->index = index;
	p->run_at = INT64_MAX;
	p->bad_until = INT64_MIN;
	snprintf(p->name, sizeof(p->name), !site ? "w%zu" : index == 0 ? "mgr" : "mgr%zu", index);
	list_init(&p->streams);
	/* Some servers have a short memory, some are too old for streaming lists. */
	so.history = rng_chance(&s->rng, 1, 4) && !s->scripted ? 20 : 0;
	so.no_watch_list = rng_chance(&s->rng, 1, 4) && !s->scripted;
	p->store = ks_store_new(&so);
	p->actors = p->store ? ks_actors_new(p->store, &ao) : NULL;
	if (!p->actors) {
		abort();
	}
}

void plane_done(struct plane *p)
{
	ks_actors_free(p->actors);
	ks_store_free(p->store);
	ks_store_free(p->lag);
}

int plane_request(struct plane *p, const char *method, const char *target, const char *type,
		  mk_str body)
{
	struct ks_request r = {.method = str_of(method),
			       .target = str_of(target),
			       .accept = STR("application/json"),
			       .content_type = str_of(type ? type : "application/json"),
			       .body = body,
			       .user = STR("user"),
			       .user_agent = STR("user")};
	struct ks_response resp = {.retry_after_ms = -1};

	r.body = ks_actors_admit(p->actors, &r, &p->sim->arena);
	ks_handle(p->store, &r, wall_of(p->sim), &p->sim->arena, &resp);
	plane_kick(p);
	return resp.status;
}

const char *queue_name(const struct plane *p)
{
	return is_worker(p) ? "cq" : "mq";
}

int plane_merge(struct plane *p, const char *target, mk_str body)
{
	return plane_request(p, "PATCH", target, "application/merge-patch+json", body);
}

mk_str plane_groups(struct sim *s, unsigned pods, const char *more)
{
	return arena_printf(&s->arena,
			    "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{"
			    "\"name\":\"default\",\"resources\":[{\"name\":\"cpu\","
			    "\"nominalQuota\":%u%s}]}]}]",
			    pods, more);
}

void plane_set_quota(struct plane *p, unsigned pods)
{
	mk_str groups = plane_groups(p->sim, pods, "");
	int status = plane_merge(
		p, arena_printf(&p->sim->arena, KUEUE "clusterqueues/%s", queue_name(p)).p,
		arena_printf(&p->sim->arena, "{\"spec\":{%.*s}}", STR_ARG(groups)));

	if (status != 200) {
		fail(p->sim, "setup", "quota of %s: %d", p->name, status);
	}
}

static const struct json *queue_of(const struct plane *p, const char *name)
{
	return ks_get(p->store, CLUSTER_QUEUES, STR_NONE, str_of(name));
}

static int64_t nominal_of(const struct json *queue)
{
	return json_int(json_at(queue, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"),
			0);
}

/* Tenants have a queue of their own in world "placement", which may lend all that it has. */
struct quota plane_quota(const struct plane *p)
{
	const struct json *cq = queue_of(p, queue_name(p)), *other = queue_of(p, "cqt"), *o;
	bool shares = json_str_at(cq, "/spec/cohortName").n > 0 &&
		      json_str_at(other, "/spec/cohortName").n > 0;
	struct quota q = {.nominal = nominal_of(cq)};
	size_t pos = 0;

	q.most = q.nominal + (shares ? nominal_of(other) : 0);
	q.free = q.most;
	for (o = ks_each(p->store, WORKLOADS, &pos); o; o = ks_each(p->store, WORKLOADS, &pos)) {
		if (has_condition(o, "QuotaReserved") && !has_condition(o, "Finished") &&
		    (shares || !str_is(json_str_at(o, "/status/admission/clusterQueue"), "cqt"))) {
			q.free -= pods_of(o);
		}
	}
	return q;
}

static void post(struct plane *p, const char *target, mk_str body)
{
	int status = plane_request(p, "POST", target, NULL, body);

	if (status / 100 != 2 && status != 409) {
		fail(p->sim, "setup", "POST %s on %s: %d", target, p->name, status);
	}
}

static void setup_queues(struct plane *p, struct arena *a)
{
	const char *check =
		p->site != NULL
			? ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}"
			: "";
	/*
	 * A worker runs a few jobs at once, the manager holds quota for
	 * somewhat more than all of them.
	 */
	unsigned quota = p->site != NULL ? 40 : 4 + (unsigned)rng_below(&p->sim->rng, 8);

	quota = p->sim->quota > 0 ? (p->site != NULL ? 1000000 : 3 * p->sim->quota) : quota;
	post(p, "/api/v1/namespaces",
	     STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kube-"
		 "system\"}}"));
	post(p, "/api/v1/namespaces",
	     STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"default\"}"
		 "}"));
	post(p, "/api/v1/namespaces",
	     STR("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"kueue-"
		 "system\"}}"));
	post(p, KUEUE "resourceflavors",
	     arena_printf(a,
			  HEAD "\"ResourceFlavor\",\"metadata\":{\"name\":\"default\"},\"spec\":"
			       "{\"nodeLabels\":{\"pool\":\"%s\"}}}",
			  is_worker(p) ? "worker" : "manager"));
	post(p, KUEUE "clusterqueues",
	     arena_printf(a,
			  HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
			       "\"namespaceSelector\":{},%.*s%s}}",
			  queue_name(p), STR_ARG(plane_groups(p->sim, quota, "")), check));
	post(p, KUEUE "namespaces/default/localqueues",
	     arena_printf(a,
			  HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":"
			       "\"default\"},\"spec\":{\"clusterQueue\":\"%s\"}}",
			  queue_name(p)));
}

/*
 * A kubeconfig for the server of worker 'to', base64, in the Secret of worker 'name' (0: the
 * alias's); each 'version' has another token. Servers have two addresses: see wire.c.
 */
static mk_str kubeconfig(struct arena *a, size_t name, size_t to, unsigned version)
{
	mk_str config = arena_printf(
		a,
		"{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\",\"clusters\":"
		"[{\"name\":\"c\",\"cluster\":{\"server\":\"https://"
		"10.0.%d.%zu:6443\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"t%u-%zu\"}}"
		"],"
		"\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}]}",
		name == to ? 0 : 1, to, version, name);

	return base64_encode(a, config);
}

/* Writes the Secret, or deletes it, as the fuzzer made it. */
static void write_secret(struct plane *mgr, const char *name, enum secret_state state, mk_str data)
{
	struct arena *a = &mgr->sim->arena;
	const char *path = arena_printf(a, "/api/v1/namespaces/kueue-system/secrets/%s", name).p;

	if (state == SECRET_GONE) {
		(void)plane_request(mgr, "DELETE", path, NULL, STR("{}"));
		return;
	}
	data = state == SECRET_BROKEN ? STR("e30=") : state == SECRET_EMPTY ? STR("") : data;
	(void)plane_merge(
		mgr, path,
		state == SECRET_NO_KEY
			? STR("{\"data\":null}")
			: arena_printf(a, "{\"data\":{\"kubeconfig\":\"%.*s\"}}", STR_ARG(data)));
}

void plane_secret(struct sim *s, size_t i, bool broken)
{
	enum secret_state state = s->flipped.secret[i];
	mk_str data = broken ? STR("e30=")
			     : kubeconfig(&s->arena, i, leads_to(s, i), ++s->secret_version);

	for (size_t k = 0; k < s->n_sites; k++) {
		struct plane *mgr = &s->plane[s->site[k].home];

		write_secret(mgr, s->plane[i].name, state, data);
		if (s->flips) {
			write_secret(mgr, arena_printf(&s->arena, OTHER_SECRET, i).p, state, data);
		}
	}
}

static void setup_secret(struct plane *mgr, const char *name, mk_str data)
{
	post(mgr, "/api/v1/namespaces/kueue-system/secrets",
	     arena_printf(
		     &mgr->sim->arena,
		     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\","
		     "\"namespace\":\"kueue-system\"},\"data\":{\"kubeconfig\":\"%.*s\"}}",
		     name, STR_ARG(data)));
}

static void setup_cluster(struct plane *mgr, const char *name)
{
	post(mgr, KUEUE "multikueueclusters",
	     arena_printf(&mgr->sim->arena,
			  HEAD "\"MultiKueueCluster\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
			       "\"clusterSource\":{\"kubeConfig\":{\"location\":\"%s\","
			       "\"locationType\":\"Secret\"}}}}",
			  name, name));
}

static void setup_worker_entry(struct sim *s, struct plane *mgr, size_t i)
{
	mk_str data = kubeconfig(&s->arena, i, leads_to(s, i), 0);

	if (s->flipped.secret[i] != SECRET_GONE) {
		setup_secret(mgr, s->plane[i].name, data);
		if (s->flips) {
			setup_secret(mgr, arena_printf(&s->arena, OTHER_SECRET, i).p, data);
		}
	}
	if (!s->flipped.no_cluster[i]) {
		setup_cluster(mgr, s->plane[i].name);
	}
}

struct plane *plane_of_cluster(struct sim *s, mk_str cluster)
{
	if (str_is(cluster, ALIAS) && s->alias.place != ALIAS_NONE) {
		return &s->plane[s->alias.plane];
	}
	for (size_t i = 1; i <= leads_named(s); i++) {
		if (str_is(cluster, s->plane[i].name)) {
			return &s->plane[leads_to(s, i)];
		}
	}
	return NULL;
}

mk_str plane_with_alias(struct sim *s, mk_str names)
{
	const struct alias *al = &s->alias;

	return !al->on ? names
	       : al->place == ALIAS_FIRST
		       ? arena_printf(&s->arena, "\"" ALIAS "\",%.*s", STR_ARG(names))
	       : al->place == ALIAS_LAST
		       ? arena_printf(&s->arena, "%.*s,\"" ALIAS "\"", STR_ARG(names))
		       : names;
}

/*
 * The second queue, whose check has a config of its own: the alias, and
 * some other worker by its one name.
 */
static void setup_other_config(struct sim *s, struct plane *p)
{
	size_t other = s->alias.plane % s->n_workers + 1;
	mk_str names =
		arena_printf(&s->arena, "%s\"w%zu\"", s->alias.on ? "\"" ALIAS "\"," : "", other);

	post(p, KUEUE "multikueueconfigs",
	     arena_printf(&s->arena,
			  HEAD "\"MultiKueueConfig\",\"metadata\":{\"name\":\"mkc3\"},\"spec\":{"
			       "\"clusters\":[%.*s]}}",
			  STR_ARG(names)));
	(void)plane_merge(
		p, KUEUE "multikueueconfigs/mkc3",
		arena_printf(&s->arena, "{\"spec\":{\"clusters\":[%.*s]}}", STR_ARG(names)));
	post(p, KUEUE "admissionchecks",
	     STR(HEAD "\"AdmissionCheck\",\"metadata\":{\"name\":\"mk3\"},\"spec\":{"
		      "\"controllerName\":\"kueue.x-k8s.io/"
		      "multikueue\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
		      "\"MultiKueueConfig\",\"name\":\"mkc3\"}}}"));
}

void plane_alias(struct sim *s, struct site *site)
{
	struct plane *p = &s->plane[site->home];

	if (s->alias.on) {
		setup_secret(p, ALIAS, kubeconfig(&s->arena, 0, s->alias.plane, 0));
		setup_cluster(p, ALIAS);
	}
	if (s->alias.place == ALIAS_OTHER_CONFIG) {
		setup_other_config(s, p);
	}
	if (!s->alias.on) {
		(void)plane_request(p, "DELETE", KUEUE "multikueueclusters/" ALIAS, NULL,
				    STR("{}"));
		(void)plane_request(p, "DELETE", "/api/v1/namespaces/kueue-system/secrets/" ALIAS,
				    NULL, STR("{}"));
	}
}

void plane_other_queue(struct sim *s)
{
	for (size_t i = 0; i < s->n_planes; i++) {
		struct plane *p = &s->plane[i];

		if (!is_worker(p)) {
			plane_alias(s, p->site);
			post(p, KUEUE "clusterqueues",
			     STR(HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"cq3\"},\"spec\":{"
				      "\"namespaceSelector\":{},\"resourceGroups\":[{"
				      "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":"
				      "\"default\",\"resources\":[{\"name\":\"cpu\","
				      "\"nominalQuota\":1000}]}]}],\"admissionChecksStrategy\":{"
				      "\"admissionChecks\":[{\"name\":\"mk3\"}]}}}"));
		}
		post(p, KUEUE "namespaces/default/localqueues",
		     arena_printf(&s->arena,
				  HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"lq3\","
				       "\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":"
				       "\"%s\"}}",
				  is_worker(p) ? "cq" : "cq3"));
	}
}

void plane_manager_objects(struct sim *s, struct site *site)
{
	struct arena *a = &s->arena;
	struct plane *p = &s->plane[site->home];
	mk_str names = STR("");

	for (size_t i = 1; i <= leads_named(s); i++) {
		setup_worker_entry(s, p, i);
		names = arena_printf(a, "%.*s%s\"w%zu\"", STR_ARG(names), names.n ? "," : "", i);
	}
	if (s->alias.place != ALIAS_NONE) {
		plane_alias(s, site);
		names = plane_with_alias(s, names);
	}
	post(p, KUEUE "multikueueconfigs",
	     arena_printf(a,
			  HEAD "\"MultiKueueConfig\",\"metadata\":{\"name\":\"mkc\"},\"spec\":{"
			       "\"clusters\":[%.*s]}}",
			  STR_ARG(names)));
	post(p, KUEUE "admissionchecks",
	     STR(HEAD "\"AdmissionCheck\",\"metadata\":{\"name\":\"mk\"},\"spec\":{"
		      "\"controllerName\":\"kueue.x-k8s.io/"
		      "multikueue\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
		      "\"MultiKueueConfig\",\"name\":\"mkc\"}}}"));
}

void plane_setup(struct sim *s)
{
	for (size_t i = 0; i < s->n_planes; i++) {
		setup_queues(&s->plane[i], &s->arena);
	}
	for (size_t i = 0; i < s->n_sites; i++) {
		struct site *site = &s->site[i];
		mk_str uid;

		plane_manager_objects(s, site);
		uid = json_str_at(ks_get(s->plane[site->home].store, "v1/namespaces", STR(""),
					 STR("kube-system")),
				  "/metadata/uid");
		snprintf(site->manager_id, sizeof(site->manager_id), "%.*s", STR_ARG(uid));
	}
}

void plane_end_streams(struct plane *p, enum transport_end end)
{
	for (LIST_EACH_SAFE(n, &p->streams)) {
		stream_end(p->sim, LIST_ENTRY(n, struct stream, node), end);
	}
}

void plane_restore(struct plane *p, const struct json *snapshot)
{
	plane_end_streams(p, TRANSPORT_LOST);
	p->restored_at = p->sim->now;
	if (!ks_restore(p->store, snapshot)) {
		abort();
	}
	p->restored_rv = ks_rv(p->store);
	ks_actors_resync(p->actors);
	plane_kick(p);
}

void plane_lag_from(struct plane *p, const struct json *snapshot)
{
	struct ks_store_options o = {
		.name = p->name, .seed = p->sim->seed * 43 + p->index, .bookmark_ms = 60000};

	p->lag = ks_store_new(&o);
	if (!p->lag || !snapshot || !ks_restore(p->lag, snapshot)) {
		abort();
	}
}

void plane_lag(struct plane *p, bool on)
{
	if (on && !p->lag) {
		plane_lag_from(p, ks_snapshot(p->store, &p->sim->arena));
		return;
	}
	if (on || !p->lag) {
		return;
	}
	for (LIST_EACH_SAFE(n, &p->streams)) {
		struct stream *st = LIST_ENTRY(n, struct stream, node);

		if (st->store == p->lag) {
			stream_end(p->sim, st, TRANSPORT_LOST);
		}
	}
	ks_store_free(p->lag);
	p->lag = NULL;
}

static void wake_actors(struct plane *p, int64_t at)
{
	struct msg *m;

	if (at >= p->run_at) {
		return;
	}
	p->run_at = at;
	m = msg_new(p->sim, M_ACTORS);
	m->plane = p;
	schedule(p->sim, m, at);
}

void plane_kick(struct plane *p)
{
	wake_actors(p, p->sim->now + rng_range(&p->sim->rng, 0, 15));
	plane_watches(p);
}

void plane_actors(struct plane *p)
{
	struct sim *s = p->sim;
	int64_t next;

	/* A controller writes a few objects, then others get a turn in between. */
	ks_actors_run(p->actors, wall_of(s), 1 + (size_t)rng_below(&s->rng, 4));
	plane_watches(p);
	next = ks_actors_next_ms(p->actors);
	if (next != INT64_MAX) {
		int64_t at = next - WALL0;

		wake_actors(p, at > s->now ? at : s->now + rng_range(&s->rng, 1, 15));
	}
	if (ks_actors_refused(p->actors) > 0 &&
	    strstr(ks_actors_last_error(p->actors), ": 5") != NULL) {
		fail(s, "kubesim", "%s: %s", p->name, ks_actors_last_error(p->actors));
	}
}

static void send_frame(struct plane *p, struct stream *st, mk_str frame)
{
	struct sim *s = p->sim;
	struct msg *m = msg_new(s, M_FRAME);

	m->proc = st->proc;
	m->gen = st->gen;
	m->plane = p;
	m->token = st->token;
	m->owned = malloc(frame.n + 1);
	if (!m->owned) {
		abort();
	}
	memcpy(m->owned, frame.p, frame.n);
	m->body = (mk_str){m->owned, frame.n};
	if (s->now + 1 > st->last_at) {
		st->last_at = s->now +
			      (p->slow ? rng_range(&s->rng, 50, 2000) : rng_range(&s->rng, 1, 8));
	}
	schedule(s, m, st->last_at);
}

/* Sends what a stream has; false when the stream ended. */
static bool drain(struct plane *p, struct stream *st)
{
	struct sim *s = p->sim;
	mk_str frame;

	while (ks_watch_next(st->store, st->watch, wall_of(s), &s->arena, &frame)) {
		if (p->cut && rng_chance(&s->rng, 1, 12)) {
			say(s, p->name, "a frame is lost, and its stream with it");
			if (rng_chance(&s->rng, 1, 2)) {
				send_frame(p, st, str_sub(frame, 0, frame.n / 2));
			}
			stream_end(s, st, TRANSPORT_LOST);
			return false;
		}
		send_frame(p, st, frame);
		if (p->duplicate && rng_chance(&s->rng, 1, 4)) {
			send_frame(p, st, frame);
		}
	}
	if (ks_watch_ended(st->store, st->watch, wall_of(s))) {
		stream_end(s, st, TRANSPORT_OK);
		return false;
	}
	return true;
}

void plane_watches(struct plane *p)
{
	struct sim *s = p->sim;
	int64_t next;

	for (LIST_EACH_SAFE(n, &p->streams)) {
		(void)drain(p, LIST_ENTRY(n, struct stream, node));
	}
	next = ks_next_ms(p->store);
	if (next != INT64_MAX) {
		struct msg *m;

		if (p->watch_at > s->now && p->watch_at <= next - WALL0) {
			return;
		}
		p->watch_at = next - WALL0 > s->now ? next - WALL0 : s->now + 1;
		m = msg_new(s, M_WATCHES);
		m->plane = p;
		schedule(s, m, p->watch_at);
	}
}
