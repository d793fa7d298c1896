/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes events into the store and queues the passes that depend on them. An older view of an object
 * never replaces a newer one; an object that a list does not name is gone when the list ends; a new
 * epoch makes all objects of a cluster unknown.
 */
#ifndef MK_ENGINE_STORE_OBSERVE_H
#define MK_ENGINE_STORE_OBSERVE_H

#include "core/engine/state.h"

/*
 * Takes one event: leadership, the outcome of an operation, a link, or an object of a cluster.
 * Events of an earlier epoch are dropped.
 */
void observe_event(struct engine *e, const struct event *ev);
/* As engine_knows. */
bool observe_known(struct engine *e, const struct event *ev);
/*
 * An answer or a list shows that the cluster's store was restored to an earlier state, or is
 * another store. Makes all objects of the cluster unknown and has its tables listed anew.
 * docs/decisions/0057.
 */
void observe_turn_back(struct engine *e, struct cluster *c);
/*
 * Takes an object from the answer to an operation. 'asked': the answer to a get, which may bring
 * the text of a state that is known already.
 */
void observe_reply(struct engine *e, struct record *r, const struct event *ev, bool asked);

#endif
