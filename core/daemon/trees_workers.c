/* SPDX-License-Identifier: Apache-2.0 */
/* Workers' quota for queue trees; see trees_workers.h. */
#include "core/daemon/trees_workers.h"

#include "core/api/queue.h"
#include "core/base/backoff.h"
#include "core/base/log.h"

enum {
	STEP_MS = 5000,
	STEP_MAX_MS = 300 * 1000,
	EVENT_MAX = 16 * 1024 * 1024, /* memory for one event */
	LIST_MAX = 64 * 1024 * 1024,  /* of all workers */
};

enum mk_code trees_workers_open(struct trees_workers_watch *w, struct kube *k, struct mk_err *err)
{
	*w = (struct trees_workers_watch){.kube = k, .is_news = true};
	w->fleet = trees_fleet_new();
	return w->fleet ? ERR_OK : err_set(err, ERR_NO_MEMORY, "out of memory");
}

void trees_workers_close(struct trees_workers_watch *w)
{
	trees_fleet_free(w->fleet);
	for (size_t i = 0; i < TREES_WANTING; i++) {
		map_done(&w->wanting[i].names);
	}
}

/* --- queues of workers ------------------------------------------------------------------------ */

static bool put_queue(struct trees_workers_watch *w, const struct event *ev)
{
	struct trees_quota *quotas;
	struct api_quota *v;
	struct arena a;
	uint32_t n = 0;
	bool good;

	arena_init(&a, EVENT_MAX);
	v = api_quotas(&a, ev->obj, &n);
	quotas = arena_array(&a, n + 1, sizeof(*quotas));
	for (uint32_t i = 0; v && quotas && i < n; i++) {
		quotas[i] = (struct trees_quota){
			v[i].flavor, v[i].resource, {v[i].nominal, (enum api_format)v[i].format}};
	}
	good = v && quotas && trees_fleet_put_queue(w->fleet, ev->cluster, ev->name, quotas, n);
	if (!v || !quotas) {
		trees_fleet_lose(w->fleet, ev->cluster, TREES_QUEUES);
	}
	arena_done(&a);
	return good;
}

static void worker_event(struct trees_workers_watch *w, const struct event *ev)
{
	bool local = ev->kind == KIND_LOCAL_QUEUE;
	enum trees_side side = local ? TREES_LOCALS : TREES_QUEUES;
	bool kept = true;

	if (ev->type == EV_OBSERVED) {
		kept = local ? trees_fleet_put_local(w->fleet, ev->cluster, ev->ns, ev->name,
						     json_str_at(ev->obj, "/spec/clusterQueue"))
			     : put_queue(w, ev);
	} else if (ev->type == EV_GONE) {
		trees_fleet_drop(w->fleet, ev->cluster, side, ev->ns, ev->name);
	} else if (ev->type == EV_LIST_BEGIN) {
		kept = trees_fleet_list(w->fleet, ev->cluster, side);
	} else if (ev->type == EV_LIST_END) {
		trees_fleet_listed(w->fleet, ev->cluster, side);
	}
	if (!kept && !w->failed) {
		log_write(LOG_WARN, "daemon",
			  "a queue of a worker is not kept: listing its kind anew",
			  LOG_STR("ns", ev->ns), LOG_STR("name", ev->name), LOG_END);
		w->failed = true;
	}
}

/* --- who wants them --------------------------------------------------------------------------- */

static void note(struct trees_workers_watch *w, size_t i, const struct event *ev, bool wants)
{
	struct map *names = &w->wanting[i].names;

	if (ev->type == EV_LIST_BEGIN) {
		w->wanting[i].mark++;
		w->wanting[i].lost = false;
	} else if (ev->type == EV_OBSERVED && wants) {
		if (!map_put(names, ev->name, (void *)(w->wanting[i].mark + 1))) {
			w->wanting[i].lost = true;
		}
	} else if (ev->type == EV_OBSERVED || ev->type == EV_GONE) {
		(void)map_del(names, ev->name);
	} else if (ev->type == EV_LIST_END) {
		size_t pos = 0;
		mk_str name;
		void *mark;

		while (map_next(names, &pos, &name, &mark)) {
			if ((uintptr_t)mark != w->wanting[i].mark + 1) {
				(void)map_del(names, name);
			}
		}
	}
}

bool trees_workers_wanted(const struct trees_workers_watch *w)
{
	bool wanted = false;

	for (size_t i = 0; i < TREES_WANTING; i++) {
		wanted = wanted || w->wanting[i].lost || map_len(&w->wanting[i].names) > 0;
	}
	return wanted;
}

/* --- workers ---------------------------------------------------------------------------------- */

