/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue cannot do of a tree, and what it does in its own way; see compile.h. */
#include "core/quota/compile.h"

enum {
	MAX_GROUPS = 16,  /* resourceGroups of a Cohort or ClusterQueue */
	MAX_COHORT = 253, /* characters of its name */
	MAX_LABEL = 63,   /* characters of a label's value */
};

struct judge {
	struct arena *a;
	const struct api_model *m;
	const struct quota *q;
	struct compiled *out;
};

static const char *policy_word(enum quota_policy policy)
{
	return policy == QUOTA_FIFO ? "fifo" : policy == QUOTA_FAIR ? "fair" : "capacity";
}

/* The next node from 'i' on that has children to choose among; 'n' when there is none. */
static size_t next_group(const struct quota *q, size_t i)
{
	size_t n = quota_n_nodes(q);

	while (i < n && quota_node_at(q, i).n_children < 2) {
		i++;
	}
	return i;
}

enum api_fence compile_fences(const struct quota *q)
{
	size_t n = quota_n_nodes(q);
	size_t first = next_group(q, 0);
	bool open = first == n || quota_node_at(q, first).fence_open;

	for (size_t i = first; i < n; i = next_group(q, i + 1)) {
		if (quota_node_at(q, i).fence_open != open) {
			return API_FENCE_UNSET;
		}
	}
	return open ? API_FENCE_OPEN : API_FENCE_CLOSED;
}

mk_str compile_cohort(struct arena *a, const struct api_model *model, mk_str node)
{
	return arena_printf(a, "%.*s.%.*s", STR_ARG(model->name), STR_ARG(node));
}

/* --- what cannot be done ---------------------------------------------------------------------- */

/* Kueue has one order of queues and one rule of preemption for all groups. */
static void judge_groups(struct judge *j)
{
	size_t n = quota_n_nodes(j->q);
	size_t first = next_group(j->q, 0);
	struct quota_node_info a;

	if (first == n) {
		return;
	}
	a = quota_node_at(j->q, first);
	for (size_t i = next_group(j->q, first + 1); i < n; i = next_group(j->q, i + 1)) {
		struct quota_node_info b = quota_node_at(j->q, i);

		if (b.policy != a.policy) {
			api_fault_add(j->a, &j->out->reasons, 0, b.name,
				      "policy %s, but %.*s has policy %s: Kueue has one for all "
				      "queues",
				      policy_word(b.policy), STR_ARG(a.name),
				      policy_word(a.policy));
		}
		if (b.fence_open != a.fence_open) {
			api_fault_add(j->a, &j->out->reasons, 0, b.name,
				      "its fence is %s, but that of %.*s is %s: in Kueue all are "
				      "open, or all closed",
				      b.fence_open ? "open" : "closed", STR_ARG(a.name),
				      a.fence_open ? "open" : "closed");
		}
	}
}

/*
 * A leaf of a tree of parents keeps its minimum in the field that Kueue reads: under fair that
 * would be 0, and the next reading of the tree would take it for what the owner wrote.
 */
static void judge_amounts(struct judge *j, size_t i)
{
	const struct quota_node *d = &j->m->desc.nodes[i];
	size_t node = quota_node_find(j->q, d->name);
	struct quota_node_info n = quota_node_at(j->q, node);
	struct quota_node_info parent;

	if (j->m->tree != NULL || !d->absolute || n.n_children > 0) {
		return;
	}
	parent = quota_node_at(j->q, n.parent);
	for (size_t f = 0; parent.policy == QUOTA_FAIR && f < j->m->desc.n_frs; f++) {
		struct quota_cell_info c = quota_cell_at(j->q, node, f);

		if (c.nominal > c.reserved) {
			api_fault_add(j->a, &j->out->reasons, 0, d->name,
				      "its resourceGroups have a nominal quota, which policy fair "
				      "of %.*s does not count: use weights",
				      STR_ARG(parent.name));
			return;
		}
	}
}

