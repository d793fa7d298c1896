/* SPDX-License-Identifier: Apache-2.0 */
/* What our admission check says of a workload: one write, and an event with it. */
#ifndef MK_ENGINE_RULES_VERDICT_H
#define MK_ENGINE_RULES_VERDICT_H

#include "core/engine/rules/pass.h"

/* Writes our check's state and message; an event of type 'note_type' with it, NULL = none. */
void verdict_write(struct pass *p, enum check_state state, enum rule rule, mk_str message,
		   const char *note_type);
/* Check to Retry: `<text>, Previously: "<state>"`; an event of type 'note_type' with it, NULL = none. */
void verdict_retry(struct pass *p, enum rule rule, mk_str text, const char *note_type);
void verdict_reject(struct pass *p, enum rule rule, mk_str text);
/* What the check says of a winner. In 'a'. */
mk_str verdict_admitted_on(struct arena *a, const struct clone *k);
/* The cluster of which a check says that; empty when it says something else. */
mk_str verdict_admitted_name(mk_str message);
/* Retry, because the winner's clone or job is there no more. */
void verdict_remote_gone(struct pass *p);

#endif
