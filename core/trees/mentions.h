/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ClusterQueues an object makes part of a tree, packed so that a text can carry it: for each
 * 'P' (has children) or 'C' (is a child), the name, and a NUL.
 */
#ifndef MK_TREES_MENTIONS_H
#define MK_TREES_MENTIONS_H

#include "core/quota/api.h"

/*
 * What a ClusterQuotaTree or ClusterQueue says, appended to 'out'; other kinds say nothing. False:
 * out of memory, or 'out' is full.
 */
bool trees_mentions_read(struct arena *a, enum api_kind kind, const struct json *obj,
			 struct buf *out);

/* Is 'name' in it, as what is a child, as what has children? Sets what is true. */
void trees_mentions_find(mk_str packed, mk_str name, bool *child, bool *parent);

#endif
