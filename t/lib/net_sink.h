/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport of core/net against the small server of net_h2server.h on the same
 * loop, and what its sink was told.
 */
#ifndef MK_T_LIB_NET_SINK_H
#define MK_T_LIB_NET_SINK_H

#include <poll.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/net/transport_net.h"
#include "t/lib/net_h2server.h"
#include "t/lib/tap.h"

enum { SINK_TOKENS = 64, SINK_PATIENCE_MS = 60000 };

/* What the sink was told about each token. */
struct seen {
	int heads, ends, status;
	int64_t retry_after_ms;
	size_t bytes;
	char body[512];
	enum transport_end end;
	enum mk_code code;
	char text[256];
};

extern struct seen sink_seen[SINK_TOKENS];

extern struct loop *sink_loop;       /* of sink_begin(), ... */
extern struct h2_server sink_server; /* ... as this one */
extern struct net_fence sink_fence;
extern struct transport_net *sink_net;
extern enum transport_choice sink_choice;     /* which one sink_start() makes */
extern struct transport_options sink_options; /* more of what it is made with */
extern const struct transport *sink_transport;
extern bool sink_inside;             /* a call into the transport is running */
extern int sink_nested;              /* callbacks that came during one */
extern uint64_t sink_cancel_at_head; /* the call that is cancelled when its head comes */
extern uint64_t sink_close_at_chunk; /* the call whose first piece closes the cluster */

/* The callbacks of the sink, for tests that put one of their own in place of another. */
void sink_on_head(void *ctx, uint64_t token, const struct transport_head *h);

/* The end of a call. */
void sink_on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code, mk_str text);

/* The loop and the server; without a free port the test ends. */
void sink_begin(void);

/* Ends both. */
void sink_end(void);

/* A new transport on sink_loop; all that sink_seen had is forgotten. */
void sink_start(void);

/* Frees it. */
void sink_stop(void);

/* The small server as an endpoint. */
struct endpoint sink_endpoint(void);

/* Opens cluster 1. */
enum mk_code sink_open(const struct endpoint *e, struct mk_err *err);

/* Sends a request to cluster 1. */
enum mk_code sink_send(enum transport_class cls, const char *method, const char *path,
		       const char *body, int64_t timeout_ms, uint64_t token);

/* A read of /version; true when it is answered with 200. */
bool sink_get(uint64_t token);

/* A read of 'path' that may be answered compressed; nothing is waited for. */
void sink_get_list(const char *path, uint64_t token);

/* Tests what a write in the name of another user is, with the token "s3cret" of cluster 1. */
void sink_test_as(void);

/* turn_until() of sink_loop. */
bool sink_until(const int *what, int want);

/* Turns the loop 'n' times, ten milliseconds each at most. */
void sink_turns(int n);

#endif
