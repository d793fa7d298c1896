/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch machine where streaming lists are refused: pages of one snapshot, then a stream from
 * its version.
 */
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/kube/impl.h"

enum {
	CONTINUE_MAX = 8192,
	FILL = 16,   /* a page has this part of its limit, on average */
	THIN = 1000, /* ... but for so many */
};

static const char accept_metadata[] =
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

static void on_page(struct kube *k, void *ctx, const struct answer *an);

void watch_path(struct kube *k, const struct watch *w, struct buf *b)
{
	struct url_target t = {.kind = &k->kinds->k[w->kind],
			       .plural = discovery_plural(w->l, w->kind),
			       .ns = w->is_secret || w->kind == KIND_PROFILE ? str_of(k->owned_ns)
									     : (mk_str){NULL, 0}};

	url_path(b, &t);
	/* A right to one name lets no request pass that does not say it. */
	if (w->owned_name[0] != '\0') {
		url_query(b, "fieldSelector",
			  arena_printf(&k->scratch, "metadata.name=%s", w->owned_name));
	}
}

void watch_open_list(struct kube *k, struct watch *w)
{
	struct call_spec s = {.done = on_page, .ctx = w};
	struct buf path;
	enum mk_code code = ERR_NO_MEMORY;

	buf_init(&path, URL_MAX);
	watch_path(k, w, &path);
	url_query_u64(&path, "limit", w->limit);
	if (w->owned_continue != NULL) {
		url_query(&path, "continue", str_of(w->owned_continue));
	} else if (watch_least(w) != 0) {
		url_query_u64(&path, "resourceVersion", watch_least(w));
		url_query(&path, "resourceVersionMatch", STR("NotOlderThan"));
	}
	if (w->owned_selector[0] != '\0') {
		url_query(&path, "labelSelector", str_of(w->owned_selector));
	}
	s.req = (struct transport_request){.method = "GET",
					   .path = buf_str(&path),
					   .accept = w->metadata_only ? accept_metadata : NULL,
					   .cls = TRANSPORT_READ,
					   .timeout_ms = STEP_TIMEOUT_MS,
					   .gzip = true,
					   .is_plain = !w->is_secret};
	w->phase = WATCH_LIST;
	if (!path.failed) {
		code = call_start(k, w->l, &s, &w->call, NULL);
	}
	buf_done(&path);
	if (code != ERR_OK) {
		watch_no_memory(k, w);
	}
}

/*
 * Pages may have no end. Other objects, page after page, take memory, which has a limit; the same
 * ones do not, or none. One snapshot has each object once: the least of all names since the number
 * of objects was a power of two, in an order that only this process knows, comes again in a chain
 * that goes round, however long its round is.
 */
static bool is_again(const struct kube *k, struct watch *w, const struct json *obj)
{
	const struct json *meta = json_get(obj, "metadata");
	uint64_t h = hash64(json_str(json_get(meta, "namespace"))) * 31 +
		     hash64(json_str(json_get(meta, "name")));

	h ^= k->salt;
	if ((w->n_objects & (w->n_objects - 1)) == 0) {
		w->least = UINT64_MAX;
	}
	if (h == w->least) {
		return true;
	}
	w->least = h < w->least ? h : w->least;
	return false;
}

/* Are the pages so empty that they bring nothing? */
static bool is_thin(const struct watch *w)
{
	return w->n_pages > THIN && w->n_objects < (w->n_pages - THIN) * w->limit / FILL;
}

/* Emits the page's items. What is wrong with one of them; "": nothing. */
static mk_str emit_items(struct kube *k, struct watch *w, const struct json *items)
{
	struct json_iter it = json_iter(items);
	mk_str bad = STR("");

	while (json_next(&it)) {
		uint64_t rv = 0;

		if (is_again(k, w, it.val)) {
			bad = STR("the pages of the list show an object twice");
		} else if (!watch_is_misnamed(it.val) &&
			   (!watch_is_kind(k, w, it.val, false) ||
			    !watch_emit_object(k, w, it.val, VIA_LIST, &rv))) {
			bad = STR("an object of the list cannot be read");
		}
		w->n_objects++;
		if (w->is_secret) {
			secret_wipe_data(it.val);
		}
	}
	return bad;
}

