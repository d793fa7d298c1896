/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of ours under marks of before. The origin may have been changed while they ran: they stay ours by manager and
 * uid, and get the label of now, lest the watch loses them. The manager may have been rebuilt, with another id and other
 * uids: then a copy of the same source is taken over when the configuration names the former id; else its Workload is not
 * sent out beside it, since the same job would run twice. Jobs come before their clones, so a clone that has its marks
 * leads to a job that has them.
 */
#ifndef MK_ENGINE_RULES_FORMER_H
#define MK_ENGINE_RULES_FORMER_H

#include "core/engine/rules/pass.h"

/* Is this clone of another manager one of the local Workload as it is now? */
bool former_is_same(struct pass *p, const struct facts *clone);
/* Tells people of the copy in the way. */
void former_tell(struct pass *p, const struct clone *k);
/* Must the Workload not be sent out, because a copy of another manager is there that may be its own? Says so. */
bool former_holds(struct pass *p);
/* Gives what is ours, or becomes ours, the marks of this manager and this origin. */
void former_adopt(struct pass *p);
/* adopt.c: was this one, before it was rebuilt, the manager with that id, as the configuration says? */
bool former_is_named(const struct engine *e, mk_str id);

#endif
