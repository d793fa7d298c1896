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
 * Condition NAME_SERVER: its message, which is read again, begins with the identity. Those of the
 * servers before follow, the last one first, each with the date since when the cluster led there:
 * "kube-system C, before B since DATE, A since DATE: words".
 */
#define SERVER_LEADS_TO "kube-system "
#define SERVER_BEFORE ", before "
#define SERVER_SINCE " since "
#define SERVER_NEXT ", "
#define SERVER_UNKNOWN "unknown"
/* What is on record about its server; 'condition' may be NULL. */
void facts_of_server(struct facts *f, const struct json *condition);
/*
 * Takes the first server off S_SERVERS_BEFORE, or what is left of it: its identity, which may be
 * SERVER_UNKNOWN, and since when (wall ms, -1 unknown). False: there is none.
 */
bool facts_next_server(mk_str *list, mk_str *ret_id, int64_t *ret_since_ms);

/* What a MultiKueueConfig says but for its clusters; as facts_of_mk_cluster. */
void facts_of_mk_config(struct facts *f, const struct json *spec, const struct json *annotations);

/*
 * The members of 'map' whose names begin with 'prefix', as "name=value" without the prefix, in the
 * order of their names: the first 'max', in 'a', into 'to'. The number; 'map' may be NULL.
 */
uint32_t facts_labels(const struct json *map, const char *prefix, mk_str *to, uint32_t max,
		      struct arena *a);

#endif
