/* SPDX-License-Identifier: Apache-2.0 */
/* Evicted on the manager, quota not released yet: the winner winds down, and its last status lets the quota go. */
#ifndef MK_ENGINE_RULES_WINDING_H
#define MK_ENGINE_RULES_WINDING_H

#include "core/engine/rules/pass.h"

void winding_pass(struct pass *p);
void winding_without_cluster(struct pass *p);

#endif
