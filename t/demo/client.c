/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and watches over core/net; see client.h. */
#include "t/demo/client.h"

#include "core/base/alloc.h"
#include "core/base/list.h"
#include "core/daemon/credentials.h"
#include "core/kube/frame.h"
#include "core/net/transport_net.h"

enum { TIMEOUT_MS = 30000, AGAIN_MS = 300, BODY_MAX = 64 * 1024 * 1024 };

/* A request or a watch; its address is its token. */
struct call {
	struct list_node node;
	struct client *client;
	uint32_t cluster;
	int status; /* 0: no answer yet */
	client_answer_fn *answer;
	void *ctx;
	struct buf body;
	/* of a watch */
	client_watch_fn *watch;
	const char *path;
	struct frame frame;
	struct loop_timer *again;
};

struct client {
	struct loop *loop;
	struct net_fence fence;
	struct transport_net *net;
	struct transport_sink sink;
	struct list_node calls;
	struct arena a; /* of one event */
};

static void call_free(struct call *k)
{
	list_del(&k->node);
	loop_timer_free(k->again);
	frame_done(&k->frame);
	buf_done(&k->body);
	mk_free(k);
}

static struct call *call_new(struct client *c, uint32_t cluster, void *ctx)
{
	struct call *k = mk_calloc(1, sizeof(*k));

	if (k != NULL) {
		k->client = c;
		k->cluster = cluster;
		k->ctx = ctx;
		buf_init(&k->body, BODY_MAX);
		list_add_tail(&c->calls, &k->node);
	}
	return k;
}

static uint64_t token_of(const struct call *k)
{
	return (uint64_t)(uintptr_t)k;
}

static struct call *call_of(uint64_t token)
{
	return (struct call *)(uintptr_t)token;
}

/* --- watches ---------------------------------------------------------------------------------- */

static void start_watch(void *ctx)
{
	struct call *k = ctx;
	const struct transport *t = transport_net_get(k->client->net);
	struct transport_request r = {
		.method = "GET",
		.path = str_of(k->path),
		.cls = TRANSPORT_WATCH,
	};

	k->status = 0;
	frame_clear(&k->frame);
	if (t->send(t->ctx, k->cluster, &r, token_of(k), NULL) != ERR_OK) {
		loop_timer_set(k->again, AGAIN_MS);
	}
}

static void events(struct call *k, mk_str bytes)
{
	struct arena *a = &k->client->a;
	mk_str line;

	frame_add(&k->frame, bytes);
	while (frame_next(&k->frame, &line)) {
		struct json *event;

		arena_clear(a);
		if (json_parse(a, line, &event, NULL) == ERR_OK) {
			k->watch(k->ctx, k->cluster, json_str(json_get(event, "type")),
				 json_get(event, "object"));
		}
	}
}

/* --- the transport's callbacks ---------------------------------------------------------------- */

static void on_head(void *ctx, uint64_t token, const struct transport_head *head)
{
	struct call *k = call_of(token);

	(void)ctx;
	k->status = head->status;
	if (k->watch != NULL && head->status == 200) {
		k->watch(k->ctx, k->cluster, STR("RESET"), NULL);
	}
}

static void on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	struct call *k = call_of(token);

	(void)ctx;
	if (!k->watch) {
		buf_add(&k->body, bytes);
	} else if (k->status == 200) {
		events(k, bytes);
	}
}

static void on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		   mk_str text)
{
	struct call *k = call_of(token);
	struct json *body = NULL;
	struct arena a;

	(void)ctx;
	(void)code;
	(void)text;
	if (k->watch != NULL) {
		k->status = 0;
		loop_timer_set(k->again, AGAIN_MS);
		return;
	}
	arena_init(&a, 0);
	if (end == TRANSPORT_OK && json_parse(&a, buf_str(&k->body), &body, NULL) != ERR_OK) {
		body = NULL;
	}
	k->answer(k->ctx, end == TRANSPORT_OK ? k->status : 0, body);
	arena_done(&a);
	call_free(k);
}

