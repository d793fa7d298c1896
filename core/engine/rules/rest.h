/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster that is of no use to a Workload, for it refuses the clone, or somebody there removes each copy, rests for that
 * Workload alone: 5 s, doubled each time, at most 5 minutes. Other clusters are tried meanwhile. An Event says what is seen, and
 * while the check is Pending its message sums it up. docs/decisions/0075.
 */
#ifndef MK_ENGINE_RULES_REST_H
#define MK_ENGINE_RULES_REST_H

#include "core/engine/rules/pass.h"

/* Do not use this cluster for a while, each time longer. */
void rest_skip(struct pass *p, struct wl_cluster *wc);
/* The clone is there. */
void rest_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* Before the win, and it is not: did somebody else remove it? */
void rest_if_vanished(struct pass *p, const struct clone *k);
/* Retry, because somebody removed the winner's copy, "job" or "Workload". */
void rest_copy_gone(struct pass *p, const struct clone *k, const char *what);
/* Has the Pending check say which clusters are left out, and why. */
void rest_explain(struct pass *p);
/* The worker refused the clone of that record, in these words: it rests for the Workload. */
void rest_refused(struct engine *e, const struct record *r, mk_str words);

#endif
