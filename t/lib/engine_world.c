/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/engine_world.h"

const mk_entry *w_more;

struct event *w_events(struct world *w, size_t n, struct arena *objects)
{
	struct event *ev = calloc(n + 1, sizeof(*ev));

	for (size_t i = 0; i < n; i++) {
		const struct pending *p = &w->q[i];
		struct json *v = NULL;

		ev[i] = p->ev;
		if (p->ev.type == EV_SERVED || p->ev.type == EV_UNSERVED) {
			w->unserved[p->ev.cluster][p->ev.kind] = p->ev.type == EV_UNSERVED;
		}
		ev[i].ns = str_of(p->ns);
		ev[i].name = str_of(p->name);
		ev[i].uid = str_of(p->uid);
		ev[i].text = str_of(p->msg);
		if (p->text) {
			json_parse_cut(objects, str_of(p->text), &v, NULL);
			ev[i].obj = v;
		}
	}
	return ev;
}

void w_engine(struct world *w, const struct event *ev, size_t n, struct op_list *out)
{
	for (size_t i = 0; i < n; i++) {
		engine_observe(w->e, &ev[i], w->now, w->wall, out);
	}
	engine_run(w->e, w->now, w->wall, out);
}

void w_ask(struct world *w, struct op_list *out)
{
	struct arena objects;
	struct event *ev;
	size_t n = w->n_q;

	arena_init(&objects, 0);
	ev = w_events(w, n, &objects);
	if (w->fail_at > 0) {
		alloc_fail_after(w->fail_at);
	}
	w_engine(w, ev, n, out);
	if (w->fail_at > 0) {
		alloc_fail_after(0);
		w->fail_at = 0;
	}
	w_drop(w, n);
	free(ev);
	arena_done(&objects);
}

void w_step(struct world *w)
{
	struct op_list out = {.arena = &w->arena};

	w_ask(w, &out);
	for (size_t i = 0; i < out.n; i++) {
		w_log(w, &out.v[i], &w->arena);
		w->requests += out.v[i].type <= OP_GET;
		if (!w->hold) {
			w_do(w, &out.v[i], &w->arena);
		}
	}
	arena_clear(&w->arena);
}

void w_settle(struct world *w)
{
	for (int i = 0; i < 1000; i++) {
		w_step(w);
		if (w->n_q == 0 && engine_next_ms(w->e) > w->now) {
			return;
		}
	}
	ok(false, "the engine comes to rest");
}

void w_advance(struct world *w, int64_t ms)
{
	int64_t end = w->now + ms;

	while (engine_next_ms(w->e) <= end) {
		int64_t next = engine_next_ms(w->e);

		if (next > w->now) {
			w->wall += next - w->now;
			w->now = next;
		}
		w_settle(w);
	}
	w->wall += end - w->now;
	w->now = end;
	w_settle(w);
}

const char *w_take(struct world *w)
{
	static char copy[sizeof(w->log)];

	memcpy(copy, w->log, sizeof(copy));
	w->log[0] = 0;
	return copy;
}

const char *w_take_work(struct world *w)
{
	static char work[sizeof(w->log)];
	const char *line = w_take(w);
	size_t n = 0;

	while (*line) {
		size_t len = strcspn(line, "\n") + 1;

		if (strncmp(line, "watch_", 6) != 0) {
			memcpy(work + n, line, len);
			n += len;
		}
		line += len;
	}
	work[n] = 0;
	return work;
}

void w_list(struct world *w, cluster_id c, uint16_t kind)
{
	if (!w->up[c]) {
		return; /* when the link is back */
	}
	if (w_is_queue(kind) && w->no_queues[c]) {
		struct pending *p = w_event(w, EV_UNSERVED, c, kind);

		p->ev.code = ERR_DENIED;
		p->msg = w_dup(STR("forbidden"));
		return;
	}
	w_event(w, EV_LIST_BEGIN, c, kind);
	for (size_t i = 0; i < w->n_o; i++) {
		if (w->o[i].used && w->o[i].cluster == w_server(w, c) && w->o[i].kind == kind) {
			w_tell_as(w, &w->o[i], EV_OBSERVED, VIA_LIST, c);
		}
	}
	w_event(w, EV_LIST_END, c, kind)->ev.rv = w->rv;
}

