/* SPDX-License-Identifier: Apache-2.0 */
/* Cohorts and ClusterQueues of a tree; see compile.h. */
#include "core/quota/compile.h"

struct compiler {
	struct arena *a;
	const struct api_model *m;
	const struct quota *q;
	struct compiled *out;
	const struct api_quotas *total; /* of the tree: how its amounts are spelled */
	size_t *desc;                   /* per node of 'q': its index in m->desc.nodes */
	bool closed;                    /* its fences */
};

/* --- amounts ---------------------------------------------------------------------------------- */

/* What Kueue is to count as the whole of a node's own, its children's parts in it. */
static int64_t whole(const struct quota *q, size_t node, size_t f)
{
	struct quota_cell_info c = quota_cell_at(q, node, f);
	size_t parent = quota_node_at(q, node).parent;

	if (parent == QUOTA_NONE) {
		return c.max;
	}
	return quota_node_at(q, parent).policy == QUOTA_FAIR ? c.reserved : c.nominal;
}

struct compile_limits compile_limits(const struct quota *q, size_t node, size_t f)
{
	struct quota_node_info n = quota_node_at(q, node);
	struct quota_cell_info c = quota_cell_at(q, node, f);
	int64_t own = whole(q, node, f);
	struct compile_limits r = {.nominal = own, .limited = n.parent != QUOTA_NONE};

	for (size_t k = n.first_child; k < n.first_child + n.n_children; k++) {
		r.nominal -= whole(q, k, f);
	}
	if (r.limited) {
		r.borrowing = c.max == QUOTA_UNLIMITED ? -1 : c.max - own;
		r.lending = own - c.reserved;
	}
	return r;
}

static void set_amount(struct compiler *c, struct json *o, const char *key, size_t f, int64_t v)
{
	struct api_amount amount = {.v = v, .format = c->total->v[f].nominal.format};

	json_set_str(c->a, o, key, api_amount_text(c->a, amount, c->m->desc.frs[f].resource));
}

/* One resource of a flavor; 'shown': the nominal quota of the tree, which nothing enforces. */
static struct json *resource(struct compiler *c, size_t node, size_t f, bool shown)
{
	struct json *o = json_new_obj(c->a);
	struct compile_limits l = compile_limits(c->q, node, f);

	json_set_str(c->a, o, "name", c->m->desc.frs[f].resource);
	if (shown) {
		set_amount(c, o, "nominalQuota", f, quota_cell_at(c->q, node, f).nominal);
		return o;
	}
	set_amount(c, o, "nominalQuota", f, l.nominal);
	if (l.limited && l.borrowing >= 0) {
		set_amount(c, o, "borrowingLimit", f, l.borrowing);
	}
	if (l.limited && quota_cell_at(c->q, node, f).reserved > 0) {
		set_amount(c, o, "lendingLimit", f, l.lending);
	}
	return o;
}

/* resourceGroups: the tree's groups, flavors and resources, each in the tree's order. */
static struct json *resource_groups(struct compiler *c, size_t node, bool shown)
{
	struct json *groups = json_new_arr(c->a);
	struct json *covered = NULL;
	struct json *flavors = NULL;
	struct json *resources = NULL;
	bool first = false; /* flavor of its group */

	for (size_t f = 0; f < c->m->desc.n_frs; f++) {
		const struct quota_fr *fr = &c->m->desc.frs[f];
		bool is_group = f == 0 || fr[-1].group != fr->group;

		if (is_group) {
			struct json *group = json_new_obj(c->a);

			covered = json_new_arr(c->a);
			flavors = json_new_arr(c->a);
			json_set(c->a, group, STR("coveredResources"), covered);
			json_set(c->a, group, STR("flavors"), flavors);
			json_add(c->a, groups, group);
		}
		if (is_group || !str_eq(fr[-1].flavor, fr->flavor)) {
			struct json *flavor = json_new_obj(c->a);

			resources = json_new_arr(c->a);
			json_set_str(c->a, flavor, "name", fr->flavor);
			json_set(c->a, flavor, STR("resources"), resources);
			json_add(c->a, flavors, flavor);
			first = is_group;
		}
		if (first) {
			json_add(c->a, covered, json_new_str(c->a, fr->resource));
		}
		json_add(c->a, resources, resource(c, node, f, shown));
	}
	return groups;
}

