/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job a Workload is of. Its owner reference says so; when that was taken away
 * (--cascade=orphan), what was made of it on workers still does. Of one that is gone, too.
 */
#ifndef MK_ENGINE_STORE_BIND_H
#define MK_ENGINE_STORE_BIND_H

#include "core/engine/state.h"

/* A Workload or a clone was observed: binds the Workload of its name. False: out of memory. */
bool bind_workload(struct engine *e, struct record *r);
/*
 * A copy of a job was observed, which names Workload 'w': binds it when nothing else says whose it
 * is. False: out of memory.
 */
bool bind_copy(struct engine *e, struct wl *w, const struct record *copy);

#endif
