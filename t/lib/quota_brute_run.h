/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of quota_brute.h: plans, flavors, offers and cycles. */
#ifndef MK_T_LIB_QUOTA_BRUTE_RUN_H
#define MK_T_LIB_QUOTA_BRUTE_RUN_H

#include "t/lib/quota_brute.h"

/*
 * 2: fits, 1: with a plan, 0: not. Sets the flavor; *ret_usable: a plan for the whole may be made.
 */
int brute_assign(struct brute *b, struct brute_work *w, bool *ret_usable);

/* Usage of w's resources dropped. */
void brute_dropped(struct brute *b, const struct brute_work *w);

/* Begins a cycle. */
void brute_begin(struct brute *b, int64_t now);

/* One step; NULL at the end. */
struct brute_work *brute_step(struct brute *b, enum quota_event *ret);

#endif
