/* SPDX-License-Identifier: Apache-2.0 */
/* What the queues of a tree have and use; see status.h. */
#include "core/trees/status_int.h"

#include "core/api/amount.h"

/* Pair of that flavor and resource, looked for from 'hint' on; QUOTA_NONE when there is none. */
static size_t find_pair(const struct quota_desc *d, mk_str flavor, mk_str resource, size_t hint)
{
	for (size_t i = 0; i < d->n_frs; i++) {
		size_t f = (hint + i) % d->n_frs;

		if (str_eq(d->frs[f].flavor, flavor) && str_eq(d->frs[f].resource, resource)) {
			return f;
		}
	}
	return QUOTA_NONE;
}

/* A number of the status; what is none, or negative, counts as 0. */
static int64_t number(const struct json *status, const char *field)
{
	int64_t v = json_int(json_get(status, field), 0);

	return v > 0 ? v : 0;
}

static void add_stray(struct trees_usage *u, const struct trees_stray *stray)
{
	if (u->n_strays < TREES_STRAYS) {
		u->strays[u->n_strays] = *stray;
	}
	u->n_strays++;
}

/*
 * What the status of a queue says: of a leaf all that it uses, of an inner one what is left of the
 * time when it was a leaf. Kueue lists pairs in the order of the tree, more or less.
 */
static void read_queue(struct arena *a, const struct trees_judged *j, struct trees_usage *u,
		       size_t node)
{
	const struct api_queue *queue = j->model->places[u->desc[node]]->queue;
	const struct json *status = queue != NULL ? json_get(queue->object->json, "status") : NULL;
	struct json_iter flavors = json_iter(json_get(status, "flavorsReservation"));
	size_t hint = 0;

	u->workloads[node].pending = number(status, "pendingWorkloads");
	u->workloads[node].reserving = number(status, "reservingWorkloads");
	u->workloads[node].admitted = number(status, "admittedWorkloads");
	while (json_next(&flavors)) {
		mk_str flavor = json_str(json_get(flavors.val, "name"));
		struct json_iter resources = json_iter(json_get(flavors.val, "resources"));

		while (json_next(&resources)) {
			mk_str resource = json_str(json_get(resources.val, "name"));
			size_t f = find_pair(&j->model->desc, flavor, resource, hint);
			struct api_amount x = {.v = 0};

			if (!api_amount_read(a, json_get(resources.val, "total"), resource, true,
					     &x) ||
			    x.v <= 0) {
				continue;
			}
			if (f == QUOTA_NONE) {
				add_stray(u, &(struct trees_stray){node, flavor, resource, x.v});
				continue;
			}
			u->cells[node * u->n_frs + f].use =
				api_add(u->cells[node * u->n_frs + f].use, x.v);
			hint = f + 1;
		}
	}
}

/* Adds a node to the one above it. */
static void add_up(struct trees_usage *u, size_t node, size_t parent)
{
	struct trees_workloads *w = &u->workloads[node];
	struct trees_workloads *up = &u->workloads[parent];

	for (size_t f = 0; f < u->n_frs; f++) {
		struct trees_cell *c = &u->cells[node * u->n_frs + f];
		struct trees_cell *above = &u->cells[parent * u->n_frs + f];

		above->use = api_add(above->use, c->use);
		above->hold = api_add(above->hold, c->hold);
	}
	up->pending = api_add(up->pending, w->pending);
	up->reserving = api_add(up->reserving, w->reserving);
	up->admitted = api_add(up->admitted, w->admitted);
}

/* A node in whose sums its own and its children's are: with its quota, and in those above it. */
static void finish(const struct trees_judged *j, struct trees_usage *u, size_t node)
{
	size_t parent = quota_node_at(j->q, node).parent;

	for (size_t f = 0; f < u->n_frs; f++) {
		struct quota_cell_info info = quota_cell_at(j->q, node, f);
		struct trees_cell *c = &u->cells[node * u->n_frs + f];

		c->nominal = info.nominal;
		c->max = info.max;
		c->hold = c->hold > info.reserved ? c->hold : info.reserved;
	}
	if (parent != QUOTA_NONE) {
		add_up(u, node, parent);
	}
}

struct trees_usage *trees_usage(struct arena *a, const struct trees_judged *j)
{
	const struct quota_desc *d = &j->model->desc;
	struct trees_usage *u = arena_alloc(a, sizeof(*u));
	size_t n = quota_n_nodes(j->q);

	if (!u) {
		return NULL;
	}
	u->n = n;
	u->n_frs = d->n_frs;
	u->desc = arena_array(a, n, sizeof(*u->desc));
	u->workloads = arena_array(a, n, sizeof(*u->workloads));
	u->cells = arena_array(a, n, d->n_frs * sizeof(*u->cells));
	if (!u->desc || !u->workloads || !u->cells) {
		return NULL;
	}
	for (size_t i = 0; i < d->n_nodes; i++) {
		u->desc[quota_node_find(j->q, d->nodes[i].name)] = i;
	}
	for (size_t node = 0; node < n; node++) {
		read_queue(a, j, u, node);
		for (size_t f = 0; f < u->n_frs; f++) {
			struct trees_cell *c = &u->cells[node * u->n_frs + f];

			c->hold = c->use;
		}
	}
	/* Breadth first: children come after their parent. */
	for (size_t node = n; node-- > 0;) {
		finish(j, u, node);
	}
	return arena_failed(a) ? NULL : u;
}

bool trees_is_over(const struct trees_usage *u, size_t node)
{
	for (size_t f = 0; f < u->n_frs; f++) {
		if (trees_cell(u, node, f)->hold > trees_cell(u, node, f)->max) {
			return true;
		}
	}
	return false;
}

size_t trees_depth(const struct trees_judged *j)
{
	size_t n = quota_n_nodes(j->q);

	/* Breadth first: the last one is as deep as any. */
	return n > 0 ? quota_node_at(j->q, n - 1).level : 0;
}

void trees_figures(const struct trees_judged *j, const struct trees_usage *usage,
		   struct trees_plan *plan)
{
	for (size_t node = 0; node < usage->n; node++) {
		bool leaf = quota_node_at(j->q, node).n_children == 0;

		for (size_t f = 0; f < usage->n_frs; f++) {
			const struct trees_cell *c = trees_cell(usage, node, f);

			plan->figures[plan->n_figures++] = (struct trees_figure){
				.tree = j->name,
				.queue = trees_node_name(j, usage, node),
				.flavor = j->model->desc.frs[f].flavor,
				.resource = j->model->desc.frs[f].resource,
				.leaf = leaf,
				.nominal = c->nominal,
				.max = c->max,
				.use = c->use,
				.hold = c->hold,
				.first = f == 0,
				.pending = usage->workloads[node].pending,
			};
		}
	}
}
