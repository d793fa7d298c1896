/* SPDX-License-Identifier: Apache-2.0 */
/* The pass behind engine_want_queues. */
#ifndef MK_ENGINE_CLUSTERS_WORKERS_H
#define MK_ENGINE_CLUSTERS_WORKERS_H

#include "core/engine/state.h"

/* Opens or closes the watches of workers' queues, then brings automated quotas up to date. */
void workers_pass(struct engine *e);

#endif
