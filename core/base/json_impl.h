/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of json share: a value is a yyjson_mut_val that lies in the arena. Its public
 * fields are used directly: a container holds its last element (array) or last key (object);
 * elements form a circle; in an object each key is followed by its value. A value without a parent
 * has no next. No yyjson document stands behind them.
 */
#ifndef MK_BASE_JSON_IMPL_H
#define MK_BASE_JSON_IMPL_H

#include <yyjson.h>

#include "core/base/json.h"

enum {
	/* Deeper than any parsed value: a limit for recursion over values that were built. */
	JSON_MAX_NEST = 4 * JSON_MAX_DEPTH,
	/* of a container: something in it was too deep; else part of a subtype */
	VAL_CUT = 1 << YYJSON_TYPE_BIT,
};

/*
 * The value behind the opaque type. A union drops const: lookups hand out what they found in a
 * const value.
 */
static inline yyjson_mut_val *val_of(const struct json *v)
{
	union {
		const struct json *in;
		yyjson_mut_val *out;
	} u = {.in = v};

	return u.out;
}

static inline struct json *json_of(yyjson_mut_val *v)
{
	return (struct json *)v;
}

static inline unsigned int val_type(const yyjson_mut_val *v)
{
	return v ? (unsigned int)(v->tag & YYJSON_TYPE_MASK) : YYJSON_TYPE_NONE;
}

static inline size_t val_len(const yyjson_mut_val *v)
{
	return (size_t)(v->tag >> YYJSON_TAG_BIT);
}

static inline void val_set_len(yyjson_mut_val *v, size_t n)
{
	v->tag = ((uint64_t)n << YYJSON_TAG_BIT) | (v->tag & 0xFF);
}

static inline void val_set(yyjson_mut_val *v, unsigned int type, size_t n)
{
	v->tag = ((uint64_t)n << YYJSON_TAG_BIT) | type;
}

static inline mk_str val_str(const yyjson_mut_val *v)
{
	return (mk_str){v->uni.str, val_len(v)};
}

/* The last key (object) or element (array) of a container that is not empty. */
static inline yyjson_mut_val *val_last(const yyjson_mut_val *v)
{
	return (yyjson_mut_val *)v->uni.ptr;
}

/* 's' as valid UTF-8 in 'a'. */
mk_str json_clean(struct arena *a, mk_str s);

#endif
