/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic job and its slices in the world of engine_world.h. */
#ifndef MK_T_LIB_ENGINE_SLICES_H
#define MK_T_LIB_ENGINE_SLICES_H

#include "t/lib/engine_world.h"

enum { SLICE_NAME = 300 };

/* The names of the Workloads that slice_grown made. */
extern char old_name[SLICE_NAME], new_name[SLICE_NAME];

/* Writes to 'to' the name of the Workload that Kueue makes for the job's generation; returns it. */
const char *slice_name(struct world *w, char *to, int generation);

/* A Workload of 'count' pods without quota; 'of': the name of the one that it replaces, or NULL. */
struct object *a_slice(struct world *w, const char *name, const char *of, int count);

/* Kueue on the manager finishes the Workload. */
void slice_finish(struct world *w, struct object *wl, const char *reason);

/* A job of two pods that has quota, and waits for w1 or w2. */
struct world *slice_races(struct object **old);

/*
 * A job of two pods that runs on w2, and which the user made four pods big. Kueue made a slice for
 * it.
 */
struct world *slice_grown(struct object **old, struct object **new);

/* A slice of four pods waits on w2, where the job runs with two; 'timeout': placementTimeout. */
struct world *slice_waits(struct object **new, int64_t timeout);

/* The parallelism of the copy on w2. */
const char *remote_size(struct world *w);

#endif
