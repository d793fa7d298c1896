/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between OpenSSL and the socket: what it encrypts is collected, what it decrypts was read before;
 * see http2_impl.h. A connection with nothing to write has no memory for it.
 */
#include "core/base/alloc.h"
#include "core/net/http2_impl.h"

static bool tx_grow(struct http2_conn *k, size_t n)
{
	size_t size = k->tx_size ? k->tx_size : (size_t)HTTP2_SPARE_SIZE;
	uint8_t *grown;

	if (k->tx_n + n <= k->tx_size) {
		return true;
	}
	if (!k->tx && n <= HTTP2_SPARE_SIZE && k->t->spare_tx) {
		k->tx = k->t->spare_tx;
		k->tx_size = HTTP2_SPARE_SIZE;
		k->t->spare_tx = NULL;
		return true;
	}
	while (size < k->tx_n + n) {
		size *= 2;
	}
	grown = mk_realloc(k->tx, size);
	if (!grown) {
		return false;
	}
	k->tx = grown;
	k->tx_size = size;
	return true;
}

void http2_tx_release(struct http2_conn *k)
{
	if (k->tx_size == HTTP2_SPARE_SIZE && !k->t->spare_tx) {
		k->t->spare_tx = k->tx;
	} else {
		mk_free(k->tx);
	}
	k->tx = NULL;
	k->tx_n = k->tx_off = k->tx_size = 0;
}

static int bio_write(BIO *b, const char *p, int n)
{
	struct http2_conn *k = BIO_get_data(b);

	if (n <= 0 || !tx_grow(k, (size_t)n)) {
		return -1;
	}
	memcpy(k->tx + k->tx_n, p, (size_t)n);
	k->tx_n += (size_t)n;
	return n;
}

static int bio_read(BIO *b, char *p, int n)
{
	struct http2_conn *k = BIO_get_data(b);
	size_t take = n > 0 && (size_t)n < k->in_n ? (size_t)n : k->in_n;

	BIO_clear_retry_flags(b);
	if (take == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	memcpy(p, k->in, take);
	k->in += take;
	k->in_n -= take;
	return (int)take;
}

static long bio_ctrl(BIO *b, int cmd, long n, void *p)
{
	(void)b;
	(void)n;
	(void)p;
	return cmd == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

BIO_METHOD *http2_tx_bio(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "http2");

	if (m && (BIO_meth_set_write(m, bio_write) != 1 || BIO_meth_set_read(m, bio_read) != 1 ||
		  BIO_meth_set_ctrl(m, bio_ctrl) != 1 || BIO_meth_set_create(m, bio_create) != 1)) {
		BIO_meth_free(m);
		m = NULL;
	}
	return m;
}

/* Encrypts frames, and leaves no copy of them: heads have tokens. False: out of memory. */
static bool encrypt(struct http2_conn *k, size_t n)
{
	int rc = SSL_write(k->ssl, k->t->out, (int)n);

	explicit_bzero(k->t->out, n);
	return rc > 0;
}

bool http2_tx_collect(struct http2_conn *k)
{
	uint8_t *out = k->t->out;
	size_t n = 0;

	while (k->tx_n < HTTP2_WRITE_SIZE) {
		const uint8_t *p = NULL;
		ptrdiff_t m = http2_session_pull(k->session, &p);

		if (k->state == HTTP2_DEAD || m < 0) {
			explicit_bzero(out, n);
			return false;
		}
		if (m == 0) {
			break;
		}
		while (m > 0) {
			size_t room = HTTP2_RECORD_SIZE - n;
			size_t take = (size_t)m < room ? (size_t)m : room;

			memcpy(out + n, p, take);
			n += take;
			p += take;
			m -= (ptrdiff_t)take;
			if (n == HTTP2_RECORD_SIZE) {
				if (!encrypt(k, n)) {
					return false;
				}
				n = 0;
			}
		}
	}
	return n == 0 || encrypt(k, n);
}
