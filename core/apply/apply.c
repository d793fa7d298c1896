/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From operations to requests and back to events. Every operation with an id ends in exactly one
 * EV_OP_DONE, emitted from apply_run or from kube's reply, and from inside apply_submit only when
 * out of memory.
 */
#include "core/apply/apply.h"

#include "core/apply/lane.h"
#include "core/base/alloc.h"

enum {
	TIMEOUT_MS = 30 * 1000,
	SCRATCH_MAX = 64 * 1024 * 1024,
};
#define INTERVAL_MAX_US INT64_C(3600000000) /* one an hour; slower is as good as never */

struct apply {
	struct kube *kube;
	const struct kinds *kinds;
	struct kube_sink sink;
	const struct slice *slice;
	struct lane **lanes; /* ascending by cluster id */
	size_t n_lanes, size_lanes;
	cluster_id turn; /* whose lane goes on when time ran out before */
	struct map by_token;
	struct list_node done; /* ended without the wire */
	struct arena scratch;
	uint64_t next_token;
	size_t pending;
	struct lane_rate rate; /* of each cluster */
	int64_t now_ms;
	bool may_write;
};

static struct lane_rate lane_rate_of(struct apply_rate rate)
{
	int64_t burst = rate.burst > 0 ? rate.burst : APPLY_BURST;
	int64_t interval = INTERVAL_MAX_US;

	if (!(rate.qps > 0)) {
		return (struct lane_rate){0};
	}
	if (rate.qps * (double)INTERVAL_MAX_US > 1e6) {
		interval = (int64_t)(1e6 / rate.qps);
	}
	return (struct lane_rate){.interval_us = interval, .slack_us = (burst - 1) * interval};
}

struct apply *apply_new(struct kube *k, const struct kinds *kinds, const struct kube_sink *sink,
			const struct slice *slice, struct apply_rate rate, struct mk_err *err)
{
	struct apply *a = mk_calloc(1, sizeof(*a));

	if (!a) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	a->kube = k;
	a->kinds = kinds;
	a->sink = *sink;
	a->slice = slice;
	a->rate = lane_rate_of(rate);
	map_init(&a->by_token);
	list_init(&a->done);
	arena_init(&a->scratch, SCRATCH_MAX);
	return a;
}

static mk_str token_key(const uint64_t *token)
{
	return (mk_str){(const char *)token, sizeof(*token)};
}

void apply_free(struct apply *a)
{
	size_t pos = 0;
	void *val;

	if (!a) {
		return;
	}
	while (map_next(&a->by_token, &pos, NULL, &val)) {
		mk_free(val);
	}
	map_done(&a->by_token);
	for (LIST_EACH_SAFE(n, &a->done)) {
		mk_free(LIST_ENTRY(n, struct task, node));
	}
	for (size_t i = 0; i < a->n_lanes; i++) {
		for (int p = 0; p < LANE_PRIOS; p++) {
			for (LIST_EACH_SAFE(n, &a->lanes[i]->waiting[p])) {
				mk_free(LIST_ENTRY(n, struct task, node));
			}
		}
		lane_free(a->lanes[i]);
	}
	mk_free(a->lanes);
	arena_done(&a->scratch);
	mk_free(a);
}

