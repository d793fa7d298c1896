/* SPDX-License-Identifier: Apache-2.0 */
/* What one call into libcurl may read; see curl_guard.h. */
#include "core/net/curl_guard.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

static void on_record(int written, int version, int type, const void *p, size_t n, SSL *ssl,
		      void *ctx)
{
	enum { HEAD = 5 };
	const uint8_t *head = p;
	struct guard *g = ctx;

	(void)version;
	(void)ssl;
	if (written || type != SSL3_RT_HEADER || n != HEAD || !g->cut) {
		return;
	}
	g->left -= HEAD + (head[3] << 8 | head[4]);
	if (g->left < 0) {
		void (*cut)(void *) = g->cut;

		g->cut = NULL;
		cut(g->ctx);
	}
}

void guard_listen(struct guard *g, void *tls)
{
	SSL_CTX_set_msg_callback(tls, on_record);
	SSL_CTX_set_msg_callback_arg(tls, g);
}

void guard_begin(struct guard *g, void (*cut)(void *ctx), void *ctx)
{
	*g = (struct guard){.cut = cut, .ctx = ctx, .left = GUARD_MOST};
}

void guard_end(struct guard *g)
{
	g->cut = NULL;
}

void guard_pay(struct guard *g, size_t n)
{
	g->left += 2 * (int64_t)n;
}

void guard_disconnect(int fd)
{
	/* shutdown() would leave what the server goes on to send to be read */
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)!connect(fd, &none, sizeof(none));
}
