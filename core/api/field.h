/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of API objects as the API server reads them. */
#ifndef MK_API_FIELD_H
#define MK_API_FIELD_H

#include "core/base/json.h"

/* json_get, where null counts as absent. */
struct json *api_get(const struct json *v, const char *key);

#endif
