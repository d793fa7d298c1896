/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The composition of kube, apply and engine. kube and apply emit events, which the engine observes
 * at once; manager_run runs its passes and hands its operations on: links and watches to kube,
 * everything that changes a cluster to apply. See manager.h.
 */
#include "core/manager/manager.h"

#include "core/apply/apply.h"
#include "core/base/alloc.h"
#include "core/base/slice.h"

enum {
	ROUNDS_MAX = 4, /* runs of the engine of one manager_run */
	OPS_BYTES_MAX = 512 * 1024 * 1024,
};

struct manager {
	struct manager_options o;
	struct kinds kinds;
	mk_str *provider_names;
	struct kube *kube;
	struct apply *apply;
	struct engine *engine;
	/* What the engine wants done: collected in one arena while the other is being carried out. */
	struct op_list ops;
	struct arena ops_arena[2];
	struct op_list left; /* what the last run had no time for: links, watches, files */
	struct slice slice;  /* of this run */
	bool has_news;       /* events since the last run of the engine */
	int64_t now_ms, wall_ms;
	bool may_write;
	bool broken;
};

/*
 * Kinds that only the webhook watches. The engine did not ask for them; the observer gets their
 * events.
 */
static bool is_foreign(const struct manager *m, const struct event *ev)
{
	if (ev->kind < KIND_LOCAL_QUEUE || ev->kind >= KIND_FIRST_JOB) {
		return false;
	}
	return ev->cluster == CLUSTER_MANAGER ? !engine_reads_queues(m->engine, ev->kind)
					      : ev->kind > KIND_CLUSTER_QUEUE;
}

/* The engine takes the event in at once: what it points to is gone when the caller goes on. */
static void on_emit(void *ctx, const struct event *ev)
{
	struct manager *m = ctx;

	if (!is_foreign(m, ev)) {
		engine_observe(m->engine, ev, m->now_ms, m->wall_ms, &m->ops);
		m->has_news = true;
	}
	if (ev->type == EV_LINK && ev->link != LINK_UP && m->apply != NULL) {
		apply_link_down(m->apply, ev->cluster);
	}
	if (m->o.observer.on_event != NULL) {
		m->o.observer.on_event(m->o.observer.ctx, ev);
	}
}

/*
 * Of other kinds the observer may need each event. What the engine knows of these it has told the
 * observer, which has no use for their objects.
 */
static bool knows(void *ctx, const struct event *ev)
{
	struct manager *m = ctx;

	return (ev->kind == KIND_WORKLOAD || ev->kind >= KIND_FIRST_JOB) &&
	       engine_knows(m->engine, ev);
}

static enum mk_code add_kinds(struct manager *m, struct mk_err *err)
{
	kinds_init(&m->kinds);
	for (size_t i = 0; i < plug_n_adapters(m->o.plug); i++) {
		const struct plug_adapter *ad = plug_adapter(m->o.plug, i);
		uint16_t id;
		enum mk_code code =
			kinds_add(&m->kinds, ad->group, ad->version, ad->kind, ad->gvk, &id);

		if (code != ERR_OK) {
			return err_set(err, ERR_INVALID, "too many adapters: at most %d",
				       KIND_MAX - KIND_FIRST_JOB);
		}
	}
	return ERR_OK;
}

/* NULL: out of memory. */
static mk_str *names_of(const struct kube_provider *v, size_t n)
{
	mk_str *names = mk_calloc(n + 1, sizeof(*names));

	for (size_t i = 0; names != NULL && i < n; i++) {
		names[i] = v[i].name;
	}
	return names;
}

static struct kube_options kube_options_of(struct manager *m, struct kube_sink sink)
{
	const struct manager_options *o = &m->o;

	return (struct kube_options){.kinds = &m->kinds,
				     .transport = o->transport,
				     .sink = sink,
				     .seed = o->seed,
				     .namespace_ = o->namespace_,
				     .allow_loopback = o->allow_loopback,
				     .allow_link_local = o->allow_link_local,
				     .providers = o->providers,
				     .n_providers = o->n_providers,
				     .programs = o->programs,
				     .slice = &m->slice};
}