static void judge_leaf(struct judge *j, size_t node)
{
	struct quota_node_info n = quota_node_at(j->q, node);

	if (n.behaviour->strategy == QUOTA_LQ_CAPACITY) {
		api_fault_add(j->a, &j->out->reasons, 0, n.name,
			      "queueingStrategy Capacity: Kueue does not order LocalQueues so");
	} else if (n.behaviour->strategy == QUOTA_LQ_FAIR) {
		api_fault_add(j->a, &j->out->notes, 0, n.name,
			      "queueingStrategy Fair: Kueue weighs LocalQueues by what they used "
			      "lately, and only with admissionScope");
	}
}

static void judge_names(struct judge *j)
{
	for (size_t i = 0; i < quota_n_nodes(j->q); i++) {
		struct quota_node_info n = quota_node_at(j->q, i);

		if (n.n_children > 0 && j->m->name.n + 1 + n.name.n > MAX_COHORT) {
			api_fault_add(j->a, &j->out->reasons, 0, n.name,
				      "with the name of the tree before it, the name of its Cohort "
				      "is longer than %d characters",
				      MAX_COHORT);
		}
	}
	if (j->m->name.n > MAX_LABEL) {
		api_fault_add(j->a, &j->out->reasons, 0, j->m->name,
			      "the name of the tree becomes a label: at most %d characters",
			      MAX_LABEL);
	}
}

static void judge_tree(struct judge *j)
{
	size_t n = j->m->desc.n_frs;

	if (j->m->desc.hdrf) {
		api_fault_add(j->a, &j->out->reasons, 0, j->m->name,
			      "fairShare HDRF: Kueue compares dominant shares");
	}
	if (n > 0 && j->m->desc.frs[n - 1].group >= MAX_GROUPS) {
		api_fault_add(j->a, &j->out->reasons, 0, j->m->name,
			      "%zu resource groups: Kueue takes at most %d",
			      j->m->desc.frs[n - 1].group + 1, MAX_GROUPS);
	}
}

/* --- what Kueue does in its own way ----------------------------------------------------------- */

static void note_order(struct judge *j)
{
	static const char *const words[] = {
		[QUOTA_FIFO] = "policy fifo: Kueue looks at its whole tree to see who borrows, not "
			       "level by level; its fairSharing has to be off",
		[QUOTA_FAIR] = "policy fair: Kueue orders queues by their shares only with "
			       "fairSharing in its configuration",
		[QUOTA_CAPACITY] = "policy capacity: Kueue orders queues beyond their minimum by "
				   "weight only with fairSharing in its configuration",
	};
	size_t i = next_group(j->q, 0);

	if (i < quota_n_nodes(j->q)) {
		api_fault_add(j->a, &j->out->notes, 0, j->m->name, "%s",
			      words[quota_node_at(j->q, i).policy]);
	}
}

/* Leaves whose reclaimWithinCohort is not what their fences say: the first, and how many. */
static void note_preemption(struct judge *j)
{
	bool closed = compile_fences(j->q) == API_FENCE_CLOSED;
	mk_str first = {NULL, 0};
	size_t n = 0;

	for (size_t i = 1; i < quota_n_nodes(j->q); i++) {
		struct quota_node_info node = quota_node_at(j->q, i);

		if (node.n_children == 0 && closed == (node.behaviour->reclaim != QUOTA_NEVER)) {
			first = n++ == 0 ? node.name : first;
		}
	}
	if (n > 0) {
		api_fault_add(j->a, &j->out->notes, 0, first, "%s%s",
			      closed ? "preemption.reclaimWithinCohort becomes Never, because the "
				       "fences are closed"
				     : "preemption.reclaimWithinCohort is Never: it waits for its "
				       "minimum until others end",
			      n == 1 ? ""
				     : arena_printf(j->a, "; so for %zu other queues", n - 1).p);
	}
}

void compile_judge(struct arena *a, const struct api_model *model, const struct quota *q,
		   struct compiled *ret)
{
	struct judge j = {.a = a, .m = model, .q = q, .out = ret};

	judge_tree(&j);
	judge_names(&j);
	judge_groups(&j);
	for (size_t i = 0; i < quota_n_nodes(q); i++) {
		judge_amounts(&j, i);
		if (quota_node_at(q, i).n_children == 0) {
			judge_leaf(&j, i);
		}
	}
	note_order(&j);
	note_preemption(&j);
}