void w_link(struct world *w, cluster_id c, enum link_state s)
{
	struct pending *p;
	char id[32];

	w->up[c] = s == LINK_UP;
	if (s == LINK_UP && c) {
		w_list(w, c, KIND_WORKLOAD);
		for (uint16_t k = JOB; k < JOB + 32; k++) {
			if (w->watching[c] & 1u << (k - JOB) && !w->hold_jobs[c]) {
				w_list(w, c, k);
			}
		}
		if (w->queues[c]) {
			w_list(w, c, KIND_LOCAL_QUEUE);
			w_list(w, c, KIND_CLUSTER_QUEUE);
		}
	}
	p = w_event(w, EV_LINK, c, 0);
	p->ev.link = s;
	p->ev.code = s == LINK_UP ? ERR_OK : ERR_UNAVAILABLE;
	p->ev.at_wall_ms = w->wall;
	if (c == CLUSTER_MANAGER) {
		p->name = w_dup(str_of(w->manager_id ? w->manager_id : "manager-id"));
	} else {
		snprintf(id, sizeof(id), "worker-%u", (unsigned)w_server(w, c));
		p->name = w_dup(w->hides[c] ? STR("") : str_of(id));
	}
	p->msg = w_dup(s == LINK_UP ? STR("") : STR("connection refused"));
}

static void w_count(void *ctx, const struct engine_count *c)
{
	static const char *const names[] = {[COUNT_DISPATCHED] = "dispatched",
					    [COUNT_ADMITTED] = "admitted",
					    [COUNT_EVICTED] = "evicted"};
	struct world *w = ctx;
	char *text = c->what == COUNT_STAGE ? w->stages : w->counts;
	size_t n = strlen(text);

	if (c->what == COUNT_STAGE) {
		snprintf(text + n, sizeof(w->stages) - n, "%s %lld\n", engine_stages[c->stage],
			 (long long)c->ms);
	} else {
		snprintf(text + n, sizeof(w->counts) - n, "%s %.*s %.*s%s%.*s\n", names[c->what],
			 STR_ARG(c->cluster_queue), STR_ARG(c->cluster), c->reason.n > 0 ? " " : "",
			 STR_ARG(c->reason));
	}
}

void w_start(struct world *w)
{
	static const char all[] = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once";
	struct engine_options o = {.kinds = &w->kinds,
				   .plug = w->plug,
				   .origin = str_of(w_origin(w)),
				   .former_origins = w->former_origins,
				   .n_former_origins = (size_t)(w->former_origins[0].n > 0) +
						       (w->former_origins[1].n > 0),
				   .former_managers = w->former_managers,
				   .n_former_managers = w->former_managers[0].n > 0,
				   .manager_id = str_of(w->own_id),
				   .namespace_ = STR("kueue-system"),
				   .dispatcher = str_of(w->dispatcher ? w->dispatcher : all),
				   .dispatchers = w->dispatchers,
				   .walls = w->walls,
				   .worker_lost_timeout_ms =
					   w->lost_timeout ? w->lost_timeout : 900000,
				   .worker_lost_keep = w->lost_keep,
				   .collect_unmarked = w->collect_unmarked,
				   .placement_timeout_ms = w->placement_timeout,
				   .unplaceable_reject = w->reject_unplaceable,
				   .gc_interval_ms = 60000,
				   .job_status_size = 256 * 1024,
				   .worker_memory = w->worker_memory,
				   .gates = {.identifier_annotations = true,
					     .quota_automation = w->gate_quota,
					     .remote_spec_sync = !w->gate_no_sync,
					     .elastic_slices = w->gate_elastic,
					     .ray_autoscaling = w->gate_ray,
					     .orchestrated_preemption = w->gate_preemption,
					     .path_validation = w->gate_paths,
					     .cluster_profile = w->gate_profiles},
				   .queues = w->read_queues,
				   .has_owner = w->has_owner,
				   .owner_ctx = w,
				   .has_profiles = w->has_profiles,
				   .providers = w->providers,
				   .n_providers = w->n_providers,
				   .seed = 1,
				   .count = w_count,
				   .count_ctx = w};
	struct mk_err err;

	w->e = engine_new(&o, &err);
	if (!w->e) {
		printf("Bail out! no engine: %s\n", err.msg);
		exit(1);
	}
	w_event(w, EV_LEADER, 0, 0)->ev.may_write = true;
	for (uint16_t k = 0; k < KIND_EVENT; k++) {
		w_list(w, 0, k);
	}
	w_link(w, 0, LINK_UP);
}

