/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small HTTP/1.1 server on the event loop, for health probes, metrics, JSON views and the webhook,
 * with or without TLS. A handler answers from memory, at once or, when the answer is long, in
 * several turns of the loop; only the gate before it may wait for others. Everything that a client
 * may use has a limit: size of header and body, bytes of bodies that are coming in and of answers
 * that the client does not read, number of connections, the time from the first byte of a request
 * to its end (and for the handshake), idle time and age. At the limit of connections those that
 * have sent no whole request give way, and those that are idle (http_room.h); when all are being
 * answered, further ones wait in the kernel's backlog. (Not libevent's evhttp: it limits neither
 * the number nor the age of connections.)
 */
#ifndef MK_NET_HTTP_SERVER_H
#define MK_NET_HTTP_SERVER_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"
#include "core/net/loop.h"
#include "core/net/tls_serve.h"

struct http_server;

enum {
	HTTP_MAX_HEADER = 16 * 1024,
	HTTP_MAX_REQUEST_BODY = 1024 * 1024,
	HTTP_MAX_INCOMING = 64 * 1024 * 1024, /* of bodies that are not complete, together */
	HTTP_MAX_ANSWER = 32 * 1024 * 1024,   /* of what is written in one turn */
	HTTP_MAX_CONNECTIONS = 64,
	/* Of answers that the client has not taken: the next one is the connection's last. */
	HTTP_MAX_PENDING = 64 * 1024,
	/* Of an answer in several turns, which goes on as the client takes it. */
	HTTP_MAX_AHEAD = 256 * 1024,
	HTTP_ACCEPT_AGAIN_MS = 1000, /* after the process had no descriptor for a connection */
	HTTP_REQUEST_MS = 10000,     /* handshake and first request; then each request */
	/* until the client has taken an answer, or of one in several turns what was ahead */
	HTTP_WRITE_MS = 30000,
	HTTP_IDLE_MS = 10000,     /* between requests */
	HTTP_LIFETIME_MS = 60000, /* the first answer after it is the connection's last */
};

struct http_request {
	const char *method; /* "GET", "HEAD" or "POST" */
	mk_str path;        /* without the query */
	mk_str query;       /* what stands behind '?', as sent, or "" */
	mk_str body;
	mk_str authorization; /* value of that header, or ""; secret */
	mk_str headers;       /* all of them, for http_next_header (http_parse.h) */
	struct ssl_st *tls;   /* the session, for tls_client.h; NULL without TLS */
	mk_str host;          /* value of that header, or "" */
	bool is_local;        /* the client came by a loopback address */
};

struct http_answer {
	int status;               /* 200 unless changed */
	const char *content_type; /* text/plain unless changed; static */
	struct buf body;          /* to be written; over its cap: the answer is a 500 */
	/*
	 * For an answer that takes several turns of the loop, NULL unless a handler sets it: writes
	 * on, and is true once the answer is complete. Called once in a turn, for one connection
	 * after the other, as fast as the client takes it. What a turn has written is sent after
	 * it; so the whole may have any length, and a failure after the first piece closes the
	 * connection in the middle of the answer.
	 */
	bool (*more)(void *ctx, struct http_answer *answer);
	void *more_ctx;
	void (*more_free)(void *ctx); /* it is complete, or the client has gone */
};

/* 'rq' is borrowed for the call. */
typedef void http_handler_fn(void *ctx, const struct http_request *rq, struct http_answer *answer);

enum http_verdict {
	HTTP_GO, /* on to the handler */
	HTTP_NO, /* the answer is what the client gets */
	/* not known yet: asked again by http_server_retry, within the time of a request */
	HTTP_WAIT,
};

/* May this request be answered? Called before its handler, also for paths that have none. */
typedef enum http_verdict http_gate_fn(void *ctx, const struct http_request *rq,
				       struct http_answer *answer);

/* 0 stands for the constants above, NULL for no TLS and for no gate. */
struct http_server_options {
	mk_str address; /* "host:port" with an IP address, or ":port" for all; port 0 chooses one */
	/* borrowed for the server's life; without a certificate connections are closed */
	struct tls_serve *tls;
	size_t max_header, max_body;
	unsigned max_connections;
	int64_t request_ms, idle_ms, lifetime_ms;
	http_gate_fn *gate;
	void *gate_ctx;
};

/*
 * Listens; 'o' is borrowed for the call. ERR_INVALID (address), ERR_UNAVAILABLE (cannot listen
 * there), ERR_NO_MEMORY: NULL then.
 */
struct http_server *http_server_open(struct loop *l, const struct http_server_options *o,
				     struct mk_err *err);
/* Closes all connections. NULL is fine. */
void http_server_free(struct http_server *s);

/*
 * Registers a handler for exactly 'path', or with a '/' at its end for all below it. Other paths
 * answer 404. False: out of memory.
 */
bool http_server_handle(struct http_server *s, const char *path, http_handler_fn *fn, void *ctx);

/* Asks the gate again for each request that waits for it. */
void http_server_retry(struct http_server *s);

/* The port that is listened on. */
uint16_t http_server_port(const struct http_server *s);

/* Connections with a request that is being answered: those that give way to no other. */
unsigned http_server_busy(const struct http_server *s);

/* For tests: connections open now. */
unsigned http_server_connections(const struct http_server *s);

#endif
