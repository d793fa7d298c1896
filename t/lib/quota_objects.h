/* SPDX-License-Identifier: Apache-2.0 */
/*
 * API objects for the tests of core/quota's front end: YAML to a linked set,
 * with small changes on the way.
 */
#ifndef MK_T_LIB_QUOTA_OBJECTS_H
#define MK_T_LIB_QUOTA_OBJECTS_H

#include "core/base/yaml.h"
#include "core/quota/validate.h"

/* A tree with weights: company {a 60, b 40}, a {a1, a2}. */
extern const char weights_yaml[];

/* A tree with amounts: lab {x {x1}, w}. */
extern const char amounts_yaml[];

/*
 * PlanA: company {a 60, b 40}, a {a1, a2} with amounts of their own; c stands
 * alone. LocalQueue ns/lq points at b.
 */
extern const char parents_yaml[];

/* The documents of 'text' as a JSON array in 'a'; ends the program when they cannot be read. */
struct json *objects_read(struct arena *a, const char *text);

/* A linked set of all objects in 'docs', the one with index 'newest' written last. */
struct api_set *objects_link(struct arena *a, const struct json *docs, size_t newest);

/* What validate() says of 'in', all lines. */
mk_str objects_judge(struct arena *a, const struct validate_input *in);

/* Puts 'value' at 'pointer'; an index one behind the last appends, NULL removes. */
void objects_put(struct arena *a, struct json *docs, const char *pointer, const char *value);

/* The objects of 'base' with that change. */
struct json *objects_changed(struct arena *a, const char *base, const char *pointer,
			     const char *value);

#endif
