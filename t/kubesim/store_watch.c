/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: cursors into the history of a resource, with replay, bookmarks,
 * timeouts and the ways they break off.
 */
#include "t/kubesim/store_int.h"

enum { TOO_LARGE_RV_MS = 3000, SLOT_BITS = 20 };

static struct ks_watch *find(const struct ks_store *s, uint64_t id)
{
	size_t slot = (size_t)(id & ((1U << SLOT_BITS) - 1));

	return slot < s->n_watch && s->watch[slot] != NULL && s->watch[slot]->id == id
		       ? s->watch[slot]
		       : NULL;
}

static void watch_free(struct ks_watch *w)
{
	for (size_t i = w->initial_at; i < w->n_initial; i++) {
		ks_unref(w->initial[i]);
	}
	mk_free(w->initial);
	mk_free(w->ns);
	mk_free(w->field_name);
	arena_done(&w->a);
	mk_free(w);
}

void ks_watch_free_all(struct ks_store *s)
{
	for (size_t i = 0; i < s->n_watch; i++) {
		if (s->watch[i] != NULL) {
			watch_free(s->watch[i]);
		}
	}
	mk_free(s->watch);
	s->watch = NULL;
	s->n_watch = s->watch_size = 0;
}

void ks_watch_close(struct ks_store *s, uint64_t id)
{
	struct ks_watch *w = find(s, id);

	if (w != NULL) {
		s->watch[id & ((1U << SLOT_BITS) - 1)] = NULL;
		watch_free(w);
	}
}

void ks_watch_end_all(struct ks_store *s)
{
	for (size_t i = 0; i < s->n_watch; i++) {
		if (s->watch[i] != NULL) {
			s->watch[i]->closed = true;
		}
	}
}

static bool install(struct ks_store *s, struct ks_watch *w)
{
	size_t slot = 0;

	while (slot < s->n_watch && s->watch[slot] != NULL) {
		slot++;
	}
	if (slot == s->watch_size) {
		size_t n = s->watch_size ? s->watch_size * 2 : 16;
		struct ks_watch **p;

		if (n > KS_MAX_WATCHES) {
			return false;
		}
		p = mk_realloc(s->watch, n * sizeof(struct ks_watch *));
		if (!p) {
			return false;
		}
		s->watch = p;
		s->watch_size = n;
	}
	s->n_watch = slot == s->n_watch ? slot + 1 : s->n_watch;
	s->watch[slot] = w;
	w->id = ++s->watch_serial << SLOT_BITS | slot;
	return true;
}

/* --- opening ---------------------------------------------------------------------------------- */
static bool invalid(struct ks_ctx *c, const char *field, const char *message)
{
	struct json *d = json_new_obj(c->a);

	json_set_str(c->a, d, "group", STR("meta.k8s.io"));
	json_set_str(c->a, d, "kind", STR("ListOptions"));
	return ks_fail(c, 422, "Invalid",
		       arena_printf(c->a,
				    "ListOptions.meta.k8s.io \"\" is invalid: %s: Forbidden: %s",
				    field, message),
		       d, NULL);
}

/* Shows what is there first: in key order here, in no order at all for the client's purposes. */
static bool replay(struct ks_ctx *c, struct ks_watch *w)
{
	struct ks_resource *r = c->res;
	mk_str ns = str_of(w->ns), name = str_of(w->field_name);

	ks_sort(r);
	if (r->n_order == 0) {
		return true;
	}
	w->initial = mk_calloc(r->n_order, sizeof(struct ks_version *));
	if (!w->initial) {
		return false;
	}
	for (size_t i = 0; i < r->n_order; i++) {
		struct ks_version *v = r->order[i]->v;

		if (ks_matches(v, ns, &w->sel, name, w->field_name != NULL)) {
			v->refs++;
			w->initial[w->n_initial++] = v;
		}
	}
	return true;
}

/*
 * Where the stream begins, by the rules for resourceVersion and sendInitialEvents. False: answered.
 */
