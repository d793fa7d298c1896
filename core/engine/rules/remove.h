/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking remote objects of ours away. A delete names the uid just observed. The job goes first and the
 * clone only when the job is gone or going: a clone without a job leads to nothing, a job without a clone is hard to find.
 */
#ifndef MK_ENGINE_RULES_REMOVE_H
#define MK_ENGINE_RULES_REMOVE_H

#include "core/engine/rules/pass.h"

/* Takes job and clone of ours away, the job first. True when nothing of ours is left there. */
bool remove_remote(struct pass *p, struct clone *k, enum rule rule);
void remove_all(struct pass *p, enum rule rule);
/* All clones but 'keep' (NULL: all), with their jobs. */
void remove_losers(struct pass *p, const struct clone *keep);
/* Deletes a remote job that is none of the local one's. */
void remove_copy(struct pass *p, struct record *r, enum rule rule);

#endif
