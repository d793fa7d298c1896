/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: several objects that share one Workload, which is named after the value that they carry
 * (groups of Pods). Each object has its own copy, its own adapter hooks and its own pace; a copy
 * whose object is gone is deleted. The same functions handle single objects and members: the pass
 * picks one member after the other. docs/decisions/0010.
 */
#ifndef MK_ENGINE_RULES_MEMBERS_H
#define MK_ENGINE_RULES_MEMBERS_H

#include "core/engine/rules/pass.h"

enum { LOOKS_MAX = 64 };
/* A member's object on the manager, and its copy on a worker; either may be missing. */
struct twins {
	mk_str name;
	struct record *local, *remote;
};
/*
 * Finds out whether several objects share the workload (p->grouped). Then one of them stands for
 * all as p->job, until another one is picked.
 */
void members_look(struct pass *p);
/*
 * The strongest claim of any of the group's copies there. 'going' counts those that are being
 * deleted, too.
 */
enum twin members_there(const struct pass *p, const struct clone *k, bool going);
/* The clone is admitted: brings each member's copy up to date. */
void members_run(struct pass *p, struct clone *k, struct wl_cluster *wc);
/*
 * Calls 'done' for the object, or for each member here or there as the pass's object. True when it
 * returns true for all.
 */
bool members_each(struct pass *p, struct clone *k, bool (*done)(struct pass *p, struct clone *k));
/*
 * Calls 'fn' for the object, or until it returns false for each member that is here and not being
 * deleted, as the pass's object. True when it returned true for all.
 */
bool members_here(struct pass *p, bool (*fn)(struct pass *p));
/* A new round begins: forgets what was noted of the members' copies. */
void members_new_round(struct pass *p);
/*
 * We delete the copy of the picked member, so its absence is no reason for Retry. Without a group
 * it does nothing.
 */
void members_taken(struct pass *p);
/* Frees the texts of all members. */
void members_drop_texts(struct pass *p);
/* Was the status up to date when these versions of the object and its copy were compared last? */
bool members_is_told(const struct pass *p, const struct record *remote);
/* Notes that it is. */
void members_told(struct pass *p, const struct record *remote);
/* May the hooks of one more member be called in this pass? If not, the pass comes again. */
bool members_may_look(struct pass *p);

#endif
