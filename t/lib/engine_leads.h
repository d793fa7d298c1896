/* SPDX-License-Identifier: Apache-2.0 */
/* MultiKueueClusters whose names lead to other servers, in tests of the engine. */
#ifndef MK_T_LIB_ENGINE_LEADS_H
#define MK_T_LIB_ENGINE_LEADS_H

#include "t/lib/engine_world.h"

/* A member of the condition Server of a MultiKueueCluster, until the next call; "" none. */
const char *server(struct world *w, const char *name, const char *member);
/* Has its message these words? */
bool says(struct world *w, const char *name, const char *words);
/* A new Secret lets w<c> lead to the server 'to'; 0: to its own. */
void lead(struct world *w, cluster_id c, cluster_id to);
/* The same while the daemon is down. */
void lead_while_down(struct world *w, cluster_id c, cluster_id to);
/* Another process begins. */
void restart(struct world *w);
/* Does "wl-j" run on where it was sent, untouched? */
bool runs_on(struct world *w, const struct object *wl);

#endif
