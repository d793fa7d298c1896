/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs made inside the server, at a rate or as fast as it can, and what becomes of them: load
 * without a client. Jobs are named "<prefix>-<number>" and take the LocalQueues of all groups in
 * turn. One load at a time for each cluster; another one may begin when all Jobs of the last one
 * are made.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "t/kubesim/server_priv.h"

enum { JOBS_MAX = 10000000, CHUNK = 32, TICK_MS = 10, PREFIX_MAX = 40, SPANS_MAX = 100000 };

enum { SEEN_RUNNING = 1, SEEN_FINISHED = 2 };

struct load {
	struct cluster *cluster;
	struct event *timer;
	char prefix[PREFIX_MAX];
	uint64_t n, made, running, finished, deleted, per_second;
	int64_t run_ms, begun_ms;
	bool deletes;
	size_t n_groups;
	uint8_t *seen;    /* of each Job, SEEN_* */
	uint32_t *at_ms;  /* when each was made, from the begin */
	uint32_t *to_del; /* finished Jobs, oldest first */
	uint64_t n_del;
	uint32_t *spans; /* ms from made to running, of the last SPANS_MAX */
};

void load_free(struct load *l)
{
	if (!l) {
		return;
	}
	if (l->timer != NULL) {
		event_free(l->timer);
	}
	mk_free(l->seen);
	mk_free(l->at_ms);
	mk_free(l->to_del);
	mk_free(l->spans);
	mk_free(l);
}

/* --- what becomes of them --------------------------------------------------------------------- */

static bool number_of(const struct load *l, mk_str name, uint64_t *ret)
{
	size_t n = strlen(l->prefix);

	return name.n > n + 1 && memcmp(name.p, l->prefix, n) == 0 && name.p[n] == '-' &&
	       str_u64(str_sub(name, n + 1, name.n), ret) && *ret < l->made;
}

static bool is_over(const struct json *job)
{
	struct json_iter it = json_iter(json_at(job, "/status/conditions"));

	while (json_next(&it)) {
		mk_str type = json_str(json_get(it.val, "type"));

		if ((str_is(type, "Complete") || str_is(type, "Failed")) &&
		    str_is(json_str(json_get(it.val, "status")), "True")) {
			return true;
		}
	}
	return false;
}

void load_commit(struct cluster *c, const struct ks_commit *commit)
{
	struct load *l = c->load;
	uint64_t i;
	bool over;

	if (!l || !str_is(commit->resource, "batch/v1/jobs") || !number_of(l, commit->name, &i)) {
		return;
	}
	if (!commit->after) {
		l->deleted++;
		return;
	}
	/* A brief Job may end before the manager shows that it runs. */
	over = (l->seen[i] & SEEN_FINISHED) == 0 && is_over(commit->after);
	if ((l->seen[i] & SEEN_RUNNING) == 0 &&
	    (over || json_int(json_at(commit->after, "/status/active"), 0) > 0)) {
		l->seen[i] |= SEEN_RUNNING;
		l->spans[l->running++ % SPANS_MAX] =
			(uint32_t)(commit->now_ms - l->begun_ms) - l->at_ms[i];
	}
	if (over) {
		l->seen[i] |= SEEN_FINISHED;
		l->to_del[l->finished++] = (uint32_t)i;
	}
}

/* --- making them ------------------------------------------------------------------------------ */

static bool handle(struct load *l, struct arena *a, const char *method, mk_str target, mk_str body)
{
	struct ks_response resp = {.retry_after_ms = -1};
	struct ks_request r = {
		.method = str_of(method),
		.target = target,
		.accept = STR("application/json"),
		.content_type = STR("application/json"),
		.body = body,
		.user = STR("kubernetes-admin"),
		.user_agent = STR("kubesim-load"),
	};

	ks_handle(l->cluster->store, &r, clock_wall_ms(), a, &resp);
	return resp.status / 100 == 2;
}

static bool make(struct load *l, struct arena *a)
{
	uint64_t i = l->made++;
	mk_str body = arena_printf(
		a,
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s-%llu\","
		"\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"},"
		"\"annotations\":{\"kubesim.x-k8s.io/"
		"run-ms\":\"%lld\"}},\"spec\":{\"suspend\":true,"
		"\"managedBy\":\"kueue.x-k8s.io/multikueue\",\"template\":{\"spec\":{"
		"\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"none\","
		"\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"64Mi\"}}}]}}}}",
		l->prefix, (unsigned long long)i,
		server_group_name(a, "user-queue", (size_t)(i % l->n_groups)).p,
		(long long)l->run_ms);

	l->at_ms[i] = (uint32_t)(clock_wall_ms() - l->begun_ms);
	return handle(l, a, "POST", STR("/apis/batch/v1/namespaces/default/jobs"), body);
}

