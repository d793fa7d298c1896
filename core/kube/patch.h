/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies that are the same for every caller. */
#ifndef MK_KUBE_PATCH_H
#define MK_KUBE_PATCH_H

#include "core/base/json.h"

/*
 * DeleteOptions for exactly the object observed: preconditions uid and, when not 0, resourceVersion; propagationPolicy
 * always Background, because a bare delete of a Job leaves its pods behind. 'uid' must not be empty: a delete without
 * it could hit a successor of the same name. JSON text in 'a'; {NULL, 0}: out of memory, or an empty uid.
 */
mk_str patch_delete(struct arena *a, mk_str uid, uint64_t rv);

/* {"metadata":{"resourceVersion":"<rv>"}}: the guard that every merge patch of ours starts from. NULL: out of memory. */
struct json *patch_guard(struct arena *a, uint64_t rv);

#endif