/* Where 'c' has its lane, or would have it. */
static size_t place(const struct apply *a, cluster_id c)
{
	size_t lo = 0;
	size_t hi = a->n_lanes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (a->lanes[mid]->cluster < c) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

/* NULL: nothing was sent to the cluster yet, or OP_DISCONNECT came since. */
static struct lane *lane_find(const struct apply *a, cluster_id c)
{
	size_t i = place(a, c);

	return i < a->n_lanes && a->lanes[i]->cluster == c ? a->lanes[i] : NULL;
}

/* NULL: out of memory. */
static struct lane *lane_of(struct apply *a, cluster_id c)
{
	struct lane *l = lane_find(a, c);
	size_t i;

	if (l != NULL) {
		return l;
	}
	if (a->n_lanes == a->size_lanes) {
		size_t size = a->size_lanes == 0 ? 16 : a->size_lanes * 2;
		struct lane **grown = mk_realloc(a->lanes, size * sizeof(struct lane *));

		if (!grown) {
			return NULL;
		}
		a->lanes = grown;
		a->size_lanes = size;
	}
	l = lane_new(c, a->rate);
	if (l != NULL) {
		i = place(a, c);
		memmove(a->lanes + i + 1, a->lanes + i, (a->n_lanes - i) * sizeof(struct lane *));
		a->lanes[i] = l;
		a->n_lanes++;
	}
	return l;
}

/* Frees the lanes of clusters that OP_DISCONNECT named, once they have no task left. */
static void free_left(struct apply *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n_lanes; i++) {
		struct lane *l = a->lanes[i];

		if (l->left && l->n_waiting == 0 && l->n_sent == 0) {
			lane_free(l);
		} else {
			a->lanes[kept++] = l;
		}
	}
	a->n_lanes = kept;
}

/* The verb of RBAC. */
static const char *right_of(enum op_type type)
{
	return type == OP_CREATE || type == OP_EVENT ? "create"
	       : type == OP_DELETE                   ? "delete"
	       : type == OP_GET                      ? "get"
						     : "patch";
}

/* Emits EV_OP_DONE. */
static void tell(struct apply *a, const struct task *t, const struct kube_reply *r)
{
	struct event ev = {.type = EV_OP_DONE,
			   .cluster = t->cluster,
			   .kind = t->kind,
			   .op_id = t->op_id,
			   .outcome = r->outcome,
			   .code = r->code,
			   .http = r->http,
			   .retry_after_ms = r->retry_after_ms,
			   .via = VIA_REPLY};

	if (t->op_id == 0) {
		return;
	}
	ev.ns = t->ns;
	ev.name = t->name;
	ev.text = r->text;
	ev.reason = r->reason;
	ev.obj = r->obj;
	ev.rv = r->rv;
	ev.raw = r->raw;
	ev.raw_spec = r->raw_spec;
	ev.verb = right_of(t->type);
	ev.subresource = t->type == OP_APPLY_STATUS
				 ? "status"
				 : kube_subresource(a->kube, t->cluster, t->kind, t->subresource);
	ev.cause = t->cause;
	a->sink.emit(a->sink.ctx, &ev);
}

static void finish(struct apply *a, struct task *t, const struct kube_reply *r)
{
	tell(a, t, r);
	a->pending--;
	mk_free(t);
}

/* Ends a task that was not sent; the next apply_run emits its EV_OP_DONE. */
static void refuse(struct apply *a, struct task *t, enum mk_code code)
{
	t->lane = NULL;
	t->code = code;
	list_add_tail(&a->done, &t->node);
}

static const char *refused_text(enum mk_code code)
{
	if (code == ERR_FENCED) {
		return "not the leader";
	}
	if (code == ERR_UNAVAILABLE) {
		return "the cluster is not connected, or does not serve the kind";
	}
	if (code == ERR_LIMITED) {
		return "the cluster is busy";
	}
	if (code == ERR_TIMEOUT) {
		return "it waited too long to be sent";
	}
	return code == ERR_NOT_FOUND ? "the cluster does not serve the kind" : err_code_name(code);
}

static void tell_refused(struct apply *a)
{
	while (!list_empty(&a->done)) {
		struct task *t = LIST_ENTRY(a->done.next, struct task, node);
		/* Without one it waited for a cluster that is not connected any more. */
		enum mk_code code = t->code != ERR_OK ? t->code : ERR_UNAVAILABLE;
		struct kube_reply r = {.outcome = OUTCOME_REFUSED,
				       .code = code,
				       .retry_after_ms = t->retry_after_ms,
				       .text = str_of(refused_text(code))};

		list_del(&t->node);
		finish(a, t, &r);
		if (slice_spent(a->slice)) {
			return;
		}
	}
}

/* During a pause. */
static void refuse_prompt(struct apply *a, struct lane *l)
{
	struct task *t;

	while ((t = lane_pick_prompt(l, a->now_ms)) != NULL) {
		refuse(a, t, ERR_LIMITED);
	}
}

