/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that sends without end or measure: the fault "flood". Frames, chunks and heads go past
 * nghttp2 and the exchanges, as fast as the socket takes them; those that stand in place of an
 * answer go to the daemon only, whatever it asks for. Bodies go the way of every answer.
 */
#include <zlib.h>

#include "t/kubesim/server_priv.h"

enum { PIECE = 16 * 1024, HEAD = FLOOD_HEAD, MOST = 64 };

#define TEXT(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}

static const struct flood {
	const char *name;
	bool http2;
	uint8_t type;
	bool of_stream; /* of the watch; else of the connection */
	mk_str payload; /* HTTP/1.1: a chunk */
	uint8_t flags;
	bool instead; /* of an answer; else beside a watch */
	mk_str first; /* ... before it, once: a payload of HEADERS; HTTP/1.1: as it is */
} floods[] = {
	{"pings", true, NGHTTP2_PING, false, TEXT("pingpong"), 0, false, TEXT("")},
	{"settings", true, NGHTTP2_SETTINGS, false, TEXT("\0\4\0\0\xff\xff"), 0, false, TEXT("")},
	{"updates", true, NGHTTP2_WINDOW_UPDATE, false, TEXT("\0\0\0\1"), 0, false, TEXT("")},
	{"data", true, NGHTTP2_DATA, true, TEXT(""), 0, false, TEXT("")},
	{"unknown", true, 0xee, true, TEXT("who is that?"), 0, false, TEXT("")},
	{"priority", true, NGHTTP2_PRIORITY, true, TEXT("\0\0\0\3\1"), 0, false, TEXT("")},
	{"origin", true, NGHTTP2_ORIGIN, false, TEXT("\0\x0bhttps://a.b"), 0, false, TEXT("")},
	{"altsvc", true, NGHTTP2_ALTSVC, false, TEXT("\0\3a.bh2=\":1\""), 0, false, TEXT("")},
	{"chunks", false, 0, true, TEXT("1;why=it-may-be-as-long-as-I-like\r\n \r\n"), 0, false,
	 TEXT("")},
	{"hints", true, NGHTTP2_HEADERS, true,
	 TEXT("\x08\x03"
	      "103"),
	 NGHTTP2_FLAG_END_HEADERS, true, TEXT("")},
	{"heads", true, NGHTTP2_CONTINUATION, true, TEXT("\0\1a\1b\0\1c\1d\0\1e\1f\0\1g\1h"), 0,
	 true, TEXT("\x88")},
	{"hints", false, 0, true, TEXT("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), 0, true,
	 TEXT("")},
	{"heads", false, 0, true, TEXT("X-More: there is always more\r\n"), 0, true,
	 TEXT("HTTP/1.1 200 OK\r\n")},
	{"longline", false, 0, true, TEXT("and so on, and so on, "), 0, true,
	 TEXT("HTTP/1.1 200 OK\r\nX: ")},
	{"trailers", false, 0, true, TEXT("X-More: there is always more\r\n"), 0, true,
	 TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
	      "chunked\r\n\r\n"
	      "2\r\n{}\r\n0\r\n")},
};

/* Blocks of one head that ends its answer: see head_block. */
static const char *const heads[] = {"bomb", "many", "big"};

static const struct body {
	const char *name;
	bool of_watch; /* only of what is watched */
	mk_str first, again;
} bodies[] = {
	{"spaces", false, TEXT(""), TEXT("        ")},
	{"numbers", false, TEXT("{\"a\":["), TEXT("1,")},
	{"items", false,
	 TEXT("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\"},"
	      "\"items\":["),
	 TEXT("{},")},
	{"line", true, TEXT("{\"type\":\"ADDED\",\"object\":{\"x\":\""), TEXT("a")},
	{"bookmarks", true, TEXT(""),
	 TEXT("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}\n")},
	{"ahead", true, TEXT(""),
	 TEXT("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"1000000\","
	      "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n")},
	{"gzip", false, TEXT(""), TEXT("")},
};
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

bool flood_is_known(mk_str name)
{
	bool known = name.n == 0 || str_is(name, "newlines") || odd_is_known(name) ||
		     pages_are_known(name);

	for (size_t i = 0; i < N_OF(floods); i++) {
		known = known || str_is(name, floods[i].name);
	}
	for (size_t i = 0; i < N_OF(heads); i++) {
		known = known || str_is(name, heads[i]);
	}
	for (size_t i = 0; i < N_OF(bodies); i++) {
		known = known || str_is(name, bodies[i].name);
	}
	return known;
}

