/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue's words about a clone without quota mean; a part of facts.c. */
#ifndef MK_ENGINE_STORE_FACTS_FIT_H
#define MK_ENGINE_STORE_FACTS_FIT_H

#include "core/engine/store/facts.h"

/*
 * Does the message of QuotaReserved say that a pod set of the Workload, of this spec, exceeds the
 * capacity of each flavor that could take it, even while nothing else is there? The words are those
 * of Kueue 0.18 and 0.19. False for every message that is not understood in full, and for pod sets
 * that may shrink (minCount): what is waited for may come.
 */
bool facts_never_fits(mk_str message, const struct json *spec);

#endif
