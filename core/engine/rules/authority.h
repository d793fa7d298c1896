/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be done for a Workload whose check, owner or adapter is gone. Nothing is begun for it
 * any more: no nomination, clone, job or Retry. What was begun comes to its end: the status and the
 * end of a job that runs are copied, an eviction stops it, and what waits on workers is removed.
 */
#ifndef MK_ENGINE_RULES_AUTHORITY_H
#define MK_ENGINE_RULES_AUTHORITY_H

#include "core/engine/rules/pass.h"

/* Of a pass that is otherwise open. */
enum authority authority_of(const struct pass *p);
/*
 * Has anything been begun on workers that is left there, as far as is known? Needs a pass that has
 * looked.
 */
bool authority_has_begun(const struct pass *p);
/*
 * Has the manager begun to run the job itself, as its spec tells? Then a copy of it would be a
 * second run.
 */
bool authority_is_here(struct pass *p);
/* Says once, in an Event, why nothing is begun for the Workload, or why its copies are removed. */
void authority_tell(struct pass *p, bool here);
/* The same in a clause, in the scratch arena. */
mk_str authority_words(const struct pass *p);

#endif
