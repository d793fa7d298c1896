/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is whose child: the places of queues in trees of both plans; see api.h. First the
 * ClusterQuotaTrees take their queues, then parents and children of ClusterQueues make edges where
 * no tree has a say, then depths are found.
 */
#include "core/quota/api_read.h"

static struct api_place *place(struct api_set *set, mk_str name)
{
	struct api_place *p = map_get(&set->places, name);

	if (p != NULL) {
		return p;
	}
	if (set->n_places == set->size_places) {
		size_t size = set->size_places ? set->size_places * 2 : 64;
		struct api_place **bigger = arena_array(set->a, size, sizeof(struct api_place *));

		if (!bigger) {
			return NULL;
		}
		if (set->n_places > 0) {
			memcpy(bigger, set->all_places, set->n_places * sizeof(struct api_place *));
		}
		set->all_places = bigger;
		set->size_places = size;
	}
	p = arena_alloc(set->a, sizeof(*p));
	if (!p || !map_put(&set->places, name, p)) {
		set->a->failed = true;
		return NULL;
	}
	p->name = name;
	p->first_lq = API_NONE;
	set->all_places[set->n_places++] = p;
	return p;
}

static void add_child(struct api_place *parent, struct api_place *child)
{
	child->parent = parent;
	if (parent->last_child != NULL) {
		parent->last_child->next = child;
	} else {
		parent->first_child = child;
	}
	parent->last_child = child;
	parent->n_children++;
}

/* The queues of a ClusterQuotaTree, unless another tree has them already. */
static void take_tree(struct api_set *set, struct api_tree *tree)
{
	for (size_t g = 0; g < tree->n_groups; g++) {
		struct api_group *group = &tree->groups[g];
		struct api_place *top = place(set, group->key);

		if (!top) {
			return;
		}
		if (!top->tree) {
			top->tree = tree;
			top->node = map_get(&tree->node_index, group->key);
		}
		for (size_t i = 0; i < group->n; i++) {
			struct api_node *node = &group->nodes[i];
			struct api_place *p = NULL;

			if (node->name.n == 0 || node->again) {
				continue;
			}
			p = place(set, node->name);
			if (!p) {
				return;
			}
			if (!p->tree || (p->tree == tree && p->node == node)) {
				p->tree = tree;
				p->node = node;
				if (!p->parent && p != top && top->tree == tree) {
					add_child(top, p);
				}
			}
		}
	}
}

/* PlanA's edge from a queue's own field. A queue of a ClusterQuotaTree has its place already. */
static void take_parent(struct api_set *set, struct api_queue *q)
{
	struct api_place *child = place(set, q->name);
	struct api_place *parent = q->parent.set ? api_set_place(set, q->parent.v) : NULL;

	if (!child || !parent || !parent->queue || child->tree != NULL || parent->tree != NULL ||
	    child->parent != NULL) {
		return;
	}
	add_child(parent, child);
}

/* And from the parent's list, where the child has no parent of its own. */
static void take_children(struct api_set *set, struct api_queue *q)
{
	struct api_place *parent = place(set, q->name);

	for (size_t i = 0; i < q->children.n; i++) {
		struct api_place *child = api_set_place(set, q->children.v[i]);

		if (!parent || !child || !child->queue || child->queue->parent.set ||
		    child->parent != NULL || child->tree != NULL || parent->tree != NULL) {
			continue;
		}
		add_child(parent, child);
	}
}

/* Depths, upwards from each place until one that is known; 'state' 1: on the way, 2: done. */
static void find_depth(struct api_place *start)
{
	struct api_place *top = start;
	struct api_place *down;
	size_t depth = 0;

	for (; top != NULL && top->state == 0; top = top->parent) {
		top->state = 1;
	}
	if (top != NULL && top->state == 1) {
		struct api_place *p = top;

		do {
			p->in_cycle = true;
			p = p->parent;
		} while (p != top);
	}
	/*
	 * Whatever leads into a cycle has no depth; elsewhere it is the distance to what is known.
	 */
	if (!top || (top->state == 2 && top->depth > 0)) {
		depth = top != NULL ? top->depth : 0;
		for (down = start; down != top; down = down->parent) {
			depth++;
		}
	}
	for (down = start; down != NULL && down->state == 1; down = down->parent) {
		down->state = 2;
		down->depth = depth;
		depth -= depth > 0 ? 1 : 0;
	}
}