/* Does the engine's answer about workers depend on the event? */
static bool is_about_workers(const struct event *ev)
{
	bool queues = ev->kind == KIND_LOCAL_QUEUE || ev->kind == KIND_CLUSTER_QUEUE;

	if (ev->type == EV_LINK) {
		return true;
	}
	if (ev->cluster == CLUSTER_MANAGER) {
		return ev->kind == KIND_CONFIG || ev->kind == KIND_CLUSTER;
	}
	return queues ? ev->type != EV_OBSERVED && ev->type != EV_GONE : ev->kind == KIND_NAMESPACE;
}

void trees_workers_event(struct trees_workers_watch *w, const struct event *ev, bool wants)
{
	w->is_news = w->is_news || is_about_workers(ev);
	if (ev->cluster == CLUSTER_MANAGER) {
		if (ev->kind == KIND_QUOTA_TREE || ev->kind == KIND_CLUSTER_QUEUE) {
			note(w, ev->kind == KIND_QUOTA_TREE ? 0 : 1, ev, wants);
		}
	} else if (ev->kind == KIND_LOCAL_QUEUE || ev->kind == KIND_CLUSTER_QUEUE) {
		worker_event(w, ev);
	}
}

struct gathering {
	struct arena a;
	struct trees_workers all;
	size_t size_workers, size_configs;
	int64_t mono_ms, wall_ms;
};

/* Room for one more of 'n' elements in *v; NULL: out of memory. */
static void *grow(struct arena *a, void *v, size_t n, size_t *size, size_t each)
{
	void *bigger = v;

	if (n == *size) {
		size_t more = *size ? *size * 2 : 16;

		bigger = arena_array(a, more, each);
		if (bigger && n > 0) {
			memcpy(bigger, v, n * each);
		}
		*size = bigger ? more : *size;
	}
	return bigger;
}

static void gather_worker(void *ctx, const struct engine_worker *w)
{
	struct gathering *g = ctx;
	struct trees_worker *v =
		grow(&g->a, g->all.workers, g->all.n_workers, &g->size_workers, sizeof(*v));
	int64_t ago = w->hidden_ms == INT64_MAX ? 0 : g->mono_ms - w->hidden_ms;

	if (v) {
		g->all.workers = v;
		v[g->all.n_workers++] = (struct trees_worker){
			.name = w->name,
			.id = w->id,
			.labels = w->labels,
			.n_labels = w->n_labels,
			.hidden_ms = w->hidden_ms,
			.hidden_wall_ms = g->wall_ms - ago,
			.was_seen = w->was_seen,
			.server = w->server,
		};
	}
}

static void gather_config(void *ctx, mk_str name, const mk_str *clusters, size_t n)
{
	struct gathering *g = ctx;
	struct trees_config *v =
		grow(&g->a, g->all.configs, g->all.n_configs, &g->size_configs, sizeof(*v));

	if (v) {
		g->all.configs = v;
		v[g->all.n_configs++] = (struct trees_config){name, clusters, n};
	}
}

/* The names stay valid until the engine runs again. False: out of memory. */
static bool hand_on(struct trees_workers_watch *w, const struct engine *e, int64_t mono_ms,
		    int64_t wall_ms)
{
	struct gathering g = {.all = {.known = true}, .mono_ms = mono_ms, .wall_ms = wall_ms};
	bool good = true;

	arena_init(&g.a, LIST_MAX);
	if (engine_workers(e, gather_worker, gather_config, &g)) {
		good = !arena_failed(&g.a) && trees_fleet_set(w->fleet, &g.all);
	}
	arena_done(&g.a);
	return good;
}

/* Asks for what the fleet has lost. False: there is nothing. */
static bool list_again(struct trees_workers_watch *w)
{
	enum trees_side side;
	uint32_t id;

	if (!trees_fleet_torn(w->fleet, &id, &side)) {
		return false;
	}
	kube_list_again(w->kube, id, side == TREES_LOCALS ? KIND_LOCAL_QUEUE : KIND_CLUSTER_QUEUE);
	return true;
}

void trees_workers_run(struct trees_workers_watch *w, const struct engine *e, int64_t mono_ms,
		       int64_t wall_ms)
{
	bool due = w->failed && mono_ms >= w->due_ms;

	if (w->is_news && (due || !w->failed)) {
		w->is_news = !hand_on(w, e, mono_ms, wall_ms);
		w->failed = w->failed || w->is_news;
	}
	if (!due) {
		return;
	}
	if (list_again(w) || w->is_news) {
		w->step_ms = w->step_ms == 0 ? STEP_MS : backoff_ms(w->step_ms, 1, STEP_MAX_MS);
		w->due_ms = mono_ms + w->step_ms;
	} else {
		w->failed = false;
		w->step_ms = 0;
	}
}

int64_t trees_workers_next_ms(const struct trees_workers_watch *w)
{
	return w->failed ? w->due_ms : INT64_MAX;
}