static void on_reply(void *ctx, uint64_t token, const struct kube_reply *r)
{
	struct apply *a = ctx;
	struct task *t = map_del(&a->by_token, token_key(&token));

	if (!t) {
		return;
	}
	lane_answered(t->lane, t, r->code, r->text, r->retry_after_ms, a->now_ms);
	refuse_prompt(a, t->lane);
	/*
	 * 429 means not executed: the operation waits for the pause to end, at the head of its
	 * queue.
	 */
	if (r->code == ERR_LIMITED && t->tries < TASK_TRIES_MAX && !t->prompt &&
	    (a->may_write || !op_is_mutating(t->type))) {
		lane_requeue(t->lane, t);
		return;
	}
	finish(a, t, r);
}

static enum kube_verb verb_of(enum op_type type)
{
	switch (type) {
	case OP_CREATE:
	case OP_EVENT:
		return KUBE_CREATE;
	case OP_APPLY_STATUS:
		return KUBE_APPLY;
	case OP_MERGE:
		return KUBE_MERGE;
	case OP_DELETE:
		return KUBE_DELETE;
	case OP_GET:
	case OP_WATCH_OPEN:
	case OP_WATCH_CLOSE:
	case OP_CONNECT:
	case OP_DISCONNECT:
	case OP_FILE_WATCH:
	case OP_FILE_UNWATCH:
	case OP_N_TYPES:
		break;
	}
	return KUBE_GET;
}

static void send_task(struct apply *a, struct lane *l, struct task *t)
{
	struct kube_request r = {.cluster = t->cluster,
				 .verb = verb_of(t->type),
				 .kind = t->kind,
				 .ns = t->ns,
				 .name = t->name,
				 .subresource =
					 t->type == OP_APPLY_STATUS ? "status" : t->subresource,
				 .field_manager = t->field_manager,
				 .body = t->body,
				 .as = t->as,
				 .timeout_ms = TIMEOUT_MS};
	enum mk_code code;

	if (!lane_sent(l, t, a->now_ms)) {
		refuse(a, t, ERR_CONFLICT);
		return;
	}
	t->token = ++a->next_token;
	if (!map_put(&a->by_token, token_key(&t->token), t)) {
		lane_answered(l, t, ERR_NO_MEMORY, (mk_str){NULL, 0}, -1, a->now_ms);
		refuse(a, t, ERR_NO_MEMORY);
		return;
	}
	code = kube_send(a->kube, &r, t->token, on_reply, a, NULL);
	if (code != ERR_OK) {
		map_del(&a->by_token, token_key(&t->token));
		lane_answered(l, t, code, (mk_str){NULL, 0}, -1, a->now_ms);
		refuse(a, t, code);
	}
}

/*
 * The engine creates a job because its cluster has won, and the create has no precondition. One
 * that waited long for a slow cluster ends as refused instead, so that the engine decides whether
 * the job is still wanted.
 */
static bool is_stale(const struct task *t, int64_t mono_ms)
{
	return t->type == OP_CREATE && t->kind >= KIND_FIRST_JOB &&
	       mono_ms - t->queued_ms >= TASK_STALE_MS;
}

/* False: time ran out. */
static bool send_lane(struct apply *a, struct lane *l)
{
	struct task *t = lane_pick(l, a->now_ms);

	for (; t != NULL; t = lane_pick(l, a->now_ms)) {
		if (is_stale(t, a->now_ms)) {
			refuse(a, t, ERR_TIMEOUT);
		} else {
			send_task(a, l, t);
		}
		if (slice_spent(a->slice)) {
			return false;
		}
	}
	return true;
}

/* The lanes in their order, from where time ran out. */
static void send_some(struct apply *a)
{
	size_t first = place(a, a->turn);

	a->turn = 0;
	for (size_t i = 0; i < a->n_lanes; i++) {
		struct lane *l = a->lanes[(first + i) % a->n_lanes];

		if (!send_lane(a, l)) {
			a->turn = l->cluster +
				  1; /* a lane that always has work is not the only one */
			return;
		}
	}
}

