/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a question to a dispatcher that are the same in each question until an object
 * changes: what the MultiKueueCluster says, and what a ClusterQueue there has. They are made once
 * for each change, and questions share them: so the cost of a question grows little with a fleet in
 * which most is as it was. A cluster has one card, with the ClusterQueue that was asked for last.
 */
#ifndef MK_ENGINE_RULES_CARD_H
#define MK_ENGINE_RULES_CARD_H

#include "core/engine/state.h"

/* The values are only to be shared (json_share), within the event or pass that asked for them. */
struct card {
	struct json *name;
	struct json *labels, *annotations; /* NULL: not asked */
	struct json *queue,
		*flavors; /* name of the ClusterQueue, and what it has; NULL: not asked */
};

/*
 * The card of the cluster as it is now; 'cq': with that ClusterQueue, a record of one there;
 * 'place': with labels and annotations. NULL: out of memory, which the scratch arena tells as well.
 */
const struct card *card_of(struct engine *e, struct cluster *c, const struct record *cq,
			   bool place);
/* Adds {"name", "value"} to 'list': labels and annotations are told in that form. */
void card_add_pair(struct arena *a, struct json *list, mk_str name, mk_str value);
/* NULL is fine. */
void card_free(struct card *card);

#endif
