/* SPDX-License-Identifier: Apache-2.0 */
/* Whose decisions depend on an object: they get a pass when it changes. */
#ifndef MK_ENGINE_STORE_TOUCH_H
#define MK_ENGINE_STORE_TOUCH_H

#include "core/engine/state.h"

/* Queues whoever decides by this record. */
void touch_record(struct engine *e, struct record *r);
/* ... the Workload of the group that it belongs to; NULL is fine. */
void touch_group(struct engine *e, const struct record *r);
/* ... all clusters and checks: whoever writes to objects of the manager looks again. */
void touch_clusters(struct engine *e);

#endif
