/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 of the simulated API servers: one request at a time, keep-alive, request bodies with a
 * length or in chunks, watches as chunked answers.
 */
#include <event2/buffer.h>
#include <strings.h>

#include "t/kubesim/server_priv.h"

enum { PIECE = 16384, CHUNK_HEAD = 16, DISCARD_MAX = 64 * 1024 * 1024 };

/*
 * Reading state, in the exchange's own fields: sent = body bytes still to come, chunked = by
 * chunks.
 */

static bool name_is(mk_str s, const char *name)
{
	return s.n == strlen(name) && strncasecmp(s.p, name, s.n) == 0;
}

static bool parse_header(struct exchange *ex, mk_str line, size_t *length, bool *expect)
{
	mk_str name, value = line;
	uint64_t n;

	str_split(&value, ':', &name);
	value = str_trim(value);
	if (name_is(name, "accept")) {
		ex->accept = arena_dup(&ex->a, value);
	} else if (name_is(name, "content-type")) {
		ex->content_type = arena_dup(&ex->a, value);
	} else if (name_is(name, "authorization")) {
		ex->authorization = arena_dup(&ex->a, value);
	} else if (name_is(name, "user-agent")) {
		ex->user_agent = arena_dup(&ex->a, value);
	} else if (name_is(name, "impersonate-user")) {
		ex->as = arena_dup(&ex->a, value);
	} else if (name_is(name, "content-length")) {
		if (!str_u64(value, &n) || n > SIZE_MAX / 2) {
			return false;
		}
		*length = (size_t)n;
	} else if (name_is(name, "transfer-encoding")) {
		ex->chunked = name_is(value, "chunked");
		return ex->chunked;
	} else if (name_is(name, "expect")) {
		*expect = name_is(value, "100-continue");
	} else if (name_is(name, "connection")) {
		ex->conn->close_when_sent |= name_is(value, "close");
	}
	return true;
}

static void fail(struct exchange *ex, int code, const char *reason, const char *message)
{
	exchange_status(ex, code, reason, message);
	ex->conn->close_when_sent = true;
	ex->started = true;
	ex->answered = true;
	h1_respond(ex);
}

/* Takes the head when it is complete. False: more is needed, or it was refused. */
static bool read_head(struct conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	struct exchange *ex;
	mk_str rest, line, word;
	size_t length = 0;
	bool expect = false, good;

	if (end.pos < 0) {
		if (evbuffer_get_length(in) > SERVER_MAX_HEADERS) {
			conn_kill(c);
		}
		return false;
	}
	ex = exchange_new(c, 0);
	if (!ex) {
		conn_kill(c);
		return false;
	}
	rest = arena_dup(&ex->a, (mk_str){(const char *)evbuffer_pullup(in, end.pos + 4),
					  (size_t)end.pos + 2});
	evbuffer_drain(in, (size_t)end.pos + 4);
	str_split(&rest, '\n', &line);
	line = str_trim(line);
	good = str_split(&line, ' ', &ex->method) && str_split(&line, ' ', &ex->target);
	while (good && str_split(&rest, '\n', &word)) {
		good = parse_header(ex, str_trim(word), &length, &expect);
	}
	if (!good || !str_starts(line, STR("HTTP/1."))) {
		fail(ex, 400, "BadRequest", "malformed request");
		return false;
	}
	ex->sent = length;
	if (length > SERVER_MAX_BODY) {
		ex->too_big = true;
		c->close_when_sent = true;
		/*
		 * A client that is still sending when the connection closes may never see the
		 * answer: a body of a bearable size is read and thrown away first. Who asks before
		 * sending (Expect) is told at once.
		 */
		if (expect || length > DISCARD_MAX) {
			exchange_start(ex);
			return false;
		}
		return true;
	}
	if (expect) {
		bufferevent_write(c->bev, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	}
	return true;
}

/* Takes chunks. True when the last one was taken. */
static bool read_chunks(struct exchange *ex, struct evbuffer *in)
{
	while (!ex->conn->dead) {
		struct evbuffer_ptr eol = evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_CRLF);
		uint64_t n = 0;
		const char *p;

		if (eol.pos < 0 || eol.pos > CHUNK_HEAD) {
			return false;
		}
		p = (const char *)evbuffer_pullup(in, eol.pos + 2);
		for (ev_ssize_t i = 0; i < eol.pos && p[i] != ';'; i++) {
			int d = p[i] <= '9' ? p[i] - '0' : (p[i] | 32) - 'a' + 10;

			if (d < 0 || d > 15) {
				conn_kill(ex->conn);
				return false;
			}
			n = n * 16 + (uint64_t)d;
		}
		if (n > SERVER_MAX_BODY) {
			ex->too_big = true;
			ex->conn->close_when_sent = true;
			return true;
		}
		if (evbuffer_get_length(in) < (size_t)eol.pos + 2 + n + 2) {
			return false;
		}
		evbuffer_drain(in, (size_t)eol.pos + 2);
		exchange_body(ex, evbuffer_pullup(in, (ev_ssize_t)n), n);
		evbuffer_drain(in, n + 2);
		if (n == 0 || ex->too_big) {
			ex->conn->close_when_sent |= ex->too_big;
			return true;
		}
	}
	return false;
}