/* --- fair shares and preemption --------------------------------------------------------------- */

static void set_weight(struct compiler *c, struct json *spec, int64_t thousandths)
{
	struct json *fair = json_new_obj(c->a);
	struct api_amount v = {.v = thousandths, .format = API_DECIMAL};

	json_set_str(c->a, fair, "weight", api_amount_text(c->a, v, STR("cpu")));
	json_set(c->a, spec, STR("fairSharing"), fair);
}

/* Has a child of 'parent' a minWeight? */
static bool weighs(const struct compiler *c, size_t parent)
{
	struct quota_node_info p = quota_node_at(c->q, parent);

	for (size_t k = p.first_child; k < p.first_child + p.n_children; k++) {
		if (c->m->desc.nodes[c->desc[k]].min_weight >= 0) {
			return true;
		}
	}
	return false;
}

/*
 * Under capacity what a queue uses beyond its minimum counts in relation to the minimum: the weight
 * of a share in Kueue. A ClusterQueue keeps its own weight under the other policies, a Cohort has
 * that of the inner queue.
 */
static void put_weight(struct compiler *c, size_t node, struct json *spec, bool is_cohort)
{
	const struct quota_node *d = &c->m->desc.nodes[c->desc[node]];
	size_t parent = quota_node_at(c->q, node).parent;
	enum quota_policy policy;

	if (parent == QUOTA_NONE) {
		return;
	}
	policy = quota_node_at(c->q, parent).policy;
	if (policy == QUOTA_CAPACITY && weighs(c, parent)) {
		set_weight(c, spec, d->min_weight < 0 ? 0 : (int64_t)d->min_weight * 1000);
	} else if (policy != QUOTA_FIFO && is_cohort) {
		set_weight(c, spec, d->weight);
	}
}

/* No queue takes quota back from another. */
static void close_fence(struct compiler *c, size_t node, struct json *spec)
{
	const struct quota_behaviour *b = quota_node_at(c->q, node).behaviour;
	struct json *preemption = json_get(spec, "preemption");

	if (!preemption) {
		preemption = json_new_obj(c->a);
		json_set(c->a, spec, STR("preemption"), preemption);
	}
	json_set_str(c->a, preemption, "reclaimWithinCohort", STR("Never"));
	if (b->borrow_within) {
		struct json *borrow = json_new_obj(c->a);

		json_set_str(c->a, borrow, "policy", STR("Never"));
		json_set(c->a, preemption, STR("borrowWithinCohort"), borrow);
	}
}

/* --- objects ---------------------------------------------------------------------------------- */

static struct json *new_object(struct compiler *c, const char *kind, mk_str name, bool labelled)
{
	struct json *o = json_new_obj(c->a);
	struct json *meta = json_new_obj(c->a);

	json_set_str(c->a, o, "apiVersion", STR(NAME_API));
	json_set_str(c->a, o, "kind", str_of(kind));
	json_set_str(c->a, meta, "name", name);
	json_set(c->a, o, STR("metadata"), meta);
	if (labelled) {
		struct json *labels = json_new_obj(c->a);

		json_set_str(c->a, labels, COMPILE_LABEL, c->m->name);
		json_set(c->a, meta, STR("labels"), labels);
	}
	c->out->objects[c->out->n++] = o;
	return o;
}

static mk_str cohort_name(struct compiler *c, size_t node)
{
	return compile_cohort(c->a, c->m, quota_node_at(c->q, node).name);
}

