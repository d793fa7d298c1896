/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of yaml share: scalars to values, and whether a text would be read as something
 * else.
 */
#ifndef MK_BASE_YAML_IMPL_H
#define MK_BASE_YAML_IMPL_H

#include "core/base/json.h"

/*
 * The value of a scalar; 'plain': without quotes, so that it may be a number, a boolean or null.
 * NULL when out of memory. Infinity and NaN become strings; yaml_is_infinite tells.
 */
struct json *yaml_scalar(struct arena *a, mk_str text, bool plain);

/* Is the plain scalar one of the floats that JSON does not have? */
bool yaml_is_infinite(mk_str text);

#endif
