/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns an object: metadata.ownerReferences. */
#ifndef MK_API_OWNER_H
#define MK_API_OWNER_H

#include "core/base/json.h"

/* "batch/v1" and "Job" as "batch/v1, Kind=Job"; of the core group "/v1, Kind=Pod". In 'a'. */
mk_str api_gvk_text(struct arena *a, mk_str api_version, mk_str kind);

/* The controller's reference, else the first one; NULL: none. */
struct json *api_owner(const struct json *obj);

/*
 * The uid that a reference gives for the owner of this kind and name, controller or not. Borrowed
 * from 'obj'; empty: none.
 */
mk_str api_owner_uid(struct arena *a, const struct json *obj, mk_str gvk, mk_str name);

#endif
