/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A MultiKueueConfig that has more clusters than status.nominatedClusterNames may name. A
 * dispatcher that compares workers is asked about all of them. One that takes them as they come,
 * all at once, or accepts what another controller chose, is asked about those that are nominated
 * and the next of a ring; so a pass costs the same in a large fleet as in a small one. The ring is
 * the config's order. It goes on behind the cluster that is last in the list; with nothing
 * nominated, from a place that the Workload's uid and the time of its quota reservation give, so
 * that Workloads spread, and a Workload does not begin each time at the same clusters.
 * docs/decisions/0098.
 */
#ifndef MK_ENGINE_RULES_FIELD_H
#define MK_ENGINE_RULES_FIELD_H

#include "core/engine/rules/pass.h"

/*
 * Fills p->turn, and p->keeps, when the pass needs only a part of the config's clusters; these come
 * into it with those that hold objects. False: it needs all, and p->turn is NULL.
 */
bool field_choose(struct pass *p);

#endif
