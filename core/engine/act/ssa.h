/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of status writes. Kueue's core applies the status of Workloads as field manager kueue-admission; we write as
 * the same manager, so that what core leaves out at an eviction disappears, ours included. A field that the manager owns
 * and a body leaves out is deleted by the server: so the body carries everything that managedFields names, also fields
 * that this version has never heard of.
 */
#ifndef MK_ENGINE_ACT_SSA_H
#define MK_ENGINE_ACT_SSA_H

#include "core/engine/rules/pass.h"

/*
 * Apply body for the status of 'r': all that field manager kueue-admission owns there. In the step's arena. NULL: it may not
 * be written now, or its text is not there, and the pass comes again.
 */
struct json *ssa_body(struct pass *p, struct record *r);
/* The list 'key' of the body's status, made when there is none. */
struct json *ssa_list(struct arena *a, struct json *body, const char *key);
/* Our check's entry in 'body': state, message, and the time if the state changes. */
void ssa_check(struct pass *p, struct json *body, enum check_state state, mk_str message);
/* Our check's time becomes now, whatever its state. */
void ssa_check_time(struct pass *p, struct json *body);
/* Adds or replaces a condition. */
void ssa_condition(struct engine *e, struct json *body, const char *type, mk_str reason,
		   mk_str message, int64_t generation);
/* Sends 'body' for the status of 'r', with an event when it is done (note_type NULL: none). */
void ssa_send(struct engine *e, struct record *r, struct json *body, enum rule rule,
	      enum op_prio prio, const char *note_type, mk_str note);

#endif
