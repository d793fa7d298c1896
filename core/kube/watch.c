/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch machine of one (cluster, kind): gives the consumer a complete list, then every change
 * after it, however often streams break.
 *
 *   off ─start─▶ [nothing known, or little, and the connection was lost]
 *                streaming list, or pages where that was refused ─▶ synced ─▶ stream
 *                [resumable]     probe of the stored version ─▶ stream from there
 *
 * The version to resume from moves only with events of the live part of a stream and with
 * bookmarks: a replay comes in no order. A list that fails half-way is begun again (the consumer
 * swaps at its end only), and so is a list from a store that is behind what we have seen: a replica
 * that lags, or a store that was restored (watch_probe.c). A store that was restored and has come
 * past that version since looks the same to the probe: only a list shows what else it holds. So a
 * short list is fetched again rather than resumed (docs/decisions/0057). A list that contains an
 * object that cannot be read never ends: the engine would take the object for deleted.
 */
#include "core/base/alloc.h"
#include "core/base/backoff.h"
#include "core/kube/impl.h"

static void on_timer(struct kube *k, void *ctx);

struct watch *watch_find(const struct link *l, uint16_t kind)
{
	for (LIST_EACH(n, &l->watches)) {
		struct watch *w = LIST_ENTRY(n, struct watch, node);

		if (w->kind == kind) {
			return w;
		}
	}
	return NULL;
}

struct watch *watch_new(struct kube *k, struct link *l, const struct op *op)
{
	struct watch *w = mk_calloc(1, sizeof(*w));

	if (!w) {
		return NULL;
	}
	w->owned_selector = mk_strndup(!op->selector.p ? STR("") : op->selector);
	w->owned_name = mk_strndup(!op->name.p ? STR("") : op->name);
	if (!w->owned_selector || !w->owned_name || !timer_init(k, &w->timer, on_timer, w)) {
		mk_free(w->owned_selector);
		mk_free(w->owned_name);
		mk_free(w);
		return NULL;
	}
	w->l = l;
	w->kind = op->kind;
	w->high = l->kinds[op->kind].high; /* a new watch must not show an older state */
	w->metadata_only = op->metadata_only;
	w->is_secret = op->kind == KIND_SECRET;
	w->core = l->id == CLUSTER_MANAGER ? op->kind <= KIND_SECRET : op->kind == KIND_WORKLOAD;
	w->limit = LIST_LIMIT;
	w->ended_ms = INT64_MIN / 2;
	frame_init(&w->frame);
	list_add_tail(&l->watches, &w->node);
	return w;
}

/*
 * The engine deletes on workers by what the manager's objects say. A store is not restored under a
 * running server: while its stream stands, what it showed is current; from when it broke until it
 * goes on it may not be.
 */
static void doubt(struct kube *k, struct watch *w)
{
	if (w->synced && !w->stale && w->l->id == CLUSTER_MANAGER) {
		w->stale = true;
		watch_emit_list(k, w, EV_STALE, 0);
	}
}

/* Ends what is on the wire, and the timer. */
void watch_quiet(struct kube *k, struct watch *w)
{
	call_cancel(k, w->call);
	w->call = NULL;
	w->stream_no++;
	timer_off(k, &w->timer);
	frame_clear(&w->frame);
	w->replaying = false;
	w->phase = WATCH_OFF;
	mk_free(w->owned_continue);
	w->owned_continue = NULL;
}

void watch_free(struct kube *k, struct watch *w)
{
	watch_quiet(k, w);
	w->l->kinds[w->kind].high = w->high;
	timer_done(k, &w->timer);
	frame_done(&w->frame);
	list_del(&w->node);
	mk_free(w->owned_selector);
	mk_free(w->owned_name);
	mk_free(w);
}

void watch_stop(struct kube *k, struct watch *w)
{
	watch_quiet(k, w);
	doubt(k, w);
	w->ready = false;
	w->need_probe = true;
	w->failures = 0;
	w->broken_ms = 0;
	w->behind = w->doubts_high = false;
}

void watch_reset(struct kube *k, struct watch *w)
{
	bool on = w->phase != WATCH_OFF;

	watch_quiet(k, w);
	w->rv = 0;
	w->high = 0;
	w->synced = false;
	w->behind = w->doubts_high = false;
	w->broken_ms = 0;
	if (on) {
		watch_again(k, w);
	}
}