static enum mk_code build(struct manager *m, struct mk_err *err)
{
	const struct manager_options *o = &m->o;
	struct kube_sink sink = {.ctx = m, .emit = on_emit, .knows = knows};
	struct kube_options ko = kube_options_of(m, sink);
	struct engine_options eo = {.kinds = &m->kinds,
				    .plug = o->plug,
				    .origin = o->origin,
				    .former_origins = o->former_origins,
				    .n_former_origins = o->n_former_origins,
				    .former_managers = o->former_managers,
				    .n_former_managers = o->n_former_managers,
				    .manager_id = o->manager_id,
				    .namespace_ = o->namespace_,
				    .dispatcher = o->dispatcher,
				    .dispatchers = o->dispatchers,
				    .walls = o->walls,
				    .worker_lost_timeout_ms = o->worker_lost_timeout_ms,
				    .worker_lost_keep = o->worker_lost_keep,
				    .collect_unmarked = o->collect_unmarked,
				    .placement_timeout_ms = o->placement_timeout_ms,
				    .unplaceable_reject = o->unplaceable_reject,
				    .gc_interval_ms = o->gc_interval_ms,
				    .job_status_size = o->job_status_size,
				    .worker_memory = o->worker_memory,
				    .gates = o->gates,
				    .queues = o->queues,
				    .has_owner = o->has_owner,
				    .owner_ctx = o->owner_ctx,
				    .has_profiles = o->has_profiles,
				    .n_providers = o->n_providers,
				    .seed = o->seed,
				    .slice = &m->slice,
				    .count = o->observer.on_count,
				    .count_ctx = o->observer.ctx};
	enum mk_code code = add_kinds(m, err);

	if (code != ERR_OK) {
		return code;
	}
	eo.providers = m->provider_names = names_of(o->providers, o->n_providers);
	if (!m->provider_names) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	/* The three constructors fill 'err' themselves. */
	m->kube = kube_new(&ko, err);
	if (m->kube != NULL) {
		m->apply = apply_new(m->kube, &m->kinds, &sink, &m->slice, o->rate, err);
	}
	if (m->apply != NULL) {
		m->engine = engine_new(&eo, err);
	}
	return m->engine != NULL ? ERR_OK : ERR_INVALID;
}

struct manager *manager_new(const struct manager_options *o, struct mk_err *err)
{
	struct manager *m = mk_calloc(1, sizeof(*m));

	if (!m) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	m->o = *o;
	arena_init(&m->ops_arena[0], OPS_BYTES_MAX);
	arena_init(&m->ops_arena[1], OPS_BYTES_MAX);
	m->ops.arena = &m->ops_arena[0];
	m->slice.clock_us = o->clock_us;
	if (build(m, err) != ERR_OK) {
		manager_free(m);
		return NULL;
	}
	return m;
}

void manager_free(struct manager *m)
{
	if (!m) {
		return;
	}
	/* kube first: kube_free may still deliver answers, and apply must exist to receive them. */
	kube_free(m->kube);
	apply_free(m->apply);
	engine_free(m->engine);
	arena_done(&m->ops_arena[0]);
	arena_done(&m->ops_arena[1]);
	mk_free(m->provider_names);
	mk_free(m);
}

const struct transport_sink *manager_sink(struct manager *m)
{
	return kube_transport_sink(m->kube);
}

const struct kinds *manager_kinds(const struct manager *m)
{
	return &m->kinds;
}

struct kube *manager_kube(struct manager *m)
{
	return m->kube;
}

const struct engine *manager_engine(const struct manager *m)
{
	return m->engine;
}

struct answer_env manager_answers(struct manager *m, int64_t mono_ms, int64_t wall_ms,
				  struct arena *a)
{
	return (struct answer_env){m->engine, mono_ms, wall_ms, a};
}

enum mk_code manager_start(struct manager *m, const struct endpoint *e, struct mk_err *err)
{
	return kube_start_manager(m->kube, e, err);
}

void manager_now(struct manager *m, int64_t mono_ms, int64_t wall_ms)
{
	m->now_ms = mono_ms;
	m->wall_ms = wall_ms;
	kube_set_now(m->kube, mono_ms, wall_ms);
}

enum mk_code manager_file(struct manager *m, mk_str path, mk_str text, mk_str problem,
			  struct mk_err *err)
{
	return kube_file(m->kube, path, text, problem, err);
}

void manager_program_done(struct manager *m, uint64_t id, enum mk_code code, mk_str out,
			  mk_str text)
{
	kube_program_done(m->kube, id, code, out, text);
}

