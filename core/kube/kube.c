/* SPDX-License-Identifier: Apache-2.0 */
/* The client's public face: life, time and timers, links by cluster, operations. */
#include "core/base/alloc.h"
#include "core/kube/impl.h"

static void find_groups(struct kube *k)
{
	for (uint16_t i = 0; i < k->kinds->n; i++) {
		const struct kind *kind = &k->kinds->k[i];
		bool known = discovery_is_fixed(i);

		for (size_t g = 0; g < k->n_groups && !known; g++) {
			const struct kind *first = &k->kinds->k[k->groups[g].first];

			known = str_eq(first->group, kind->group) &&
				str_eq(first->version, kind->version);
		}
		if (!known) {
			k->groups[k->n_groups++] =
				(struct api_group){.first = i, .core = i < KIND_PROFILE};
		}
	}
}

struct kube *kube_new(const struct kube_options *o, struct mk_err *err)
{
	struct kube *k = mk_calloc(1, sizeof(*k));

	if (!k) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	k->kinds = o->kinds;
	k->transport = o->transport;
	k->sink = o->sink;
	k->tsink = call_sink;
	k->tsink.ctx = k;
	k->allow_loopback = o->allow_loopback;
	k->allow_link_local = o->allow_link_local;
	k->providers = o->providers;
	k->n_providers = o->n_providers;
	k->programs = o->programs;
	k->slice = o->slice;
	k->owned_ns = mk_strndup(o->namespace_);
	if (!k->owned_ns) {
		mk_free(k);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	rng_init(&k->rng, o->seed);
	k->salt = o->seed * UINT64_C(0x9e3779b97f4a7c15);
	arena_init(&k->scratch, SCRATCH_MAX);
	arena_init(&k->shown, SHOWN_MAX);
	heap_init(&k->timers);
	list_init(&k->joining);
	list_init(&k->dead);
	secret_init(&k->secrets);
	find_groups(k);
	if (!timer_init(k, &k->join_timer, link_join_next, NULL)) {
		kube_free(k);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	return k;
}

void kube_free(struct kube *k)
{
	if (!k) {
		return;
	}
	for (size_t i = 0; i < k->n_links; i++) {
		link_close(k, k->links[i]);
		link_free(k, k->links[i]);
	}
	call_free_all(k);
	mk_free(k->links);
	secret_done(&k->secrets);
	heap_done(&k->timers);
	arena_done(&k->scratch);
	arena_done(&k->shown);
	mk_free(k->owned_ns);
	mk_free(k);
}

const struct transport_sink *kube_transport_sink(struct kube *k)
{
	return &k->tsink;
}

void kube_set_now(struct kube *k, int64_t mono_ms, int64_t wall_ms)
{
	k->mono_ms = mono_ms;
	k->wall_ms = wall_ms;
}

void kube_emit(struct kube *k, const struct event *ev)
{
	k->sink.emit(k->sink.ctx, ev);
}

void kube_clear(struct kube *k)
{
	arena_clear(&k->scratch);
	arena_clear(&k->shown);
}

/* --- timers ---------------------------------------------------------------------------------- */

bool timer_init(struct kube *k, struct timer *t, void (*fire)(struct kube *k, void *ctx), void *ctx)
{
	heap_node_init(&t->node);
	t->fire = fire;
	t->ctx = ctx;
	return heap_set(&k->timers, &t->node, INT64_MAX);
}

void timer_done(struct kube *k, struct timer *t)
{
	heap_del(&k->timers, &t->node);
}

void timer_set(struct kube *k, struct timer *t, int64_t at_ms)
{
	(void)heap_set(&k->timers, &t->node,
		       at_ms); /* it is in the heap: a move, which cannot fail */
}

void timer_off(struct kube *k, struct timer *t)
{
	timer_set(k, t, INT64_MAX);
}

void kube_run(struct kube *k)
{
	call_run_dead(k);
	do {
		struct heap_node *n = heap_min(&k->timers);
		struct timer *t = NULL;

		if (!n || n->at > k->mono_ms) {
			break;
		}
		t = HEAP_ENTRY(n, struct timer, node);
		timer_off(k, t);
		t->fire(k, t->ctx);
		kube_clear(k);
	} while (!slice_spent(k->slice));
}

int64_t kube_next_ms(const struct kube *k)
{
	const struct heap_node *n = heap_min(&k->timers);

	if (!list_empty(&k->dead)) {
		return k->mono_ms;
	}
	return !n ? INT64_MAX : n->at;
}

/* --- links ----------------------------------------------------------------------------------- */

/* Where 'id' is, or would be. */
static size_t place(const struct kube *k, cluster_id id)
{
	size_t lo = 0;
	size_t hi = k->n_links;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->links[mid]->id < id) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

struct link *link_find(const struct kube *k, cluster_id id)
{
	size_t i = place(k, id);

	return i < k->n_links && k->links[i]->id == id ? k->links[i] : NULL;
}

/* Finds or makes. NULL: out of memory, or too many. */
static struct link *find_or_make(struct kube *k, cluster_id id)
{
	size_t i = place(k, id);
	struct link *l = NULL;

	if (i < k->n_links && k->links[i]->id == id) {
		return k->links[i];
	}
	if (k->n_links == k->links_size) {
		size_t size = k->links_size == 0 ? 16 : k->links_size * 2;
		struct link **links = NULL;

		if (k->n_links >= LINKS_MAX) {
			return NULL;
		}
		links = mk_realloc(k->links, size * sizeof(struct link *));
		if (!links) {
			return NULL;
		}
		k->links = links;
		k->links_size = size;
	}
	l = link_new(k, id);
	if (!l) {
		return NULL;
	}
	memmove(k->links + i + 1, k->links + i, (k->n_links - i) * sizeof(struct link *));
	k->links[i] = l;
	k->n_links++;
	return l;
}

static void drop_link(struct kube *k, struct link *l)
{
	size_t i = place(k, l->id);

	link_close(k, l);
	memmove(k->links + i, k->links + i + 1, (k->n_links - i - 1) * sizeof(struct link *));
	k->n_links--;
	link_free(k, l);
}

bool kube_is_up(const struct kube *k, cluster_id c)
{
	const struct link *l = link_find(k, c);

	return l != NULL && l->phase == PHASE_UP;
}

/* --- operations ------------------------------------------------------------------------------ */

enum mk_code kube_start_manager(struct kube *k, const struct endpoint *e, struct mk_err *err)
{
	static const uint16_t core[] = {KIND_WORKLOAD, KIND_CHECK, KIND_CONFIG, KIND_CLUSTER,
					KIND_SECRET};
	struct link *l = find_or_make(k, CLUSTER_MANAGER);

	if (!l) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
		const struct op op = {.type = OP_WATCH_OPEN, .kind = core[i]};

		if (!watch_find(l, core[i]) && !watch_new(k, l, &op)) {
			return err_set(err, ERR_NO_MEMORY, "out of memory");
		}
	}
	return link_open(k, l, e, "manager", err);
}

static enum mk_code open_watch(struct kube *k, const struct op *op, struct mk_err *err)
{
	struct link *l = find_or_make(k, op->cluster);
	struct watch *w = NULL;

