/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic Workload that shrinks keeps its clone: its new spec is sent to the clone in place,
 * together with its hash. After any other change the clone is made again; for growth Kueue makes a
 * new Workload, a slice (slices.c).
 */
#ifndef MK_ENGINE_RULES_INPLACE_H
#define MK_ENGINE_RULES_INPLACE_H

#include "core/engine/rules/pass.h"

/* May the local Workload change its size? Its annotation and the gate tell. */
bool inplace_is_elastic(const struct pass *p);
/*
 * If the clone's spec differs only because the local Workload shrank, sends the new spec. False: it
 * differs in another way.
 */
bool inplace_shrink(struct pass *p, struct clone *k);

#endif