/* --- what callers see ------------------------------------------------------------------------- */

struct client *client_new(struct mk_err *err)
{
	struct client *c = mk_calloc(1, sizeof(*c));
	struct transport_options o = {.user_agent = "demo"};

	if (!c) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	list_init(&c->calls);
	arena_init(&c->a, 0);
	net_fence_set(&c->fence, INT64_MAX);
	c->loop = loop_new(err);
	o.loop = c->loop;
	o.fence = &c->fence;
	c->net = c->loop != NULL ? transport_net_new(&o, TRANSPORT_AUTO, err) : NULL;
	if (!c->net) {
		client_free(c);
		return NULL;
	}
	c->sink = (struct transport_sink){
		.ctx = c, .on_head = on_head, .on_chunk = on_chunk, .on_end = on_end};
	transport_net_set_sink(c->net, &c->sink);
	return c;
}

void client_free(struct client *c)
{
	if (!c) {
		return;
	}
	transport_net_free(c->net);
	for (LIST_EACH_SAFE(n, &c->calls)) {
		call_free(LIST_ENTRY(n, struct call, node));
	}
	loop_free(c->loop);
	arena_done(&c->a);
	mk_free(c);
}

struct loop *client_loop(struct client *c)
{
	return c->loop;
}

enum mk_code client_open(struct client *c, uint32_t cluster, const char *kubeconfig,
			 struct mk_err *err)
{
	const struct transport *t = transport_net_get(c->net);
	struct endpoint e;
	struct arena a;
	enum mk_code code;

	arena_init(&a, 0);
	code = credentials_load(&a, kubeconfig, &e, err);
	if (code == ERR_OK) {
		code = t->open(t->ctx, cluster, &e, err);
	}
	arena_done(&a);
	return code;
}

enum mk_code client_send(struct client *c, const struct client_request *r, client_answer_fn *fn,
			 void *ctx, struct mk_err *err)
{
	const struct transport *t = transport_net_get(c->net);
	struct transport_request tr = {
		.method = r->method,
		.path = str_of(r->path),
		.content_type = r->body != NULL ? "application/json" : NULL,
		.body = str_of(r->body),
		.cls = TRANSPORT_READ,
		.timeout_ms = TIMEOUT_MS,
	};
	struct call *k = call_new(c, r->cluster, ctx);
	enum mk_code code;

	if (!k) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	k->answer = fn;
	code = t->send(t->ctx, r->cluster, &tr, token_of(k), err);
	if (code != ERR_OK) {
		call_free(k);
	}
	return code;
}

struct waiting {
	struct arena *a;
	struct json *body;
	int status;
	bool done;
};

static void take_answer(void *ctx, int status, const struct json *body)
{
	struct waiting *w = ctx;

	w->status = status;
	w->body = json_dup(w->a, body);
	w->done = true;
}

int client_do(struct client *c, const struct client_request *r, struct arena *a,
	      struct json **ret_body)
{
	struct waiting w = {.a = a};

	if (client_send(c, r, take_answer, &w, NULL) == ERR_OK) {
		while (!w.done) { /* ends: each request has a timeout */
			loop_turn(c->loop, 1000);
		}
	}
	*ret_body = w.body;
	return w.status;
}

enum mk_code client_watch(struct client *c, uint32_t cluster, const char *path, client_watch_fn *fn,
			  void *ctx)
{
	struct call *k = call_new(c, cluster, ctx);

	if (!k) {
		return ERR_NO_MEMORY;
	}
	k->watch = fn;
	k->path = path;
	k->again = loop_timer_new(c->loop, start_watch, k);
	if (!k->again) {
		call_free(k);
		return ERR_NO_MEMORY;
	}
	loop_timer_set(k->again, 0);
	return ERR_OK;
}

bool client_watching(const struct client *c)
{
	for (LIST_EACH(n, &c->calls)) {
		const struct call *k = LIST_ENTRY(n, struct call, node);

		if (k->watch != NULL && k->status != 200) {
			return false;
		}
	}
	return true;
}
