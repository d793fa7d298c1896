/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters, transfers and the delivery of what came in; see transport_curl.h. */
#include "core/net/transport_curl.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/list.h"
#include "core/net/cluster_table.h"
#include "core/net/pool.h"
#include "core/net/tls.h"

enum {
	CHUNK_MAX = 256 * 1024, /* bytes handed on in one callback */
	SLICE_US = 4000,        /* then the loop gets its turn */
};

struct cluster {
	uint32_t id;
	struct peer *peer;
	struct pool *requests, *watches;
	struct list_node transfers; /* by age */
};

struct transfer {
	struct exchange x; /* first: libcurl's private pointer leads here */
	struct list_node in_cluster;
	struct list_node in_ready; /* only while is_ready */
	struct transport_curl *t;
	struct cluster *home;
	uint64_t token;
	int64_t begun_us;
	uint32_t cluster; /* home's number, for when home is gone */
	CURLcode rc;
	bool is_ready;  /* has something to deliver */
	bool on_wire;   /* on the pool's multi handle */
	bool ended;     /* rc is valid */
	bool head_told; /* on_head was made */
	bool busy;      /* inside a callback: cancel must not free it */
	bool cancelled;
};

struct transport_curl {
	struct transport vt;
	struct transport_options o;
	struct exchange_env env;
	struct resolver *resolver;
	const struct transport_sink *sink;
	void (*before)(void *ctx);
	void (*after)(void *ctx);
	void *hook_ctx;
	struct cluster_table clusters;
	struct list_node ready;
	struct loop_post *deliver;
	size_t running;
};

static struct cluster *cluster_of(const struct transport_curl *t, uint32_t id)
{
	return cluster_table_get(&t->clusters, id);
}

static struct pool *pool_of(const struct transfer *f)
{
	return f->x.cls == TRANSPORT_WATCH ? f->home->watches : f->home->requests;
}

static void mark_ready(struct transfer *f)
{
	if (!f->is_ready) {
		f->is_ready = true;
		list_add_tail(&f->t->ready, &f->in_ready);
		loop_post_now(f->t->deliver);
	}
}

static void unready(struct transfer *f)
{
	if (f->is_ready) {
		f->is_ready = false;
		list_del(&f->in_ready);
	}
}

static void transfer_free(struct transfer *f)
{
	exchange_done(&f->x);
	mk_free(f);
}

/* Takes it off the wire and out of all lists; frees it unless one of its callbacks is running. */
static void transfer_drop(struct transfer *f)
{
	unready(f);
	if (f->on_wire) {
		f->on_wire = false;
		pool_remove(pool_of(f), &f->x);
	}
	list_del(&f->in_cluster);
	f->t->running--;
	f->cancelled = true;
	if (!f->busy) {
		transfer_free(f);
	}
}

/* --- what libcurl tells us: collected, not acted upon ---------------------------------------- */

static void exchange_grew(struct exchange *x)
{
	mark_ready((struct transfer *)x);
}

static void exchange_ended(void *ctx, struct exchange *x, CURLcode rc)
{
	struct transfer *f = (struct transfer *)x;

	(void)ctx;
	f->on_wire = false;
	f->ended = true;
	f->rc = rc;
	mark_ready(f);
}

/* --- delivery -------------------------------------------------------------------------------- */

static void report(struct transport_curl *t, const struct transfer *f, enum transport_end end,
		   enum mk_code code)
{
	struct transport_report r = {
		.cluster = f->cluster,
		.method = f->x.cls == TRANSPORT_WATCH ? "WATCH" : f->x.method,
		.status = f->x.head_done ? f->x.status : 0,
		.end = end,
		.code = code,
		.dur_us = clock_mono_us() - f->begun_us,
	};

	if (t->o.report) {
		t->o.report(t->o.report_ctx, &r);
	}
}

/* 401 and the token on disk is a new one: once more, without a word to the sink. */
static bool sent_again(struct transfer *f)
{
	if (!f->x.token_renewed || f->rc != CURLE_OK) {
		return false;
	}
	f->rc = exchange_again(&f->x, clock_mono_ms());
	if (f->rc == CURLE_OK && pool_add(pool_of(f), &f->x, NULL) != ERR_OK) {
		f->rc = CURLE_OUT_OF_MEMORY;
	}
	if (f->rc != CURLE_OK) {
		return false;
	}
	f->ended = false;
	f->on_wire = true;
	return true;
}

static void deliver_end(struct transport_curl *t, struct transfer *f)
{
	enum transport_end end = TRANSPORT_OK;
	char text[256];
	enum mk_code code;

	if (sent_again(f)) {
		return;
	}
	code = exchange_verdict(&f->x, f->rc, &end, text);
	report(t, f, end, code);
	f->busy = true;
	transfer_drop(f);
	t->sink->on_end(t->sink->ctx, f->token, end, code, str_of(text));
	transfer_free(f);
}

