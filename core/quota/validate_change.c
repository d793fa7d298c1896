/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about changes, and about who may make them: V20, V21, V22, V24, V26. */
#include "core/quota/validate_int.h"

static bool is_inner(const struct api_place *p)
{
	return p != NULL && p->n_children > 0;
}

/* --- V20 -------------------------------------------------------------------------------------- */

/* resourceGroups of the queue with the amounts spelled in one way. */
static mk_str groups_text(struct validate_ctx *c, const struct api_queue *q)
{
	struct json *text = json_new_arr(c->a);

	for (size_t i = 0; i < q->quotas.n; i++) {
		const struct api_quota *v = &q->quotas.v[i];

		json_add(c->a, text,
			 json_new_str(c->a,
				      arena_printf(c->a, "%zu %.*s/%.*s %lld %lld %lld", v->group,
						   STR_ARG(v->flavor), STR_ARG(v->resource),
						   (long long)v->nominal.v,
						   v->has_lending ? (long long)v->lending.v : -1LL,
						   v->has_borrowing ? (long long)v->borrowing.v
								    : -1LL)));
	}
	return json_write(c->a, text);
}

static void check_immutable(struct validate_ctx *c, const struct api_queue *q)
{
	struct api_place *p = api_set_place(c->now, q->name);
	const struct api_place *old = validate_before(c, q->name);
	bool managed;

	if (c->in->by_controller || !old || !old->queue || !api_place_in_tree(old) ||
	    !api_place_in_tree(p)) {
		return;
	}
	managed = p->tree != NULL || old->queue->quota_managed;
	if (!managed || str_eq(groups_text(c, q), groups_text(c, old->queue))) {
		return;
	}
	if (p->tree != NULL) {
		validate_fault(c, q->object, 20, STR("spec.resourceGroups"),
			       "Forbidden: immutable, managed by ClusterQuotaTree \"%.*s\"",
			       STR_ARG(p->tree->name));
	} else {
		validate_fault(c, q->object, 20, STR("spec.resourceGroups"),
			       "Forbidden: immutable, managed by the queue tree of \"%.*s\"",
			       STR_ARG(api_place_tree(p)));
	}
}

/* --- V21, V22: LocalQueues point at leaves ---------------------------------------------------- */

/*
 * A LocalQueue that points at an inner node is the LocalQueue's fault (V21), unless it was there
 * first and the node became inner by the change under judgement (V22).
 */
static bool was_first(const struct validate_ctx *c, const struct api_lq *lq)
{
	const struct api_object *old;

	if (c->subject != NULL || !c->before || is_inner(validate_before(c, lq->queue))) {
		return false;
	}
	old = api_set_find(c->before, API_LQ, lq->ns, lq->name);
	return old != NULL && str_eq(c->before->lqs[old->item]->queue, lq->queue);
}

void validate_change_lq(struct validate_ctx *c, const struct api_lq *lq)
{
	struct api_place *p = api_set_place(c->now, lq->queue);

	if (is_inner(p) && !was_first(c, lq)) {
		validate_fault(c, lq->object, 21, STR("spec.clusterQueue"),
			       "Invalid value: \"%.*s\": not a leaf of tree \"%.*s\"; LocalQueues "
			       "may point only to leaf queues",
			       STR_ARG(lq->queue), STR_ARG(api_place_tree(p)));
	}
}

/* 'p' has children now: V22 when LocalQueues were there, else V26 when workloads run in it. */
static void check_became_inner(struct validate_ctx *c, const struct api_object *object,
			       const struct api_place *p, mk_str path, bool force)
{
	const struct api_place *old = validate_before(c, p->name);
	const struct api_lq *lq;

	if (is_inner(old)) {
		return;
	}
	force = force || (p->queue != NULL && p->queue->force);
	lq = p->first_lq != API_NONE ? c->now->lqs[p->first_lq] : NULL;
	if (lq != NULL && (c->subject != NULL || was_first(c, lq))) {
		validate_fault(
			c, object, 22, path,
			"Invalid value: \"%.*s\": is used by LocalQueue %.*s/%.*s and cannot "
			"become a parent",
			STR_ARG(p->name), STR_ARG(lq->ns), STR_ARG(lq->name));
	} else if (!lq && old != NULL && old->admitted > 0 && !force) {
		validate_fault(
			c, object, 26, path,
			"Forbidden: \"%.*s\" has %lld admitted workloads and %zu LocalQueues",
			STR_ARG(p->name), (long long)old->admitted, old->n_lqs);
	}
}

