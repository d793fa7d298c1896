/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step table: one pass over a workload, from what is stored to what is to be done. A pass looks at everything anew
 * and remembers nothing that matters; whatever changes brings the next pass.
 */
#ifndef MK_ENGINE_RULES_WORKLOAD_H
#define MK_ENGINE_RULES_WORKLOAD_H

#include "core/engine/state.h"

void workload_pass(struct engine *e, struct wl *w);

#endif
