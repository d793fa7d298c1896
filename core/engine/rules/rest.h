/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster that refuses a Workload's clone, or on which another client deletes each copy, rests
 * for this Workload: 5 s, doubled each time, at most 5 minutes. Other clusters are tried meanwhile.
 * An Event reports each case, and while the check is Pending its message sums them up.
 * docs/decisions/0075.
 */
#ifndef MK_ENGINE_RULES_REST_H
#define MK_ENGINE_RULES_REST_H

#include "core/engine/rules/pass.h"

/* Leaves the cluster out for a while, each time longer. */
void rest_skip(struct pass *p, struct wl_cluster *wc);
/* The clone is present: its refusals count from the first again. */
void rest_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* Before the win, and the clone is absent: counts a removal if another client deleted it. */
void rest_if_vanished(struct pass *p, const struct clone *k);
/* Retry, because another client removed the winner's copy, "job" or "Workload". */
void rest_copy_gone(struct pass *p, const struct clone *k, const char *what);
/* Writes into the Pending check's message which clusters are left out, and why. */
void rest_explain(struct pass *p);
/*
 * The worker refused to create the clone, with message 'words': the cluster rests for the Workload.
 */
void rest_refused(struct engine *e, const struct record *r, mk_str words);

#endif