/* True when the body is complete. */
static bool read_body(struct exchange *ex)
{
	struct evbuffer *in = bufferevent_get_input(ex->conn->bev);

	if (ex->chunked) {
		return read_chunks(ex, in);
	}
	while (ex->sent > 0) {
		size_t n = evbuffer_get_contiguous_space(in);

		if (n == 0) {
			return false;
		}
		n = n < ex->sent ? n : ex->sent;
		exchange_body(ex, evbuffer_pullup(in, (ev_ssize_t)n), n);
		evbuffer_drain(in, n);
		ex->sent -= n;
	}
	return true;
}

void h1_input(struct conn *c)
{
	while (!c->dead) {
		struct exchange *ex;

		if (list_empty(&c->exchanges) && !read_head(c)) {
			return;
		}
		if (list_empty(&c->exchanges)) {
			return;
		}
		ex = LIST_ENTRY(c->exchanges.next, struct exchange, node);
		if (ex->started || !read_body(ex)) {
			return;
		}
		ex->sent = 0;
		ex->chunked = false;
		exchange_start(ex);
	}
}

static const char *status_text(int code)
{
	switch (code) {
	case 200:
		return "OK";
	case 201:
		return "Created";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 409:
		return "Conflict";
	case 429:
		return "Too Many Requests";
	default:
		return "Status";
	}
}

void h1_respond(struct exchange *ex)
{
	struct conn *c = ex->conn;
	struct evbuffer *out = bufferevent_get_output(c->bev);

	ex->sent = 0;
	ex->chunked = ex->resp.watch != 0 || ex->flooded;
	evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", ex->resp.status,
			    status_text(ex->resp.status), ex->resp.content_type);
	evbuffer_add_printf(out, "Date: %s\r\nCache-Control: no-cache, private\r\n%s",
			    str_chars(policy_date(ex)),
			    c->close_when_sent ? "Connection: close\r\n" : "");
	if (ex->resp.retry_after_ms >= 0) {
		evbuffer_add_printf(out, "Retry-After: %lld\r\n",
				    (long long)((ex->resp.retry_after_ms + 999) / 1000));
	}
	if (ex->flooded) {
		evbuffer_add_printf(out, "Content-Encoding: %s\r\n", str_chars(flood_encoding(ex)));
	}
	if (ex->chunked) {
		evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n\r\n");
	} else {
		evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n", ex->resp.body.n);
	}
	h1_flush(c);
}

void h1_flush(struct conn *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	uint8_t piece[PIECE];

	while (!c->dead && !list_empty(&c->exchanges) &&
	       evbuffer_get_length(out) < SERVER_MAX_OUT) {
		struct exchange *ex = LIST_ENTRY(c->exchanges.next, struct exchange, node);
		bool end = false;
		size_t n;

		if (ex->is_held || (!ex->answered && ex->resp.status == 0)) {
			return;
		}
		n = exchange_read(ex, piece, sizeof(piece), &end);
		if (n != 0) {
			if (ex->chunked) {
				evbuffer_add_printf(out, "%zx\r\n", n);
			}
			evbuffer_add(out, piece, n);
			if (ex->chunked) {
				evbuffer_add(out, "\r\n", 2);
			}
		}
		if (end) {
			if (ex->chunked) {
				evbuffer_add(out, "0\r\n\r\n", 5);
			}
			exchange_free(ex);
		} else if (n == 0) {
			return;
		}
	}
}