void watch_list_again(struct kube *k, struct watch *w)
{
	bool on = w->phase != WATCH_OFF;

	doubt(k, w);
	w->rv = 0;
	if (on) {
		watch_again(k, w);
	}
}

/* --- requests -------------------------------------------------------------------------------- */

uint64_t watch_least(const struct watch *w)
{
	return w->l->id == CLUSTER_MANAGER && !w->behind ? 0 : w->high;
}

void watch_answer(struct kube *k, const struct watch *w, const struct answer *an, struct arena *a,
		  struct status *ret)
{
	const struct kind *kind = &k->kinds->k[w->kind];
	mk_str plural = discovery_plural(w->l, w->kind);
	mk_str resource = arena_printf(&k->scratch, "%.*s%s%.*s", STR_ARG(plural),
				       kind->group.n > 0 ? "." : "", STR_ARG(kind->group));

	status_read(a,
		    &(struct status_in){.http = an->http,
					.content_type = an->content_type,
					.body = an->body,
					.retry_after_ms = an->retry_after_ms,
					.verb = "get",
					.resource = resource.p},
		    ret);
}

void watch_again(struct kube *k, struct watch *w)
{
	watch_quiet(k, w);
	if (w->need_probe && w->n_objects <= RELIST_MAX) {
		w->rv = 0;
	}
	if (w->doubts_high) {
		watch_ask_newest(k, w);
	} else if (w->synced && w->rv != 0) {
		if (w->need_probe) {
			watch_probe(k, w);
		} else {
			watch_open_stream(k, w);
		}
	} else if (w->l->no_watch_list) {
		watch_open_list(k, w);
	} else {
		watch_open_stream(k, w);
	}
}

void watch_start(struct kube *k, struct watch *w)
{
	enum link_phase phase = w->l->phase;

	if (w->phase != WATCH_OFF || (phase != PHASE_SYNC && phase != PHASE_UP)) {
		return;
	}
	if (!discovery_is_fixed(w->kind) && w->l->kinds[w->kind].served != SERVED_YES) {
		return; /* discovery starts it when it finds the kind */
	}
	watch_again(k, w);
}

static void on_timer(struct kube *k, void *ctx)
{
	struct watch *w = ctx;

	if (w->phase == WATCH_STREAM && !w->headed) {
		/* The server sends the head of a stream at once: a proxy holds it back. */
		w->need_probe = true;
		watch_retry(k, w, 0, STR("the watch gets no answer"));
		return;
	}
	/*
	 * The wait is over, or the stream outlived the timeout that was asked for: a proxy holds it
	 * open.
	 */
	watch_again(k, w);
}

/* Something failed: the streak of failures goes on, or begins, anew after two healthy minutes. */
static void note_failure(const struct kube *k, struct watch *w)
{
	if (w->broken_ms != 0) {
		return;
	}
	if (k->mono_ms - w->healthy_ms >= HEALTHY_MS) {
		w->failures = 0;
	}
	w->broken_ms = k->mono_ms;
}

/* Does the link need a watch that fails? A store that is behind does not count here. */
static bool may_break(const struct watch *w)
{
	return w->core && w->l->phase == PHASE_UP && !w->behind && w->broken_ms != 0;
}

/* ... for too long? */
static bool is_broken(const struct kube *k, const struct watch *w)
{
	return may_break(w) && k->mono_ms - w->broken_ms >= BROKEN_MAX_MS;
}

/*
 * Probes are answered, the watch is not: the daemon does not see the cluster, which counts as lost
 * since the watch began to fail. Resuming failed, so the link comes up again only with a whole
 * list.
 */
static void fail_broken(struct kube *k, struct watch *w)
{
	const struct kind *kind = &k->kinds->k[w->kind];

	if (w->l->suspect_ms < 0 || w->l->suspect_ms > w->broken_ms) {
		w->l->suspect_ms = w->broken_ms;
	}
	w->rv = 0;
	link_fail(k, w->l, ERR_UNAVAILABLE, 0,
		  arena_printf(&k->scratch, "the watch of %.*s%s%.*s fails", STR_ARG(kind->plural),
			       kind->group.n > 0 ? "." : "", STR_ARG(kind->group)));
}

