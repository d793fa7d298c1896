/* SPDX-License-Identifier: Apache-2.0 */
/* API servers with the controllers beside them, and the objects that are there from the start. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/base64.h"
#include "t/sim/sim.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

static void on_commit(void *ctx, const struct ks_commit *c)
{
	struct plane *p = ctx;

	check_commit(p->sim, p, c);
}

void plane_init(struct sim *s, size_t index)
{
	struct plane *p = &s->plane[index];
	struct ks_store_options so = {
		.name = p->name, .seed = s->seed * 31 + index, .bookmark_ms = 60000};
	struct ks_actors_options ao = {.role = index == 0 ? KS_MANAGER : KS_WORKER,
				       .seed = s->seed * 37 + index,
				       .admit_delay_ms_min = 5,
				       .admit_delay_ms_max = 400,
				       .run_ms_min = 100,
				       .run_ms_max = 8000,
				       .on_commit = on_commit,
				       .on_commit_ctx = p};

	p->sim = s;
	p->index = index;
	p->run_at = INT64_MAX;
	snprintf(p->name, sizeof(p->name), index == 0 ? "mgr" : "w%zu", index);
	list_init(&p->streams);
	/* Some servers have a short memory, some are too old for streaming lists. */
	so.history = rng_chance(&s->rng, 1, 4) ? 20 : 0;
	so.no_watch_list = rng_chance(&s->rng, 1, 4);
	p->store = ks_store_new(&so);
	p->actors = p->store ? ks_actors_new(p->store, &ao) : NULL;
	if (p->actors == NULL) {
		abort();
	}
}

void plane_done(struct plane *p)
{
	ks_actors_free(p->actors);
	ks_store_free(p->store);
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
		p->index == 0
			? ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}"
			: "";
	/* A worker runs a few jobs at once, the manager holds quota for somewhat more than all of them. */
	unsigned quota = p->index == 0 ? 40 : 4 + (unsigned)rng_below(&p->sim->rng, 8);

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
	     STR(HEAD "\"ResourceFlavor\",\"metadata\":{\"name\":\"default\"}}"));
	post(p, KUEUE "clusterqueues",
	     arena_printf(a,
			  HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
			       "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":"
			       "[\"cpu\"],\"flavors\":[{\"name\":\"default\",\"resources\":[{"
			       "\"name\":\"cpu\",\"nominalQuota\":%u}]}]}]%s}}",
			  quota, check));
	post(p, KUEUE "namespaces/default/localqueues",
	     STR(HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},"
		      "\"spec\":{\"clusterQueue\":\"cq\"}}"));
}

/* The kubeconfig of worker 'i', base64; each 'version' has another token. */
static mk_str kubeconfig(struct arena *a, size_t i, unsigned version)
{
	mk_str config = arena_printf(
		a,
		"{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\",\"clusters\":"
		"[{\"name\":\"c\",\"cluster\":{\"server\":\"https://"
		"10.0.0.%zu:6443\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"t%u\"}}],"
		"\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}]}",
		i, version);

	return base64_encode(a, config);
}

void plane_secret(struct sim *s, size_t i, bool broken)
{
	static const char path[] = "/api/v1/namespaces/kueue-system/secrets/w%zu";
	mk_str data = broken ? STR("e30=") : kubeconfig(&s->arena, i, ++s->secret_version);

	(void)plane_request(
		&s->plane[0], "PATCH", arena_printf(&s->arena, path, i).p,
		"application/merge-patch+json",
		arena_printf(&s->arena, "{\"data\":{\"kubeconfig\":\"%.*s\"}}", STR_ARG(data)));
}

static void setup_worker_entry(struct sim *s, size_t i)
{
	struct arena *a = &s->arena;
	struct plane *mgr = &s->plane[0];
	mk_str data = kubeconfig(a, i, 0);

	post(mgr, "/api/v1/namespaces/kueue-system/secrets",
	     arena_printf(
		     a,
		     "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"w%zu\","
		     "\"namespace\":\"kueue-system\"},\"data\":{\"kubeconfig\":\"%.*s\"}}",
		     i, STR_ARG(data)));
	post(mgr, KUEUE "multikueueclusters",
	     arena_printf(a,
			  HEAD "\"MultiKueueCluster\",\"metadata\":{\"name\":\"w%zu\"},\"spec\":{"
			       "\"clusterSource\":{\"kubeConfig\":{\"location\":\"w%zu\","
			       "\"locationType\":\"Secret\"}}}}",
			  i, i));
}

void plane_setup(struct sim *s)
{
	struct arena *a = &s->arena;
	mk_str names = STR("");
	mk_str uid;

	for (size_t i = 0; i < s->n_planes; i++) {
		setup_queues(&s->plane[i], a);
		if (i > 0) {
			setup_worker_entry(s, i);
			names = arena_printf(a, "%.*s%s\"w%zu\"", STR_ARG(names),
					     names.n ? "," : "", i);
		}
	}
	post(&s->plane[0], KUEUE "multikueueconfigs",
	     arena_printf(a,
			  HEAD "\"MultiKueueConfig\",\"metadata\":{\"name\":\"mkc\"},\"spec\":{"
			       "\"clusters\":[%.*s]}}",
			  STR_ARG(names)));
	post(&s->plane[0], KUEUE "admissionchecks",
	     STR(HEAD "\"AdmissionCheck\",\"metadata\":{\"name\":\"mk\"},\"spec\":{"
		      "\"controllerName\":\"kueue.x-k8s.io/"
		      "multikueue\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
		      "\"MultiKueueConfig\",\"name\":\"mkc\"}}}"));
	uid = json_str_at(ks_get(s->plane[0].store, "v1/namespaces", STR(""), STR("kube-system")),
			  "/metadata/uid");
	snprintf(s->manager_id, sizeof(s->manager_id), "%.*s", STR_ARG(uid));
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
	if (m->owned == NULL) {
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

	while (ks_watch_next(p->store, st->watch, wall_of(s), &s->arena, &frame)) {
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
	if (ks_watch_ended(p->store, st->watch, wall_of(s))) {
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
