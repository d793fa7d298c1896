/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a workload: compares the stored objects with what should be, and sends the
 * operations that are missing. A pass looks at everything anew; state.h groups what is kept between
 * passes by the file that owns it, and a restart may lose all of that. Each change of an object
 * queues the next pass.
 */
#ifndef MK_ENGINE_RULES_WORKLOAD_H
#define MK_ENGINE_RULES_WORKLOAD_H

#include "core/engine/state.h"

/* Runs one pass; frees 'w' when neither the Workload nor anything of ours for it exists. */
void workload_pass(struct engine *e, struct wl *w);

#endif