static void deliver_head(struct transport_curl *t, struct transfer *f)
{
	struct transport_head head = {
		.status = f->x.status,
		.content_type = str_of(f->x.content_type),
		.retry_after_ms = f->x.retry_after_ms,
	};

	f->head_told = true;
	t->sink->on_head(t->sink->ctx, f->token, &head);
}

static void deliver_body(struct transport_curl *t, struct transfer *f)
{
	size_t done = 0;

	while (!f->cancelled && done < f->x.in.n) {
		mk_str chunk = str_sub(buf_str(&f->x.in), done, CHUNK_MAX);

		done += chunk.n;
		t->sink->on_chunk(t->sink->ctx, f->token, chunk);
	}
	str_wipe(buf_str(&f->x.in)); /* it may be of a Secret */
	if (f->x.cls == TRANSPORT_WATCH && f->x.in.size > CHUNK_MAX) {
		buf_done(&f->x.in); /* a burst's memory is not kept for the hours of silence after
				       it */
		buf_init(&f->x.in, f->x.cap);
	} else {
		buf_clear(&f->x.in);
	}
}

/* There is room for more. */
static void read_on(struct transfer *f)
{
	CURLcode rc = f->on_wire ? exchange_resume(&f->x) : CURLE_OK;

	if (rc != CURLE_OK) {
		f->on_wire = false;
		pool_remove(pool_of(f), &f->x);
		f->ended = true;
		f->rc = rc;
		mark_ready(f);
	}
}

static void deliver_one(struct transport_curl *t, struct transfer *f)
{
	unready(f);
	f->busy = true;
	if (f->x.head_done && !f->head_told && !f->x.token_renewed) {
		deliver_head(t, f);
	}
	if (!f->cancelled && f->head_told) {
		deliver_body(t, f);
	}
	f->busy = false;
	if (f->cancelled) {
		transfer_free(f);
	} else if (f->ended) {
		deliver_end(t, f);
	} else {
		read_on(f);
	}
}

static void deliver(void *ctx)
{
	struct transport_curl *t = ctx;
	int64_t t0 = clock_mono_us();

	if (t->before) {
		t->before(t->hook_ctx);
	}
	while (!list_empty(&t->ready)) {
		deliver_one(t, LIST_ENTRY(t->ready.next, struct transfer, in_ready));
		if (clock_mono_us() - t0 > SLICE_US && !list_empty(&t->ready)) {
			loop_post_now(t->deliver);
			break;
		}
	}
	if (t->after) {
		t->after(t->hook_ctx);
	}
}

/* --- struct transport ------------------------------------------------------------------------ */

static void cluster_free(struct cluster *c)
{
	pool_free(c->requests);
	pool_free(c->watches);
	peer_free(c->peer);
	mk_free(c);
}

static void vt_close(void *ctx, uint32_t id)
{
	struct transport_curl *t = ctx;
	struct cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	while (!list_empty(&c->transfers)) {
		transfer_drop(LIST_ENTRY(c->transfers.next, struct transfer, in_cluster));
	}
	cluster_table_remove(&t->clusters, id);
	cluster_free(c);
}

/* NULL: no memory, or a bad endpoint (text in err). */
static struct cluster *cluster_new(struct transport_curl *t, uint32_t id, const struct endpoint *e,
				   struct mk_err *err)
{
	struct cluster *c = mk_calloc(1, sizeof(*c));

	err_set(err, ERR_NO_MEMORY, "out of memory");
	if (!c) {
		return NULL;
	}
	c->id = id;
	list_init(&c->transfers);
	c->requests = pool_new(t->o.loop, t->resolver, true, exchange_ended, t);
	c->watches = pool_new(t->o.loop, t->resolver, false, exchange_ended, t);
	if (c->requests && c->watches) {
		c->peer = peer_new(e, NULL, err);
	}
	if (!c->peer) {
		cluster_free(c);
		return NULL;
	}
	return c;
}

static enum mk_code vt_open(void *ctx, uint32_t id, const struct endpoint *e, struct mk_err *err)
{
	struct transport_curl *t = ctx;
	struct cluster *c = NULL;
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

static enum mk_code vt_renew(void *ctx, uint32_t id, const struct endpoint *e, struct mk_err *err)
{
	struct transport_curl *t = ctx;
	struct cluster *c = cluster_of(t, id);

