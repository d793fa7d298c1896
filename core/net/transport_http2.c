/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters, the turn of the loop, and struct transport; see transport_http2.h and http2_impl.h. */
#include "core/net/transport_http2.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/http2_impl.h"
#include "core/net/tls.h"

#define LOST_TEXT "http2: client connection lost"

/* --- around callbacks ------------------------------------------------------------------------ */

void http2_enter(void *ctx)
{
	struct transport_http2 *t = ctx;

	t->depth++;
}

static void cluster_free(struct http2_cluster *c)
{
	tls_creds_free(c->creds);
	peer_free(c->peer);
	mk_free(c->name);
	mk_free(c);
}

static void free_dead(struct transport_http2 *t)
{
	while (!list_empty(&t->dead_conns)) {
		http2_conn_free(LIST_ENTRY(t->dead_conns.next, struct http2_conn, in_cluster));
	}
	while (!list_empty(&t->dead_clusters)) {
		struct list_node *n = t->dead_clusters.next;

		list_del(n);
		cluster_free(LIST_ENTRY(n, struct http2_cluster, in_turn));
	}
}

void http2_leave(void *ctx)
{
	struct transport_http2 *t = ctx;

	t->depth--;
	if (t->depth > 0) {
		return;
	}
	free_dead(t);
	if (t->told) {
		t->told = false;
		if (t->after) {
			t->after(t->hook_ctx);
		}
	}
}

void http2_tell(struct transport_http2 *t)
{
	if (!t->told) {
		t->told = true;
		if (t->before) {
			t->before(t->hook_ctx);
		}
	}
}

int64_t http2_ping_after_ms(struct transport_http2 *t)
{
	enum { SHARE = 5, BITS = 16, STEP = 40503 }; /* by the golden ratio: neighbours are apart */
	int64_t ms = t->o.ping_after_ms > 0 ? t->o.ping_after_ms : HTTP2_PING_AFTER_MS;
	unsigned phase = t->phase++ * (unsigned)STEP % (1u << BITS);

	return ms - (ms / SHARE * phase >> BITS);
}

int64_t http2_ping_wait_ms(const struct transport_http2 *t)
{
	return t->o.ping_wait_ms > 0 ? t->o.ping_wait_ms : HTTP2_PING_WAIT_MS;
}

int64_t http2_idle_ms(const struct transport_http2 *t, enum http2_lane lane)
{
	int64_t ms = t->o.idle_ms > 0 ? t->o.idle_ms : HTTP2_IDLE_MS;

	return lane == HTTP2_LANE_LISTS ? ms / HTTP2_IDLE_LISTS_PART : ms;
}

/* --- the turn -------------------------------------------------------------------------------- */

void http2_cluster_due(struct http2_cluster *c)
{
	if (!c->closed && list_empty(&c->in_turn)) {
		list_add_tail(&c->t->turn, &c->in_turn);
		loop_post_now(c->t->post);
	}
}

static void start_conn(struct http2_cluster *c, enum http2_lane lane)
{
	struct mk_err err = {.code = ERR_OK};
	struct http2_conn *k = NULL;

	if (!c->creds) {
		struct endpoint e = peer_endpoint(c->peer);

		c->creds = tls_creds_new(e.ca_pem, e.cert_pem, e.key_pem, &err);
	}
	if (c->creds) {
		k = http2_conn_new(c, lane);
	}
	if (k) {
		http2_dial_start(k);
	} else if (err.code == ERR_INVALID) {
		http2_lane_failed(c, lane, ERR_DENIED, REQUEST_CREDENTIALS);
	} else {
		http2_lane_failed(c, lane, ERR_NO_MEMORY, "out of memory");
	}
}

static void cluster_turn(struct http2_cluster *c)
{
	size_t n = 0;

	for (int i = 0; i < HTTP2_N_LANES && !c->closed; i++) {
		if (!list_empty(&c->lanes[i].queue) && !c->lanes[i].conn) {
			start_conn(c, (enum http2_lane)i);
		}
	}
	for (LIST_EACH(node, &c->conns)) {
		n++;
	}
	/* Callbacks may make and close connections: each that is there goes to the end. */
	for (; n > 0 && !c->closed && !list_empty(&c->conns); n--) {
		struct http2_conn *k = LIST_ENTRY(c->conns.next, struct http2_conn, in_cluster);

		list_del(&k->in_cluster);
		list_add_tail(&c->conns, &k->in_cluster);
		http2_conn_turn(k);
	}
}