	if (op->kind >= k->kinds->n) {
		return err_set(err, ERR_BUG, "watch of an unknown kind");
	}
	if (!l) {
		return err_set(err, ERR_NO_MEMORY, "out of memory, or too many clusters");
	}
	w = watch_find(l, op->kind);
	l->kinds[op->kind].sought = op->sought;
	if (w != NULL && str_eq(str_of(w->owned_selector), op->selector) &&
	    str_eq(str_of(w->owned_name), op->name) && w->metadata_only == op->metadata_only) {
		discovery_ask_due(k, l);
		return ERR_OK;
	}
	if (w != NULL) {
		watch_free(k, w); /* another selection: what it showed is no base to resume from */
	}
	w = watch_new(k, l, op);
	if (!w) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	watch_start(k, w);
	discovery_complete(k, l);
	discovery_ask_due(k, l);
	return ERR_OK;
}

enum mk_code kube_do(struct kube *k, const struct op *op, struct mk_err *err)
{
	struct link *l = link_find(k, op->cluster);
	struct watch *w = NULL;
	enum mk_code code = ERR_OK;

	if (op->type == OP_WATCH_OPEN) {
		code = open_watch(k, op, err);
	} else if (op->type == OP_WATCH_CLOSE) {
		w = l != NULL ? watch_find(l, op->kind) : NULL;
		if (w != NULL) {
			watch_free(k, w);
		}
	} else if (op->type == OP_CONNECT && op->cluster != CLUSTER_MANAGER) {
		l = find_or_make(k, op->cluster);
		if (!l) {
			return err_set(err, ERR_NO_MEMORY, "out of memory, or too many clusters");
		}
		code = link_connect(k, l, op, err);
	} else if (op->type == OP_DISCONNECT && op->cluster != CLUSTER_MANAGER) {
		if (l != NULL) {
			drop_link(k, l);
		}
	} else {
		code = err_set(err, ERR_BUG, "operation %s is not for kube",
			       op_type_name(op->type));
	}
	kube_clear(k);
	return code;
}

void kube_list_again(struct kube *k, cluster_id c, uint16_t kind)
{
	struct link *l = link_find(k, c);
	struct watch *w = l != NULL ? watch_find(l, kind) : NULL;

	if (w != NULL) {
		watch_list_again(k, w);
	}
	kube_clear(k);
}
