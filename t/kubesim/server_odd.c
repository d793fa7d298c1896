/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that answers the daemon with what no API server says, each time once: the fault "flood"
 * with one of these names. Nothing of it goes through nghttp2 or the exchanges.
 */
#include "t/kubesim/server_priv.h"

enum { PIECES = 4 };

/* A payload that stands for itself, or that of a frame. */
enum where { NOTHING, BARE, OF_CONN, OF_STREAM };

#define TEXT(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}
#define HEAD(flags, text)                                                                  \
	{                                                                                  \
		OF_STREAM, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (flags), TEXT(text) \
	}
#define BODY(flags, text)                                    \
	{                                                    \
		OF_STREAM, NGHTTP2_DATA, (flags), TEXT(text) \
	}
#define END NGHTTP2_FLAG_END_STREAM
#define OK_H1 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

static const struct odd_h2 {
	const char *name;
	struct {
		enum where where;
		uint8_t type, flags;
		mk_str payload;
	} piece[PIECES];
} h2_answers[] = {
	{"silence", {{NOTHING, 0, 0, TEXT("")}}},
	{"reset", {{OF_STREAM, NGHTTP2_RST_STREAM, 0, TEXT("\0\0\0\2")}}},
	{"refusal", {{OF_STREAM, NGHTTP2_RST_STREAM, 0, TEXT("\0\0\0\7")}}},
	{"goaway", {{OF_CONN, NGHTTP2_GOAWAY, 0, TEXT("\0\0\0\0\0\0\0\0")}}},
	{"rude", {{OF_CONN, NGHTTP2_GOAWAY, 0, TEXT("\0\0\0\0\0\0\0\x0b\x1b[31m\r\nbe calm\n")}}},
	{"no-room", {{OF_CONN, NGHTTP2_SETTINGS, 0, TEXT("\0\4\0\0\0\0\0\3\0\0\0\0")}}},
	{"bad-setting", {{OF_CONN, NGHTTP2_SETTINGS, 0, TEXT("\0\4\xff\xff\xff\xff")}}},
	{"bad-window", {{OF_CONN, NGHTTP2_WINDOW_UPDATE, 0, TEXT("\x7f\xff\xff\xff")}}},
	{"push",
	 {{OF_STREAM, NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, TEXT("\0\0\0\2\x82")}}},
	{"garbage",
	 {{BARE, 0, 0, TEXT("neither a frame nor a head, and not even what one expects")}}},
	{"status-999999",
	 {HEAD(END, "\x08\x06"
		    "999999")}},
	{"status-051",
	 {HEAD(0, "\x08\x03"
		  "051"),
	  BODY(0, "{\"a\":1}\n"), BODY(END, "{}")}},
	{"status-000",
	 {HEAD(0, "\x08\x03"
		  "000"),
	  BODY(END, "{\"a\":1}\n")}},
	{"status-late",
	 {HEAD(0, "\x08\x03"
		  "051"),
	  BODY(0, "{\"a\":1}\n"), HEAD(0, "\x88"), BODY(END, "{}")}},
	{"status-none", {HEAD(END, "\0\1a\1b")}},
	{"short",
	 {HEAD(0, "\x88\x00\x0e"
		  "content-length"
		  "\x07"
		  "1000000"),
	  BODY(END, "{}")}},
	{"lengths",
	 {HEAD(0, "\x88\x00\x0e"
		  "content-length"
		  "\x01"
		  "2"
		  "\x00\x0e"
		  "content-length"
		  "\x01"
		  "3"),
	  BODY(END, "{\"a\":1}")}},
	{"moved",
	 {HEAD(END, "\x08\x03"
		    "302"
		    "\x00\x08"
		    "location"
		    "\x29"
		    "https://169.254.169.254/latest/meta-data/")}},
	{"moved-307",
	 {HEAD(END, "\x08\x03"
		    "307"
		    "\x00\x08"
		    "location"
		    "\x14"
		    "https://127.0.0.1:1/")}},
	{"html",
	 {HEAD(0, "\x88\x00\x0c"
		  "content-type"
		  "\x09"
		  "text/html"),
	  BODY(END, "<html>\x1b[2J\r\nX-Injected: 1\r\n</html>")}},
	{"later",
	 {HEAD(END, "\x08\x03"
		    "429"
		    "\x00\x0b"
		    "retry-after"
		    "\x14"
		    "99999999999999999999")}},
	{"earlier",
	 {HEAD(END, "\x08\x03"
		    "429"
		    "\x00\x0b"
		    "retry-after"
		    "\x02"
		    "-1")}},
	{"begun", {HEAD(0, "\x88"), BODY(0, "{\"kind\":")}},
};

