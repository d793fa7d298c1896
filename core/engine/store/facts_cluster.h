/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine keeps of a MultiKueueCluster; a part of facts.h. */
#ifndef MK_ENGINE_STORE_FACTS_CLUSTER_H
#define MK_ENGINE_STORE_FACTS_CLUSTER_H

#include "core/engine/store/facts.h"

/*
 * Its source and its cordon, into 'f'; the strings are views into the object, or in 'a'. Either
 * part of the object may be NULL.
 */
void facts_of_mk_cluster(struct facts *f, const struct json *spec, const struct json *annotations,
			 struct arena *a);

#endif
