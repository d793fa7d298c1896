/* SPDX-License-Identifier: Apache-2.0 */
/* Queues the objects whose passes depend on a record that changed. */
#ifndef MK_ENGINE_STORE_TOUCH_H
#define MK_ENGINE_STORE_TOUCH_H

#include "core/engine/state.h"

/* Queues the workloads, clusters, checks or quota pass that depend on this record. */
void touch_record(struct engine *e, struct record *r);
/* Queues the Workload of the group that 'r' belongs to; NULL is fine. */
void touch_group(struct engine *e, const struct record *r);
/* Queues all clusters and checks. Their passes write to objects of the manager. */
void touch_clusters(struct engine *e);

#endif
