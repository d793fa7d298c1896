/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for their answers, one at a time or a few together: for threads that must not
 * share a connection, a loop or a lock with anything that can be slow. The same options, checks and
 * words as the transport. One thread per client.
 */
#ifndef MK_NET_BLOCKING_H
#define MK_NET_BLOCKING_H

#include <stdatomic.h>

#include "core/kube/transport.h"
#include "core/net/fence.h"

struct blocking;

struct blocking_answer {
	enum transport_end end;
	enum mk_code code;
	struct transport_head
		head;   /* content_type is borrowed until the next request; status 0: no answer */
	mk_str body;    /* borrowed until the next request */
	char text[256]; /* why there is no complete answer */
};

/* Strings of 'e' are copied, 'user_agent' is borrowed. libcurl must be initialised
 * (transport_curl_new). ERR_INVALID, ERR_NO_MEMORY. */
struct blocking *blocking_new(const struct endpoint *e, const char *user_agent, bool tls13,
			      struct mk_err *err);
void blocking_free(struct blocking *b); /* NULL is fine */

/* From now on requests of TRANSPORT_WRITE may be sent while 'fence' (borrowed) allows it. */
void blocking_set_fence(struct blocking *b, struct net_fence *fence);

enum { BLOCKING_MOST = 8 }; /* requests at a time */

/*
 * Sends 'r' and waits for the end. Its class must not be TRANSPORT_WATCH, nor TRANSPORT_WRITE
 * without a fence. After a lost connection or a timeout the connection is thrown away. 'stop' (may
 * be NULL) true from another thread ends the wait within 200 ms with ERR_UNAVAILABLE. Returns
 * ret->code.
 */
enum mk_code blocking_do(struct blocking *b, const struct transport_request *r, atomic_bool *stop,
			 struct blocking_answer *ret);

/*
 * The same of 'n' requests at once, on one connection where the server speaks HTTP/2: they may be
 * carried out in any order. 'n' is at most BLOCKING_MOST; an answer for each in 'ret'.
 */
void blocking_do_all(struct blocking *b, const struct transport_request *r, size_t n,
		     atomic_bool *stop, struct blocking_answer *ret);

#endif