static struct exchange *flooded_of(const struct conn *c, bool instead)
{
	for (LIST_EACH(n, &c->exchanges)) {
		struct exchange *ex = LIST_ENTRY(n, struct exchange, node);

		if (ex->flooded ? instead : !instead && ex->resp.watch != 0 && ex->answered) {
			return ex;
		}
	}
	return NULL;
}

void flood_frame(uint8_t to[static FLOOD_HEAD], size_t n, uint8_t type, uint8_t flags, uint32_t id)
{
	const uint8_t head[HEAD] = {
		(uint8_t)(n >> 16),  (uint8_t)(n >> 8),   (uint8_t)n,         type,       flags,
		(uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id};

	memcpy(to, head, HEAD);
}

static void add(struct conn *c, const uint8_t *p, size_t n)
{
	if (evbuffer_add(bufferevent_get_output(c->bev), p, n) == 0) {
		c->cluster->bytes_flooded += n;
	}
}

static void begin(struct conn *c, const struct flood *f, uint32_t stream)
{
	uint8_t head[HEAD];

	if (f->http2 && f->first.n > 0) {
		flood_frame(head, f->first.n, NGHTTP2_HEADERS, 0, stream);
		add(c, head, HEAD);
	}
	add(c, (const uint8_t *)f->first.p, f->first.n);
}

void flood_conn(struct conn *c)
{
	const char *name = c->cluster->faults.flood;
	struct evbuffer *out = bufferevent_get_output(c->bev);
	uint8_t piece[MOST];

	for (size_t i = 0; name[0] != '\0' && !c->dead && i < N_OF(floods); i++) {
		const struct flood *f = &floods[i];
		size_t head = f->http2 ? HEAD : 0, n = head + f->payload.n;
		struct exchange *ex;

		if (strcmp(f->name, name) != 0 || f->http2 != (c->h2 != NULL)) {
			continue;
		}
		ex = flooded_of(c, f->instead);
		if (!ex) {
			continue;
		}
		if (f->instead && !ex->flood_begun) {
			begin(c, f, (uint32_t)ex->stream);
			ex->flood_begun = true;
		}
		if (f->http2) {
			flood_frame(piece, f->payload.n, f->type, f->flags,
				    f->of_stream ? (uint32_t)ex->stream : 0);
		}
		memcpy(piece + head, f->payload.p, f->payload.n);
		while (evbuffer_get_length(out) < SERVER_MAX_OUT) {
			add(c, piece, n);
		}
	}
}

/* --- one head --------------------------------------------------------------------------------- */

/* An integer of HPACK with a prefix of seven bits. */
static size_t put_int(uint8_t *to, size_t n)
{
	size_t i = 0;

	if (n < 127) {
		to[i++] = (uint8_t)n;
		return i;
	}
	to[i++] = 127;
	for (n -= 127; n >= 128; n >>= 7) {
		to[i++] = (uint8_t)(0x80 | (n & 0x7f));
	}
	to[i++] = (uint8_t)n;
	return i;
}

/* ":status: 200" and 'n' fields "x" whose values have 'size' bytes. 'to': HPACK, indexed or not. */
static size_t put_fields(uint8_t *to, size_t n, size_t size, bool indexed)
{
	size_t at = 0;

	to[at++] = 0x88;
	for (size_t i = 0; i < n; i++) {
		to[at++] = indexed ? 0x40 : 0;
		to[at++] = 1;
		to[at++] = 'x';
		at += put_int(to + at, size);
		memset(to + at, 'v', size);
		at += size;
	}
	return at;
}

/*
 * "bomb": a small block that unpacks to 47 MB; "many": 3,000 fields; "big": 40 of 8,000 bytes. In
 * 'to'; the number of bytes.
 */
static size_t head_block(const char *name, uint8_t *to)
{
	enum { AGAIN = 12000, LAST = 0xbe };
	size_t n;

	if (strcmp(name, "many") == 0) {
		return put_fields(to, 3000, 0, false);
	}
	if (strcmp(name, "big") == 0) {
		return put_fields(to, 40, 8000, false);
	}
	n = put_fields(to, 1, 3900, true);
	memset(to + n, LAST, AGAIN);
	return n + AGAIN;
}

static bool send_head(struct exchange *ex)
{
	enum { BLOCK_MAX = 512 * 1024 };
	const char *name = ex->conn->cluster->faults.flood;
	uint8_t *block = arena_alloc(&ex->a, BLOCK_MAX), head[HEAD];
	size_t n = block ? head_block(name, block) : 0;

	for (size_t at = 0; at < n; at += PIECE) {
		size_t left = n - at, some = left < PIECE ? left : PIECE;

		flood_frame(head, some, at == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION,
			    (uint8_t)((at == 0 ? NGHTTP2_FLAG_END_STREAM : 0) |
				      (some == left ? NGHTTP2_FLAG_END_HEADERS : 0)),
			    (uint32_t)ex->stream);
		add(ex->conn, head, HEAD);
		add(ex->conn, block + at, some);
	}
	return n > 0;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static const struct body *body_of(const char *name)
{
	for (size_t i = 0; i < N_OF(bodies); i++) {
		if (strcmp(bodies[i].name, name) == 0) {
			return &bodies[i];
		}
	}
	return NULL;
}

/* 16 MiB of spaces, as a member of a stream of gzip: the first, or one that may follow any. */
static mk_str packed(struct arena *a, bool first)
{
	enum { MANY = 16 * 1024 * 1024 };
	static uint8_t out[2][2 * PIECE];
	static size_t n[2];
	z_stream z = {0};
	uint8_t *spaces = n[0] == 0 ? arena_alloc(a, MANY) : NULL;

	if (spaces && deflateInit2(&z, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY) == Z_OK) {
		memset(spaces, ' ', MANY);
		for (size_t i = 0; i < 2; i++) {
			z.next_in = spaces;
			z.avail_in = MANY;
			z.next_out = out[i];
			z.avail_out = sizeof(out[i]);
			(void)deflate(&z, Z_SYNC_FLUSH);
			n[i] = sizeof(out[i]) - z.avail_out;
		}
		(void)deflateEnd(&z);
	}
	return (mk_str){(const char *)out[!first], n[!first]};
}

mk_str flood_encoding(const struct exchange *ex)
{
	const struct body *b = ex->flooded;

	return strcmp(b->name, "gzip") == 0 ? STR("gzip") : STR("identity");
}

bool flood_body(struct exchange *ex)
{
	const struct body *b = ex->flooded;
	bool first = !ex->flood_begun;
	char *p;
	size_t at = 0;

	ex->flood_begun = true;
	if (strcmp(b->name, "gzip") == 0) {
		ex->frame = packed(&ex->frame_a, first);
		return ex->frame.n > 0;
	}
	p = arena_alloc(&ex->frame_a, PIECE);
	if (!p) {
		return false;
	}
	if (first) {
		memcpy(p, b->first.p, b->first.n);
		at = b->first.n;
	}
	for (; at + b->again.n <= PIECE; at += b->again.n) {
		memcpy(p + at, b->again.p, b->again.n);
	}
	ex->frame = (mk_str){p, at};
	ex->conn->cluster->bytes_flooded += at;
	return true;
}

enum flooded flood_answers(struct exchange *ex)
{
	const char *name = ex->conn->cluster->faults.flood;
	const struct body *b = body_of(name);

	if (name[0] == '\0' || !str_starts(ex->user_agent, STR("multikueued"))) {
		return FLOODED_NOT;
	}
	if (b && (!b->of_watch || memmem(ex->target.p, ex->target.n, "watch=", 6))) {
		ex->flooded = b;
		ex->resp.status = 200;
		ex->resp.content_type = "application/json";
		ex->resp.retry_after_ms = -1;
		return FLOODED_BODY;
	}
	if (odd_answers(ex, name)) {
		return FLOODED_RAW;
	}
	for (size_t i = 0; i < N_OF(heads) && ex->conn->h2; i++) {
		if (strcmp(heads[i], name) == 0) {
			return send_head(ex) ? FLOODED_RAW : FLOODED_NOT;
		}
	}
	for (size_t i = 0; i < N_OF(floods); i++) {
		const struct flood *f = &floods[i];

		if (f->instead && strcmp(f->name, name) == 0 &&
		    f->http2 == (ex->conn->h2 != NULL)) {
			ex->flooded = f;
			flood_conn(ex->conn);
			return FLOODED_RAW;
		}
	}
	return FLOODED_NOT;
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