static bool start_at(struct ks_ctx *c, struct ks_watch *w)
{
	mk_str initial = ks_param(c, "sendInitialEvents");
	struct ks_resource *r = c->res;
	struct ks_versions at;
	bool send;

	if (!ks_read_versions(c, &at)) {
		return false;
	}
	if (initial.n == 0 && (at.exact || at.not_older)) {
		return invalid(c, "resourceVersionMatch",
			       "resourceVersionMatch is forbidden for watch unless "
			       "sendInitialEvents is provided");
	}
	if (initial.n > 0 && c->s->no_watch_list) {
		return invalid(c, "sendInitialEvents",
			       "sendInitialEvents is forbidden for watch unless the WatchList "
			       "feature gate is enabled");
	}
	if (initial.n > 0 && !at.not_older) {
		return invalid(c, "resourceVersionMatch",
			       "sendInitialEvents requires setting resourceVersionMatch to "
			       "NotOlderThan");
	}
	send = initial.n > 0 ? str_is(initial, "true") : at.rv == 0;
	w->cursor = w->opened = r->next_seq;
	w->seen_rv = c->s->rv;
	if (send && at.rv > c->s->rv) {
		w->asked_rv = at.rv;
		w->error_ms = c->now_ms + TOO_LARGE_RV_MS;
		return true;
	}
	if (send) {
		w->initial_end = w->bookmarks;
		return replay(c, w);
	}
	if (at.rv == 0) {
		return true;
	}
	w->asked_rv = at.rv;
	w->error_410 = at.rv < r->floor;
	w->swallow = at.rv;
	if (at.rv > w->seen_rv) {
		w->seen_rv = at.rv;
		return true;
	}
	w->seen_rv = at.rv;
	while (w->cursor > r->first_seq && r->ring[(w->cursor - 1) % r->ring_size].rv > at.rv) {
		w->cursor--;
	}
	return true;
}

static bool read_timeout(struct ks_ctx *c, struct ks_watch *w)
{
	mk_str text = ks_param(c, "timeoutSeconds");
	uint64_t sec = 0;

	if (text.n > 0 && (!str_u64(text, &sec) || sec > 1000000)) {
		return ks_bad_request(c, "invalid timeoutSeconds \"%.*s\"", STR_ARG(text));
	}
	if (sec == 0) {
		sec = 1800 + rng_below(&c->s->rng, 1800);
	}
	w->end_ms = c->now_ms + (int64_t)sec * 1000;
	return true;
}

void ks_do_watch(struct ks_ctx *c)
{
	struct ks_watch *w = mk_calloc(1, sizeof(*w));
	mk_str name;
	bool has_name;

	if (!w) {
		return;
	}
	arena_init(&w->a, 0);
	w->res = c->res;
	w->error_ms = INT64_MAX;
	w->bookmarks = ks_param_true(c, "allowWatchBookmarks");
	w->bookmark_ms = w->bookmarks ? c->now_ms + c->s->bookmark_ms : INT64_MAX;
	w->form = ks_form(c, KS_STREAM);
	if (w->form == KS_FORM_NONE || !ks_selectors(c, &w->a, &w->sel, &name, &has_name)) {
		watch_free(w);
		return;
	}
	w->ns = c->ns.n ? mk_strndup(c->ns) : NULL;
	w->field_name = has_name ? mk_strndup(name) : NULL;
	if ((c->ns.n > 0 && !w->ns) || (has_name && !w->field_name) || !read_timeout(c, w) ||
	    !start_at(c, w) || !install(c->s, w)) {
		watch_free(w);
		return;
	}
	ks_reply(c, 200, STR(""));
	c->ret->watch = w->id;
}

/* --- frames ----------------------------------------------------------------------------------- */
/* By hand: printing long strings through printf is most of the cost of a busy watch. */
static mk_str frame_text(struct arena *a, const char *type, mk_str object)
{
	mk_str parts[] = {STR("{\"type\":\""), str_of(type), STR("\",\"object\":"), object,
			  STR("}\n")};
	size_t n = 0, at = 0;
	char *p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		n += parts[i].n;
	}
	p = arena_alloc(a, n + 1);
	if (!p) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		memcpy(p + at, parts[i].p, parts[i].n);
		at += parts[i].n;
	}
	return (mk_str){p, n};
}

static mk_str frame(struct arena *a, const struct ks_watch *w, const char *type,
		    const struct ks_version *v, mk_str text, int64_t now_ms)
{
	if (w->form == KS_FORM_PARTIAL) {
		text = ks_partial_text(a, v);
	} else if (w->form == KS_FORM_TABLE) {
		text = ks_table_text(a, w->res, &v, 1, v->rv, STR(""), now_ms);
	}
	return frame_text(a, type, text);
}