static const struct odd_h1 {
	const char *name;
	bool last; /* then the connection is closed */
	mk_str text;
} h1_answers[] = {
	{"chunk-huge", true,
	 TEXT(OK_H1 "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}")},
	{"gzip-nested", false,
	 TEXT(OK_H1 "Content-Encoding: gzip, gzip, gzip, gzip\r\nContent-Length: 2\r\n\r\n{}")},
	{"file", false,
	 TEXT("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")},
	{"moved", false,
	 TEXT("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")},
	{"two", false,
	 TEXT(OK_H1 "Content-Length: 2\r\n\r\n{}" OK_H1
		    "Content-Length: 13\r\n\r\n{\"kind\":\"x\"}\n")},
	{"less", true, TEXT(OK_H1 "Content-Length: -5\r\n\r\n{}")},
	{"lengths", false,
	 TEXT(OK_H1 "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")},
	{"nul", false, TEXT("HTTP/1.1 200 OK\0\r\nX: \0\r\nContent-Length: 2\r\n\r\n{}")},
	{"version-0.9", true, TEXT("just text, and no head\njust text, and no head\n")},
	{"version-9.9", true, TEXT("HTTP/9.9 200 OK\r\n\r\n")},
	{"cookies", false,
	 TEXT(OK_H1 "Set-Cookie: a=b\r\nAlt-Svc: h3=\":1\"\r\n"
		    "Strict-Transport-Security: max-age=1\r\nContent-Length: 2\r\n\r\n{}")},
	{"negotiate", false,
	 TEXT("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\n"
	      "WWW-Authenticate: NTLM\r\nWWW-Authenticate: Digest realm=x,nonce=y\r\n"
	      "Content-Length: 2\r\n\r\n{}")},
	{"upgrade", false,
	 TEXT("HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")},
};
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

static const struct odd_h2 *odd_h2(mk_str name)
{
	for (size_t i = 0; i < N_OF(h2_answers); i++) {
		if (str_is(name, h2_answers[i].name)) {
			return &h2_answers[i];
		}
	}
	return NULL;
}

static const struct odd_h1 *odd_h1(mk_str name)
{
	for (size_t i = 0; i < N_OF(h1_answers); i++) {
		if (str_is(name, h1_answers[i].name)) {
			return &h1_answers[i];
		}
	}
	return NULL;
}

bool odd_is_known(mk_str name)
{
	return odd_h2(name) != NULL || odd_h1(name) != NULL;
}

static void send_h2(struct exchange *ex, const struct odd_h2 *odd)
{
	struct evbuffer *out = bufferevent_get_output(ex->conn->bev);

	for (size_t i = 0; i < PIECES && odd->piece[i].where != NOTHING; i++) {
		mk_str payload = odd->piece[i].payload;
		bool of_stream = odd->piece[i].where == OF_STREAM;
		uint8_t head[FLOOD_HEAD];

		if (odd->piece[i].where != BARE) {
			flood_frame(head, payload.n, odd->piece[i].type, odd->piece[i].flags,
				    of_stream ? (uint32_t)ex->stream : 0);
			evbuffer_add(out, head, sizeof(head));
		}
		evbuffer_add(out, payload.p, payload.n);
	}
}

bool odd_answers(struct exchange *ex, const char *name)
{
	struct conn *c = ex->conn;
	const struct odd_h2 *odd = c->h2 ? odd_h2(str_of(name)) : NULL;
	const struct odd_h1 *h1 = c->h2 ? NULL : odd_h1(str_of(name));

	if (odd) {
		send_h2(ex, odd); /* its stream is not ended here, and goes with the connection */
	}
	if (h1) {
		evbuffer_add(bufferevent_get_output(c->bev), h1->text.p, h1->text.n);
		c->close_when_sent |= h1->last;
		exchange_free(ex);
	}
	return odd || h1;
}
