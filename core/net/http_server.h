/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small HTTP/1.1 server on the event loop, for health probes, metrics and JSON views. A handler
 * answers at once from memory. Limits hold the rest off: size of header and body, number, idle time
 * and lifetime of connections. (Not libevent's evhttp: it limits neither the number nor the age of
 * connections.)
 */
#ifndef MK_NET_HTTP_SERVER_H
#define MK_NET_HTTP_SERVER_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"
#include "core/net/loop.h"

struct http_server;

enum {
	HTTP_MAX_HEADER = 16 * 1024,
	HTTP_MAX_REQUEST_BODY = 1024 * 1024,
	HTTP_MAX_ANSWER = 16 * 1024 * 1024,
	HTTP_MAX_CONNECTIONS = 64,
	HTTP_IDLE_MS = 10000,
	HTTP_LIFETIME_MS = 60000,
};

struct http_request {
	const char *method; /* "GET", "HEAD" or "POST" */
	mk_str path;        /* without the query */
	mk_str query;       /* what stands behind '?', as sent, or "" */
	mk_str body;
};

struct http_answer {
	int status;               /* 200 unless changed */
	const char *content_type; /* text/plain unless changed; static */
	struct buf body;          /* to be written; over its cap: the answer is a 500 */
};

/* 'rq' is borrowed for the call. */
typedef void http_handler_fn(void *ctx, const struct http_request *rq, struct http_answer *answer);

/*
 * Listens on 'address': "host:port" with an IP address, or ":port" for all. Port 0 chooses one.
 * MK_INVALID (address), MK_UNAVAILABLE (cannot listen there), MK_NO_MEMORY.
 */
struct http_server *http_server_new(struct loop *l, mk_str address, struct mk_err *err);
/* Closes all connections. NULL is fine. */
void http_server_free(struct http_server *s);

/* Registers a handler for exactly 'path'. Other paths answer 404. False: out of memory. */
bool http_server_handle(struct http_server *s, const char *path, http_handler_fn *fn, void *ctx);

/* The port that is listened on. */
uint16_t http_server_port(const struct http_server *s);

/* Connections open now. */
unsigned http_server_connections(const struct http_server *s);

#endif
