/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch machine's questions about versions, each a list of one object: has the server reached
 * the version that we resume from, and has its store gone back?
 */
#include "core/kube/impl.h"

enum {
	REFUSED_FIRST_MS = 500, /* after a refusal, the store is asked for its version */
	LAG_MS = 2000,          /* a replica that lags catches up in seconds: a steady pace */
};

/* 'not_older': of the list, 0 = the newest state, which every cache reads from the store. */
static void ask(struct kube *k, struct watch *w, uint64_t not_older,
		void (*done)(struct kube *k, void *ctx, const struct answer *an))
{
	struct call_spec s = {.done = done, .ctx = w};
	struct buf path;
	enum mk_code code = ERR_NO_MEMORY;

	buf_init(&path, URL_MAX);
	watch_path(k, w, &path);
	url_query_u64(&path, "limit", 1);
	if (not_older != 0) {
		url_query(&path, "resourceVersionMatch", STR("NotOlderThan"));
		url_query_u64(&path, "resourceVersion", not_older);
	}
	w->phase = WATCH_PROBE;
	s.req = (struct transport_request){.method = "GET",
					   .path = buf_str(&path),
					   .cls = TRANSPORT_READ,
					   .timeout_ms = STEP_TIMEOUT_MS};
	if (!path.failed) {
		code = call_start(k, w->l, &s, &w->call, NULL);
	}
	buf_done(&path);
	if (code != ERR_OK) {
		watch_no_memory(k, w);
	}
}

/* True: 'an' is an answer with 200. Anything else is dealt with. */
static bool is_answered(struct kube *k, struct watch *w, const struct answer *an)
{
	struct status st;

	w->call = NULL;
	w->phase = WATCH_OFF;
	if (an->end != TRANSPORT_OK) {
		link_suspect(k, w->l);
		watch_retry(k, w, 0, an->text);
		return false;
	}
	if (an->http != 200) {
		watch_answer(k, w, an, &k->scratch, &st);
		watch_failed(k, w, &st);
		return false;
	}
	return true;
}

static void on_probe(struct kube *k, void *ctx, const struct answer *an)
{
	struct watch *w = ctx;
	bool is_secret = w->is_secret;

	if (is_answered(k, w, an)) {
		w->need_probe = false;
		watch_open_stream(k, w);
	}
	if (is_secret) {
		str_wipe(an->body); /* not before a refusal was read */
	}
}

/*
 * A server accepts a watch from a future version and then sends no events until it has reached it.
 * Asked without the selector, since just after a restart only that form is answered at once.
 */
void watch_probe(struct kube *k, struct watch *w)
{
	ask(k, w, w->rv, on_probe);
}

/* --- a store that went back ------------------------------------------------------------------ */

static void wait_for_replica(struct kube *k, struct watch *w)
{
	w->phase = WATCH_WAIT;
	timer_set(k, &w->timer, k->mono_ms + LAG_MS + rng_range(&k->rng, 0, LAG_MS));
}

static void on_newest(struct kube *k, void *ctx, const struct answer *an)
{
	struct watch *w = ctx;
	struct status st;
	bool is_secret = w->is_secret;
	uint64_t rv = 0;

	if (is_answered(k, w, an)) {
		watch_answer(k, w, an, &k->scratch, &st);
		w->doubts_high = false;
		w->phase = WATCH_WAIT; /* so that a reset opens it again */
		if (url_rv(json_str_at(st.obj, "/metadata/resourceVersion"), &rv) && rv < w->high) {
			link_new_epoch(k, w->l);
		} else {
			wait_for_replica(k, w);
		}
	}
	if (is_secret) {
		str_wipe(an->body);
	}
}

void watch_ask_newest(struct kube *k, struct watch *w)
{
	ask(k, w, 0, on_newest);
}

void watch_refused(struct kube *k, struct watch *w)
{
	if (!w->behind) {
		watch_emit_list(k, w, EV_BEHIND, 0);
	}
	watch_quiet(k, w);
	w->behind = true;
	w->doubts_high = true;
	w->rv = 0; /* no resuming: list, not older than the highest seen */
	w->phase = WATCH_WAIT;
	timer_set(k, &w->timer,
		  k->mono_ms + REFUSED_FIRST_MS + rng_range(&k->rng, 0, REFUSED_FIRST_MS));
}
