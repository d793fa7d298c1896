/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of status writes. Kueue applies the status of Workloads as field manager kueue-admission.
 * We apply as the same manager, so that our fields disappear when Kueue leaves them out at an
 * eviction. The server deletes a field that the manager owns and a body leaves out. So each body
 * carries everything that managedFields names, also fields that this version does not know.
 */
#ifndef MK_ENGINE_ACT_SSA_H
#define MK_ENGINE_ACT_SSA_H

#include "core/engine/rules/pass.h"

/*
 * The apply body for the status of 'r', with all that kueue-admission owns there; in the step's
 * arena. NULL: the object may not be written now, or its text is missing; the pass comes again.
 */
struct json *ssa_body(struct pass *p, struct record *r);
/* The list 'key' of the body's status; created if missing. */
struct json *ssa_list(struct arena *a, struct json *body, const char *key);
/* Sets our check's entry in 'body': state, message, and the time if the state changes. */
void ssa_check(struct pass *p, struct json *body, enum check_state state, mk_str message);
/* Sets our check's lastTransitionTime, whatever its state. */
void ssa_check_time(struct pass *p, struct json *body, int64_t wall_ms);
/* Adds or replaces condition 'type' with status True. */
void ssa_condition(struct engine *e, struct json *body, const char *type, mk_str reason,
		   mk_str message, int64_t generation);
/*
 * Applies 'body' to the status of 'r'; when it is applied, an Event 'note' follows (note_type NULL:
 * none).
 */
void ssa_send(struct engine *e, struct record *r, struct json *body, enum rule rule,
	      enum op_prio prio, const char *note_type, mk_str note);
/*
 * The same of a Retry, which gives up what runs: the end of it may be seen while the manager is too
 * busy to take the write, so that one does not wait for the manager (op.prompt).
 */
void ssa_send_retry(struct engine *e, struct record *r, struct json *body, enum rule rule,
		    const char *note_type, mk_str note);

#endif
