/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies. */
#include "core/kube/patch.h"

#include <inttypes.h>

struct json *patch_guard(struct arena *a, uint64_t rv)
{
	struct json *out = json_new_obj(a);
	struct json *meta = json_new_obj(a);

	json_set_str(a, meta, "resourceVersion", arena_printf(a, "%" PRIu64, rv));
	json_set(a, out, STR("metadata"), meta);
	return arena_failed(a) ? NULL : out;
}

mk_str patch_delete(struct arena *a, mk_str uid, uint64_t rv)
{
	struct json *out = json_new_obj(a);
	struct json *pre = json_new_obj(a);
	mk_str none = {NULL, 0};

	if (uid.n == 0) {
		return none;
	}
	json_set_str(a, out, "apiVersion", STR("v1"));
	json_set_str(a, out, "kind", STR("DeleteOptions"));
	json_set_str(a, pre, "uid", uid);
	if (rv != 0) {
		json_set_str(a, pre, "resourceVersion", arena_printf(a, "%" PRIu64, rv));
	}
	json_set(a, out, STR("preconditions"), pre);
	json_set_str(a, out, "propagationPolicy", STR("Background"));
	return arena_failed(a) ? none : json_write(a, out);
}
