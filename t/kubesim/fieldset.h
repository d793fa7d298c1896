/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of field paths in their FieldsV1 form: a JSON object a level, keys "f:<field>",
 * "k:<key fields>", "v:<value>"; an empty object is a member, "." marks a member that has
 * members below. NULL is the empty set.
 */
#ifndef MK_T_KUBESIM_FIELDSET_H
#define MK_T_KUBESIM_FIELDSET_H

#include "core/base/json.h"

/* All paths of an applied object: leaves and list elements, without identity fields of metadata. */
struct json *fieldset_of(struct arena *a, const char *kind, const struct json *object);

/*
 * What 'to' has that 'from' has not or has otherwise, and what is gone. Either may come out NULL.
 */
void fieldset_compare(struct arena *a, const char *kind, const struct json *from,
		      const struct json *to, struct json **ret_changed, struct json **ret_removed);

/* New sets; the operands stay as they are. */
struct json *fieldset_union(struct arena *a, const struct json *x, const struct json *y);
struct json *fieldset_minus(struct arena *a, const struct json *x, const struct json *y);
struct json *fieldset_common(struct arena *a, const struct json *x, const struct json *y);
bool fieldset_meets(const struct json *x, const struct json *y);
bool fieldset_is_empty(const struct json *x);

/* Is this node a member itself, not only the way to members? */
bool fieldset_is_member(const struct json *node);

/*
 * Calls fn with each member as the path that a message shows:
 * .status.conditions[type="Ready"].reason
 */
void fieldset_each(struct arena *a, const struct json *set, void (*fn)(void *ctx, mk_str path),
		   void *ctx);

#endif