void apply_run(struct apply *a, int64_t mono_ms)
{
	a->now_ms = mono_ms;
	send_some(a);
	tell_refused(a);
	free_left(a);
}

static void submit_one(struct apply *a, const struct op *op)
{
	struct lane *l = lane_of(a, op->cluster);
	struct task *t;

	/* Events beyond their budget are dropped: no decision depends on them. */
	if (op->type == OP_EVENT &&
	    (!a->may_write || !l || l->n_events_waiting >= LANE_EVENTS_WAITING_MAX)) {
		return;
	}
	arena_clear(&a->scratch);
	t = task_new(op, &a->scratch);
	if (!t) {
		struct task none = {.op_id = op->id, .cluster = op->cluster, .kind = op->kind};
		struct kube_reply r = {
			.outcome = OUTCOME_REFUSED, .code = ERR_NO_MEMORY, .retry_after_ms = -1};

		/* Out of memory for a task: the only case that is answered inside the call. */
		none.ns = op->ns;
		none.name = op->name;
		tell(a, &none, &r);
		return;
	}
	a->pending++;
	t->queued_ms = a->now_ms;
	if (op_is_mutating(op->type) && !a->may_write) {
		refuse(a, t, ERR_FENCED);
	} else if (!l) {
		refuse(a, t, ERR_NO_MEMORY);
	} else {
		lane_queue(l, t);
		refuse_prompt(a, l);
	}
}

/* Refuses what would change something. */
static void fence(struct apply *a, struct lane *l)
{
	for (int p = 0; p < LANE_PRIOS; p++) {
		for (LIST_EACH_SAFE(n, &l->waiting[p])) {
			struct task *t = LIST_ENTRY(n, struct task, node);

			if (op_is_mutating(t->type)) {
				list_del(&t->node);
				l->n_waiting--;
				l->n_prompt -= t->prompt;
				l->n_events_waiting -= t->type == OP_EVENT;
				refuse(a, t, ERR_FENCED);
			}
		}
	}
}

/* Refuses all that waits for a cluster, however much it is: see tell_refused. */
static void drop_waiting(struct apply *a, struct lane *l)
{
	for (int p = 0; p < LANE_PRIOS; p++) {
		list_add_all(&a->done, &l->waiting[p]);
	}
	l->n_waiting = 0;
	l->n_prompt = 0;
	l->n_events_waiting = 0;
}

void apply_set_may_write(struct apply *a, bool may_write)
{
	a->may_write = may_write;
	for (size_t i = 0; !may_write && i < a->n_lanes; i++) {
		fence(a, a->lanes[i]);
	}
}

void apply_link_down(struct apply *a, cluster_id c)
{
	struct lane *l = lane_find(a, c);

	if (l != NULL) {
		drop_waiting(a, l);
	}
}

static void leave(struct apply *a, cluster_id c)
{
	struct lane *l = lane_find(a, c);

	if (l != NULL && c != CLUSTER_MANAGER) {
		drop_waiting(a, l);
		l->left = true;
	}
}

void apply_submit(struct apply *a, const struct op *ops, size_t n, int64_t mono_ms)
{
	a->now_ms = mono_ms;
	for (size_t i = 0; i < n; i++) {
		if (op_is_mutating(ops[i].type) || ops[i].type == OP_GET) {
			submit_one(a, &ops[i]);
		} else if (ops[i].type == OP_DISCONNECT) {
			leave(a, ops[i].cluster);
		}
	}
}

int64_t apply_next_ms(const struct apply *a)
{
	int64_t next = list_empty(&a->done) ? INT64_MAX : a->now_ms;

	for (size_t i = 0; i < a->n_lanes; i++) {
		int64_t at = lane_next_ms(a->lanes[i]);

		if (at < next) {
			next = at > a->now_ms ? at : a->now_ms;
		}
	}
	return next;
}

size_t apply_pending(const struct apply *a)
{
	return a->pending;
}
