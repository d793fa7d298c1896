/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server that answers reviews, on a thread, loop and connections of its own. Any client that
 * reaches the port can send reviews of 5 MiB, each of which takes a tenth of a second to read, and
 * any number of handshakes: none of that may delay the main loop, on whose heartbeat the Lease
 * depends. What the thread shares with it are the queues (admit_queues, asked under a lock that is
 * never held for long), the certificate (tls_serve, likewise), the objects of queue trees
 * (trees_store, likewise), metrics and the log.
 *
 * Life: start -> free. All calls from the main thread.
 */
#ifndef MK_SERVE_REVIEWS_H
#define MK_SERVE_REVIEWS_H

#include "core/admit/queues.h"
#include "core/net/tls_serve.h"
#include "core/trees/store.h"

struct reviews;

struct reviews_options {
	mk_str address;                    /* "host:port"; borrowed for the call */
	const struct admit_queues *queues; /* borrowed */
	struct tls_serve *tls;             /* borrowed */
	struct trees_store *trees;         /* borrowed; NULL: /validate is not served */
};

/*
 * Listens and serves POST /mutate, and POST /validate. ERR_INVALID (address), ERR_UNAVAILABLE
 * (port, thread), ERR_NO_MEMORY: NULL then.
 */
struct reviews *reviews_start(const struct reviews_options *o, struct mk_err *err);

/*
 * Ends the thread after the review that it has in hand, and closes all connections. NULL is fine.
 */
void reviews_free(struct reviews *r);

/* The user name that the API server knows this daemon by: what it writes itself is not refused. */
void reviews_account(struct reviews *r, mk_str name);

/* The port that is listened on. */
uint16_t reviews_port(const struct reviews *r);

#endif