	return c ? peer_renew(c->peer, e, err) : err_set(err, ERR_BUG, "the cluster is not open");
}

static void vt_reset(void *ctx, uint32_t id)
{
	struct transport_curl *t = ctx;
	struct cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	for (struct list_node *n = c->transfers.next; n != &c->transfers; n = n->next) {
		struct transfer *f = LIST_ENTRY(n, struct transfer, in_cluster);

		if (f->on_wire) {
			f->on_wire = false;
			pool_remove(pool_of(f), &f->x);
			f->ended = true;
			f->rc = CURLE_GOT_NOTHING;
			mark_ready(f);
		}
	}
	pool_drop(c->requests);
	pool_drop(c->watches);
}

static enum mk_code vt_send(void *ctx, uint32_t id, const struct transport_request *r,
			    uint64_t token, struct mk_err *err)
{
	struct transport_curl *t = ctx;
	struct cluster *c = cluster_of(t, id);
	struct mk_err why = {.code = ERR_OK};
	struct transfer *f;
	enum mk_code code;

	if (!c || !t->sink) {
		return err_set(err, ERR_BUG, "the cluster is not open");
	}
	f = mk_calloc(1, sizeof(*f));
	if (!f) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	f->t = t;
	f->home = c;
	f->token = token;
	f->cluster = id;
	f->begun_us = clock_mono_us();
	code = exchange_init(&f->x, &t->env, c->peer, r, f->begun_us / 1000, &why);
	if (code == ERR_OK) {
		f->x.grew = exchange_grew;
		code = pool_add(pool_of(f), &f->x, &why);
		f->on_wire = code == ERR_OK;
	}
	if (code != ERR_OK && code != ERR_FENCED) {
		transfer_free(f);
		return err_set(err, why.code, "%s", why.msg);
	}
	list_add_tail(&c->transfers, &f->in_cluster);
	t->running++;
	if (code == ERR_FENCED) { /* an end like any other, and ends never come inside send */
		f->x.fenced = true;
		f->ended = true;
		f->rc = CURLE_ABORTED_BY_CALLBACK;
		mark_ready(f);
	}
	return ERR_OK;
}

static void vt_cancel(void *ctx, uint32_t id, uint64_t token)
{
	struct transport_curl *t = ctx;
	struct cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	for (struct list_node *n = c->transfers.next; n != &c->transfers; n = n->next) {
		struct transfer *f = LIST_ENTRY(n, struct transfer, in_cluster);

		if (f->token == token) {
			transfer_drop(f);
			return;
		}
	}
}

/* --- life ------------------------------------------------------------------------------------ */

static bool curl_is_able(struct mk_err *err)
{
	const curl_version_info_data *v;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		err_set(err, ERR_NO_MEMORY, "libcurl does not start");
		return false;
	}
	v = curl_version_info(CURLVERSION_NOW);
	if (v->version_num < 0x075800 || !(v->features & CURL_VERSION_HTTP2) ||
	    !(v->features & CURL_VERSION_SSL)) {
		err_set(err, ERR_INVALID,
			"libcurl: expected 7.88.0 or newer with TLS and HTTP/2, found %s",
			v->version);
		return false;
	}
	return true;
}

struct transport_curl *transport_curl_new(const struct transport_options *o, struct mk_err *err)
{
	struct transport_curl *t;

	if (!curl_is_able(err)) {
		return NULL;
	}
	t = mk_calloc(1, sizeof(*t));
	if (t) {
		t->deliver = loop_post_new(o->loop, deliver, t);
		t->resolver = resolver_new(&(struct resolver_options){
			.loop = o->loop,
			.max_threads = RESOLVER_THREADS,
			.limit_ms = RESOLVER_LIMIT_MS,
			.getaddrinfo = o->getaddrinfo,
		});
	}
	if (!t || !t->deliver || !t->resolver) {
		if (t) {
			loop_post_free(t->deliver);
			resolver_free(t->resolver);
		}
		mk_free(t);
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	t->o = *o;
	t->env = (struct exchange_env){
		.user_agent = o->user_agent, .fence = o->fence, .tls13 = tls_only_13(o->tls13)};
	list_init(&t->ready);
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

void transport_curl_free(struct transport_curl *t)
{
	if (!t) {
		return;
	}
	while (t->clusters.n > 0) {
		vt_close(t, t->clusters.v[t->clusters.n - 1].id);
	}
	cluster_table_done(&t->clusters);
	resolver_free(t->resolver);
	loop_post_free(t->deliver);
	mk_free(t);
	curl_global_cleanup();
}

const struct transport *transport_curl_get(struct transport_curl *t)
{
	return &t->vt;
}

void transport_curl_set_sink(struct transport_curl *t, const struct transport_sink *sink)
{
	t->sink = sink;
}

void transport_curl_set_hooks(struct transport_curl *t, void (*before)(void *ctx),
			      void (*after)(void *ctx), void *ctx)
{
	t->before = before;
	t->after = after;
	t->hook_ctx = ctx;
}

bool transport_curl_is_open(const struct transport_curl *t, uint32_t cluster)
{
	return cluster_of(t, cluster) != NULL;
}

void transport_curl_get_stats(const struct transport_curl *t, struct transport_stats *ret)
{
	*ret = (struct transport_stats){
		.connects = t->env.connects,
		.sockets = t->env.live_sockets,
		.bytes_in = t->env.bytes_in,
		.running = t->running,
		.clusters = t->clusters.n,
	};
}