static void unreadable(struct kube *k, struct watch *w, mk_str what)
{
	char api[320];
	const struct kind *kind = &k->kinds->k[w->kind];
	struct status st = {.code = ERR_UNAVAILABLE, .http = 200, .retry_after_ms = -1};

	st.text = arena_printf(&k->scratch, "%.*s (list %.*s, %.*s)", STR_ARG(what),
			       STR_ARG(kind->kind), STR_ARG(kind_api_version(kind, api)));
	watch_failed(k, w, &st);
}

/* The list is complete: from here the stream goes on. */
static void finish_list(struct kube *k, struct watch *w, uint64_t rv)
{
	watch_listed(k, w, rv);
	watch_open_stream(k, w);
	if (w->phase == WATCH_STREAM) {
		watch_settled(k, w); /* otherwise out of memory, or the link is closed */
	}
}

static void take_page(struct kube *k, struct watch *w, const struct json *doc)
{
	mk_str token = json_str_at(doc, "/metadata/continue"), bad;
	bool first = !w->owned_continue;
	uint64_t rv = 0;
	char *owned = NULL;

	if (!url_rv(json_str_at(doc, "/metadata/resourceVersion"), &rv) || token.n > CONTINUE_MAX) {
		unreadable(k, w, STR("the list has no usable resourceVersion"));
		return;
	}
	if (rv < w->high) {
		watch_refused(k, w);
		return;
	}
	if (first) {
		w->list_rv = rv;
		w->n_objects = 0;
		w->n_pages = 0;
		watch_emit_list(k, w, EV_LIST_BEGIN, rv);
	} else if (rv != w->list_rv) {
		unreadable(k, w, STR("the pages of the list are not of one snapshot"));
		return;
	}
	bad = emit_items(k, w, json_get(doc, "items"));
	if (bad.n > 0) {
		unreadable(k, w, bad);
		return;
	}
	if (token.n == 0) {
		finish_list(k, w, rv);
		return;
	}
	w->n_pages++;
	if (is_thin(w)) {
		unreadable(k, w, STR("the pages of the list have no end, and hardly an object"));
		return;
	}
	owned = mk_strndup(token);
	if (!owned) {
		watch_no_memory(k, w);
		return;
	}
	mk_free(w->owned_continue);
	w->owned_continue = owned;
	watch_open_list(k, w);
}

static void page_lost(struct kube *k, struct watch *w, const struct answer *an)
{
	if (an->code == ERR_TOO_BIG && w->limit > 1) {
		w->limit = w->limit > 4 ? w->limit / 4 : 1;
		watch_again(k, w);
		return;
	}
	if (an->code == ERR_TOO_BIG) {
		unreadable(k, w, STR("a page of one object is too long"));
		return;
	}
	if (an->code != ERR_NO_MEMORY) {
		link_suspect(k, w->l);
	}
	watch_retry(k, w, 0, an->text);
}

static void on_page(struct kube *k, void *ctx, const struct answer *an)
{
	struct watch *w = ctx;
	struct status st;
	bool is_secret = w->is_secret;

	w->call = NULL;
	if (an->end != TRANSPORT_OK) {
		page_lost(k, w, an);
	} else {
		w->l->last_byte_ms = k->mono_ms;
		watch_answer(k, w, an, an->http == 200 ? watch_arena(k, w) : &k->scratch, &st);
		if (st.code == ERR_OK && st.obj != NULL) {
			take_page(k, w, st.obj);
		} else if (st.code == ERR_OK) {
			unreadable(k, w, STR("the answer is not a list"));
		} else {
			watch_failed(k, w, &st);
		}
	}
	if (is_secret) {
		str_wipe(an->body);
	}
}
