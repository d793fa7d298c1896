/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations under way. At most one per object; when the outcome of a write is unknown only a get may follow; after a
 * write whose answer brought no object, or a conflict, the object rests until news of it arrive (or are fetched).
 * Failures of an object back off on their own, so that one cluster's trouble stays there.
 */
#ifndef MK_ENGINE_ACT_OPS_H
#define MK_ENGINE_ACT_OPS_H

#include "core/engine/state.h"

/* May a write to the record's object be sent now? If not, 'item' comes again when it may, or a get is sent. */
bool ops_ready(struct engine *e, struct record *r, struct queue_item *item);
/*
 * Begins a merge patch of the object in the state that we know: 'op' gets its type, its preconditions, and a body with the
 * resourceVersion, which is returned to be filled.
 */
struct json *ops_merge(struct engine *e, const struct record *r, struct op *op);
/* Sends 'op' (type, prio, body, ... set; identity is taken from 'r'); notes it as under way. */
void ops_send(struct engine *e, struct record *r, struct op *op, enum rule rule);
/* The same, and an event for people once it is done. */
void ops_send_note(struct engine *e, struct record *r, struct op *op, enum rule rule,
		   const struct note *note);
void ops_get(struct engine *e, struct record *r);
void ops_done(struct engine *e, const struct event *ev);
/* Forgets what is under way for a table that ends. */
void ops_forget(struct engine *e, cluster_id c);
/* Appends an operation that no object waits for (watches, links, events). */
void ops_plain(struct engine *e, struct op *op, enum rule rule);

#endif
