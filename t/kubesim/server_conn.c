/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: TLS, the choice of the protocol, and the care for when one may be freed. */
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "core/base/alloc.h"
#include "t/kubesim/server_priv.h"

enum { LOW_WATER = 64 * 1024, HANDSHAKE_S = 30 };

static void conn_free(struct conn *c)
{
	while (!list_empty(&c->exchanges)) {
		exchange_free(LIST_ENTRY(c->exchanges.next, struct exchange, node));
	}
	list_del(&c->node);
	nghttp2_session_del(c->h2);
	bufferevent_free(c->bev);
	mk_free(c);
}

void conn_kill(struct conn *c)
{
	c->dead = true;
	if (c->busy == 0) {
		conn_free(c);
	}
}

void conn_enter(struct conn *c)
{
	c->busy++;
}

void conn_leave(struct conn *c)
{
	c->busy--;
	if (c->busy != 0) {
		return;
	}
	if (!c->dead && c->close_when_sent && list_empty(&c->exchanges) &&
	    evbuffer_get_length(bufferevent_get_output(c->bev)) == 0) {
		c->dead = true;
	}
	if (c->dead) {
		conn_free(c);
	}
}

void conn_flush(struct conn *c)
{
	if (!c->secure || c->dead) {
		return;
	}
	if (c->h2 != NULL) {
		h2_flush(c);
	} else {
		h1_flush(c);
	}
	flood_conn(c);
}

static void on_input(struct bufferevent *bev, void *ctx)
{
	struct conn *c = ctx;

	(void)bev;
	if (!c->secure) {
		return;
	}
	conn_enter(c);
	if (c->h2 != NULL) {
		h2_input(c);
	} else {
		h1_input(c);
	}
	conn_leave(c);
}

static void on_output(struct bufferevent *bev, void *ctx)
{
	struct conn *c = ctx;

	(void)bev;
	conn_enter(c);
	conn_flush(c);
	if (!c->dead && !c->h2 && c->secure) {
		h1_input(c); /* a request that waited for the answer before it */
	}
	conn_leave(c);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	struct conn *c = ctx;
	SSL *ssl = bufferevent_openssl_get_ssl(bev);

	conn_enter(c);
	if ((what & BEV_EVENT_CONNECTED) != 0) {
		c->secure = true;
		bufferevent_set_timeouts(bev, NULL, NULL);
		tls_peer(ssl, c->user, sizeof(c->user), c->group, sizeof(c->group));
		if (tls_is_h2(ssl)) {
			if (h2_open(c)) {
				h2_flush(c);
			} else {
				conn_kill(c);
			}
		}
	} else if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) != 0) {
		conn_kill(c);
	}
	conn_leave(c);
}

void conn_accept(struct cluster *cl, evutil_socket_t fd)
{
	struct timeval handshake = {.tv_sec = HANDSHAKE_S};
	struct conn *c = mk_calloc(1, sizeof(*c));
	SSL *ssl = tls_accept_new(cl->tls, &cl->faults.http1);
	int one = 1;

	if (!c || !ssl) {
		goto fail;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->bev =
		bufferevent_openssl_socket_new(cl->server->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
					       BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	if (!c->bev) {
		goto fail;
	}
	bufferevent_openssl_set_allow_dirty_shutdown(c->bev, 1);
	c->cluster = cl;
	list_init(&c->exchanges);
	list_add_tail(&cl->conns, &c->node);
	cl->n_connections++;
	bufferevent_setcb(c->bev, on_input, on_output, on_event, c);
	bufferevent_setwatermark(c->bev, EV_WRITE, LOW_WATER, 0);
	bufferevent_set_timeouts(c->bev, &handshake, NULL);
	if (!cl->faults.paused) {
		bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	}
	return;
fail:
	SSL_free(ssl);
	mk_free(c);
	evutil_closesocket(fd);
}
