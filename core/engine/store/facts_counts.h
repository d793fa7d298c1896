/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a Workload's pod sets; a part of facts.h. */
#ifndef MK_ENGINE_STORE_FACTS_COUNTS_H
#define MK_ENGINE_STORE_FACTS_COUNTS_H

#include "core/base/json.h"

/*
 * "main=2,worker=3,": tells whether only the counts have changed. In 'a'; empty without pod sets,
 * or when out of memory.
 */
mk_str facts_counts(const struct json *pod_sets, struct arena *a);

#endif