void manager_set_leader(struct manager *m, bool may_write)
{
	struct event ev = {.type = EV_LEADER, .may_write = may_write, .retry_after_ms = -1};

	if (m->may_write == may_write) {
		return;
	}
	m->may_write = may_write;
	apply_set_may_write(m->apply, may_write);
	on_emit(m, &ev);
}

void manager_want_queues(struct manager *m, bool wanted)
{
	m->has_news = engine_want_queues(m->engine, wanted) || m->has_news;
}

void manager_owners_changed(struct manager *m)
{
	engine_owners_changed(m->engine);
	m->has_news = true;
}

static void do_file(struct manager *m, const struct op *op)
{
	const struct manager_files *f = &m->o.files;

	if (op->type == OP_FILE_UNWATCH) {
		kube_file_forget(m->kube, op->name);
		if (f->unwatch != NULL) {
			f->unwatch(f->ctx, op->name);
		}
	} else if (f->watch != NULL && !f->watch(f->ctx, op->name)) {
		m->broken = true; /* the engine does not ask for the same file twice */
	}
}

/* An operation that is not for apply. */
static void do_here(struct manager *m, const struct op *op)
{
	if (op->type == OP_FILE_WATCH || op->type == OP_FILE_UNWATCH) {
		do_file(m, op);
		return;
	}
	/*
	 * The engine does not ask again for a link or watch that could not be set up for lack of
	 * memory.
	 */
	if (kube_do(m->kube, op, NULL) != ERR_OK) {
		m->broken = true;
	}
}

static void tell(struct manager *m, const struct op *op)
{
	if (m->o.observer.on_op != NULL) {
		m->o.observer.on_op(m->o.observer.ctx, op);
	}
}

/*
 * A link costs as much as a hundred requests: reading a kubeconfig and its certificates. So links,
 * watches and files are done one after the other while there is time, the first in any case. What
 * is left keeps its order, at the head of 'ops'. True: all is done.
 */
static bool hand_out(struct manager *m, struct op_list *ops)
{
	size_t n_done = 0, n_left = 0;

	for (size_t i = 0; i < ops->n; i++) {
		const struct op *op = &ops->v[i];

		if (op_is_mutating(op->type) || op->type == OP_GET) {
			tell(m, op);
		} else if (n_left > 0 || (n_done > 0 && slice_spent(&m->slice))) {
			ops->v[n_left++] = *op;
		} else {
			tell(m, op);
			do_here(m, op);
			n_done++;
		}
	}
	ops->n = n_left;
	return n_left == 0;
}

/*
 * What is emitted on the way may make the engine want more: that is for the next round. False: the
 * rest has to wait for the next run.
 */
static bool carry_out(struct manager *m)
{
	struct op_list ops = m->left;

	if (ops.n == 0) {
		ops = m->ops;
		m->ops = (struct op_list){.arena = &m->ops_arena[ops.arena == &m->ops_arena[0]]};
		apply_submit(m->apply, ops.v, ops.n, m->now_ms);
	}
	if (!hand_out(m, &ops)) {
		m->left = ops;
		return false;
	}
	m->left.n = 0;
	arena_clear(ops.arena);
	return true;
}

void manager_run(struct manager *m, int64_t mono_ms, int64_t wall_ms)
{
	slice_begin(&m->slice, MANAGER_SLICE_US);
	manager_now(m, mono_ms, wall_ms);
	kube_run(m->kube);
	if (m->left.n > 0 && !carry_out(m)) {
		apply_run(m->apply, mono_ms);
		return;
	}
	for (int round = 0; round < ROUNDS_MAX && !m->broken; round++) {
		apply_run(m->apply, mono_ms);
		if (!m->has_news && engine_next_ms(m->engine) > mono_ms) {
			break;
		}
		if (round > 0 && slice_spent(&m->slice)) {
			break;
		}
		m->has_news = false;
		engine_run(m->engine, mono_ms, wall_ms, &m->ops);
		if (!carry_out(m)) {
			break;
		}
	}
	apply_run(m->apply, mono_ms);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t manager_next_ms(const struct manager *m)
{
	int64_t next = m->has_news || m->left.n > 0 ? m->now_ms : INT64_MAX;

	next = earlier(next, engine_next_ms(m->engine));
	next = earlier(next, apply_next_ms(m->apply));
	return earlier(next, kube_next_ms(m->kube));
}

size_t manager_pending(const struct manager *m)
{
	return apply_pending(m->apply);
}

bool manager_broken(const struct manager *m)
{
	return m->broken;
}
