/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the HTTP server: http_server.c takes requests, http_answer.c answers. */
#ifndef MK_NET_HTTP_SERVER_PRIV_H
#define MK_NET_HTTP_SERVER_PRIV_H

#include "core/net/http_parse.h"
#include "core/net/http_room.h"
#include "core/net/http_server.h"

struct route {
	struct route *next;
	char *path;
	http_handler_fn *fn;
	void *ctx;
};

struct http_server {
	struct loop *loop;
	struct loop_post *next_turn; /* for answers that take several */
	struct route *routes;
	struct http_server_options o;
	struct http_room room;
	size_t incoming; /* of all 'reserved' */
	uint16_t port;
};

/*
 * Answers a request that has come in whole: the gate, then the handler. False: it is to be called
 * again, as the gate does not know yet, or the answer takes further turns.
 */
bool http_answer_request(struct connection *c, const struct http_head *h, mk_str body);

/* Answers with a status and its words; it is the last answer of the connection. */
void http_refuse(struct connection *c, int status);

/* Gives up the answer that takes several turns, if there is one. */
void http_answer_drop(struct connection *c);

#endif
