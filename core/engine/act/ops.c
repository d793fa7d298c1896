/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under way; see ops.h. */
#include "core/engine/act/ops.h"

#include "core/base/alloc.h"
#include "core/engine/act/note.h"
#include "core/engine/answers/message.h"
#include "core/engine/rules/refusal.h"
#include "core/engine/rules/rest.h"
#include "core/engine/store/ending.h"
#include "core/engine/store/observe.h"
#include "core/engine/store/touch.h"

enum {
	SETTLE_WRITE_MS = 2000, /* the watch shows a write within this time, else we get */
	SETTLE_DELETE_MS = OPS_REMADE_MS, /* for finalizers and garbage collectors */
	SETTLE_CONFLICT_MS = 500,
	DELETED_AGAIN_MS = 60000, /* two deletes of an object within this time: see gone_already */
	FENCED_MS = 1000,
	MARK_AGAIN_MS = 5000,
	REST_MAX_MS = 30 * 1000,
	BACK_OFF_MAX_MS = 5 * 60 * 1000,
	DUTY_MAX_MS = 60 * 1000, /* the same of what may not be late */
};

void ops_plain(struct engine *e, struct op *op, enum rule rule)
{
	op->cause = rule_names[rule];
	rule_hit(e, rule);
	if (!op_list_add(e->out, op)) {
		say_no_memory(e);
	}
}

static void inflight_free(struct engine *e, struct inflight *f)
{
	if (f->record && f->type == OP_CREATE) {
		f->record->table->n_creating--;
	}
	map_del(&e->inflight_by_id, (mk_str){(const char *)&f->id, sizeof(f->id)});
	list_del(&f->node);
	mk_free(f->note);
	mk_free(f->note_reason);
	mk_free(f);
	e->stats.in_flight--;
}

static struct inflight *inflight_new(struct engine *e, struct record *r, const struct op *op)
{
	struct inflight *f = mk_calloc(1, sizeof(*f));

	if (!f) {
		return NULL;
	}
	f->id = op->id;
	f->record = r;
	f->type = op->type;
	f->rv = r->rv;
	f->as_seen = op->rv != 0;
	if (!map_put(&e->inflight_by_id, (mk_str){(const char *)&f->id, sizeof(f->id)}, f)) {
		mk_free(f);
		return NULL;
	}
	r->table->n_creating += op->type == OP_CREATE;
	list_add_tail(&e->inflight, &f->node);
	e->stats.in_flight++;
	return f;
}

static bool keep_note(struct inflight *f, const struct note *n)
{
	if (!n) {
		return true;
	}
	f->note_type = n->type;
	f->note = mk_strndup(n->text);
	f->note_reason = mk_strndup(n->reason);
	return f->note && f->note_reason;
}

struct json *ops_merge(struct engine *e, const struct record *r, struct op *op)
{
	struct arena *a = e->out->arena;
	struct json *body = json_new_obj(a), *meta = json_new_obj(a);

	json_set_str(a, meta, "resourceVersion",
		     arena_printf(a, "%llu", (unsigned long long)r->rv));
	json_set(a, body, STR("metadata"), meta);
	op->type = OP_MERGE;
	op->uid = str_of(r->uid);
	op->rv = r->rv;
	op->body = body;
	return body;
}

void ops_send(struct engine *e, struct record *r, struct op *op, enum rule rule)
{
	ops_send_note(e, r, op, rule, NULL);
}

void ops_send_note(struct engine *e, struct record *r, struct op *op, enum rule rule,
		   const struct note *note)
{
	struct inflight *f;

	op->id = e->op_seq + 1;
	op->cluster = r->table->cluster;
	op->kind = r->table->kind;
	op->ns = arena_dup(e->out->arena, r->ns);
	op->name = arena_dup(e->out->arena, r->name);
	op->uid = arena_dup(e->out->arena, op->uid);
	op->cause = rule_names[rule];
	if (!op->subresource) {
		op->subresource = "";
	}
	if (arena_failed(&e->scratch) || arena_failed(e->out->arena)) {
		say_no_memory(e);
		return;
	}
	f = inflight_new(e, r, op);
	if (!f) {
		say_no_memory(e);
		return;
	}
	f->rule = rule;
	if (!keep_note(f, note) || !op_list_add(e->out, op)) {
		inflight_free(e, f);
		say_no_memory(e);
		return;
	}
	e->op_seq++;
	r->inflight = f;
	rule_hit(e, rule);
}

