/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two halves of net_h2server.h, HTTP/2 and HTTP/1.1; tests do not include this. */
#ifndef MK_T_LIB_NET_H1SERVER_H
#define MK_T_LIB_NET_H1SERVER_H

#include "t/lib/net_h2server.h"

/* Answers a request that has arrived as a whole, by its path or by the hook. */
void h2_answer(struct h2_stream *s);

/* A new stream of the connection. */
struct h2_stream *h2_stream_new(struct h2_conn *c, int32_t id);

/* Keeps those of a request's headers that the tests look at. */
void h2_take_header(struct h2_stream *s, mk_str name, mk_str value);

/* Frees a stream. Has the form that nghttp2 wants; HTTP/1.1 passes no session. */
int h2_on_close(nghttp2_session *session, int32_t id, uint32_t why, void *ctx);

/* Closes the connection and frees it with its streams. */
void h2_conn_free(struct h2_conn *c);

/*
 * Sends what the stream's answer has so far, and closes the stream when there is no more to come.
 */
void h1_write(struct h2_stream *s);

/* Sends the head of an answer over HTTP/1.1, and what there is of its body. */
void h1_reply(struct h2_stream *s, const char *status);

/* All of it was written, and there is nothing to come on this connection. */
void h1_on_written(struct bufferevent *bev, void *ctx);

/* One whole request, if there is one. */
bool h1_read_one(struct h2_conn *c);

#endif