/* --- V26: leaving a tree ---------------------------------------------------------------------- */

static void check_left(struct validate_ctx *c, struct api_faults *list, const struct api_place *old,
		       mk_str path, bool force)
{
	if ((old->admitted > 0 || old->n_lqs > 0) && !force) {
		api_fault_add(c->a, list, 26, path,
			      "Forbidden: \"%.*s\" has %lld admitted workloads and %zu LocalQueues",
			      STR_ARG(old->name), (long long)old->admitted, old->n_lqs);
	}
}

void validate_change_queue(struct validate_ctx *c, const struct api_queue *q)
{
	const struct api_place *p = api_set_place(c->now, q->name);
	const struct api_place *old = validate_before(c, q->name);

	if (!p) {
		return;
	}
	check_immutable(c, q);
	if (p->parent != NULL && !p->tree && (c->subject != NULL || p->parent->first_child == p)) {
		check_became_inner(c, q->object, p->parent, q->parent.path, q->force);
	}
	for (size_t i = 0; c->subject != NULL && i < q->children.n; i++) {
		const struct api_place *child = api_set_place(c->now, q->children.v[i]);

		if (child != NULL && child->parent == p && !child->queue->parent.set) {
			check_became_inner(c, q->object, p, q->children.path, q->force);
			break;
		}
	}
	if (old != NULL && old->queue != NULL && !old->tree && old->parent != NULL &&
	    !api_place_in_tree(p) && !q->parent.set) {
		check_left(c, validate_list(c, q->object), old, STR("spec.parent"), q->force);
	}
}

void validate_change_tree(struct validate_ctx *c, const struct api_tree *tree)
{
	const struct api_object *o =
		c->before != NULL ? api_set_find(c->before, API_TREE, (mk_str){NULL, 0}, tree->name)
				  : NULL;
	const struct api_tree *old = o != NULL ? c->before->trees[o->item] : NULL;

	for (size_t g = 0; g < tree->n_groups; g++) {
		const struct api_place *p = api_set_place(c->now, tree->groups[g].key);

		if (is_inner(p) && p->tree == tree) {
			check_became_inner(c, tree->object, p, tree->groups[g].path, tree->force);
		}
	}
	for (size_t i = 0; old != NULL && i < c->before->n_places; i++) {
		const struct api_place *p = c->before->all_places[i];
		const struct api_place *new = api_set_place(c->now, p->name);
		mk_str group = p->parent != NULL ? p->parent->name : p->name;

		if (p->tree == old && !api_place_in_tree(new)) {
			check_left(c, validate_list(c, tree->object), p,
				   arena_printf(c->a, "%.*s[%.*s]", STR_ARG(tree->map_path),
						STR_ARG(group)),
				   tree->force);
		}
	}
}

void validate_change_deleted(struct validate_ctx *c, const struct api_object *old)
{
	const struct api_place *p = api_set_place(c->before, old->name);

	if (old->kind != API_QUEUE || old->duplicate || !p || p->tree != NULL ||
	    !api_place_in_tree(p)) {
		return;
	}
	check_left(c, &c->gone[old->index], p, STR("metadata.name"), p->queue->force);
}

/* --- V24 -------------------------------------------------------------------------------------- */

/* In files, one that was read from a cluster (it has a uid) is no attempt to write it. */
void validate_change_status(struct validate_ctx *c, const struct api_object *o)
{
	const struct json *uid = json_at(o->json, "/metadata/uid");

	if (c->in->by_controller || (!c->subject && uid != NULL)) {
		return;
	}
	validate_fault(c, o, 24, ((mk_str){NULL, 0}), "ClusterQueueTree is read-only");
}
