/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small server of HTTP/2, or HTTP/1.1, over TLS for the tests and the bench of core/net: nghttp2
 * on libevent's OpenSSL bufferevents, on the same loop as the client. What it answers is chosen by
 * the request's path; see h2_answer().
 */
#ifndef MK_T_LIB_NET_H2SERVER_H
#define MK_T_LIB_NET_H2SERVER_H

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/str.h"

struct h2_conn;

struct h2_stream {
	struct h2_stream *next;
	struct h2_conn *conn;
	int32_t id;
	char path[256], method[16], auth[256], agent[128], accept_encoding[64], as[256];
	struct buf in, out;
	bool is_watch, more;   /* more: the stream stays open when 'out' is sent */
	bool replied, chunked; /* HTTP/1.1 */
	const char *encoding;  /* HTTP/2: content-encoding, or NULL */
	unsigned filler;       /* HTTP/2: so many more header fields of 1,000 bytes */
};

struct h2_conn {
	struct h2_conn *next;
	struct h2_server *server;
	struct bufferevent *bev;
	nghttp2_session *session;
	struct h2_stream *streams;
	bool is_http1;   /* then there is one stream at most */
	int32_t last_id; /* of those */
};

struct h2_server {
	struct event_base *base;
	struct evconnlistener *listener;
	SSL_CTX *ctx;
	struct h2_conn *conns;
	uint16_t port;
	char ca_pem[4096], cert_pem[4096], key_pem[8192];
	unsigned requests, accepted, watches, echoes;
	size_t big;        /* size of the answer to /big */
	const char *token; /* what /needs-token accepts */
	/* Asked first about each request; the status it answers with (body in s->out), or NULL for
	 * the built-in ones. */
	const char *(*hook)(struct h2_stream *s);
	bool freeze;          /* read nothing more: a stopped process */
	uint32_t max_streams; /* that HTTP/2 allows at once; 0: 100 */
	bool http1;           /* ALPN offers http/1.1 only */
	bool closes;          /* HTTP/1.1: a connection is good for one answer */
	bool ends; /* HTTP/1.1: no answer says how long it is, it ends with its connection */
};

/* Hands all frames that wait to the connection's socket. */
void h2_conn_flush(struct h2_conn *c);

/* Begins the answer to a request with this status; its body is in s->out. */
void h2_reply(struct h2_stream *s, const char *status);

/*
 * Listens on a free port of 127.0.0.1 below 32768, with a certificate for
 * 127.0.0.1 and "api.test" by a new CA.
 */
bool h2_server_start(struct h2_server *srv, struct event_base *base);

/* Cuts all connections, as a killed process would. */
void h2_server_cut(struct h2_server *srv);

/* The same, with a reset in place of an end. */
void h2_server_abort(struct h2_server *srv);

/* Cuts all connections and stops listening. */
void h2_server_stop(struct h2_server *srv);

/* Sends 'text' on every open watch; ends them when 'end'. */
void h2_server_push(struct h2_server *srv, const char *text, bool end);

#endif
