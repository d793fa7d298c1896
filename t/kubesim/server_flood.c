/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that floods who watches it with what brings nothing: the fault "flood". Frames and
 * chunks go past nghttp2 and the exchanges, as fast as the socket takes them.
 */
#include "t/kubesim/server_priv.h"

enum { PIECE = 16 * 1024, HEAD = 9, MOST = 64 };

#define OF(text)                         \
	{                                \
		(text), sizeof(text) - 1 \
	}

static const struct flood {
	const char *name;
	bool http2;
	uint8_t type;
	bool of_stream; /* of the watch; else of the connection */
	mk_str payload; /* HTTP/1.1: a chunk */
} floods[] = {
	{"pings", true, NGHTTP2_PING, false, OF("pingpong")},
	{"settings", true, NGHTTP2_SETTINGS, false, OF("\0\4\0\0\xff\xff")},
	{"updates", true, NGHTTP2_WINDOW_UPDATE, false, OF("\0\0\0\1")},
	{"data", true, NGHTTP2_DATA, true, OF("")},
	{"unknown", true, 0xee, true, OF("who is that?")},
	{"chunks", false, 0, true, OF("1;why=it-may-be-as-long-as-I-like\r\n \r\n")},
};

bool flood_is_known(mk_str name)
{
	bool known = name.n == 0 || str_is(name, "newlines");

	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		known = known || str_is(name, floods[i].name);
	}
	return known;
}

static const struct exchange *watch_of(const struct conn *c)
{
	for (LIST_EACH(n, &c->exchanges)) {
		const struct exchange *ex = LIST_ENTRY(n, struct exchange, node);

		if (ex->resp.watch != 0 && ex->answered) {
			return ex;
		}
	}
	return NULL;
}

static size_t frame(uint8_t to[static MOST], const struct flood *f, int32_t stream)
{
	uint32_t id = f->of_stream ? (uint32_t)stream : 0;
	const uint8_t head[HEAD] = {0,
				    0,
				    (uint8_t)f->payload.n,
				    f->type,
				    0,
				    (uint8_t)(id >> 24),
				    (uint8_t)(id >> 16),
				    (uint8_t)(id >> 8),
				    (uint8_t)id};

	memcpy(to, head, HEAD);
	memcpy(to + HEAD, f->payload.p, f->payload.n);
	return HEAD + f->payload.n;
}

void flood_conn(struct conn *c)
{
	const char *name = c->cluster->faults.flood;
	const struct exchange *ex = name[0] != '\0' && !c->dead ? watch_of(c) : NULL;
	struct evbuffer *out = bufferevent_get_output(c->bev);
	uint8_t piece[MOST];

	for (size_t i = 0; ex != NULL && i < sizeof(floods) / sizeof(floods[0]); i++) {
		const struct flood *f = &floods[i];
		size_t n = f->payload.n;

		if (strcmp(f->name, name) != 0 || f->http2 != (c->h2 != NULL)) {
			continue;
		}
		memcpy(piece, f->payload.p, n);
		n = f->http2 ? frame(piece, f, ex->stream) : n;
		while (evbuffer_get_length(out) < SERVER_MAX_OUT &&
		       evbuffer_add(out, piece, n) == 0) {
			c->cluster->bytes_flooded += n;
		}
	}
}

bool flood_lines(struct exchange *ex)
{
	struct cluster *c = ex->conn->cluster;
	char *p;

	if (strcmp(c->faults.flood, "newlines") != 0) {
		return false;
	}
	p = arena_alloc(&ex->frame_a, PIECE);
	if (p != NULL) {
		memset(p, '\n', PIECE);
		ex->frame = (mk_str){p, PIECE};
		c->bytes_flooded += PIECE;
	}
	return p != NULL;
}