void ops_get(struct engine *e, struct record *r)
{
	struct op op = {.type = OP_GET, .prio = PRIO_COMMIT};

	if (!r->inflight && cluster_up(cluster_get(e, r->table->cluster))) {
		ops_send(e, r, &op, R_GET);
	}
}

bool ops_ready(struct engine *e, struct record *r, struct queue_item *item)
{
	if (!e->may_write || r->inflight || !cluster_up(cluster_get(e, r->table->cluster))) {
		return false;
	}
	if (r->retry_at > e->now) {
		queue_add_at(&e->queue, item, r->retry_at);
		return false;
	}
	if (r->unknown || r->taken) {
		ops_get(e, r);
		return false;
	}
	if (r->settling) {
		if (r->settle_at > e->now) {
			queue_add_at(&e->queue, item, r->settle_at);
		} else {
			ops_get(e, r);
		}
		return false;
	}
	return true;
}

static void settle(struct engine *e, struct record *r, int64_t wait_ms)
{
	r->settling = true;
	r->deleted = false;
	r->settle_at = e->now + wait_ms;
}

/* After 'n' others in a row. */
static void back_off(struct engine *e, struct record *r, unsigned n, int64_t retry_after_ms,
		     int64_t most)
{
	int64_t wait = queue_backoff(n);

	wait = wait < most ? wait : most;
	r->retry_at = e->now + (retry_after_ms > wait ? retry_after_ms : wait);
}

static void rest(struct engine *e, struct record *r, int64_t wait_ms)
{
	r->retry_at = e->now + (wait_ms < REST_MAX_MS ? wait_ms : REST_MAX_MS);
}

/*
 * The server did not have the object when it answered the get. A state that the watch has shown
 * since is newer: a create that was on its way may have been applied.
 */
static void not_found(struct engine *e, struct record *r, const struct inflight *f)
{
	if (!r->present || r->rv == f->rv) {
		ending_gone(e, r, 0, r->epoch);
	}
	r->absent = !r->present;
}

/*
 * A get reads from the server's store, not from a cache. An answer older than the state that we
 * knew when we asked comes from another store, or from one that was restored.
 */
static bool is_contradicted(const struct engine *e, const struct record *r,
			    const struct inflight *f, const struct event *ev)
{
	const struct cluster *c = cluster_get(e, r->table->cluster);
	uint64_t rv = ev->rv;

	return c && r->present && r->epoch == c->epoch && r->rv >= f->rv &&
	       str_eq(str_of(r->uid), json_str_at(ev->obj, "/metadata/uid")) &&
	       (rv != 0 || str_u64(json_str_at(ev->obj, "/metadata/resourceVersion"), &rv)) &&
	       rv < f->rv;
}

static void got(struct engine *e, struct record *r, const struct inflight *f,
		const struct event *ev)
{
	bool shown = ev->outcome == OUTCOME_APPLIED && ev->obj;

	if (!shown && ev->code != ERR_NOT_FOUND) {
		back_off(e, r, r->fails++, ev->retry_after_ms, BACK_OFF_MAX_MS);
		refusal_of_get(e, r, f, ev);
		return;
	}
	refusal_moot(r, R_GET);
	if (shown && is_contradicted(e, r, f, ev)) {
		observe_turn_back(e, cluster_get(e, r->table->cluster));
	}
	r->unknown = false;
	r->taken = false;
	r->settling = false;
	r->asked_at = e->now;
	if (shown) {
		observe_reply(e, r, ev, true);
		if (facts_is(r->facts, F_UNUSABLE)) {
			/*
			 * The caller may want the text, and a record that is unusable keeps none.
			 */
			rest(e, r, queue_backoff(r->fails++));
		} else if (r->present && r->missed) {
			/* It is there: its kind has no status there, or a proxy answered. */
			rest(e, r, r->fails > 0 ? queue_backoff(r->fails) : 0);
			r->fails++;
		} else if (r->present) {
			r->fails = 0;
		} else {
			/* Rejected as old: else the caller asks again at once. */
			back_off(e, r, r->fails++, 0, BACK_OFF_MAX_MS);
		}
	} else {
		not_found(e, r, f);
	}
	r->missed = false;
}

/*
 * The server applied a change, and the object has the same resourceVersion as before: a CRD that
 * does not know the field drops it, or a webhook puts the old value back. Without a rest the next
 * pass would send the same write at once, for ever.
 */
static bool moved_nothing(const struct record *r, const struct inflight *f, uint64_t rv)
{
	return (f->type == OP_MERGE || f->type == OP_APPLY_STATUS) && r->rv == f->rv && rv == f->rv;
}