static void add_cohort(struct compiler *c, size_t node)
{
	struct json *o = new_object(c, api_kind_name(API_COHORT), cohort_name(c, node), true);
	struct json *spec = json_new_obj(c->a);
	size_t parent = quota_node_at(c->q, node).parent;

	if (parent != QUOTA_NONE) {
		json_set_str(c->a, spec, "parentName", cohort_name(c, parent));
	}
	json_set(c->a, spec, STR("resourceGroups"), resource_groups(c, node, false));
	put_weight(c, node, spec, true);
	json_set(c->a, o, STR("spec"), spec);
}

/* A new ClusterQueue's spec: the node's template, else the tree's, else one without namespaces. */
static struct json *from_template(struct compiler *c, const struct api_place *p)
{
	const struct json *tmpl = p->node != NULL ? p->node->tmpl : NULL;
	struct json *spec;

	tmpl = tmpl != NULL ? tmpl : p->tree->tmpl;
	spec = tmpl != NULL ? json_dup(c->a, tmpl) : json_new_obj(c->a);
	if (!json_get(spec, "queueingStrategy")) {
		json_set_str(c->a, spec, "queueingStrategy", STR("BestEffortFIFO"));
	}
	return spec;
}

/* Does the tree, and not the queue's owner, say what an inner queue shows as its quota? */
static bool shows_quota(const struct compiler *c, size_t node, const struct api_place *p)
{
	const struct quota_node *d = &c->m->desc.nodes[c->desc[node]];

	return p->tree != NULL || (d->parent != QUOTA_NONE && !d->absolute);
}

static void add_queue(struct compiler *c, size_t node)
{
	const struct api_place *p = c->m->places[c->desc[node]];
	struct quota_node_info n = quota_node_at(c->q, node);
	bool inner = n.n_children > 0;
	bool is_new = !p->queue;
	struct json *o;
	struct json *spec;

	if (inner && !shows_quota(c, node, p)) {
		return;
	}
	o = new_object(c, api_kind_name(API_QUEUE), n.name, is_new);
	spec = is_new ? from_template(c, p) : json_new_obj(c->a);
	if (!inner && n.parent != QUOTA_NONE) {
		json_set_str(c->a, spec, "cohortName", cohort_name(c, n.parent));
		put_weight(c, node, spec, false);
	}
	if (!inner && c->closed) {
		close_fence(c, node, spec);
	}
	if (inner && is_new) {
		json_set_str(c->a, spec, "stopPolicy", STR("Hold"));
	}
	json_set(c->a, spec, STR("resourceGroups"), resource_groups(c, node, inner));
	json_set(c->a, o, STR("spec"), spec);
}

static bool find_nodes(struct compiler *c)
{
	size_t n = quota_n_nodes(c->q);

	c->desc = arena_array(c->a, n, sizeof(*c->desc));
	c->out->objects = arena_array(c->a, 2 * n, sizeof(struct json *));
	if (!c->desc || !c->out->objects) {
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		c->desc[quota_node_find(c->q, c->m->desc.nodes[i].name)] = i;
	}
	return true;
}

enum mk_code compile_tree(struct arena *a, const struct api_model *model, const struct quota *q,
			  struct compiled *ret, struct mk_err *err)
{
	struct compiler c = {
		.a = a,
		.m = model,
		.q = q,
		.out = ret,
		.total = model->tree != NULL ? &model->tree->total
					     : &model->places[0]->queue->quotas,
		.closed = compile_fences(q) == API_FENCE_CLOSED,
	};
	size_t n = quota_n_nodes(q);

	*ret = (struct compiled){.n = 0};
	compile_judge(a, model, q, ret);
	if (ret->reasons.n == 0 && find_nodes(&c)) {
		for (size_t i = 0; i < n; i++) {
			if (quota_node_at(q, i).n_children > 0) {
				add_cohort(&c, i);
			}
		}
		for (size_t i = 0; i < n; i++) {
			add_queue(&c, i);
		}
	}
	return arena_failed(a) ? err_set(err, ERR_NO_MEMORY, "out of memory") : ERR_OK;
}