void w_stop(struct world *w)
{
	engine_free(w->e);
	w->e = NULL;
	w_drop(w, w->n_q);
	w->log[0] = 0;
}

void w_restart(struct world *w)
{
	w_stop(w);
	w->now += 1000;
	w->wall += 1000;
	for (size_t i = 0; i < WORLD_CLUSTERS; i++) {
		w->up[i] = i == 0;
		w->watching[i] = 0;
		w->queues[i] = false;
	}
	memset(w->unserved, 0, sizeof(w->unserved));
	w_start(w);
}

void w_plugin(struct world *w, const mk_entry *plugin)
{
	struct mk_err err;

	if (plug_add(w->plug, plugin, "", &err) != ERR_OK) {
		printf("Bail out! no plugin: %s\n", err.msg);
		exit(1);
	}
}

struct world *w_new(size_t n)
{
	struct world *w = calloc(1, sizeof(*w));
	char text[2048];
	struct mk_err err;
	uint16_t id;

	kinds_init(&w->kinds);
	w->plug = plug_new(&err);
	w_plugin(w, &mk_entry_job);
	w_plugin(w, &mk_entry_all_at_once);
	w_plugin(w, &mk_entry_external);
	if (w_more) {
		w_plugin(w, w_more);
	}
	kinds_add(&w->kinds, STR("batch"), STR("v1"), STR("Job"), STR("batch/v1, Kind=Job"), &id);
	for (size_t i = 1; i < plug_n_adapters(w->plug); i++) {
		const struct plug_adapter *ad = plug_adapter(w->plug, i);

		kinds_add(&w->kinds, ad->group, ad->version, ad->kind, ad->gvk, &id);
	}
	w->now = T0;
	w->wall = WALL0;
	w->up[0] = true;
	arena_init(&w->arena, 0);
	w_put(w, 0, KIND_CHECK,
	      "{\"metadata\":{\"name\":\"mk\",\"generation\":1},\"spec\":{\"controllerName\":"
	      "\"kueue.x-k8s.io/"
	      "multikueue\",\"parameters\":{\"apiGroup\":\"kueue.x-k8s.io\",\"kind\":"
	      "\"MultiKueueConfig\",\"name\":\"cfg\"}}}");
	snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"cfg\"},\"spec\":{\"clusters\":[");
	for (size_t i = 1; i <= n; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\"w%zu\"",
			 i > 1 ? "," : "", i);
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "]}}");
	w_put(w, 0, KIND_CONFIG, text);
	for (size_t i = 1; i <= n; i++) {
		add_cluster(w, i, "");
		add_secret(w, i);
	}
	w_drop(w, w->n_q); /* the lists will tell */
	w_start(w);
	w_settle(w);
	return w;
}

void w_free(struct world *w)
{
	w_stop(w);
	for (size_t i = 0; i < w->n_o; i++) {
		if (w->o[i].used) {
			w_free_object(&w->o[i]);
		}
	}
	plug_free(w->plug);
	arena_done(&w->arena);
	free(w);
}