/*
 * The watch has shown the end of what we deleted before the answer came: there is nothing to wait
 * for. But what is made and deleted again and again must not make us as fast as the server.
 */
static void gone_already(struct engine *e, struct record *r)
{
	bool again = r->deleted_at != 0 && e->now - r->deleted_at < DELETED_AGAIN_MS;

	r->deleted_at = e->now;
	if (again) {
		rest(e, r, SETTLE_DELETE_MS);
	}
}

int64_t ops_remade_at(const struct record *r)
{
	bool rests = r->deleted_at != 0 && r->retry_at == r->deleted_at + SETTLE_DELETE_MS;

	return rests ? r->retry_at : 0;
}

static void applied(struct engine *e, struct record *r, const struct inflight *f,
		    const struct event *ev)
{
	bool terminating = json_str_at(ev->obj, "/metadata/deletionTimestamp").n > 0;
	uint64_t rv = ev->rv;
	bool known = !ev->obj && rv != 0 && r->present && r->rv >= rv;
	bool shown = known || str_u64(json_str_at(ev->obj, "/metadata/resourceVersion"), &rv);

	refusal_end(r);
	r->unanswered = 0;
	if (shown && moved_nothing(r, f, rv)) {
		rest(e, r, queue_backoff(r->fails++));
		return;
	}
	r->fails = 0;
	/* A controller that removes our marks again and again must not make us write as fast. */
	r->retry_at = f->rule == R_ADOPT ? e->now + MARK_AGAIN_MS : 0;
	if (f->rule == R_JOB_FORWARD) {
		if (r->forward_tries < UINT8_MAX) {
			r->forward_tries++; /* rules/job.c: the next one comes later */
		}
		r->forward_at = e->now;
	}
	if (shown && !known && (f->type != OP_DELETE || terminating)) {
		observe_reply(e, r, ev, false);
	} else if (f->type == OP_DELETE && !r->present) {
		gone_already(e, r);
	} else if (!known) {
		settle(e, r, f->type == OP_DELETE ? SETTLE_DELETE_MS : SETTLE_WRITE_MS);
		r->deleted = f->type == OP_DELETE;
	}
	if (f->note_type) {
		note_send(e, r,
			  &(struct note){.type = f->note_type,
					 .reason = str_of(f->note_reason),
					 .text = str_of(f->note)});
	}
}

/* Errors after which the same input would fail again. */
static bool for_good(enum mk_code c)
{
	return c == ERR_INVALID || c == ERR_DENIED || c == ERR_TOO_BIG || c == ERR_NOT_FOUND;
}

static void refuse(struct engine *e, struct wl *w, const struct record *r, mk_str why)
{
	struct wl_cluster *wc = w ? wl_cluster(e, w, r->table->cluster) : NULL;

	if (wc && keep_str(&wc->why, str_cut(why, 512))) {
		wc->bout.refused = true;
	}
}

static void job_refused(struct engine *e, const struct record *r, mk_str why)
{
	const struct owner *o = owner_find(e, r->table->kind, r->ns, r->name);

	if (r->member) {
		refuse(e, wl_find(e, r->ns, record_group(r)), r, why);
		return;
	}
	if (!o) {
		return;
	}
	for (LIST_EACH_AS(struct wl, w, &o->workloads, owner_node)) {
		refuse(e, w, r, why);
	}
}

/*
 * After the first such write the get follows at once. The outcome does not say why it is unknown: a
 * webhook that is down makes each write end so, and without backoff write and get would alternate
 * for ever. Only a write that is applied begins anew: a server in trouble answers now 500, now 503.
 */
static void unanswered(struct engine *e, struct record *r, const struct inflight *f)
{
	r->unknown = true;
	r->doomed |= f->type == OP_DELETE || f->rule == R_DEACTIVATE;
	rest(e, r, r->unanswered > 0 ? queue_backoff(r->unanswered) : 0);
	r->unanswered++;
}

/*
 * The longest rest after a refusal. What a user, or Kueue, waits for comes home soon after the
 * server takes it again, and what is to go or to stop does so.
 */
static int64_t most_ms(const struct inflight *f)
{
	bool reports = f->rule == R_JOB_STATUS || f->rule == R_LAST_STATUS ||
		       f->rule == R_WINDING_STATUS || f->rule == R_ABANDONED ||
		       (f->type == OP_APPLY_STATUS && f->record->table->cluster == CLUSTER_MANAGER);
	bool ends = f->type == OP_DELETE || f->rule == R_DEACTIVATE;

	return reports || ends ? DUTY_MAX_MS : BACK_OFF_MAX_MS;
}

