/* SPDX-License-Identifier: Apache-2.0 */
/* The state and message of our admission check: one write, and an Event. */
#ifndef MK_ENGINE_RULES_VERDICT_H
#define MK_ENGINE_RULES_VERDICT_H

#include "core/engine/rules/pass.h"

/* Writes our check's state and message; an Event of type 'note_type' follows, NULL = none. */
void verdict_write(struct pass *p, enum check_state state, enum rule rule, mk_str message,
		   const char *note_type);
/* 'k', whose copy is there, is recorded as admitted again. */
void verdict_ready(struct pass *p, const struct clone *k);
/*
 * Turns the check to Retry with message `<text>, Previously: "<state>"`; an Event of type
 * 'note_type' follows, NULL = none. The place that the round ended on rests for the
 * Workload (rest.h). 'k': the clone there; NULL: none is seen, or no place has won.
 */
void verdict_retry(struct pass *p, const struct clone *k, enum rule rule, mk_str text,
		   const char *note_type);
/* The same, because the worker's Kueue evicted the winner, in Kueue's words. */
void verdict_evicted(struct pass *p, const struct clone *k);
/* Turns the check to Rejected, with a message and an Event of the same form. */
void verdict_reject(struct pass *p, enum rule rule, mk_str text, const char *note_type);
/* The check's message for a winner; in 'a'. */
mk_str verdict_admitted_on(struct arena *a, const struct clone *k);
/* The same for one whose name is known. */
mk_str verdict_admitted_by(struct arena *a, mk_str cluster);
/*
 * The cluster in such a message; "" when it is another message. 'ret_more': words follow it, of
 * what keeps the job away.
 */
mk_str verdict_admitted_name(mk_str message, bool *ret_more);
/*
 * The winner's name in the check's message, which may still have it when status.clusterName is
 * empty; "" = not there either.
 */
mk_str verdict_told_winner(struct pass *p);
/*
 * Turns the check to Retry, because the worker's Kueue finished the clone: its job is another one,
 * or gone. A Warning says so.
 */
void verdict_out_of_sync(struct pass *p, const struct clone *k);
/*
 * Turns the check to Retry, because the worker's Kueue cannot start the job there. A Warning has
 * its words. The job never ran, so this is not its end.
 */
void verdict_not_started(struct pass *p, const struct clone *k);
/* Turns the check to Retry, because the winner's clone or job is gone. */
void verdict_remote_gone(struct pass *p, const struct clone *k);

#endif