/* The link does not need it: a watch that fails for so long is reported, and the link stays. */
static void tell_failing(struct kube *k, struct watch *w, int64_t at_ms, mk_str why)
{
	if (!w->core && !w->failing && at_ms - w->broken_ms >= BROKEN_MAX_MS) {
		w->failing = true;
		watch_emit_failing(k, w, why.n > 0 ? why : STR("its watch fails"));
	}
}

void watch_retry(struct kube *k, struct watch *w, int64_t at_least_ms, mk_str why)
{
	mk_str kept = arena_dup(&k->scratch, why); /* it may point into what is freed below */
	int64_t delay;

	watch_quiet(k, w);
	doubt(k, w);
	note_failure(k, w);
	if (is_broken(k, w)) {
		fail_broken(k, w);
		return;
	}
	delay = backoff_ms(WATCH_FIRST_MS, w->failures++, WATCH_MAX_MS);
	delay += rng_range(&k->rng, 0, delay);
	if (delay < at_least_ms) {
		delay = at_least_ms + rng_range(&k->rng, 0, WATCH_FIRST_MS);
	}
	if (may_break(w) && delay > w->broken_ms + BROKEN_MAX_MS - k->mono_ms) {
		delay = w->broken_ms + BROKEN_MAX_MS - k->mono_ms; /* then it counts */
	}
	w->phase = WATCH_WAIT;
	timer_set(k, &w->timer, k->mono_ms + delay);
	tell_failing(k, w, k->mono_ms + delay, kept);
}

void watch_no_memory(struct kube *k, struct watch *w)
{
	watch_retry(k, w, 0, STR("out of memory"));
}

/* --- failures -------------------------------------------------------------------------------- */

/* The kind itself is refused here. */
static void kind_failed(struct kube *k, struct watch *w, const struct status *st)
{
	bool missing = st->not_served;

	if (st->http == 401 && access_is_pending(w->l)) {
		watch_retry(k, w, 0, st->text);
		return;
	}
	if (st->http == 401) {
		/*
		 * All kinds of the cluster use the same credentials: the answer is about the link,
		 * not the kind.
		 */
		link_fail(k, w->l, st->code, st->http, st->text);
		return;
	}
	if (w->core) {
		mk_str text =
			missing ? discovery_no_match(&k->kinds->k[w->kind], &k->scratch) : st->text;

		link_fail(k, w->l, missing ? ERR_NOT_FOUND : st->code, st->http, text);
		return;
	}
	discovery_set(k, w->l, w->kind, SERVED_NO, missing ? ERR_NOT_FOUND : st->code,
		      missing ? discovery_no_match(&k->kinds->k[w->kind], &k->scratch) : st->text);
}

/*
 * A server error at the stored version: again a few times, then a list, in case the version causes
 * the error.
 */
static void server_failed(struct kube *k, struct watch *w, mk_str why)
{
	w->retries_500++;
	if (w->retries_500 > WATCH_RETRY_500) {
		w->retries_500 = 0;
		w->rv = 0;
	}
	watch_retry(k, w, 0, why);
}

/*
 * Does this failure end the attempt to bring the link up, or a link whose watch has failed for too
 * long?
 */
static bool fails_link(const struct kube *k, const struct watch *w)
{
	if (!w->core) {
		return false;
	}
	return w->l->phase == PHASE_SYNC || k->mono_ms - w->broken_ms >= BROKEN_MAX_MS;
}

void watch_failed(struct kube *k, struct watch *w, const struct status *st)
{
	bool resuming = w->synced && w->rv != 0;

	watch_quiet(k, w);
	note_failure(k, w);
	if (st->rv_too_large) {
		watch_refused(k, w);
	} else if (st->code == ERR_GONE) {
		w->rv = 0;
		if (resuming && w->failures == 0) {
			w->failures++; /* at once, but only once */
			doubt(k, w);
			watch_again(k, w);
		} else {
			watch_retry(k, w, 0, st->text);
		}
	} else if (st->code == ERR_LIMITED) {
		watch_retry(k, w, st->retry_after_ms > 0 ? st->retry_after_ms : 1000, st->text);
	} else if (st->not_served || st->code == ERR_DENIED) {
		kind_failed(k, w, st);
	} else if (fails_link(k, w)) {
		link_fail(k, w->l, st->code, st->http, st->text);
	} else if (st->http >= 500) {
		server_failed(k, w, st->text);
	} else {
		w->rv = 0;
		watch_retry(k, w, 0, st->text);
	}
}