static void delete_one(struct load *l, struct arena *a)
{
	mk_str target = arena_printf(a, "/apis/batch/v1/namespaces/default/jobs/%s-%u", l->prefix,
				     l->to_del[l->n_del++]);

	handle(l, a, "DELETE", target, STR("{\"propagationPolicy\":\"Background\"}"));
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct load *l = ctx;
	int64_t since_ms = clock_wall_ms() - l->begun_ms;
	uint64_t due = l->per_second != 0 ? (uint64_t)since_ms * l->per_second / 1000 : l->n;
	struct timeval tv = {.tv_usec = (l->per_second != 0 ? TICK_MS : 1) * 1000};
	struct arena a;

	(void)fd;
	(void)what;
	arena_init(&a, 0);
	for (int i = 0; i < CHUNK && l->made < l->n && l->made < due; i++) {
		make(l, &a);
		arena_clear(&a);
	}
	for (int i = 0; i < CHUNK && l->deletes && l->n_del < l->finished; i++) {
		delete_one(l, &a);
		arena_clear(&a);
	}
	arena_done(&a);
	if (l->made < l->n || (l->deletes && l->deleted < l->n)) {
		event_add(l->timer, &tv);
	}
}

bool load_begin(struct cluster *c, const struct json *o)
{
	struct load *l = mk_calloc(1, sizeof(*l));
	int64_t n = json_int(json_get(o, "n"), 0);
	mk_str prefix = json_str(json_get(o, "prefix"));

	if (!l || n <= 0 || n > JOBS_MAX || prefix.n >= PREFIX_MAX ||
	    (c->load != NULL && c->load->made < c->load->n)) {
		load_free(l);
		return false;
	}
	snprintf(l->prefix, sizeof(l->prefix), "%.*s",
		 STR_ARG(prefix.n > 0 ? prefix : STR("load")));
	l->cluster = c;
	l->n = (uint64_t)n;
	l->per_second = (uint64_t)json_int(json_get(o, "perSecond"), 0);
	l->run_ms = json_int(json_get(o, "runMs"), 0);
	l->deletes = json_bool(json_get(o, "delete"));
	l->n_groups = server_groups(c->server);
	l->begun_ms = clock_wall_ms();
	l->seen = mk_calloc(l->n, sizeof(*l->seen));
	l->at_ms = mk_calloc(l->n, sizeof(*l->at_ms));
	l->to_del = mk_calloc(l->n, sizeof(*l->to_del));
	l->spans = mk_calloc(SPANS_MAX, sizeof(*l->spans));
	l->timer = event_new(c->server->base, -1, 0, on_tick, l);
	if (!l->seen || !l->at_ms || !l->to_del || !l->spans || !l->timer) {
		load_free(l);
		return false;
	}
	load_free(c->load);
	c->load = l;
	on_tick(-1, 0, l);
	return true;
}

/* --- telling ---------------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	uint32_t a, b;

	memcpy(&a, x, sizeof(a));
	memcpy(&b, y, sizeof(b));
	return (a > b) - (a < b);
}

static void put_spans(const struct load *l, struct arena *a, struct json *o)
{
	size_t n = l->running < SPANS_MAX ? (size_t)l->running : SPANS_MAX;
	uint32_t *sorted = n > 0 ? mk_calloc(n, sizeof(*sorted)) : NULL;

	if (!sorted) {
		return;
	}
	memcpy(sorted, l->spans, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	json_set_int(a, o, "madeToRunningP50Ms", sorted[n / 2]);
	json_set_int(a, o, "madeToRunningP99Ms", sorted[n - 1 - n / 100]);
	mk_free(sorted);
}

static size_t left_on_workers(const struct server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_clusters; i++) {
		const struct cluster *c = s->cluster[i];

		if (c->role == KS_WORKER) {
			n += ks_n_objects(c->store, "kueue.x-k8s.io/v1beta2/workloads") +
			     ks_n_objects(c->store, "batch/v1/jobs");
		}
	}
	return n;
}

struct json *load_json(const struct cluster *c, struct arena *a)
{
	const struct load *l = c->load;
	struct json *o = json_new_obj(a);

	json_set_int(a, o, "leftOnWorkers", (int64_t)left_on_workers(c->server));
	json_set_int(a, o, "workloads",
		     (int64_t)ks_n_objects(c->store, "kueue.x-k8s.io/v1beta2/workloads"));
	json_set_int(a, o, "restartsToCome", (int64_t)roll_left(c->server));
	if (l != NULL) {
		json_set_int(a, o, "n", (int64_t)l->n);
		json_set_int(a, o, "made", (int64_t)l->made);
		json_set_int(a, o, "running", (int64_t)l->running);
		json_set_int(a, o, "finished", (int64_t)l->finished);
		json_set_int(a, o, "deleted", (int64_t)l->deleted);
		json_set_int(a, o, "sinceMs", clock_wall_ms() - l->begun_ms);
		put_spans(l, a, o);
	}
	return o;
}
