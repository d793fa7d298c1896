/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine keeps of a MultiKueueCluster and a MultiKueueConfig; a part of facts.h. */
#ifndef MK_ENGINE_STORE_FACTS_CLUSTER_H
#define MK_ENGINE_STORE_FACTS_CLUSTER_H

#include "core/engine/store/facts.h"

/*
 * Its source and its cordon, into 'f'; the strings are views into the object, or in 'a'. Either
 * part of the object may be NULL.
 */
void facts_of_mk_cluster(struct facts *f, const struct json *spec, const struct json *annotations,
			 struct arena *a);

/*
 * Condition NAME_SERVER: its message, which is read again, begins with the identity, and has that
 * of the server before.
 */
#define SERVER_LEADS_TO "kube-system "
#define SERVER_BEFORE ", before "
#define SERVER_UNKNOWN "unknown"
/* What is on record about its server; 'condition' may be NULL. */
void facts_of_server(struct facts *f, const struct json *condition);

/* What a MultiKueueConfig says but for its clusters; as facts_of_mk_cluster. */
void facts_of_mk_config(struct facts *f, const struct json *spec, const struct json *annotations);

/*
 * The members of 'map' whose names begin with 'prefix', as "name=value" without the prefix, in the
 * order of their names: the first 'max', in 'a', into 'to'. The number; 'map' may be NULL.
 */
uint32_t facts_labels(const struct json *map, const char *prefix, mk_str *to, uint32_t max,
		      struct arena *a);

#endif
