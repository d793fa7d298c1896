/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of API objects; see field.h. */
#include "core/api/field.h"

struct json *api_get(const struct json *v, const char *key)
{
	struct json *found = json_get(v, key);

	return json_type(found) == JSON_NULL ? NULL : found;
}
