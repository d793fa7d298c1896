/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations under way: at most one per object. When the outcome of a write is unknown, only a get
 * may follow. After a conflict, or a write whose answer brought no object, the object settles: no
 * write is sent until an event shows its new state, or a get has fetched it. Each object has a
 * backoff of its own, so that failures of one cluster do not slow down the others.
 */
#ifndef MK_ENGINE_ACT_OPS_H
#define MK_ENGINE_ACT_OPS_H

#include "core/engine/state.h"

struct note;

/* An operation under way. */
struct inflight {
	struct list_node node;
	uint64_t id;
	struct record *record; /* NULL: its cluster was forgotten */
	enum op_type type;
	enum rule rule;
	uint64_t rv;           /* resourceVersion of the record when it was sent */
	bool as_seen;          /* ... which the request names */
	const char *note_type; /* Event to send when it is applied; NULL none */
	char *note, *note_reason;
};

/*
 * May a write to the record's object be sent now? If not, 'item' is queued for the time when it
 * may, or a get is sent whose answer queues it.
 */
bool ops_ready(struct engine *e, struct record *r, struct queue_item *item);
/* How long an object rests that we deleted twice within a minute. */
enum { OPS_REMADE_MS = 10000 };
/* Monotonic ms until which such an object is not made anew; 0: it does not rest for that. */
int64_t ops_remade_at(const struct record *r);
/*
 * Begins a merge patch against the state in the record: sets the type, the preconditions and the
 * body of 'op'. The body holds the resourceVersion; the caller adds to it.
 */
struct json *ops_merge(struct engine *e, const struct record *r, struct op *op);
/*
 * Sends 'op' (the caller has set type, prio, body; the object is that of 'r') and records it as
 * under way.
 */
void ops_send(struct engine *e, struct record *r, struct op *op, enum rule rule);
/* The same; when the operation is applied, the Event 'note' is sent. */
void ops_send_note(struct engine *e, struct record *r, struct op *op, enum rule rule,
		   const struct note *note);
/* Sends a get for the object, unless an operation is under way or its cluster is down. */
void ops_get(struct engine *e, struct record *r);
/*
 * Takes the outcome of an operation (EV_OP_DONE) into its record, and queues the objects that
 * depend on it.
 */
void ops_done(struct engine *e, const struct event *ev);
/* Detaches operations under way from the records of cluster 'c', which are about to be freed. */
void ops_forget(struct engine *e, cluster_id c);
/* The same for one record. */
void ops_drop(struct record *r);
/* Appends an operation that belongs to no record: watches, links, files. */
void ops_plain(struct engine *e, struct op *op, enum rule rule);

#endif
