/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP/1.1 of the small server. */
#include "t/lib/net_h1server.h"

void h1_write(struct h2_stream *s)
{
	struct h2_conn *c = s->conn;
	struct evbuffer *out = bufferevent_get_output(c->bev);

	if (s->out.n > 0) {
		if (s->chunked) {
			evbuffer_add_printf(out, "%zx\r\n", s->out.n);
		}
		evbuffer_add(out, s->out.p, s->out.n);
		evbuffer_add(out, "\r\n", s->chunked ? 2 : 0);
		buf_clear(&s->out);
	}
	if (!s->more) {
		evbuffer_add(out, "0\r\n\r\n", s->chunked ? 5 : 0);
		h2_on_close(NULL, s->id, 0, c);
	}
}

void h1_reply(struct h2_stream *s, const char *status)
{
	const struct h2_server *srv = s->conn->server;
	struct evbuffer *out = bufferevent_get_output(s->conn->bev);

	evbuffer_add_printf(out, "HTTP/1.1 %s Some words\r\nContent-Type: application/json\r\n",
			    status);
	if (status[0] == '4') {
		evbuffer_add_printf(out, "Retry-After: 3\r\n");
	}
	if (srv->closes || srv->ends) {
		evbuffer_add_printf(out, "Connection: close\r\n");
	}
	if (s->more) {
		evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n\r\n");
	} else if (srv->ends) {
		evbuffer_add_printf(out, "\r\n");
	} else {
		evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n", s->out.n);
	}
	s->chunked = s->more;
	s->replied = true;
	h1_write(s);
}

void h1_on_written(struct bufferevent *bev, void *ctx)
{
	struct h2_conn *c = ctx;

	(void)bev;
	if (c->is_http1 && c->last_id > 0 && !c->streams &&
	    (c->server->closes || c->server->ends)) {
		h2_conn_free(c);
	}
}

bool h1_read_one(struct h2_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	struct h2_stream *s;
	mk_str head, line, word;
	uint64_t n = 0;

	if (c->streams || end.pos < 0) {
		return false;
	}
	head = (mk_str){(const char *)evbuffer_pullup(in, -1), (size_t)end.pos + 2};
	s = h2_stream_new(c, ++c->last_id);
	str_split(&head, '\n', &line);
	str_split(&line, ' ', &word);
	h2_take_header(s, STR(":method"), word);
	str_split(&line, ' ', &word);
	h2_take_header(s, STR(":path"), word);
	while (str_split(&head, '\n', &line)) {
		char name[64];
		mk_str key;

		str_split(&line, ':', &key);
		snprintf(name, sizeof(name), "%.*s", STR_ARG(key));
		for (char *p = name; *p; p++) {
			*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
		}
		h2_take_header(s, str_of(name), str_trim(line));
		if (strcmp(name, "content-length") == 0) {
			str_u64(str_trim(line), &n);
		}
	}
	if (evbuffer_get_length(in) < (size_t)end.pos + 4 + n) {
		h2_on_close(NULL, s->id, 0, c); /* again when the body is there */
		return false;
	}
	evbuffer_drain(in, (size_t)end.pos + 4);
	buf_add(&s->in, (mk_str){(const char *)evbuffer_pullup(in, (ev_ssize_t)n), n});
	evbuffer_drain(in, n);
	h2_answer(s);
	return true;
}
