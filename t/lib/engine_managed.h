/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns which fields of a Workload's status, as the API server says in managedFields. */
#ifndef MK_T_LIB_ENGINE_MANAGED_H
#define MK_T_LIB_ENGINE_MANAGED_H

#include "core/base/json.h"

/* The managedFields entry for what was applied: lists by key, the rest as leaves. */
struct json *w_managed(struct arena *a, const char *applied);

/* The entry of another manager that owns the nominations. */
void w_other(struct arena *a, struct json *entry, const char *manager);

#endif