/*
 * Another client has changed the object. API servers mostly send that change before the answer to
 * our write: then the next pass knows it and needs no wait.
 */
static void conflict(struct engine *e, struct record *r, const struct inflight *f,
		     const struct event *ev)
{
	if (r->rv == f->rv) {
		settle(e, r, SETTLE_CONFLICT_MS);
	}
	if (f->type == OP_DELETE && f->as_seen) {
		/* News comes with each conflict of what changes all the time: it is no hurry. */
		refusal_saw(e, r, f, ev, false);
		back_off(e, r, refusal_before(r), 0, most_ms(f));
	}
}

static void refused(struct engine *e, struct record *r, const struct inflight *f,
		    const struct event *ev)
{
	if (ev->code == ERR_EXISTS) {
		r->unknown = true;
		r->taken = true;
	} else if (ev->code == ERR_CONFLICT) {
		conflict(e, r, f, ev);
	} else if (ev->code == ERR_NOT_FOUND && f->type == OP_DELETE) {
		ending_gone(e, r, 0, r->epoch);
	} else if (ev->code == ERR_NOT_FOUND && f->type != OP_CREATE) {
		r->missed = true;
		refusal_saw(e, r, f, ev, false);
		settle(e, r, 0);
	} else if (ev->code == ERR_FENCED) {
		r->retry_at = e->now + FENCED_MS;
	} else if (ev->code == ERR_LIMITED && ev->http == 0) {
		/* It was not sent: op.prompt. */
		r->retry_at = e->now + (ev->retry_after_ms > 0 ? ev->retry_after_ms : FENCED_MS);
	} else {
		if (f->rule == R_JOB_CREATE && for_good(ev->code)) {
			job_refused(e, r, ev->text);
		}
		refusal_saw(e, r, f, ev, for_good(ev->code));
		if (f->rule == R_CREATE && for_good(ev->code)) {
			rest(e, r, queue_backoff(refusal_before(r)));
			rest_refused(e, r, ev->text); /* a longer wait, which grows */
		} else {
			back_off(e, r, refusal_before(r), ev->retry_after_ms, most_ms(f));
		}
	}
}

void ops_drop(struct record *r)
{
	if (r->inflight) {
		r->inflight->record = NULL;
		r->inflight = NULL;
	}
}

/* It is not known to be applied: what it was to say has not been said. */
static void unwritten(struct engine *e, const struct record *r, const struct inflight *f)
{
	struct wl *w =
		r->table == manager_table(e, KIND_WORKLOAD) ? wl_find(e, r->ns, r->name) : NULL;

	if (w) {
		message_unwritten(w, f->rule);
	}
}

void ops_done(struct engine *e, const struct event *ev)
{
	struct inflight *f =
		map_get(&e->inflight_by_id, (mk_str){(const char *)&ev->op_id, sizeof(ev->op_id)});
	struct record *r;

	if (!f) {
		return;
	}
	r = f->record;
	if (r && !cluster_get(e, r->table->cluster)) {
		r->unknown = true; /* its cluster was forgotten, and it will be freed */
		ops_drop(r);
		r = NULL;
	}
	if (r) {
		r->inflight = NULL;
		if (f->type == OP_GET) {
			got(e, r, f, ev);
		} else if (ev->outcome == OUTCOME_APPLIED) {
			applied(e, r, f, ev);
		} else if (ev->outcome == OUTCOME_REFUSED) {
			refused(e, r, f, ev);
			unwritten(e, r, f);
		} else {
			unanswered(e, r, f);
			unwritten(e, r, f);
			refusal_saw(e, r, f, ev, false);
			if (f->rule == R_CREATE && ev->http >= 500 && r->unanswered > 1) {
				rest_refused(e, r, ev->text); /* a webhook of the worker is down */
			}
		}
		e->no_memory = false;
		touch_record(e, r);
		if (r->table == manager_table(e, KIND_WORKLOAD)) {
			touch_siblings(e, r); /* they wait for what became of a win */
		}
		if (e->no_memory) {
			table_break(e, r->table);
		}
	}
	inflight_free(e, f);
}

void ops_forget(struct engine *e, cluster_id c)
{
	for (LIST_EACH_AS(struct inflight, f, &e->inflight, node)) {
		if (f->record && f->record->table->cluster == c) {
			ops_drop(f->record);
		}
	}
}
