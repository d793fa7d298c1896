/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters and transfers; see transport_curl.h and curl_impl.h. */
#include "core/net/transport_curl.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/curl_impl.h"
#include "core/net/tls.h"

static struct curl_cluster *cluster_of(const struct transport_curl *t, uint32_t id)
{
	return cluster_table_get(&t->clusters, id);
}

/* --- what libcurl tells us: collected, not acted upon ---------------------------------------- */

static void exchange_grew(struct exchange *x)
{
	curl_mark_ready((struct curl_transfer *)x);
}

static void exchange_ended(void *ctx, struct exchange *x, CURLcode rc)
{
	struct curl_transfer *f = (struct curl_transfer *)x;

	(void)ctx;
	f->on_wire = false;
	f->ended = true;
	f->rc = rc;
	curl_mark_ready(f);
}

/* --- struct transport ------------------------------------------------------------------------ */

/* A pool of the cluster's has read what nothing paid for. */
static void count_barren(void *ctx, size_t n)
{
	struct curl_cluster *c = ctx;

	if (c->barren == 0) {
		list_add_tail(&c->t->barren, &c->in_barren);
		loop_post_now(c->t->deliver);
	}
	c->barren += n;
}

static void cluster_free(struct curl_cluster *c)
{
	list_del(&c->in_barren);
	pool_free(c->requests);
	pool_free(c->watches);
	peer_free(c->peer);
	mk_free(c);
}

static void vt_close(void *ctx, uint32_t id)
{
	struct transport_curl *t = ctx;
	struct curl_cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	while (!list_empty(&c->transfers)) {
		curl_transfer_drop(LIST_ENTRY(c->transfers.next, struct curl_transfer, in_cluster));
	}
	cluster_table_remove(&t->clusters, id);
	cluster_free(c);
}

/* NULL: no memory, or a bad endpoint (text in err). */
static struct curl_cluster *cluster_new(struct transport_curl *t, uint32_t id,
					const struct endpoint *e, struct mk_err *err)
{
	struct curl_cluster *c = mk_calloc(1, sizeof(*c));

	err_set(err, ERR_NO_MEMORY, "out of memory");
	if (!c) {
		return NULL;
	}
	c->id = id;
	c->t = t;
	list_init(&c->transfers);
	list_init(&c->in_barren);
	c->requests = pool_new(t->o.loop, t->resolver, true, exchange_ended, t);
	c->watches = pool_new(t->o.loop, t->resolver, false, exchange_ended, t);
	if (c->requests && c->watches) {
		c->peer = peer_new(e, NULL, err);
	}
	if (c->peer && id != 0) {
		pool_set_share(c->requests, &c->share, &t->env, count_barren, c);
		pool_set_share(c->watches, &c->share, &t->env, count_barren, c);
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
	struct curl_cluster *c = NULL;
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
	struct curl_cluster *c = cluster_of(t, id);

	return c ? peer_renew(c->peer, e, err) : err_set(err, ERR_BUG, "the cluster is not open");
}

static void vt_reset(void *ctx, uint32_t id)
{
	struct transport_curl *t = ctx;
	struct curl_cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	for (struct list_node *n = c->transfers.next; n != &c->transfers; n = n->next) {
		struct curl_transfer *f = LIST_ENTRY(n, struct curl_transfer, in_cluster);

		if (f->on_wire) {
			f->on_wire = false;
			pool_remove(curl_pool_of(f), &f->x);
			f->ended = true;
			f->rc = CURLE_GOT_NOTHING;
			curl_mark_ready(f);
		}
	}
	pool_drop(c->requests);
	pool_drop(c->watches);
}

static enum mk_code vt_send(void *ctx, uint32_t id, const struct transport_request *r,
			    uint64_t token, struct mk_err *err)
{
	struct transport_curl *t = ctx;
	struct curl_cluster *c = cluster_of(t, id);
	struct mk_err why = {.code = ERR_OK};
	struct curl_transfer *f;
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
		code = pool_add(curl_pool_of(f), &f->x, &why);
		f->on_wire = code == ERR_OK;
	}
	if (code != ERR_OK && code != ERR_FENCED) {
		curl_transfer_free(f);
		return err_set(err, why.code, "%s", why.msg);
	}
	list_add_tail(&c->transfers, &f->in_cluster);
	t->running++;
	if (code == ERR_FENCED) { /* an end like any other, and ends never come inside send */
		f->x.fenced = true;
		f->ended = true;
		f->rc = CURLE_ABORTED_BY_CALLBACK;
		curl_mark_ready(f);
	}
	return ERR_OK;
}

static void vt_cancel(void *ctx, uint32_t id, uint64_t token)
{
	struct transport_curl *t = ctx;
	struct curl_cluster *c = cluster_of(t, id);

	if (!c) {
		return;
	}
	for (struct list_node *n = c->transfers.next; n != &c->transfers; n = n->next) {
		struct curl_transfer *f = LIST_ENTRY(n, struct curl_transfer, in_cluster);

		if (f->token == token) {
			curl_transfer_drop(f);
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
		t->deliver = loop_post_new(o->loop, curl_deliver, t);
		t->again = loop_timer_new(o->loop, curl_deliver, t);
		t->resolver = resolver_new(&(struct resolver_options){
			.loop = o->loop,
			.max_threads = RESOLVER_THREADS,
			.limit_ms = RESOLVER_LIMIT_MS,
			.getaddrinfo = o->getaddrinfo,
		});
	}
	if (!t || !t->deliver || !t->again || !t->resolver) {
		if (t) {
			loop_post_free(t->deliver);
			loop_timer_free(t->again);
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
	list_init(&t->barren);
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
	loop_timer_free(t->again);
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