static bool count_users(struct api_set *set)
{
	for (size_t i = 0; i < set->n_lqs; i++) {
		struct api_lq *lq = set->lqs[i];
		struct api_place *p = api_set_place(set, lq->queue);
		const struct api_lq *first;

		if (!p) {
			continue;
		}
		first = p->first_lq != API_NONE ? set->lqs[p->first_lq] : NULL;
		p->n_lqs++;
		if (!first || str_cmp(lq->ns, first->ns) < 0 ||
		    (str_eq(lq->ns, first->ns) && str_cmp(lq->name, first->name) < 0)) {
			p->first_lq = i;
		}
	}
	return !arena_failed(set->a);
}

/* Workloads of the set that hold quota, when that is more than what the queue's status says. */
static void count_admitted(struct api_set *set)
{
	for (size_t i = 0; i < set->n_workloads; i++) {
		const struct json *status = api_get(set->workloads[i]->json, "status");
		mk_str name = json_str(api_get(api_get(status, "admission"), "clusterQueue"));
		struct api_place *p = api_set_place(set, name);

		if (p != NULL && !api_condition(status, "Finished")) {
			p->admitted++;
		}
	}
	for (size_t i = 0; i < set->n_places; i++) {
		struct api_place *p = set->all_places[i];

		if (p->queue != NULL && p->admitted < p->queue->admitted) {
			p->admitted = p->queue->admitted;
		}
	}
}

bool api_place_all(struct api_set *set, size_t newest)
{
	struct api_object *last = newest < set->n_objects ? set->objects[newest] : NULL;

	for (size_t i = 0; i < set->n_queues; i++) {
		struct api_place *p = place(set, set->queues[i]->name);

		if (!p) {
			return false;
		}
		p->queue = set->queues[i];
	}
	for (size_t i = 0; i < set->n_trees; i++) {
		if (set->trees[i]->object != last) {
			take_tree(set, set->trees[i]);
		}
	}
	if (last != NULL && last->kind == API_TREE && !last->duplicate) {
		take_tree(set, set->trees[last->item]);
	}
	for (size_t i = 0; i < set->n_queues; i++) {
		take_parent(set, set->queues[i]);
	}
	for (size_t i = 0; i < set->n_queues; i++) {
		if (set->queues[i]->object != last) {
			take_children(set, set->queues[i]);
		}
	}
	if (last != NULL && last->kind == API_QUEUE && !last->duplicate) {
		take_children(set, set->queues[last->item]);
	}
	for (size_t i = 0; i < set->n_places; i++) {
		find_depth(set->all_places[i]);
	}
	count_admitted(set);
	return count_users(set);
}

struct api_place *api_place_root(struct api_place *p)
{
	if (!p || p->depth == 0) {
		return NULL;
	}
	while (p->parent != NULL) {
		p = p->parent;
	}
	return p;
}

bool api_place_in_tree(const struct api_place *p)
{
	return p != NULL && (p->tree != NULL || p->parent != NULL || p->n_children > 0);
}

mk_str api_place_tree(struct api_place *p)
{
	struct api_place *root;

	if (!api_place_in_tree(p)) {
		return (mk_str){NULL, 0};
	}
	if (p->tree != NULL) {
		return p->tree->name;
	}
	root = api_place_root(p);
	return root != NULL ? root->name : (mk_str){NULL, 0};
}

enum api_policy api_place_policy(const struct api_place *p)
{
	const struct api_tree *tree = p->tree;
	const struct api_group *g = tree != NULL ? map_get(&tree->group_index, p->name) : NULL;
	const struct api_behaviour *b = NULL;

	if (g != NULL && g->has_policy) {
		return g->policy;
	}
	if (p->queue != NULL) {
		b = &p->queue->behaviour;
	} else if (p->node != NULL && p->node->behaviour != NULL) {
		b = p->node->behaviour;
	} else if (tree != NULL) {
		b = tree->behaviour;
	}
	return b != NULL ? b->policy : API_FIFO;
}
