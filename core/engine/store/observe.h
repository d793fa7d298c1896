/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events into the store, and from there to whoever decides by them. An older view of an object never replaces a newer
 * one; what a list does not name is gone when the list ends; a new epoch makes everything of a cluster unknown.
 */
#ifndef MK_ENGINE_STORE_OBSERVE_H
#define MK_ENGINE_STORE_OBSERVE_H

#include "core/engine/state.h"

void observe_event(struct engine *e, const struct event *ev);
/*
 * The cluster's store is an earlier one, or another, than what we know comes from: all that is known of it counts as
 * unknown, and its tables are listed anew. docs/decisions/0057.
 */
void observe_turn_back(struct engine *e, struct cluster *c);
/* An object as an answer brought it; 'asked': a get's, which may be about the text of what is known. */
void observe_reply(struct engine *e, struct record *r, const struct event *ev, bool asked);

#endif
