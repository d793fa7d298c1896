/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store from outside: life cycle, dispatch of requests, direct looks, snapshots. */
#include "t/kubesim/store_int.h"

enum { DEFAULT_HISTORY = 100000, DEFAULT_BOOKMARK_MS = 60000 };

struct ks_store *ks_store_new(const struct ks_store_options *o)
{
	struct ks_store *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	s->name = mk_strdup(o->name ? o->name : "");
	s->history = o->history ? o->history : DEFAULT_HISTORY;
	s->bookmark_ms = o->bookmark_ms ? o->bookmark_ms : DEFAULT_BOOKMARK_MS;
	s->no_watch_list = o->no_watch_list;
	s->cold_start = o->cold_start;
	s->no_kueue_webhook = o->no_kueue_webhook;
	s->strict_suspend = o->strict_suspend;
	s->watch_lag = o->watch_lag;
	s->rv = 1;
	rng_init(&s->rng, o->seed);
	if (!s->name || !ks_resources_init(s, o->crds) || !ks_add_namespaces(s)) {
		ks_store_free(s);
		return NULL;
	}
	return s;
}

void ks_store_free(struct ks_store *s)
{
	if (!s) {
		return;
	}
	ks_watch_free_all(s);
	for (size_t i = 0; i < s->n_res; i++) {
		ks_resource_free(s->res[i]);
	}
	for (size_t i = 0; i < s->n_counts; i++) {
		mk_free(s->counts[i].key);
	}
	mk_free(s->name);
	mk_free(s);
}

static void dispatch_read(struct ks_ctx *c)
{
	if (c->name.n > 0) {
		ks_do_get(c);
	} else if (ks_param_true(c, "watch")) {
		c->watching = true;
		ks_do_watch(c);
	} else {
		ks_do_list(c);
	}
}

static void method_not_allowed(struct ks_ctx *c)
{
	ks_fail(c, 405, "MethodNotAllowed",
		STR("the server does not allow this method on the requested resource"), NULL, NULL);
}

static void dispatch(struct ks_ctx *c)
{
	mk_str m = c->r->method;

	if (str_is(m, "GET") || str_is(m, "HEAD")) {
		dispatch_read(c);
	} else if (str_is(m, "POST") && c->name.n == 0) {
		c->verb = "create";
		ks_do_create(c);
	} else if (str_is(m, "PUT") && c->name.n > 0) {
		c->verb = "update";
		ks_do_put(c);
	} else if (str_is(m, "PATCH") && c->name.n > 0) {
		c->verb = "patch";
		ks_do_patch(c);
	} else if (str_is(m, "DELETE") && c->sub.n == 0) {
		c->verb = "delete";
		if (c->name.n > 0) {
			ks_do_delete(c);
		} else {
			ks_do_delete_collection(c);
		}
	} else {
		method_not_allowed(c);
	}
}

/* The first request for an idle custom kind after a start meets storage that is not ready yet. */
static bool is_cold(struct ks_ctx *c)
{
	bool first = !c->res->used;

	c->res->used = true;
	if (!c->s->cold_start || !first || c->res->builtin || c->name.n > 0 ||
	    !str_is(c->r->method, "GET")) {
		return false;
	}
	c->watching = ks_param_true(c, "watch");
	c->ret->retry_after_ms = 1000;
	ks_fail(c, 429, "TooManyRequests", STR("storage is (re)initializing"),
		ks_retry_details(c->a, 1), NULL);
	return true;
}

void ks_handle(struct ks_store *s, const struct ks_request *r, int64_t now_ms, struct arena *a,
	       struct ks_response *ret)
{
	struct ks_ctx c = {.s = s, .r = r, .ret = ret, .a = a, .now_ms = now_ms};
	ptrdiff_t q = str_index(r->target, '?');

	*ret = (struct ks_response){.status = 500, .retry_after_ms = -1, .content_type = ""};
	c.path = q < 0 ? r->target : str_sub(r->target, 0, (size_t)q);
	c.query = q < 0 ? (mk_str){NULL, 0} : str_sub(r->target, (size_t)q + 1, r->target.n);
	if (c.path.n > 1 && c.path.p[c.path.n - 1] == '/') {
		c.path.n--;
	}
	if (!ks_route(&c)) {
		/* of a custom resource without a status the server says that the object is missing */
		if (c.res && c.res->served && !c.res->builtin && str_is(c.sub, "status")) {
			(void)ks_not_found(&c);
			return;
		}
		c.res = NULL;
		if (!ks_do_discovery(&c)) {
			ks_text(&c, 404, "404 page not found\n");
		}
		return;
	}
	if (r->body.n > KS_MAX_BODY) {
		ks_fail(&c, 413, "RequestEntityTooLarge",
			STR("Request entity too large: limit is 3145728"), NULL, NULL);
	} else if (!is_cold(&c)) {
		dispatch(&c);
	}
	if (arena_failed(a) || !c.done) {
		ret->status = 500;
		ret->body = STR("out of memory\n");
		ret->content_type = "text/plain; charset=utf-8";
	}
	ks_count_request(&c);
}

void ks_on_commit(struct ks_store *s, void (*fn)(void *ctx, const struct ks_commit *c), void *ctx)
{
	s->on_commit = fn;
	s->on_commit_ctx = ctx;
}

const struct json *ks_get(const struct ks_store *s, const char *resource, mk_str ns, mk_str name)
{
	const struct ks_resource *r = ks_resource_by_id(s, resource);
	const struct ks_object *o = r ? ks_find(r, ns, name) : NULL;

	return o ? o->tree : NULL;
}

const struct json *ks_each(const struct ks_store *s, const char *resource, size_t *pos)
{
	struct ks_resource *r = ks_resource_by_id(s, resource);

	if (!r) {
		return NULL;
	}
	if (*pos == 0) {
		ks_sort(r);
	}
	while (*pos < r->n_order) {
		const struct ks_object *o = r->order[(*pos)++];

		if (o != NULL) {
			return o->tree;
		}
	}
	return NULL;
}

uint64_t ks_rv(const struct ks_store *s)
{
	return s->rv;
}

const char *ks_name(const struct ks_store *s)
{
	return s->name;
}

size_t ks_counts(const struct ks_store *s, const struct ks_count **ret)
{
	*ret = s->counts;
	return s->n_counts;
}

size_t ks_n_objects(const struct ks_store *s, const char *resource)
{
	const struct ks_resource *r = ks_resource_by_id(s, resource);

	return r ? r->n_objects : 0;
}
