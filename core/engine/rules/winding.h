/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Workload is evicted on the manager and still has quota. The winner's clone is told to stop;
 * when its job's last status has arrived, Kueue releases the quota.
 */
#ifndef MK_ENGINE_RULES_WINDING_H
#define MK_ENGINE_RULES_WINDING_H

#include "core/engine/rules/pass.h"

/* One pass of an evicted Workload that has quota. */
void winding_pass(struct pass *p);
/*
 * One pass when the check is Ready, or Pending beside a running copy, and status.clusterName is
 * empty.
 */
void winding_without_cluster(struct pass *p);
/* The same when nothing may be begun: the copy that runs goes on, all else is removed. */
void winding_unrecorded(struct pass *p);
/* Without an adapter: each clone that we see admitted is told to stop. */
void winding_stop(struct pass *p);

#endif
