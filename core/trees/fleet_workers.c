/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of workers and configs; see fleet_int.h. */
#include "core/base/map.h"
#include "core/trees/fleet_int.h"

static mk_str *copy_list(struct arena *a, const mk_str *v, size_t n)
{
	mk_str *to = arena_array(a, n + 1, sizeof(*to));

	for (size_t i = 0; to && i < n; i++) {
		to[i] = arena_dup(a, v[i]);
	}
	return to;
}

bool trees_workers_copy(struct arena *a, const struct trees_workers *from, struct trees_workers *to)
{
	struct trees_workers out = *from;

	out.workers = arena_array(a, from->n_workers + 1, sizeof(*out.workers));
	out.configs = arena_array(a, from->n_configs + 1, sizeof(*out.configs));
	for (size_t i = 0; out.workers && i < from->n_workers; i++) {
		const struct trees_worker *w = &from->workers[i];

		out.workers[i] = *w;
		out.workers[i].name = arena_dup(a, w->name);
		out.workers[i].server = arena_dup(a, w->server);
		out.workers[i].labels = copy_list(a, w->labels, w->n_labels);
	}
	for (size_t i = 0; out.configs && i < from->n_configs; i++) {
		const struct trees_config *c = &from->configs[i];

		out.configs[i] = (struct trees_config){arena_dup(a, c->name),
						       copy_list(a, c->clusters, c->n), c->n};
	}
	if (arena_failed(a)) {
		return false;
	}
	*to = out;
	return true;
}

static bool same_list(const mk_str *x, size_t n, const mk_str *y, size_t m)
{
	bool same = n == m;

	for (size_t i = 0; same && i < n; i++) {
		same = str_eq(x[i], y[i]);
	}
	return same;
}

/* Old workers by name, made when one is not where it was. */
struct names {
	const struct trees_workers *old;
	struct map map;
	bool made, good;
};

static const struct trees_worker *named_slowly(const struct trees_workers *old, mk_str name)
{
	for (size_t i = 0; i < old->n_workers; i++) {
		if (str_eq(old->workers[i].name, name)) {
			return &old->workers[i];
		}
	}
	return NULL;
}

/* 'at': where it is likely to be. */
static const struct trees_worker *named(struct names *n, mk_str name, size_t at)
{
	if (at < n->old->n_workers && str_eq(n->old->workers[at].name, name)) {
		return &n->old->workers[at];
	}
	n->good = n->made ? n->good : true;
	for (size_t i = 0; !n->made && n->good && i < n->old->n_workers; i++) {
		n->good = map_put(&n->map, n->old->workers[i].name, &n->old->workers[i]);
	}
	n->made = true;
	return n->good ? map_get(&n->map, name) : named_slowly(n->old, name);
}

void trees_workers_keep_times(const struct trees_workers *old, struct trees_workers *now)
{
	struct names names = {.old = old};

	map_init(&names.map);
	for (size_t i = 0; i < now->n_workers; i++) {
		struct trees_worker *w = &now->workers[i];
		const struct trees_worker *was = named(&names, w->name, i);

		if (was && was->hidden_ms != INT64_MAX && w->hidden_ms != INT64_MAX) {
			w->hidden_ms = was->hidden_ms;
			w->hidden_wall_ms = was->hidden_wall_ms;
		}
	}
	map_done(&names.map);
}

bool trees_workers_same(const struct trees_workers *x, const struct trees_workers *y)
{
	bool same = x->known == y->known && x->n_workers == y->n_workers &&
		    x->n_configs == y->n_configs;

	for (size_t i = 0; same && i < x->n_workers; i++) {
		const struct trees_worker *a = &x->workers[i];
		const struct trees_worker *b = &y->workers[i];

		same = str_eq(a->name, b->name) && a->id == b->id && a->hidden_ms == b->hidden_ms &&
		       a->was_seen == b->was_seen && str_eq(a->server, b->server) &&
		       same_list(a->labels, a->n_labels, b->labels, b->n_labels);
	}
	for (size_t i = 0; same && i < x->n_configs; i++) {
		same = str_eq(x->configs[i].name, y->configs[i].name) &&
		       same_list(x->configs[i].clusters, x->configs[i].n, y->configs[i].clusters,
				 y->configs[i].n);
	}
	return same;
}
