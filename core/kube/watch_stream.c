/* SPDX-License-Identifier: Apache-2.0 */
/* The watch machine's streams: opening them, their lines, and how they end. */
#include "core/base/alloc.h"
#include "core/kube/impl.h"

static const char accept_metadata[] =
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

static void on_head(struct kube *k, void *ctx);
static void on_chunk(struct kube *k, void *ctx, mk_str bytes);
static void on_end(struct kube *k, void *ctx, const struct answer *an);

void watch_open_stream(struct kube *k, struct watch *w)
{
	struct call_spec s = {.done = on_end, .head = on_head, .chunk = on_chunk, .ctx = w};
	int64_t seconds = rng_range(&k->rng, WATCH_SECONDS_MIN, WATCH_SECONDS_MAX);
	bool resume = w->synced && w->rv != 0;
	struct buf path;
	enum mk_code code = ERR_NO_MEMORY;

	buf_init(&path, URL_MAX);
	watch_path(k, w, &path);
	url_query(&path, "watch", STR("1"));
	url_query(&path, "allowWatchBookmarks", STR("true"));
	url_query_u64(&path, "timeoutSeconds", (uint64_t)seconds);
	if (resume) {
		url_query_u64(&path, "resourceVersion", w->rv);
	} else {
		url_query(&path, "sendInitialEvents", STR("true"));
		url_query(&path, "resourceVersionMatch", STR("NotOlderThan"));
		if (watch_least(w) != 0) {
			url_query_u64(&path, "resourceVersion", watch_least(w));
		}
	}
	if (w->owned_selector[0] != '\0') {
		url_query(&path, "labelSelector", str_of(w->owned_selector));
	}
	s.req = (struct transport_request){.method = "GET",
					   .path = buf_str(&path),
					   .accept = w->metadata_only ? accept_metadata : NULL,
					   .cls = TRANSPORT_WATCH,
					   .is_plain = !w->is_secret};
	frame_clear(&w->frame);
	w->stream_no++;
	w->phase = WATCH_STREAM;
	w->replaying = !resume;
	w->headed = false;
	w->list_bad = false;
	w->n_lines = 0;
	w->bad_in_row = 0;
	w->opened_ms = k->mono_ms;
	if (!path.failed) {
		code = call_start(k, w->l, &s, &w->call, NULL);
	}
	buf_done(&path);
	if (code != ERR_OK) {
		watch_no_memory(k, w);
		return;
	}
	w->life_ms = seconds * 1000 + WATCH_GRACE_MS;
	timer_set(k, &w->timer, k->mono_ms + WATCH_HEAD_MS);
}

