/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/net_sink.h"

#include "t/lib/net_turn.h"

struct loop *sink_loop;
struct h2_server sink_server;
struct net_fence sink_fence;
struct transport_net *sink_net;
enum transport_choice sink_choice;
struct transport_options sink_options;
const struct transport *sink_transport;
bool sink_inside;
int sink_nested;
uint64_t sink_cancel_at_head;
uint64_t sink_close_at_chunk;

struct seen sink_seen[SINK_TOKENS];

void sink_on_head(void *ctx, uint64_t token, const struct transport_head *h)
{
	(void)ctx;
	sink_nested += sink_inside;
	sink_seen[token].heads++;
	sink_seen[token].status = h->status;
	sink_seen[token].retry_after_ms = h->retry_after_ms;
	if (token == sink_cancel_at_head) {
		sink_transport->cancel(sink_transport->ctx, 1, token);
	}
}

static void sink_on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	struct seen *s = &sink_seen[token];
	size_t have = strlen(s->body);
	size_t room = sizeof(s->body) - 1 - have;

	(void)ctx;
	sink_nested += sink_inside;
	s->bytes += bytes.n;
	memcpy(s->body + have, bytes.p, bytes.n < room ? bytes.n : room); /* the rest is zero */
	if (token == sink_close_at_chunk) {
		sink_transport->close(sink_transport->ctx, 1);
	}
}

void sink_on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code, mk_str text)
{
	struct seen *s = &sink_seen[token];

	(void)ctx;
	sink_nested += sink_inside;
	s->ends++;
	s->end = end;
	s->code = code;
	snprintf(s->text, sizeof(s->text), "%.*s", STR_ARG(text));
}

static const struct transport_sink sink = {
	.on_head = sink_on_head, .on_chunk = sink_on_chunk, .on_end = sink_on_end};

void sink_begin(void)
{
	sink_loop = loop_new(NULL);
	if (!sink_loop || !h2_server_start(&sink_server, loop_base(sink_loop))) {
		printf("Bail out! no loop or no free port\n");
		exit(1);
	}
}

void sink_end(void)
{
	h2_server_stop(&sink_server);
	sink_turns(2);
	loop_free(sink_loop);
}

void sink_start(void)
{
	struct transport_options o = sink_options;

	o.loop = sink_loop;
	o.fence = &sink_fence;
	o.user_agent = "mk/test";
	memset(sink_seen, 0, sizeof(sink_seen));
	sink_net = transport_net_new(&o, sink_choice, NULL);
	transport_net_set_sink(sink_net, &sink);
	sink_transport = transport_net_get(sink_net);
}

void sink_stop(void)
{
	transport_net_free(sink_net);
	sink_net = NULL;
	sink_transport = NULL;
}

struct endpoint sink_endpoint(void)
{
	return (struct endpoint){
		.host = STR("127.0.0.1"),
		.port = sink_server.port,
		.ca_pem = str_of(sink_server.ca_pem),
		.allow_loopback = true,
	};
}

enum mk_code sink_open(const struct endpoint *e, struct mk_err *err)
{
	return sink_transport->open(sink_transport->ctx, 1, e, err);
}

enum mk_code sink_send(enum transport_class cls, const char *method, const char *path,
		       const char *body, int64_t timeout_ms, uint64_t token)
{
	struct transport_request r = {
		.method = method,
		.path = str_of(path),
		.content_type = body ? "application/json" : NULL,
		.body = str_of(body),
		.cls = cls,
		.timeout_ms = timeout_ms,
	};
	enum mk_code code;

	sink_inside = true;
	code = sink_transport->send(sink_transport->ctx, 1, &r, token, NULL);
	sink_inside = false;
	return code;
}

bool sink_get(uint64_t token)
{
	sink_send(TRANSPORT_READ, "GET", "/version", NULL, 5000, token);
	return sink_until(&sink_seen[token].ends, 1) && sink_seen[token].end == TRANSPORT_OK &&
	       sink_seen[token].status == 200;
}

void sink_get_list(const char *path, uint64_t token)
{
	struct transport_request r = {.method = "GET",
				      .path = str_of(path),
				      .cls = TRANSPORT_READ,
				      .timeout_ms = 60000,
				      .gzip = true};

	sink_transport->send(sink_transport->ctx, 1, &r, token, NULL);
}

void sink_test_as(void)
{
	static const char user[] = "system:serviceaccount:team-a:tenant";
	struct transport_request r = {.method = "PATCH",
				      .path = STR("/echo"),
				      .content_type = "application/json",
				      .body = STR("{}"),
				      .as = str_of(user),
				      .cls = TRANSPORT_WRITE,
				      .timeout_ms = 5000};
	static char longest[1024];

	sink_transport->send(sink_transport->ctx, 1, &r, 1, NULL);
	ok(sink_until(&sink_seen[1].ends, 1), "a write as another user ends");
	is_str(sink_seen[1].body,
	       "PATCH|Bearer s3cret|mk/test||{}|system:serviceaccount:team-a:tenant",
	       "the server is told who that is");
	sink_send(TRANSPORT_WRITE, "PATCH", "/echo", "{}", 5000, 2);
	ok(sink_until(&sink_seen[2].ends, 1), "the next one");
	is_str(sink_seen[2].body, "PATCH|Bearer s3cret|mk/test||{}", "... is our own");
	r.as = STR("a\r\nX: y");
	is_int(sink_transport->send(sink_transport->ctx, 1, &r, 3, NULL), ERR_INVALID,
	       "no line breaks in a user");
	memset(longest, 'a', sizeof(longest) - 1);
	r.as = str_of(longest);
	is_int(sink_transport->send(sink_transport->ctx, 1, &r, 3, NULL), ERR_INVALID,
	       "a user has an end");
}

bool sink_until(const int *what, int want)
{
	return turn_until(sink_loop, what, want);
}

void sink_turns(int n)
{
	for (int i = 0; i < n; i++) {
		loop_turn(sink_loop, 10);
	}
}
