/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP/1.1 request, parsed strictly and without I/O: ambiguous input is refused. */
#ifndef MK_NET_HTTP_PARSE_H
#define MK_NET_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct http_head {
	mk_str method, path, query; /* views into the text */
	mk_str authorization;       /* value of that header, or "" */
	mk_str headers;             /* their lines, for http_next_header */
	mk_str host;                /* value of that header, or "" */
	bool has_host;              /* it was sent, if only empty */
	size_t body_n;              /* Content-Length, or 0 */
	bool has_chunks;            /* the client knows answers in chunks: HTTP/1.1 */
	bool keep_alive;            /* the client wants the connection to stay open */
	bool expects_continue;      /* it waits for "100 Continue" before the body */
};

/*
 * 'text' is the head with its empty line. Returns 0, or the status to refuse it with: 400 syntax,
 * 413 body over 'max_body', 501 transfer encodings, 505 not HTTP/1.x.
 */
int http_parse_head(mk_str text, size_t max_body, struct http_head *ret);

/*
 * The next of 'rest', which begins as the headers of a parsed head: its name as sent, and its value
 * without the white space around it. False: there are no more.
 */
bool http_next_header(mk_str *rest, mk_str *ret_name, mk_str *ret_value);

/* "GET", "HEAD" or "POST" for a method that is one of them, else NULL; static. */
const char *http_method(mk_str m);

/* The words behind a status that this server sends; static. */
const char *http_reason(int status);

/* Is this the name of the header 'want'? Case does not matter. */
bool http_name_is(mk_str name, mk_str want);

#endif