static mk_str bookmark(struct arena *a, const struct ks_watch *w, uint64_t rv, bool end)
{
	bool partial = w->form == KS_FORM_PARTIAL;

	return arena_printf(
		a,
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\","
		"\"metadata\":{\"resourceVersion\":\"%llu\"%s}}}\n",
		partial ? "PartialObjectMetadata" : w->res->kind,
		partial ? "meta.k8s.io/v1" : w->res->api_version, (unsigned long long)rv,
		end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

static mk_str error_frame(struct arena *a, mk_str status)
{
	return frame_text(a, "ERROR", status);
}

/* The old state with the new revision: how an object leaves a selection. */
static mk_str leave_frame(struct arena *a, struct ks_watch *w, const struct ks_event *e,
			  int64_t now_ms)
{
	struct ks_version *v = NULL;
	struct json *tree = NULL;
	mk_str f;

	if (json_parse(a, e->old->text, &tree, NULL) == ERR_OK) {
		json_set_str(a, json_get(tree, "metadata"), "resourceVersion",
			     arena_printf(a, "%llu", (unsigned long long)e->rv));
		v = ks_version_new(a, tree, e->rv);
	}
	if (!v) {
		return (mk_str){NULL, 0};
	}
	f = frame(a, w, "DELETED", v, v->text, now_ms);
	ks_unref(v);
	return f;
}

/* Empty when the event does not concern the watch. */
static mk_str event_frame(struct arena *a, struct ks_watch *w, const struct ks_event *e,
			  int64_t now_ms)
{
	mk_str ns = str_of(w->ns), name = str_of(w->field_name);
	bool has_name = w->field_name != NULL;
	bool was = e->old != NULL && ks_matches(e->old, ns, &w->sel, name, has_name);
	bool is = e->type != KS_DELETED && ks_matches(e->now, ns, &w->sel, name, has_name);

	if (is) {
		return frame(a, w, was ? "MODIFIED" : "ADDED", e->now, e->now->text, now_ms);
	}
	if (was && e->type == KS_DELETED) {
		return frame(a, w, "DELETED", e->now, e->now->text, now_ms);
	}
	return was ? leave_frame(a, w, e, now_ms) : (mk_str){NULL, 0};
}

/* The frames that end a stream, and those before the live events. True: *ret is set. */
static bool special_frame(struct ks_store *s, struct ks_watch *w, int64_t now_ms, struct arena *a,
			  mk_str *ret)
{
	if (w->error_410 || w->cursor < w->res->first_seq) {
		w->closed = true;
		*ret = error_frame(
			a, ks_status_text(a, 410, "Expired",
					  arena_printf(a, "too old resource version: %llu (%llu)",
						       (unsigned long long)w->seen_rv,
						       (unsigned long long)w->res->floor),
					  NULL));
		return true;
	}
	if (now_ms >= w->error_ms) {
		w->closed = true;
		*ret = error_frame(
			a,
			ks_status_text(
				a, 504, "Timeout",
				arena_printf(a, "Too large resource version: %llu, current: %llu",
					     (unsigned long long)w->asked_rv,
					     (unsigned long long)s->rv),
				ks_too_large_details(a)));
		return true;
	}
	if (w->initial_at < w->n_initial) {
		struct ks_version *v = w->initial[w->initial_at++];

		*ret = frame(a, w, "ADDED", v, v->text, now_ms);
		ks_unref(v);
		return true;
	}
	if (w->initial_end) {
		w->initial_end = false;
		*ret = bookmark(a, w, w->seen_rv, true);
		return true;
	}
	return false;
}

bool ks_watch_next(struct ks_store *s, uint64_t id, int64_t now_ms, struct arena *a,
		   mk_str *ret_frame)
{
	struct ks_watch *w = find(s, id);
	mk_str f = {NULL, 0};

	if (!w || w->closed || now_ms >= w->end_ms) {
		return false;
	}
	if (s->watch_lag > 0 &&
	    w->res->next_seq - (w->cursor > w->opened ? w->cursor : w->opened) > s->watch_lag) {
		w->closed = true;
		return false;
	}
	if (special_frame(s, w, now_ms, a, ret_frame)) {
		return true;
	}
	if (w->error_ms != INT64_MAX) {
		return false;
	}
	while (f.n == 0 && w->cursor < w->res->next_seq) {
		const struct ks_event *e = &w->res->ring[w->cursor++ % w->res->ring_size];

		if (e->rv > w->swallow) {
			w->seen_rv = e->rv;
			f = event_frame(a, w, e, now_ms);
		}
	}
	if (f.n == 0 && now_ms >= w->bookmark_ms) {
		w->bookmark_ms = now_ms + s->bookmark_ms;
		w->seen_rv = s->rv > w->swallow ? s->rv : w->seen_rv;
		f = bookmark(a, w, w->seen_rv, false);
	}
	*ret_frame = f.n ? f : *ret_frame;
	return f.n > 0;
}

bool ks_watch_ended(const struct ks_store *s, uint64_t id, int64_t now_ms)
{
	const struct ks_watch *w = find(s, id);

	return !w || w->closed || now_ms >= w->end_ms;
}

int64_t ks_next_ms(const struct ks_store *s)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < s->n_watch; i++) {
		const struct ks_watch *w = s->watch[i];

		if (!w || w->closed) {
			continue;
		}
		next = w->bookmark_ms < next ? w->bookmark_ms : next;
		next = w->end_ms < next ? w->end_ms : next;
		next = w->error_ms < next ? w->error_ms : next;
	}
	return next;
}
