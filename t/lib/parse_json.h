/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that a test has written. */
#ifndef MK_T_LIB_PARSE_JSON_H
#define MK_T_LIB_PARSE_JSON_H

#include "core/base/json.h"

/* The value of a text; without one the test ends. */
struct json *parse_json(struct arena *a, const char *text);

#endif
