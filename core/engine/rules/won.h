/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the win: status.clusterName names the one cluster whose clone counts. Losers go, the job is made there, its
 * status comes back; a lost, vanished, evicted or refused winner turns the check to Retry, and Kueue's core does the rest.
 */
#ifndef MK_ENGINE_RULES_WON_H
#define MK_ENGINE_RULES_WON_H

#include "core/engine/rules/pass.h"

void won_pass(struct pass *p);
/* The clone is admitted: see to the job. */
void won_run_job(struct pass *p, struct clone *k);
/* ... and to one object of it. */
void won_run_object(struct pass *p, struct clone *k, struct wl_cluster *wc);

#endif