static void on_head(struct kube *k, void *ctx)
{
	struct watch *w = ctx;

	w->headed = true;
	timer_set(k, &w->timer, w->opened_ms + w->life_ms);
	w->opened_ms = k->mono_ms;
	if (w->replaying) {
		w->n_objects = 0;
		watch_emit_list(k, w, EV_LIST_BEGIN, 0);
		return;
	}
	w->broken_before_ms = w->broken_ms;
	watch_settled(k, w);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void fail_stream(struct kube *k, struct watch *w, mk_str text)
{
	struct status st = {
		.code = ERR_UNAVAILABLE, .http = 200, .retry_after_ms = -1, .text = text};

	watch_failed(k, w, &st);
}

/* The replay is over: the list is complete as of 'rv'. */
static void end_replay(struct kube *k, struct watch *w, uint64_t rv)
{
	if (w->list_bad) {
		fail_stream(k, w, STR("an object of the list cannot be read"));
		return;
	}
	if (rv < w->high) {
		watch_refused(k, w);
		return;
	}
	w->replaying = false;
	w->retries_500 = 0;
	watch_listed(k, w, rv);
	watch_settled(k, w);
}

static void advance(struct kube *k, struct watch *w, uint64_t rv)
{
	if (w->replaying) {
		return;
	}
	w->rv = rv;
	w->high = rv > w->high ? rv : w->high;
	w->retries_500 = 0;
	watch_settled(k, w);
}

static void floods(struct kube *k, struct watch *w, mk_str what)
{
	link_floods(k, w->l,
		    arena_printf(&k->scratch, "the watch of %.*s",
				 STR_ARG(discovery_plural(w->l, w->kind))),
		    what);
}

/* A line of 'n' bytes brought nothing. False: there were so many that the link was given up. */
static bool afford(struct kube *k, struct watch *w, size_t n)
{
	if (link_affords(k, w->l, n + BARREN_LINE)) {
		return true;
	}
	floods(k, w, STR("empty lines, bookmarks or objects of another kind"));
	return false;
}

/* No object is that large, so no API server sends such a line. */
static void too_long(struct kube *k, struct watch *w)
{
	w->rv = 0; /* from where it stands, the same would come again */
	if (w->l->id == CLUSTER_MANAGER) {
		fail_stream(k, w, STR("a line of the watch is too long"));
	} else {
		floods(k, w, STR("a line without end"));
	}
}

static void on_bookmark(struct kube *k, struct watch *w, const struct json *obj)
{
	const struct json *notes = json_at(obj, "/metadata/annotations");
	bool is_end = str_is(json_str(json_get(notes, "k8s.io/initial-events-end")), "true");
	uint64_t rv = 0;

	if (!url_rv(json_str_at(obj, "/metadata/resourceVersion"), &rv)) {
		return;
	}
	if (is_end && w->replaying) {
		end_replay(k, w, rv);
	} else {
		advance(k, w, rv);
	}
}

static void bad_line(struct kube *k, struct watch *w)
{
	w->bad_in_row++;
	w->list_bad = w->list_bad || w->replaying;
	if (w->bad_in_row >= WATCH_BAD_LINES) {
		w->rv = 0;
		fail_stream(k, w, STR("the watch sends what cannot be read"));
	}
}

/* An object's line was understood, and what it shows is handed on. */
static void count(struct kube *k, struct watch *w, mk_str type, uint64_t rv)
{
	w->bad_in_row = 0;
	if (str_is(type, "DELETED")) {
		w->n_objects -= w->n_objects > 0;
	} else {
		w->n_objects += str_is(type, "ADDED");
	}
	advance(k, w, rv);
}

/* 'n': bytes of its line. */
static void on_object(struct kube *k, struct watch *w, mk_str type, struct json *obj, size_t n)
{
	bool gone = str_is(type, "DELETED");
	enum event_via via = w->replaying ? VIA_LIST : VIA_WATCH;
	uint64_t rv = 0;
	bool good = false;

	if (!watch_is_kind(k, w, obj, true) || watch_is_misnamed(obj)) {
		afford(k, w, n);
		return;
	}
	good = gone ? watch_emit_gone(k, w, obj, &rv) : watch_emit_object(k, w, obj, via, &rv);
	if (arena_failed(&k->shown) || arena_failed(&k->scratch)) {
		watch_no_memory(k, w); /* the event could not be emitted: resume from before it */
		return;
	}
	if (!good) {
		bad_line(k, w);
		return;
	}
	count(k, w, type, rv);
}

static void on_scanned(struct kube *k, struct watch *w, const struct scan *s)
{
	enum mk_code code = watch_emit_scanned(k, w, s);

	if (code == ERR_OK) {
		count(k, w, s->type, s->rv);
	} else if (code == ERR_NO_MEMORY) {
		watch_no_memory(k, w); /* resume from before it */
	} else {
		bad_line(k, w);
	}
}

static void on_parsed(struct kube *k, struct watch *w, mk_str line)
{
	struct json *doc = NULL;
	struct json *obj = NULL;
	enum mk_code code = json_parse_cut(watch_arena(k, w), line, &doc, NULL);
	mk_str type = json_str(json_get(doc, "type"));

	if (code == ERR_NO_MEMORY) {
		watch_no_memory(k, w);
		return;
	}
	obj = json_get(doc, "object");
	if (code != ERR_OK || json_type(obj) != JSON_OBJ) {
		bad_line(k, w);
	} else if (str_is(type, "ADDED") || str_is(type, "MODIFIED") || str_is(type, "DELETED")) {
		on_object(k, w, type, obj, line.n);
	} else if (str_is(type, "BOOKMARK") && afford(k, w, line.n)) {
		on_bookmark(k, w, obj);
	} else if (str_is(type, "ERROR")) {
		struct status st;

		status_of_error(&k->scratch, obj, &st);
		watch_failed(k, w, &st);
	}
	if (w->is_secret) {
		secret_wipe_data(obj);
	}
}

static void on_line(struct kube *k, struct watch *w, mk_str line)
{
	struct scan s;

	w->n_lines++;
	if (watch_scan(k, w, line, &s)) {
		on_scanned(k, w, &s);
	} else {
		on_parsed(k, w, line);
	}
}

static void on_chunk(struct kube *k, void *ctx, mk_str bytes)
{
	struct watch *w = ctx;
	const uint64_t stream_no = w->stream_no;
	mk_str line;

	if (!frame_add(&w->frame, bytes)) {
		watch_no_memory(k, w); /* resume from before it */
		return;
	}
	while (frame_next(&w->frame, &line)) {
		if (str_trim(line).n == 0) {
			if (!afford(k, w, line.n)) {
				return;
			}
			continue;
		}
		on_line(k, w, line);
		if (w->stream_no != stream_no) {
			return; /* what the line said ended this stream */
		}
		if (w->is_secret) {
			str_wipe(line);
		}
		kube_clear(k);
	}
	if (w->frame.failed) {
		too_long(k, w);
	}
}

/* --- ends ------------------------------------------------------------------------------------ */

/* A stream that ended without a line. */
static bool is_empty(const struct kube *k, const struct watch *w)
{
	return w->headed && w->n_lines == 0 && k->mono_ms - w->opened_ms < WATCH_SHORT_MS;
}

/* An empty stream does not end a streak of failures. */
static void stay_broken(const struct kube *k, struct watch *w)
{
	if (is_empty(k, w) && !w->replaying && w->broken_ms == 0) {
		w->broken_ms = w->broken_before_ms;
	}
}

/*
 * Closed by the server: the normal end of every stream, and also how it drops one that reads too
 * slowly.
 */
static void closed(struct kube *k, struct watch *w)
{
	bool slow = k->mono_ms - w->ended_ms < WATCH_SLOW_MS;

	stay_broken(k, w);
	w->ended_ms = k->mono_ms;
	if (is_empty(k, w) || slow || w->replaying) {
		watch_retry(k, w, 0, STR("the server ends the watch at once"));
	} else {
		watch_again(k, w);
	}
}

/*
 * The server does not know streaming lists: pages from now on. Several streams may be on their way
 * when the first one is refused, and none of them is a reason to give up the link.
 */
static bool is_stream_refused(const struct watch *w, const struct answer *an)
{
	return w->replaying && (an->http == 400 || an->http == 422);
}

static void on_end(struct kube *k, void *ctx, const struct answer *an)
{
	struct watch *w = ctx;
	struct status st;

	w->call = NULL;
	w->phase = WATCH_OFF;
	if (an->end != TRANSPORT_OK) {
		w->need_probe = true;
		stay_broken(k, w);
		link_suspect(k, w->l);
		watch_retry(k, w, 0, an->text);
		return;
	}
	if (an->http == 200) {
		closed(k, w);
		return;
	}
	if (is_stream_refused(w, an)) {
		w->l->no_watch_list = true;
		watch_again(k, w);
		return;
	}
	watch_answer(k, w, an, &k->scratch, &st);
	watch_failed(k, w, &st);
}
