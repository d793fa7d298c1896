/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClusterQueueTree "default": what trees of parents are, and how they stand. All of them share one
 * object, so what is said of each has a bound for all together.
 */
#include "core/trees/pass_int.h"

enum {
	FULL_BYTES = 400 * 1024,       /* of what is said of trees: the first ones have all */
	CONDITIONS_BYTES = 800 * 1024, /* ... others conditions alone, and the last nothing */
};

/* Is that the status which the object has? No list of trees is an empty one. */
static bool same_status(const struct json *want, const struct json *have)
{
	return json_equal(want, have) ||
	       (json_len(json_get(want, "trees")) == 0 && json_len(json_get(have, "trees")) == 0 &&
		!json_get(have, "truncated"));
}

/* How the tree of 'entry' stands, besides what its nodes are. */
static void add_state(struct trees_work *w, struct json *entry, const struct json *old,
		      size_t *bytes)
{
	const struct trees_unit *u = trees_unit(w, true, json_str(json_get(entry, "root")));
	struct json *state, *conditions;
	struct json_iter it;
	size_t n;

	if (!u || (!u->wrong && !u->usage)) {
		return;
	}
	state = trees_status_of_parents(w->a, &u->judged, u->top, u->usage, old, w->in->wall_ms);
	conditions = json_get(state, "conditions");
	n = json_write(w->a, state).n;
	if (*bytes + n > FULL_BYTES) {
		n = json_write(w->a, conditions).n;
		state = json_new_obj(w->a);
		json_set(w->a, state, STR("conditions"), json_dup(w->a, conditions));
		json_set_bool(w->a, state, "truncated", true);
	}
	if (*bytes + n > CONDITIONS_BYTES) {
		return;
	}
	*bytes += n;
	it = json_iter(state);
	while (json_next(&it)) {
		json_set(w->a, entry, it.key, json_dup(w->a, it.val));
	}
}

static void add_states(struct trees_work *w, struct json *status, const struct json *live)
{
	struct json_iter it = json_iter(json_get(status, "trees"));
	const struct json *old = json_at(live, "/status/trees");
	size_t bytes = 0;

	while (json_next(&it)) {
		add_state(w, it.val, json_find(old, "root", json_str(json_get(it.val, "root")).p),
			  &bytes);
	}
}

void trees_write_hierarchy(struct trees_work *w)
{
	struct json *status = api_status(w->a, w->all);
	const struct json *live = NULL;
	struct json *body;
	mk_str name = STR("default");

	for (size_t i = 0; i < w->in->n; i++) {
		const struct json *o = w->in->objects[i];

		if (trees_is(o, API_STATUS) && str_eq(json_str_at(o, "/metadata/name"), name)) {
			live = o;
		}
	}
	add_states(w, status, live);
	if (live != NULL ? same_status(status, json_get(live, "status"))
			 : json_len(json_get(status, "trees")) == 0) {
		return;
	}
	if (!live) {
		trees_emit(w, NULL, TREES_APPLY, API_STATUS, name,
			   trees_body(w->a, TREES_API, API_STATUS, name, NULL));
	}
	body = trees_body(w->a, TREES_API, API_STATUS, name, NULL);
	json_set(w->a, body, STR("status"), status);
	trees_emit(w, NULL, TREES_STATUS, API_STATUS, name, body);
}
