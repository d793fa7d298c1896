/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of validate share. */
#ifndef MK_QUOTA_VALIDATE_INT_H
#define MK_QUOTA_VALIDATE_INT_H

#include "core/quota/validate.h"

struct validate_ctx {
	struct arena *a;
	const struct validate_input *in;
	const struct api_set *now;
	const struct api_set *before;
	const struct api_object *subject; /* NULL: all */
	struct api_faults *lists;         /* one per object of 'now' */
	struct api_faults *gone;          /* one per object of 'before' */
};

/* Adds a fault to the list of 'object', or of the subject when one object is judged. */
#define validate_fault(c, object, rule, path, ...) \
	api_fault_add((c)->a, validate_list((c), (object)), (rule), (path), __VA_ARGS__)

static inline struct api_faults *validate_list(struct validate_ctx *c,
					       const struct api_object *object)
{
	return &c->lists[c->subject != NULL ? c->subject->index : object->index];
}

/* Is this object to be judged? */
static inline bool validate_wants(const struct validate_ctx *c, const struct api_object *object)
{
	return !c->subject || c->subject == object;
}

/* How the queue of that name stood before; NULL when nothing is known. */
static inline struct api_place *validate_before(const struct validate_ctx *c, mk_str name)
{
	return c->before != NULL ? api_set_place(c->before, name) : NULL;
}

/* Negative, over 100, minimum over maximum: V12 and V13, the same for both plans. */
void validate_weights(struct validate_ctx *c, const struct api_object *object,
		      const struct api_int *min, const struct api_int *max);

/* V28 to V30 for the resourceGroup(s) of a ClusterQuotaTree or a ClusterQueue. */
void validate_groups(struct validate_ctx *c, const struct api_object *object);
/* V33. */
void validate_capacity_tree(struct validate_ctx *c, const struct api_tree *tree);
void validate_capacity_queue(struct validate_ctx *c, const struct api_queue *q,
			     const struct api_place *p);
/* V31. */
void validate_name(struct validate_ctx *c, const struct api_object *object, mk_str name,
		   mk_str path);

/* PlanA: one ClusterQueue, and the children of one parent. */
void validate_queue(struct validate_ctx *c, const struct api_queue *q);
void validate_siblings(struct validate_ctx *c, const struct api_place *parent);

/* PlanB: one ClusterQuotaTree; validate_tree calls the quota part where the structure allows it. */
void validate_tree(struct validate_ctx *c, const struct api_tree *tree);
void validate_tree_quota(struct validate_ctx *c, const struct api_tree *tree);

/* Rules about changes and users: V20, V21, V22, V24, V26. */
void validate_change_queue(struct validate_ctx *c, const struct api_queue *q);
void validate_change_tree(struct validate_ctx *c, const struct api_tree *tree);
void validate_change_lq(struct validate_ctx *c, const struct api_lq *lq);
void validate_change_status(struct validate_ctx *c, const struct api_object *o);
void validate_change_deleted(struct validate_ctx *c, const struct api_object *old);

/* V4 for one queue of a tree. */
void validate_cohort(struct validate_ctx *c, const struct api_object *object,
		     const struct api_queue *q);

#endif
