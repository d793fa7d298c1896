/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the two transports a cluster has; see transport_net.h. */
#include "core/net/transport_net.h"

#include "core/base/alloc.h"
#include "core/net/tls.h"
#include "core/net/transport_curl.h"
#include "core/net/transport_http2.h"

struct transport_net {
	struct transport vt;
	struct transport_curl *curl_owner;
	struct transport_http2 *http2_owner; /* NULL: libcurl for all */
	const struct transport *curl, *http2;
};

/* The cluster is opened for libcurl when it is known to need it. */
static enum mk_code take_over(void *ctx, uint32_t cluster, const struct transport_request *r,
			      uint64_t token, struct mk_err *err)
{
	struct transport_net *t = ctx;
	struct endpoint e;

	if (!transport_curl_is_open(t->curl_owner, cluster)) {
		enum mk_code code = transport_http2_endpoint(t->http2_owner, cluster, &e)
					    ? t->curl->open(t->curl->ctx, cluster, &e, err)
					    : err_set(err, ERR_BUG, "the cluster is not open");

		if (code != ERR_OK) {
			return code;
		}
	}
	return t->curl->send(t->curl->ctx, cluster, r, token, err);
}

static void vt_close(void *ctx, uint32_t cluster)
{
	struct transport_net *t = ctx;

	t->http2->close(t->http2->ctx, cluster);
	t->curl->close(t->curl->ctx, cluster);
}

static enum mk_code vt_open(void *ctx, uint32_t cluster, const struct endpoint *e,
			    struct mk_err *err)
{
	struct transport_net *t = ctx;

	t->curl->close(t->curl->ctx, cluster);
	return t->http2->open(t->http2->ctx, cluster, e, err);
}

static enum mk_code vt_renew(void *ctx, uint32_t cluster, const struct endpoint *e,
			     struct mk_err *err)
{
	struct transport_net *t = ctx;
	enum mk_code code = ERR_OK;

	if (transport_curl_is_open(t->curl_owner, cluster)) {
		code = t->curl->renew(t->curl->ctx, cluster, e, err);
	}
	return code == ERR_OK ? t->http2->renew(t->http2->ctx, cluster, e, err) : code;
}

static void vt_reset(void *ctx, uint32_t cluster)
{
	struct transport_net *t = ctx;

	t->http2->reset(t->http2->ctx, cluster);
	t->curl->reset(t->curl->ctx, cluster);
}

static enum mk_code vt_send(void *ctx, uint32_t cluster, const struct transport_request *r,
			    uint64_t token, struct mk_err *err)
{
	struct transport_net *t = ctx;

	return transport_http2_is_http1(t->http2_owner, cluster)
		       ? take_over(t, cluster, r, token, err)
		       : t->http2->send(t->http2->ctx, cluster, r, token, err);
}

static void vt_cancel(void *ctx, uint32_t cluster, uint64_t token)
{
	struct transport_net *t = ctx;

	t->http2->cancel(t->http2->ctx, cluster, token);
	t->curl->cancel(t->curl->ctx, cluster, token);
}

struct transport_net *transport_net_new(const struct transport_options *o,
					enum transport_choice choice, struct mk_err *err)
{
	struct transport_net *t = mk_calloc(1, sizeof(*t));
	struct transport_http2_fallback fallback = {.ctx = t, .take = take_over};

	if (!t) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	if (tls_usable(err) == ERR_OK) {
		t->curl_owner = transport_curl_new(o, err);
	}
	if (t->curl_owner && choice == TRANSPORT_AUTO) {
		t->http2_owner = transport_http2_new(o, &fallback, err);
	}
	if (!t->curl_owner || (choice == TRANSPORT_AUTO && !t->http2_owner)) {
		transport_net_free(t);
		return NULL;
	}
	t->curl = transport_curl_get(t->curl_owner);
	if (!t->http2_owner) {
		t->vt = *t->curl;
		return t;
	}
	t->http2 = transport_http2_get(t->http2_owner);
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

void transport_net_free(struct transport_net *t)
{
	if (t) {
		transport_http2_free(t->http2_owner);
		transport_curl_free(t->curl_owner);
		mk_free(t);
	}
}

const struct transport *transport_net_get(struct transport_net *t)
{
	return &t->vt;
}

void transport_net_set_sink(struct transport_net *t, const struct transport_sink *sink)
{
	transport_curl_set_sink(t->curl_owner, sink);
	if (t->http2_owner) {
		transport_http2_set_sink(t->http2_owner, sink);
	}
}

void transport_net_set_hooks(struct transport_net *t, void (*before)(void *ctx),
			     void (*after)(void *ctx), void *ctx)
{
	transport_curl_set_hooks(t->curl_owner, before, after, ctx);
	if (t->http2_owner) {
		transport_http2_set_hooks(t->http2_owner, before, after, ctx);
	}
}

void transport_net_get_stats(const struct transport_net *t, struct transport_stats *ret)
{
	struct transport_stats more;

	transport_curl_get_stats(t->curl_owner, ret);
	if (t->http2_owner) {
		transport_http2_get_stats(t->http2_owner, &more);
		ret->connects += more.connects;
		ret->sockets += more.sockets;
		ret->bytes_in += more.bytes_in;
		ret->reads += more.reads;
		ret->writes += more.writes;
		ret->running += more.running;
		ret->clusters = more.clusters; /* libcurl has a part of them */
	}
}
