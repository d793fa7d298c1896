/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side apply and the field ownership that all writes leave behind in metadata.managedFields.
 */
#ifndef MK_T_KUBESIM_SSA_H
#define MK_T_KUBESIM_SSA_H

#include "core/base/json.h"

/* Who writes, and what. */
struct ssa_writer {
	const char *kind, *api_version;
	mk_str manager;
	mk_str subresource; /* "" or "status" */
	mk_str time;        /* RFC 3339 */
	bool force;
};

/*
 * Sets metadata.managedFields of 'tree' as an update of 'live' (a typed zero value for creates) by
 * 'w' leaves it. 'managed' is the list to start from (NULL = none).
 */
void ssa_update(struct arena *a, const struct ssa_writer *w, const struct json *live,
		const struct json *managed, struct json *tree);

/* NULL, or why 'config' cannot be applied (a list key twice, an element without its key). */
const char *ssa_precheck(struct arena *a, const char *kind, const struct json *config);

/*
 * Merges 'config' into 'tree' (which equals 'live'), removes what the manager no longer applies,
 * and sets managedFields. Without force, fields that others own and that would change end in
 * *ret_conflicts (an array of causes, else NULL) and 'tree' is of no use.
 */
void ssa_apply(struct arena *a, const struct ssa_writer *w, const struct json *live,
	       const struct json *config, struct json *tree, struct json **ret_conflicts);

/*
 * The strategic merge patch of typed resources: as a merge patch, but
 * keyed lists merge by their keys.
 */
void ssa_strategic(struct arena *a, const char *kind, struct json *tree, const struct json *patch);

#endif