/* Moves all nodes to 'to', an empty list: what is added meanwhile has its turn later. */
static void take_all(struct list_node *to, struct list_node *from)
{
	list_init(to);
	list_add_all(to, from);
}

/* One at least; those for which there is no time come before what ended meanwhile. */
static void tell_ended(struct transport_http2 *t)
{
	struct list_node now;

	slice_begin(&t->slice, HTTP2_SLICE_US / 2);
	take_all(&now, &t->ended);
	while (!list_empty(&now)) {
		struct http2_transfer *f = LIST_ENTRY(now.next, struct http2_transfer, in_queue);

		http2_transfer_end(f, f->end, f->code, f->text);
		if (slice_spent(&t->slice)) {
			break;
		}
	}
	if (!list_empty(&now)) {
		list_add_all(&now, &t->ended);
		list_add_all(&t->ended, &now);
		loop_post_now(t->post);
	}
}

static void turn(void *ctx)
{
	struct transport_http2 *t = ctx;
	int64_t until_us = clock_mono_us() + HTTP2_SLICE_US / 2;
	struct list_node now;

	http2_enter(t);
	take_all(&now, &t->resume);
	while (!list_empty(&now)) {
		struct http2_conn *k = LIST_ENTRY(now.next, struct http2_conn, in_resume);

		if (clock_mono_us() > until_us) {
			list_del(&k->in_resume);
			list_add_tail(&t->resume, &k->in_resume);
			loop_post_now(t->post);
		} else {
			http2_conn_resume(k);
		}
	}
	until_us = clock_mono_us() + HTTP2_SLICE_US / 2; /* however long that took */
	take_all(&now, &t->turn);
	while (!list_empty(&now)) {
		struct http2_cluster *c = LIST_ENTRY(now.next, struct http2_cluster, in_turn);

		list_del(&c->in_turn);
		if (clock_mono_us() > until_us) { /* a thousand connections are not made at once */
			http2_cluster_due(c);
		} else {
			cluster_turn(c);
		}
	}
	tell_ended(t);
	http2_leave(t);
}

/* What waits is handed over; false: this request has to end. */
static bool hand_over(struct http2_transfer *f, struct mk_err *err)
{
	struct transport_http2 *t = f->t;
	int64_t left = f->until_ms == INT64_MAX ? 0 : f->until_ms - clock_mono_ms();
	struct transport_request r = {
		.method = f->method,
		.path = f->path,
		.accept = f->accept,
		.content_type = f->content_type,
		.body = f->stream.body,
		.as = str_of(f->as),
		.cls = f->cls,
		.timeout_ms = f->until_ms != INT64_MAX && left < 1 ? 1 : left,
		.gzip = f->gzip,
	};

	if (!t->fallback.take) {
		err_set(err, ERR_UNAVAILABLE,
			"http2: unexpected ALPN protocol \"http/1.1\"; want \"h2\"");
		return false;
	}
	return t->fallback.take(t->fallback.ctx, f->cluster, &r, f->token, err) == ERR_OK;
}

void http2_cluster_falls_back(struct http2_conn *k)
{
	struct http2_cluster *c = k->cluster;

	c->is_http1 = true;
	http2_conn_bury(k);
	for (int i = 0; i < HTTP2_N_LANES; i++) {
		struct list_node now;

		take_all(&now, &c->lanes[i].queue);
		while (!list_empty(&now)) {
			struct http2_transfer *f =
				LIST_ENTRY(now.next, struct http2_transfer, in_queue);
			struct mk_err err = {.code = ERR_OK};

			if (hand_over(f, &err)) {
				http2_transfer_drop(f);
			} else {
				http2_transfer_end(f, TRANSPORT_NOT_SENT, err.code, err.msg);
			}
		}
	}
}

/* --- clusters -------------------------------------------------------------------------------- */

static struct http2_cluster *cluster_of(const struct transport_http2 *t, uint32_t id)
{
	return cluster_table_get(&t->clusters, id);
}

/* The peer's URL has the name that is to be verified. */
static bool split_url(struct http2_cluster *c)
{
	mk_str url = str_of(c->peer->url + strlen("https://"));
	ptrdiff_t slash = str_index(url, '/');
	char port[8];
	mk_str name;

	c->base_path = slash < 0 ? STR("") : str_sub(url, (size_t)slash, url.n);
	c->authority = slash < 0 ? url : str_sub(url, 0, (size_t)slash);
	snprintf(port, sizeof(port), ":%u", (unsigned)c->peer->port);
	name = str_sub(c->authority, 0, c->authority.n - strlen(port));
	if (c->peer->port == 443) {
		c->authority = name;
	}
	if (name.n > 2 && name.p[0] == '[') {
		name = str_sub(name, 1, name.n - 2);
	}
	c->name = mk_strndup(name);
	return c->name != NULL;
}

