/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ClusterQueues are written for a tree: those of trees that are compiled. One whose
 * enforcement is another is looked at alone, so that the program that writes its queues goes on.
 */
#ifndef MK_TREES_OWNERS_H
#define MK_TREES_OWNERS_H

#include "core/base/map.h"
#include "core/base/str.h"

/* An object that makes ClusterQueues part of a tree; see mentions.h. */
struct trees_claim {
	mk_str name;
	bool tree; /* a ClusterQuotaTree; else a ClusterQueue with a parent or children */
	mk_str mentions;
};

struct trees_owners {
	struct map queues; /* names of those that are written */
};

/* Replaces what was found before; borrows nothing. False: out of memory, and nothing is known. */
bool trees_owners_make(struct trees_owners *o, const struct trees_claim *v, size_t n);
void trees_owners_done(struct trees_owners *o);

/* Is that ClusterQueue written for a tree, when the configuration says Compile? */
bool trees_owners_has(const struct trees_owners *o, mk_str queue);

#endif
