/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of a pass (core/trees/pass.h) as requests, and what the answers mean: the store gets the
 * objects as the API server answered them, so that the next pass knows what it wrote before the
 * watch tells. On the thread of queue trees.
 */
#ifndef MK_DAEMON_TREES_SEND_H
#define MK_DAEMON_TREES_SEND_H

#include "core/base/metric.h"
#include "core/net/blocking.h"
#include "core/trees/pass.h"
#include "core/trees/store.h"

struct trees_send {
	struct blocking *client; /* borrowed */
	const struct kinds *kinds;
	struct trees_store *store;
	atomic_bool *stop;
	struct metric *writes; /* by verb, kind and code */
};

enum trees_sent {
	TREES_DONE,
	TREES_REFUSED, /* by the API server, and it would refuse it again */
	TREES_LATER,   /* not sent, not answered, or told to come back: tried again */
};

enum { TREES_AT_ONCE = BLOCKING_MOST };

struct trees_answer {
	enum trees_sent sent;
	int64_t generation;     /* of the object, of TREES_DONE; 0: it has none, or is gone */
	int64_t retry_after_ms; /* of TREES_LATER; -1: not told */
	mk_str reason, text;    /* in the arena; of TREES_REFUSED and TREES_LATER */
};

/* Registers the metric. */
void trees_send_init(struct trees_send *s);

/*
 * Sends 'n' writes at once, at most TREES_AT_ONCE, and waits for the answers. What it needs is
 * taken from 'a'.
 */
void trees_send(struct trees_send *s, struct arena *a, const struct trees_write *const *w, size_t n,
		struct trees_answer *ret);

/* The name by which the API server knows this process ("system:serviceaccount:ns:name"), or "". */
mk_str trees_send_who_am_i(struct trees_send *s, struct arena *a);

#endif