static struct http2_cluster *cluster_new(struct transport_http2 *t, uint32_t id,
					 const struct endpoint *e, struct mk_err *err)
{
	struct http2_cluster *c = mk_calloc(1, sizeof(*c));

	err_set(err, ERR_NO_MEMORY, "out of memory");
	if (!c) {
		return NULL;
	}
	c->id = id;
	c->t = t;
	c->asked_ms = INT64_MIN / 2;
	list_init(&c->conns);
	list_init(&c->requests);
	list_init(&c->in_turn);
	for (int i = 0; i < HTTP2_N_LANES; i++) {
		list_init(&c->lanes[i].queue);
	}
	c->peer = peer_new(e, &c->creds, err);
	if (!c->peer || !split_url(c)) {
		cluster_free(c);
		return NULL;
	}
	http2_dial_fixed(c);
	return c;
}

static void bury_conns(struct http2_cluster *c)
{
	while (!list_empty(&c->conns)) {
		http2_conn_bury(LIST_ENTRY(c->conns.next, struct http2_conn, in_cluster));
	}
	resolver_cancel(c->t->resolver, &c->lookup);
}

static void vt_close(void *ctx, uint32_t id)
{
	struct transport_http2 *t = ctx;
	struct http2_cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	c->closed = true;
	while (!list_empty(&c->requests)) {
		http2_transfer_drop(
			LIST_ENTRY(c->requests.next, struct http2_transfer, in_cluster));
	}
	bury_conns(c);
	cluster_table_remove(&t->clusters, id);
	list_del(&c->in_turn);
	list_add_tail(&t->dead_clusters, &c->in_turn);
	if (t->depth == 0) {
		free_dead(t);
	}
}

static enum mk_code vt_open(void *ctx, uint32_t id, const struct endpoint *e, struct mk_err *err)
{
	struct transport_http2 *t = ctx;
	struct http2_cluster *c = NULL;
	struct mk_err why;

	vt_close(t, id);
	if (cluster_table_reserve(&t->clusters, &why) == ERR_OK) {
		c = cluster_new(t, id, e, &why);
	}
	if (!c) {
		return err_set(err, why.code, "%s", why.msg);
	}
	cluster_table_add(&t->clusters, id, c);
	return ERR_OK;
}

static bool same_text(const char *have, size_t n, mk_str other)
{
	return have ? str_eq((mk_str){have, n}, other) : other.n == 0;
}

uint32_t http2_window(enum http2_lane lane)
{
	return lane == HTTP2_LANE_LISTS ? HTTP2_WINDOW_LISTS : HTTP2_WINDOW;
}

void http2_conn_drain(struct http2_conn *k)
{
	struct http2_lane_state *lane = &k->cluster->lanes[k->lane];

	k->draining = true;
	if (lane->conn == k) {
		lane->conn = NULL;
	}
}

/* Connections that showed the old certificate take no new streams. */
static void drop_certificate(struct http2_cluster *c)
{
	tls_creds_free(c->creds);
	c->creds = NULL;
	for (int i = 0; i < HTTP2_N_LANES; i++) {
		struct http2_conn *k = c->lanes[i].conn;

		if (k && k->state == HTTP2_UP) {
			http2_conn_drain(k);
		} else if (k) {
			http2_conn_bury(k); /* nothing was sent on it */
		}
	}
	http2_cluster_due(c);
}

static enum mk_code vt_renew(void *ctx, uint32_t id, const struct endpoint *e, struct mk_err *err)
{
	struct transport_http2 *t = ctx;
	struct http2_cluster *c = cluster_of(t, id);
	enum mk_code code;
	bool same;

	if (!c) {
		return err_set(err, ERR_BUG, "the cluster is not open");
	}
	same = same_text(c->peer->cert, c->peer->cert_size, e->cert_pem) &&
	       same_text(c->peer->key, c->peer->key_size, e->key_pem);
	code = peer_renew(c->peer, e, err);
	if (code == ERR_OK && !same) {
		drop_certificate(c);
	}
	return code;
}

