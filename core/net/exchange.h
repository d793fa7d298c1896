/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP exchange on a libcurl easy handle of its own: the options of every request in one place,
 * what came back so far, and what its end means. The pool runs it on a multi handle, blocking.h by
 * itself. libcurl's callbacks only collect: they call no code of the pool's users.
 */
#ifndef MK_NET_EXCHANGE_H
#define MK_NET_EXCHANGE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/kube/transport.h"
#include "core/net/curl_guard.h"
#include "core/net/fence.h"
#include "core/net/peer.h"
#include "core/net/request.h"

enum {
	EXCHANGE_MAX_LIST = 64 * 1024 * 1024, /* body of an answer that may be compressed (lists) */
	EXCHANGE_MAX_BODY = 8 * 1024 * 1024,  /* body of other answers */
	EXCHANGE_MAX_BACKLOG = 2 * 1024 * 1024, /* watch bytes received but not yet handed on */
	EXCHANGE_PAUSE_AT = 1024 * 1024,        /* ... of which no more are taken for now */
	EXCHANGE_MAX_HEAD = 64 * 1024,
};

/* What all exchanges of a process share. Must outlive every connection. */
struct exchange_env {
	const char *user_agent;
	struct net_fence *fence; /* for TRANSPORT_WRITE */
	bool tls13;              /* nothing older than TLS 1.3 */
	uint64_t connects;       /* sockets opened so far */
	int64_t live_sockets;
	uint64_t bytes_in; /* bodies, as handed on */
	struct guard guard;
};

struct exchange {
	CURL *easy;
	struct exchange_env *env;
	struct peer *peer;                /* borrowed */
	void (*grew)(struct exchange *x); /* or NULL: head or body came in; must only take note */
	struct curl_slist *headers;
	struct curl_slist *route; /* where the peer's name leads, or NULL */
	struct list_node of_pool; /* waits for the peer's name or for its turn, or is on the wire */
	bool is_on_wire;
	int64_t begun_ms, timeout_ms; /* 0: none */
	char *url, *body;
	size_t body_size, body_given;
	char method[REQUEST_METHOD_SIZE];
	enum transport_class cls;
	bool gzip;

	/* what happened */
	bool started;       /* the request was about to be written to a connection */
	bool head_done;     /* the answer's header is complete */
	bool token_renewed; /* 401 with an old token: to be sent once more with the new one */
	bool fenced, too_big, no_memory;
	bool paused; /* more came in than was handed on: nothing is read until exchange_resume */
	bool resent; /* libcurl was about to send a write a second time */
	unsigned token_generation;
	const char *refused; /* why an address was not connected to */
	char address[64];    /* last address tried */
	int status;
	int64_t retry_after_ms;
	char content_type[128];
	struct buf in;    /* body bytes not yet handed on */
	size_t head_size; /* bytes of header seen */
	size_t total;     /* bytes of body seen */
	size_t cap;       /* most of 'total'; for a watch most of 'in' */
	char error[CURL_ERROR_SIZE];
};

/*
 * Prepares 'x' in place for request 'r' to 'p' (both borrowed until exchange_done; the request's
 * strings are copied). 'mono_ms' dates the token. ERR_INVALID (path, method), ERR_FENCED (a write,
 * and the fence is down), ERR_NO_MEMORY.
 */
enum mk_code exchange_init(struct exchange *x, struct exchange_env *env, struct peer *p,
			   const struct transport_request *r, int64_t mono_ms, struct mk_err *err);

/* Frees everything. The easy handle must not be on a multi handle. */
void exchange_done(struct exchange *x);

/*
 * The exchange waited and is to be sent at 'mono_ms': subtracts the wait from its time limit.
 * CURLE_OPERATION_TIMEDOUT when nothing is left.
 */
CURLcode exchange_waited(struct exchange *x, int64_t mono_ms);

/*
 * Sets the addresses of the peer's name: "host:port:address,...", as libcurl takes it. 'mono_ms' is
 * the time: what has passed since exchange_init is taken off the time limit.
 * CURLE_OPERATION_TIMEDOUT when nothing is left.
 */
CURLcode exchange_route(struct exchange *x, const char *route, int64_t mono_ms);

/*
 * Makes 'x' ready to be sent again with the peer's present token, in what is left of its time:
 * CURLE_OPERATION_TIMEDOUT when nothing is. CURLE_OUT_OF_MEMORY.
 */
CURLcode exchange_again(struct exchange *x, int64_t mono_ms);

/*
 * What came in was handed on: reads on, if it had stopped. May call 'grew'. CURLE_OUT_OF_MEMORY: it
 * is of no use any more.
 */
CURLcode exchange_resume(struct exchange *x);

/* What the end 'rc' means, in the transport's terms; the text goes to 'text', without secrets. */
enum mk_code exchange_verdict(const struct exchange *x, CURLcode rc, enum transport_end *ret_end,
			      char text[static 256]);

#endif
