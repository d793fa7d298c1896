/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the win: status.clusterName names the cluster whose clone counts. Other clones are removed,
 * the job is created there, and its status is copied back. When the winner is lost, gone, evicted
 * or refused, the check turns Retry, and Kueue requeues the Workload.
 */
#ifndef MK_ENGINE_RULES_WON_H
#define MK_ENGINE_RULES_WON_H

#include "core/engine/rules/pass.h"

/* One pass of a Workload with a recorded cluster. */
void won_pass(struct pass *p);
/*
 * The cluster of that name; NULL: its MultiKueueCluster is gone, or was made anew. The link may
 * stand for a moment longer: what it shows then says nothing about where the job runs from now on.
 */
const struct cluster *won_named(const struct pass *p, mk_str name);
/* A clone whose job may have been made, when nothing may be begun: copies status and end. */
void won_go_on(struct pass *p, struct clone *k);
/* The clone is admitted: creates the job, copies its status, forwards changes. */
void won_run_job(struct pass *p, struct clone *k);
/* The same for one object of the workload. */
void won_run_object(struct pass *p, struct clone *k, struct wl_cluster *wc);

/*
 * When is the round given up, because the winner does not take the job (monotonic ms)? INT64_MAX:
 * it takes it, as far as is known.
 */
int64_t won_given_up_at(const struct pass *p, const struct clone *k, const struct record *job);

#endif