static void vt_reset(void *ctx, uint32_t id)
{
	struct transport_http2 *t = ctx;
	struct http2_cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	for (LIST_EACH_AS(struct http2_transfer, f, &c->requests, in_cluster)) {
		if (!f->text) { /* else its end is on its way */
			http2_transfer_end_later(f, f->conn ? TRANSPORT_LOST : TRANSPORT_NOT_SENT,
						 ERR_UNAVAILABLE, LOST_TEXT);
		}
	}
	bury_conns(c);
	c->asked_ms = INT64_MIN / 2;
	c->is_http1 = false;
}

static enum mk_code vt_send(void *ctx, uint32_t id, const struct transport_request *r,
			    uint64_t token, struct mk_err *err)
{
	struct transport_http2 *t = ctx;
	struct http2_cluster *c = cluster_of(t, id);

	if (!c || !t->sink) {
		return err_set(err, ERR_BUG, "the cluster is not open");
	}
	return http2_transfer_new(c, r, token, err);
}

static void vt_cancel(void *ctx, uint32_t id, uint64_t token)
{
	struct transport_http2 *t = ctx;
	struct http2_cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	for (LIST_EACH_AS(struct http2_transfer, f, &c->requests, in_cluster)) {
		if (f->token == token) {
			http2_transfer_drop(f);
			return;
		}
	}
}

/* --- life ------------------------------------------------------------------------------------ */

static bool make_parts(struct transport_http2 *t)
{
	const struct transport_options *o = &t->o;

	t->post = loop_post_new(o->loop, turn, t);
	t->resolver = resolver_new(&(struct resolver_options){
		.loop = o->loop,
		.max_threads = RESOLVER_THREADS,
		.limit_ms = RESOLVER_LIMIT_MS,
		.getaddrinfo = o->getaddrinfo,
	});
	t->tls = http2_tls_new(tls_only_13(o->tls13));
	t->bio = http2_tx_bio();
	t->deadlines.enter = http2_enter;
	t->deadlines.leave = http2_leave;
	t->deadlines.ctx = t;
	return t->post && t->resolver && t->tls && t->bio && deadlines_init(&t->deadlines, o->loop);
}

struct transport_http2 *transport_http2_new(const struct transport_options *o,
					    const struct transport_http2_fallback *f,
					    struct mk_err *err)
{
	struct transport_http2 *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	t->o = *o;
	t->slice.clock_us = o->clock_us ? o->clock_us : clock_mono_us;
	list_init(&t->turn);
	list_init(&t->resume);
	list_init(&t->ended);
	list_init(&t->dead_conns);
	list_init(&t->dead_clusters);
	if (f) {
		t->fallback = *f;
	}
	if (!make_parts(t)) {
		transport_http2_free(t);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	t->vt = (struct transport){
		.ctx = t,
		.open = vt_open,
		.close = vt_close,
		.renew = vt_renew,
		.reset = vt_reset,
		.send = vt_send,
		.cancel = vt_cancel,
	};
	return t;
}

void transport_http2_free(struct transport_http2 *t)
{
	if (!t) {
		return;
	}
	while (t->clusters.n > 0) {
		vt_close(t, t->clusters.v[t->clusters.n - 1].id);
	}
	cluster_table_done(&t->clusters);
	resolver_free(t->resolver);
	loop_post_free(t->post);
	deadlines_done(&t->deadlines);
	SSL_CTX_free(t->tls);
	BIO_meth_free(t->bio);
	mk_free(t->spare_tx);
	mk_free(t);
}

const struct transport *transport_http2_get(struct transport_http2 *t)
{
	return &t->vt;
}

void transport_http2_set_sink(struct transport_http2 *t, const struct transport_sink *sink)
{
	t->sink = sink;
}

void transport_http2_set_hooks(struct transport_http2 *t, void (*before)(void *ctx),
			       void (*after)(void *ctx), void *ctx)
{
	t->before = before;
	t->after = after;
	t->hook_ctx = ctx;
}

void transport_http2_get_stats(const struct transport_http2 *t, struct transport_stats *ret)
{
	*ret = t->stats;
	ret->clusters = t->clusters.n;
}

bool transport_http2_is_http1(const struct transport_http2 *t, uint32_t cluster)
{
	const struct http2_cluster *c = cluster_of(t, cluster);

	return c && c->is_http1;
}

bool transport_http2_endpoint(const struct transport_http2 *t, uint32_t cluster,
			      struct endpoint *ret)
{
	const struct http2_cluster *c = cluster_of(t, cluster);

	if (!c) {
		return false;
	}
	*ret = peer_endpoint(c->peer);
	ret->base_path = c->base_path;
	ret->tls_server_name = str_of(c->name);
	return true;
}
