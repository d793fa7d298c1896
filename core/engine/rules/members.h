/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: several objects that share a Workload, which is named after the value that they carry (groups of Pods). Each has
 * its own copy, its own passes of the adapter and its own pace; a copy without a member here goes. What is done for one
 * object is done by the same functions: the pass looks at one member after the other. docs/decisions/0010.
 */
#ifndef MK_ENGINE_RULES_MEMBERS_H
#define MK_ENGINE_RULES_MEMBERS_H

#include "core/engine/rules/pass.h"

enum { LOOKS_MAX = 64 };
/* An object of a group here, and its copy on a worker; either may be missing. */
struct twins {
	mk_str name;
	struct record *local, *remote;
};
/* Do several objects share the workload? Then one of them stands for all as p->job, until another one is picked. */
void members_look(struct pass *p);
/* What is there of the group's copies: the best that can be said of any. 'going' counts those that are deleted, too. */
enum twin members_there(const struct pass *p, const struct clone *k, bool going);
/* The clone is admitted: sees to each member's copy. */
void members_run(struct pass *p, struct clone *k, struct wl_cluster *wc);
/* Calls 'done' with the object, or with each member here or there as the pass's object; true when it says so of all. */
bool members_each(struct pass *p, struct clone *k, bool (*done)(struct pass *p, struct clone *k));
/* What was seen of the members' copies so far is of an earlier round. */
void members_new_round(struct pass *p);
/* We take the copy of the picked member away: its absence is no news. Nothing, when there is no group. */
void members_taken(struct pass *p);
/* No text of a member is needed any more. */
void members_drop_texts(struct pass *p);
/* Was nothing left to be told when these states of the object and its copy were looked at? */
bool members_is_told(const struct pass *p, const struct record *remote);
void members_told(struct pass *p, const struct record *remote);
/* May one more member be looked at closely? If not, the pass comes again. */
bool members_may_look(struct pass *p);

#endif
