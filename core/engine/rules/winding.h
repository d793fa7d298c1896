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

#endif
