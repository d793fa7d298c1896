/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and caps of one cluster; see lane.h. */
#include "core/apply/lane.h"

#include "core/base/alloc.h"

struct lane *lane_new(cluster_id c, struct lane_rate rate)
{
	struct lane *l = mk_calloc(1, sizeof(*l));

	if (!l) {
		return NULL;
	}
	l->cluster = c;
	l->rate = rate;
	l->cap = LANE_CAP_FIRST;
	map_init(&l->busy);
	for (int i = 0; i < LANE_PRIOS; i++) {
		list_init(&l->waiting[i]);
	}
	return l;
}

void lane_free(struct lane *l)
{
	if (l != NULL) {
		map_done(&l->busy);
		mk_free(l);
	}
}

static mk_str pack(char **at, mk_str s)
{
	mk_str copy = {*at, s.n};

	if (s.n > 0) {
		memcpy(*at, s.p, s.n);
	}
	*at += s.n;
	**at = '\0';
	(*at)++;
	return copy;
}

/*
 * DELETE's options say which object was meant; Background, since a Job's server default would
 * orphan its pods.
 */
static mk_str delete_body(const struct op *op, struct arena *a)
{
	struct json *o = json_new_obj(a), *pre = json_new_obj(a);

	json_set_str(a, o, "apiVersion", STR("v1"));
	json_set_str(a, o, "kind", STR("DeleteOptions"));
	json_set_str(a, o, "propagationPolicy", STR("Background"));
	if (op->uid.n > 0) {
		json_set_str(a, pre, "uid", op->uid);
	}
	if (op->rv != 0) {
		json_set_str(a, pre, "resourceVersion",
			     arena_printf(a, "%llu", (unsigned long long)op->rv));
	}
	json_set(a, o, STR("preconditions"), pre);
	return json_write(a, o);
}

struct task *task_new(const struct op *op, struct arena *scratch)
{
	mk_str body = {NULL, 0}, object;
	struct task *t;
	char *at;

	if (op->type == OP_DELETE) {
		body = delete_body(op, scratch);
	} else if (op->body != NULL) {
		body = json_write(scratch, op->body);
	}
	object = arena_printf(scratch, "%u/%.*s/%.*s", (unsigned)op->kind, STR_ARG(op->ns),
			      STR_ARG(op->name));
	if (arena_failed(scratch)) {
		return NULL;
	}
	t = mk_malloc(sizeof(*t) + op->ns.n + op->name.n + body.n + op->as.n + object.n + 5);
	if (!t) {
		return NULL;
	}
	*t = (struct task){.op_id = op->id,
			   .type = op->type,
			   .prio = op->prio,
			   .cluster = op->cluster,
			   .kind = op->kind,
			   .subresource = op->subresource ? op->subresource : "",
			   .field_manager = op->field_manager,
			   .cause = op->cause,
			   .prompt = op->prompt,
			   .retry_after_ms = -1};
	list_init(&t->node);
	at = t->block;
	t->ns = pack(&at, op->ns);
	t->name = pack(&at, op->name);
	t->body = pack(&at, body);
	t->as = pack(&at, op->as);
	t->object = pack(&at, object);
	return t;
}

static bool is_event(const struct task *t)
{
	return t->type == OP_EVENT;
}

void lane_queue(struct lane *l, struct task *t)
{
	t->lane = l;
	list_add_tail(&l->waiting[t->prio], &t->node);
	l->n_waiting++;
	l->n_prompt += t->prompt;
	l->n_events_waiting += is_event(t);
}

void lane_requeue(struct lane *l, struct task *t)
{
	list_add_head(&l->waiting[t->prio], &t->node);
	l->n_waiting++;
	l->n_prompt += t->prompt;
	l->n_events_waiting += is_event(t);
}

static bool may_send_work(const struct lane *l)
{
	return l->n_waiting > l->n_events_waiting && l->n_sent - l->n_events_sent < l->cap;
}

