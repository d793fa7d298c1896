/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic Workload that shrinks keeps its clone: its new spec goes there in place, with the hash that tells what the
 * clone was made from. Whatever else changes makes it another Workload, and a slice that grows is one (slices.c).
 */
#ifndef MK_ENGINE_RULES_INPLACE_H
#define MK_ENGINE_RULES_INPLACE_H

#include "core/engine/rules/pass.h"

/* May the local workload change its size? By annotation and gate. */
bool inplace_is_elastic(const struct pass *p);
/* The clone differs because the local workload shrank: sends it the new spec. False: it differs in another way. */
bool inplace_shrink(struct pass *p, struct clone *k);

#endif
