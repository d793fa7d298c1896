/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that came over the network, by user agent and kind: what a client costs. The store
 * counts too, but cannot tell clients from the controllers beside it.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "t/kubesim/server_priv.h"

enum { MAX_COUNTS = 4096 };

struct wire_count {
	char *agent, *kind;
	uint64_t n, refused;
};

static void skip(mk_str *rest, unsigned n)
{
	mk_str part;

	while (n > 0 && str_split(rest, '/', &part)) {
		n--;
	}
}

/* "batch/v1/jobs/status" of a path; *ret_named: it names one object. */
static mk_str resource_of(struct arena *a, mk_str path, bool *ret_named)
{
	bool core = str_starts(path, STR("/api/"));
	mk_str group = str_sub(path, core ? 5 : 6, path.n), rest, version, plural, name, sub;

	*ret_named = true;
	if (!core && !str_starts(path, STR("/apis/"))) {
		return path;
	}
	rest = group;
	skip(&rest, core ? 1 : 2);
	version = str_sub(group, 0, group.n - rest.n - (rest.n != 0));
	if (str_starts(rest, STR("namespaces/"))) {
		mk_str after = rest;

		skip(&after, 2);
		if (after.n != 0 && !str_is(after, "status") && !str_is(after, "finalize")) {
			rest = after;
		}
	}
	if (rest.n == 0) {
		return path;
	}
	str_split(&rest, '/', &plural);
	*ret_named = str_split(&rest, '/', &name) && name.n != 0;
	sub = rest;
	return arena_printf(a, "%.*s/%.*s%s%.*s", STR_ARG(version), STR_ARG(plural),
			    sub.n != 0 ? "/" : "", STR_ARG(sub));
}

static mk_str kind_of(struct exchange *ex)
{
	mk_str rest = ex->target, path, resource, verb = ex->method;
	bool named;

	str_split(&rest, '?', &path);
	resource = resource_of(&ex->a, path, &named);
	if (str_is(ex->method, "GET") && !named) {
		verb = ex->resp.watch != 0 ? STR("WATCH") : STR("LIST");
	} else if (ex->resp.watch != 0) {
		verb = STR("WATCH");
	}
	return arena_printf(&ex->a, "%.*s %.*s", STR_ARG(verb), STR_ARG(resource));
}

static struct wire_count *find(struct cluster *c, mk_str agent, mk_str kind, mk_str key)
{
	struct wire_count *w = map_get(&c->count_by_key, key), **list;

	if (w != NULL || c->n_counts == MAX_COUNTS) {
		return w;
	}
	list = mk_realloc(c->counts, (c->n_counts + 1) * sizeof(*list));
	w = mk_calloc(1, sizeof(*w));
	if (list != NULL) {
		c->counts = list;
	}
	if (!list || !w) {
		mk_free(w);
		return NULL;
	}
	w->agent = mk_strndup(agent);
	w->kind = mk_strndup(kind);
	if (!w->agent || !w->kind || !map_put(&c->count_by_key, key, w)) {
		mk_free(w->agent);
		mk_free(w->kind);
		mk_free(w);
		return NULL;
	}
	c->counts[c->n_counts++] = w;
	return w;
}

void counts_add(struct exchange *ex)
{
	mk_str rest = ex->user_agent, agent, kind, key;
	struct wire_count *w;

	str_split(&rest, '/', &agent);
	rest = agent;
	str_split(&rest, ' ', &agent);
	kind = kind_of(ex);
	key = arena_printf(&ex->a, "%.*s %.*s", STR_ARG(agent), STR_ARG(kind));
	w = key.n != 0 ? find(ex->conn->cluster, agent, kind, key) : NULL;
	if (w != NULL) {
		w->n++;
		w->refused += ex->resp.status >= 400;
	}
}

struct json *counts_json(const struct cluster *c, struct arena *a)
{
	struct json *out = json_new_obj(a);

	for (size_t i = 0; i < c->n_counts; i++) {
		const struct wire_count *w = c->counts[i];
		struct json *by = json_get(out, w->agent), *e = json_new_obj(a);

		json_set_int(a, e, "n", (int64_t)w->n);
		json_set_int(a, e, "refused", (int64_t)w->refused);
		if (!by) {
			by = json_new_obj(a);
			json_set(a, out, str_of(w->agent), by);
		}
		json_set(a, by, str_of(w->kind), e);
	}
	return out;
}

void counts_done(struct cluster *c)
{
	for (size_t i = 0; i < c->n_counts; i++) {
		mk_free(c->counts[i]->agent);
		mk_free(c->counts[i]->kind);
		mk_free(c->counts[i]);
	}
	mk_free(c->counts);
	map_done(&c->count_by_key);
}