/* --- events ---------------------------------------------------------------------------------- */

void watch_settled(struct kube *k, struct watch *w)
{
	if (w->broken_ms != 0 || !w->ready) {
		w->broken_ms = 0;
		w->healthy_ms = k->mono_ms;
	}
	if (w->stale) {
		w->stale = false;
		watch_emit_list(k, w, EV_FRESH, 0);
	}
	if (w->failing) {
		w->failing = false;
		watch_emit_failing(k, w, STR(""));
	}
	if (!w->ready) {
		w->ready = true;
		link_check_up(k, w->l);
	}
}

void watch_emit_list(struct kube *k, const struct watch *w, enum event_type type, uint64_t rv)
{
	if (w->is_secret && type == EV_LIST_BEGIN) {
		secret_list_begin(&k->secrets);
	}
	if (w->is_secret && type == EV_LIST_END) {
		secret_list_end(&k->secrets);
	}
	kube_emit(k, &(struct event){.type = type,
				     .cluster = w->l->id,
				     .kind = w->kind,
				     .epoch = w->l->epoch,
				     .rv = rv,
				     .via = VIA_LIST,
				     .retry_after_ms = -1});
	if (w->is_secret && type == EV_LIST_END) {
		link_secrets_synced(k);
	}
}

void watch_listed(struct kube *k, struct watch *w, uint64_t rv)
{
	w->rv = rv;
	w->high = rv;
	w->synced = true;
	w->stale = false;
	w->need_probe = false;
	w->behind = w->doubts_high = false;
	w->l->kinds[w->kind].denials = 0;
	watch_emit_list(k, w, EV_LIST_END, rv);
}

struct arena *watch_arena(struct kube *k, const struct watch *w)
{
	return w->is_secret ? &k->scratch : &k->shown; /* Secrets do not leave */
}

static struct event object_event(const struct watch *w, enum event_type type,
				 const struct json *obj)
{
	const struct json *meta = json_get(obj, "metadata");

	return (struct event){.type = type,
			      .cluster = w->l->id,
			      .kind = w->kind,
			      .epoch = w->l->epoch,
			      .ns = json_str(json_get(meta, "namespace")),
			      .name = json_str(json_get(meta, "name")),
			      .uid = json_str(json_get(meta, "uid")),
			      .retry_after_ms = -1};
}

bool watch_emit_object(struct kube *k, struct watch *w, struct json *obj, enum event_via via,
		       uint64_t *ret_rv)
{
	const struct kind *kind = &k->kinds->k[w->kind];
	uint64_t rv = 0;
	struct event ev;

	if (!url_rv(json_str_at(obj, "/metadata/resourceVersion"), &rv) ||
	    json_str_at(obj, "/metadata/name").n == 0) {
		return false;
	}
	if (w->is_secret) {
		obj = secret_take(k, &k->secrets, obj);
		if (!obj) {
			return false;
		}
	} else if (!w->metadata_only && !json_get(obj, "kind")) {
		char api[320];

		/*
		 * Items of built-in lists have neither apiVersion nor kind; consumers expect both.
		 */
		json_set(&k->shown, obj, STR("apiVersion"),
			 json_new_str(&k->shown, kind_api_version(kind, api)));
		json_set(&k->shown, obj, STR("kind"), json_new_str(&k->shown, kind->kind));
	}
	if (arena_failed(&k->shown)) {
		return false;
	}
	ev = object_event(w, EV_OBSERVED, obj);
	ev.obj = obj;
	ev.rv = rv;
	ev.via = via;
	kube_emit(k, &ev);
	*ret_rv = rv;
	return true;
}

bool watch_emit_gone(struct kube *k, struct watch *w, const struct json *obj, uint64_t *ret_rv)
{
	uint64_t rv = 0;
	struct event ev = object_event(w, EV_GONE, obj);

	if (!url_rv(json_str_at(obj, "/metadata/resourceVersion"), &rv) || ev.name.n == 0) {
		return false;
	}
	if (w->is_secret) {
		secret_gone(&k->secrets, ev.name);
	}
	ev.rv = rv;
	ev.via = VIA_WATCH;
	kube_emit(k, &ev);
	*ret_rv = rv;
	return true;
}
