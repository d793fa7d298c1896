/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the win: nominate clusters, clone there, and commit the first clone that we see Admitted. Nominating and
 * cloning go in parallel; the win is one write, and it needs the nomination acknowledged, because Kueue's webhook does.
 */
#ifndef MK_ENGINE_RULES_RACE_H
#define MK_ENGINE_RULES_RACE_H

#include "core/engine/rules/pass.h"

void race_pass(struct pass *p);
/* Was the clone made from the local spec as it is? */
bool race_in_sync(struct pass *p, const struct clone *k);
/* Makes the one clone of a workload whose cluster is decided already, when it may be made. */
void race_clone_pinned(struct pass *p, struct clone *k);

#endif
