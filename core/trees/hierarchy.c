/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of ClusterQueueTree "default": what trees of parents there are, and of each what a
 * ClusterQuotaTree says in its own status. All of them share one object, and etcd takes 1.5 MiB, of
 * which nodes may need 0.6: so what is said of each has a bound for all together.
 */
#include "core/trees/pass_int.h"

enum {
	FULL_BYTES = 400 * 1024,       /* of what is said of trees: as many as fit have all */
	CONDITIONS_BYTES = 800 * 1024, /* ... others conditions alone, and the rest nothing */
};

struct hierarchy {
	struct trees_work *w;
	const struct json *live; /* the ClusterQueueTree; or NULL */
	struct json *status;
	struct map listed, was; /* trees by root, of 'status' and of 'live': struct json */
	size_t bytes;
	bool cut;
};

static const struct json *find_live(struct trees_work *w)
{
	for (size_t i = 0; i < w->in->n; i++) {
		const struct json *o = w->in->objects[i];

		if (trees_is(o, API_STATUS) &&
		    str_is(json_str_at(o, "/metadata/name"), "default")) {
			return o;
		}
	}
	return NULL;
}

static bool index_roots(const struct json *status, struct map *ret)
{
	struct json_iter it = json_iter(json_get(status, "trees"));
	bool good = true;

	while (good && json_next(&it)) {
		mk_str root = json_str(json_get(it.val, "root"));

		good = root.n == 0 || map_put(ret, root, it.val);
	}
	return good;
}

/* --- how trees stand -------------------------------------------------------------------------- */

/* What was said of it, without what its nodes are. */
static struct json *said(struct arena *a, const struct json *was)
{
	struct json *state = json_new_obj(a);
	struct json_iter it = json_iter(was);

	while (json_next(&it)) {
		if (!str_is(it.key, "root") && !str_is(it.key, "nodes")) {
			json_set(a, state, it.key, json_dup(a, it.val));
		}
	}
	return state;
}

static void judge(struct hierarchy *h, struct trees_unit *u)
{
	struct trees_work *w = h->w;
	const struct json *was = map_get(&h->was, u->name);

	if (u->parents && u->unsure) {
		u->state = said(w->a, was);
	} else if (u->parents && (u->wrong || u->usage != NULL)) {
		u->state = trees_status_of_parents(w->a, &u->judged, u->top, u->usage, was,
						   w->in->wall_ms);
	}
}

/* What hangs in a cycle has no root, so the list of trees does not have it. */
static struct json *entry_of(struct hierarchy *h, mk_str root)
{
	struct arena *a = h->w->a;
	struct json *entry = map_get(&h->listed, root);

	if (!entry) {
		entry = json_new_obj(a);
		json_set_str(a, entry, "root", root);
		json_add(a, json_get(h->status, "trees"), entry);
	}
	return entry;
}

static void add_state(struct hierarchy *h, const struct trees_unit *u)
{
	struct arena *a = h->w->a;
	struct json *state = u->state, *entry;
	size_t need = u->name.n + json_write(a, state).n;
	struct json_iter it;

	if (h->bytes + need > FULL_BYTES) {
		state = json_new_obj(a);
		json_set(a, state, STR("conditions"),
			 json_dup(a, json_get(u->state, "conditions")));
		json_set_bool(a, state, "truncated", true);
		need = u->name.n + json_write(a, state).n;
	}
	if (h->bytes + need > CONDITIONS_BYTES) {
		h->cut = true;
		return;
	}
	h->bytes += need;
	entry = entry_of(h, u->name);
	it = json_iter(state);
	while (json_next(&it)) {
		json_set(a, entry, it.key, json_dup(a, it.val));
	}
}

/* Those of trees for which there is something to do come first, should there be too many. */
static void add_all(struct hierarchy *h)
{
	struct trees_work *w = h->w;

	for (int ready = 0; ready < 2; ready++) {
		for (size_t i = 0; i < w->n; i++) {
			const struct trees_unit *u = &w->units[i];
			const struct json *active =
				json_find(json_get(u->state, "conditions"), "type", "Active");
			bool is_ready = str_is(json_str(json_get(active, "status")), "True");

			if (u->state != NULL && is_ready == (ready == 1)) {
				add_state(h, u);
			}
		}
	}
	if (h->cut) {
		json_set_bool(w->a, h->status, "truncated", true);
	}
}

/* --- the object ------------------------------------------------------------------------------- */

/* Is that the status which the object has? No list of trees is an empty one. */
static bool same_status(const struct json *want, const struct json *have)
{
	return json_equal(want, have) ||
	       (json_len(json_get(want, "trees")) == 0 && json_len(json_get(have, "trees")) == 0 &&
		!json_get(have, "truncated"));
}

static void emit(struct hierarchy *h)
{
	struct trees_work *w = h->w;
	mk_str name = STR("default");
	struct json *body;

	if (h->live != NULL ? same_status(h->status, json_get(h->live, "status"))
			    : json_len(json_get(h->status, "trees")) == 0) {
		return;
	}
	if (!h->live) {
		trees_emit(w, NULL, TREES_APPLY, API_STATUS, name,
			   trees_body(w->a, TREES_API, API_STATUS, name, NULL));
	}
	body = trees_body(w->a, TREES_API, API_STATUS, name, NULL);
	json_set(w->a, body, STR("status"), h->status);
	trees_emit(w, NULL, TREES_STATUS, API_STATUS, name, body);
}

void trees_write_hierarchy(struct trees_work *w)
{
	struct hierarchy h = {.w = w, .live = find_live(w)};

	h.status = api_status(w->a, w->all);
	if (!index_roots(h.status, &h.listed) || !index_roots(json_get(h.live, "status"), &h.was)) {
		w->a->failed = true;
	}
	for (size_t i = 0; i < w->n && !arena_failed(w->a); i++) {
		judge(&h, &w->units[i]);
	}
	if (!arena_failed(w->a)) {
		add_all(&h);
		emit(&h);
	}
	map_done(&h.listed);
	map_done(&h.was);
}