/*
 * Events have a small share of their own: other requests do not wait for them, nor they for others.
 */
static bool may_send_event(const struct lane *l)
{
	return l->n_events_waiting > 0 && l->n_events_sent < LANE_EVENTS_MAX;
}

int64_t lane_next_ms(const struct lane *l)
{
	int64_t due = (l->due_us - l->rate.slack_us + 999) / 1000;

	if (!may_send_work(l) && !may_send_event(l)) {
		return INT64_MAX;
	}
	return due > l->paused_until ? due : l->paused_until;
}

static struct task *take(struct lane *l, struct task *t)
{
	list_del(&t->node);
	l->n_waiting--;
	l->n_prompt -= t->prompt;
	l->n_events_waiting -= is_event(t);
	return t;
}

struct task *lane_pick(struct lane *l, int64_t now_ms)
{
	unsigned i = PRIO_EVENT;

	if (lane_next_ms(l) > now_ms) {
		return NULL;
	}
	if (may_send_work(l)) {
		i = l->first;
		while (list_empty(&l->waiting[i])) {
			i = (i + 1) % PRIO_EVENT;
		}
	}
	return take(l, LIST_ENTRY(l->waiting[i].next, struct task, node));
}

struct task *lane_pick_prompt(struct lane *l, int64_t now_ms)
{
	for (int i = 0; l->n_prompt > 0 && l->paused_until > now_ms && i < LANE_PRIOS; i++) {
		for (LIST_EACH_AS(struct task, t, &l->waiting[i], node)) {
			if (t->prompt) {
				t->retry_after_ms = l->paused_until - now_ms;
				return take(l, t);
			}
		}
	}
	return NULL;
}

bool lane_sent(struct lane *l, struct task *t, int64_t now_ms)
{
	int64_t from_us = now_ms * 1000;

	/* Events have names of their own, and a get changes nothing: neither can collide. */
	if (op_is_mutating(t->type) && !is_event(t)) {
		if (map_get(&l->busy, t->object) != NULL || !map_put(&l->busy, t->object, t)) {
			return false;
		}
	}
	if (l->rate.interval_us > 0) {
		l->due_us = (l->due_us > from_us ? l->due_us : from_us) + l->rate.interval_us;
	}
	t->tries++;
	l->n_sent++;
	l->n_events_sent += is_event(t);
	return true;
}

static void limited(struct lane *l, mk_str text, int64_t retry_after_ms, int64_t now_ms)
{
	int64_t wait = retry_after_ms > LANE_PAUSE_MIN_MS ? retry_after_ms : LANE_PAUSE_MIN_MS;
	bool starting = memmem(text.p, text.n, "initializing", 12) != NULL;

	if (wait > LANE_PAUSE_MAX_MS) {
		wait = LANE_PAUSE_MAX_MS;
	}
	if (now_ms + wait > l->paused_until) {
		l->paused_until = now_ms + wait;
	}
	/*
	 * A server that opens a custom kind for the first time says 429 too; that is no overload.
	 */
	if (!starting && l->cap > 1) {
		l->cap /= 2;
	}
	l->credit = 0;
}

void lane_answered(struct lane *l, struct task *t, enum mk_code code, mk_str text,
		   int64_t retry_after_ms, int64_t now_ms)
{
	if (map_get(&l->busy, t->object) == t) {
		map_del(&l->busy, t->object);
	}
	l->n_sent--;
	l->n_events_sent -= is_event(t);
	l->first = code == ERR_LIMITED && !is_event(t) ? (t->prio + 1) % PRIO_EVENT : 0;
	if (code == ERR_LIMITED) {
		limited(l, text, retry_after_ms, now_ms);
	} else if (code == ERR_OK && l->cap < LANE_CAP_MAX && ++l->credit >= l->cap) {
		l->cap++;
		l->credit = 0;
	}
}
