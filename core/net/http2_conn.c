/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: socket, TLS, and the bytes of its session; see http2_impl.h. */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/http2_impl.h"
#include "core/net/tls.h"

/* Secrets are read from the manager alone: only its answers hold credentials. */
static bool brings_secrets(const struct http2_conn *k)
{
	return k->cluster->id == 0;
}

/* --- life ------------------------------------------------------------------------------------ */

static void timer_fired(void *ctx);
static void listen_again(void *ctx);

struct http2_conn *http2_conn_new(struct http2_cluster *c, enum http2_lane lane)
{
	struct transport_http2 *t = c->t;
	struct http2_conn *k = mk_calloc(1, sizeof(*k));

	if (!k || !deadline_init(&t->deadlines, &k->timer, timer_fired, k)) {
		mk_free(k);
		return NULL;
	}
	if (!deadline_init(&t->deadlines, &k->again, listen_again, k)) {
		deadline_done(&t->deadlines, &k->timer);
		mk_free(k);
		return NULL;
	}
	k->t = t;
	k->cluster = c;
	k->lane = lane;
	k->fd = -1;
	k->state = HTTP2_RESOLVE;
	list_init(&k->in_resume);
	list_init(&k->streams);
	list_add_tail(&c->conns, &k->in_cluster);
	c->lanes[lane].conn = k;
	return k;
}

void http2_conn_free(struct http2_conn *k)
{
	list_del(&k->in_cluster);
	http2_session_free(k->session);
	SSL_free(k->ssl);
	mk_free(k->left);
	mk_free(k);
}

void http2_conn_bury(struct http2_conn *k)
{
	struct transport_http2 *t = k->t;

	if (k->state == HTTP2_DEAD) {
		return;
	}
	k->state = HTTP2_DEAD;
	http2_conn_drain(k);
	http2_dial_free(k);
	loop_fd_free(k->watch);
	k->watch = NULL;
	if (k->fd >= 0) {
		close(k->fd);
		k->fd = -1;
		t->stats.sockets--;
	}
	http2_tx_release(k);
	deadline_done(&t->deadlines, &k->timer);
	deadline_done(&t->deadlines, &k->again);
	list_del(&k->in_resume);
	list_del(&k->in_cluster);
	list_add_tail(&t->dead_conns, &k->in_cluster);
	if (t->depth == 0) {
		http2_conn_free(k);
	}
}

void http2_conn_failed(struct http2_conn *k, enum mk_code code, const char *text)
{
	struct http2_cluster *c = k->cluster;
	enum http2_lane lane = k->lane;
	bool awaited = c->lanes[lane].conn == k;

	http2_conn_bury(k);
	if (awaited) {
		http2_lane_failed(c, lane, code, text);
	}
}

/* The connection is gone, with all streams that are on it. */
static void lost(struct http2_conn *k, enum mk_code code, const char *text)
{
	struct http2_cluster *c = k->cluster;

	http2_conn_bury(k);
	while (!list_empty(&k->streams)) {
		struct http2_transfer *f =
			LIST_ENTRY(k->streams.next, struct http2_transfer, in_queue);
		/*
		 * The server did not read what came with a certificate that it refuses. One that
		 * has answered accepted the certificate.
		 */
		bool unread = code == ERR_DENIED && !k->answered;

		http2_transfer_end(f, unread ? TRANSPORT_NOT_SENT : TRANSPORT_LOST, code, text);
	}
	if (!c->closed) {
		http2_cluster_due(c);
	}
}

/* --- writing --------------------------------------------------------------------------------- */

static void ready(void *ctx, unsigned what);

static bool want(struct http2_conn *k, bool write)
{
	struct loop_fd *watch;

	if (k->watch && k->want_write == write) {
		return true;
	}
	loop_fd_free(k->watch);
	k->watch = NULL;
	k->want_write = write;
	if (k->unheard && !write) {
		return true;
	}
	watch = loop_fd_new(k->t->o.loop, k->fd,
			    (k->unheard ? 0 : (unsigned)LOOP_READ) |
				    (write ? (unsigned)LOOP_WRITE : 0),
			    ready, k);
	k->watch = watch;
	return watch != NULL;
}

static void socket_failed(struct http2_conn *k, int e)
{
	char text[256];

	if (k->state == HTTP2_UP) {
		snprintf(text, sizeof(text), "http2: client connection lost (%s)",
			 e == ETIMEDOUT ? "i/o timeout" : "connection reset by peer");
		lost(k, ERR_UNAVAILABLE, text);
	} else {
		http2_conn_failed(k, ERR_UNAVAILABLE, "tls: handshake failed: EOF");
	}
}

static void starved(struct http2_conn *k)
{
	if (k->state == HTTP2_UP) {
		lost(k, ERR_NO_MEMORY, "out of memory");
	} else {
		http2_conn_failed(k, ERR_NO_MEMORY, "out of memory");
	}
}

/* Gives the socket what is encrypted. False: the connection is gone. */
static bool write_out(struct http2_conn *k)
{
	while (k->tx_off < k->tx_n) {
		ssize_t n = send(k->fd, k->tx + k->tx_off, k->tx_n - k->tx_off,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		k->t->stats.writes++;
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			if (!want(k, true)) {
				starved(k);
				return false;
			}
			return true;
		}
		if (n < 0) {
			socket_failed(k, errno);
			return false;
		}
		k->tx_off += (size_t)n;
	}
	http2_tx_release(k);
	if (!want(k, false)) {
		starved(k);
		return false;
	}
	return true;
}

/* False: the connection is gone. */
static bool collect(struct http2_conn *k)
{
	if (http2_tx_collect(k)) {
		return true;
	}
	if (k->state != HTTP2_DEAD) { /* else closed from a callback */
		starved(k);
	}
	return false;
}

static void close_idle(struct http2_conn *k)
{
	ERR_clear_error();
	if (SSL_shutdown(k->ssl) >= 0 && k->tx_n > 0) {
		(void)!send(k->fd, k->tx, k->tx_n, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	ERR_clear_error();
	http2_conn_bury(k);
}

void http2_conn_turn(struct http2_conn *k)
{
	if (k->state != HTTP2_UP || k->tx_n > 0) {
		return; /* goes on when it is connected, or when the socket takes more */
	}
	if (!k->draining) {
		http2_transfers_send(k);
	}
	if (k->state == HTTP2_DEAD || !collect(k) || !write_out(k)) {
		return;
	}
	if (k->tx_n > 0) {
		return;
	}
	if (http2_session_has_output(k->session)) {
		http2_cluster_due(k->cluster); /* the others first */
	} else if (k->draining && http2_session_streams(k->session) == 0) {
		close_idle(k);
	} else if (http2_session_is_over(k->session) && http2_session_streams(k->session) > 0) {
		lost(k, ERR_UNAVAILABLE, "http2: client connection lost (bad frames)");
	}
}

/* --- reading --------------------------------------------------------------------------------- */

static void begin_session(struct http2_conn *k)
{
	k->session = http2_session_new(&http2_transfer_handler, k, http2_window(k->lane));
	if (!k->session) {
		starved(k);
		return;
	}
	k->state = HTTP2_UP;
	k->ping_after_ms = http2_ping_after_ms(k->t);
	k->read_ms = k->used_ms = clock_mono_ms();
	http2_conn_rest(k);
	http2_cluster_due(k->cluster);
}

/* True: HTTP/2 may be spoken. */
static bool handshake(struct http2_conn *k)
{
	char text[256];
	enum mk_code code;
	int rc, why;

	ERR_clear_error();
	rc = SSL_do_handshake(k->ssl);
	why = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(k->ssl, rc);
	if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ) {
		code = http2_tls_verdict(k->ssl, text);
		if (k->tx_n > 0) { /* the server is told why, if it listens */
			(void)!send(k->fd, k->tx, k->tx_n, MSG_DONTWAIT | MSG_NOSIGNAL);
		}
		http2_conn_failed(k, code, text[0] ? text : "tls: handshake failed: EOF");
		return false;
	}
	if (!write_out(k) || rc != 1) {
		return false;
	}
	if (!tls_is_http2(k->ssl)) {
		http2_cluster_falls_back(k);
		return false;
	}
	begin_session(k);
	return k->state == HTTP2_UP;
}

void http2_conn_connected(struct http2_conn *k, int fd)
{
	struct http2_cluster *c = k->cluster;
	enum mk_code code = ERR_NO_MEMORY;
	BIO *bio;

	k->fd = fd;
	k->state = HTTP2_HANDSHAKE;
	share_pay(&c->share, SHARE_CONNECTION);
	k->ssl = http2_tls_client(k->t->tls, c->creds, c->name, &code);
	if (!k->ssl) {
		http2_conn_failed(k, code,
				  code == ERR_DENIED ? REQUEST_CREDENTIALS : "out of memory");
		return;
	}
	if (brings_secrets(k)) {
		/* A buffer that is given back would be overwritten whole, each time. */
		SSL_set_options(k->ssl, SSL_OP_CLEANSE_PLAINTEXT);
		SSL_clear_mode(k->ssl, SSL_MODE_RELEASE_BUFFERS);
	}
	bio = BIO_new(k->t->bio);
	if (!bio) {
		http2_conn_failed(k, ERR_NO_MEMORY, "out of memory");
		return;
	}
	BIO_set_data(bio, k);
	SSL_set_bio(k->ssl, bio, bio);
	deadline_set(&k->t->deadlines, &k->timer, k->begun_ms + REQUEST_CONNECT_MS);
	handshake(k);
}

/* The peer has ended the connection, by TLS or in it. */
static void tls_failed(struct http2_conn *k)
{
	char text[256];
	enum mk_code code = http2_tls_verdict(k->ssl, text);

	lost(k, code, text[0] ? text : "http2: client connection lost (EOF)");
}

/* So many bytes brought nothing: the sink may close everything. */
static void barren(struct http2_conn *k, size_t n)
{
	struct transport_http2 *t = k->t;

	if (n > 0 && k->session && !k->cluster->closed && t->sink->on_barren) {
		http2_tell(t);
		t->sink->on_barren(t->sink->ctx, k->cluster->id, n,
				   str_of(http2_session_barren(k->session)));
	}
}

/* The session takes no more. */
static void not_fed(struct http2_conn *k)
{
	if (k->state == HTTP2_UP && http2_session_flooded(k->session)) {
		barren(k, TRANSPORT_FLOOD); /* which says why before the requests end */
	}
	if (k->state == HTTP2_UP && http2_session_starved(k->session)) {
		starved(k);
	} else if (k->state == HTTP2_UP) {
		lost(k, ERR_UNAVAILABLE, "http2: client connection lost (bad frames)");
	}
}

void http2_conn_spare(struct http2_conn *k, mk_str bytes)
{
	uint8_t *plain = k->t->plain;
	size_t from = (size_t)((const uint8_t *)bytes.p - plain);

	if (brings_secrets(k)) { /* what stands before has been taken in */
		explicit_bzero(plain + k->clean_n, from - k->clean_n);
		k->clean_n = from + bytes.n;
	}
}

/*
 * Decrypts and hands on. What takes too long is put aside: true when something is left. The
 * connection may be gone.
 */
static bool digest(struct http2_conn *k)
{
	struct transport_http2 *t = k->t;
	int64_t until_us = clock_mono_us() + HTTP2_SLICE_US;

	while (k->state == HTTP2_UP || (k->state == HTTP2_HANDSHAKE && handshake(k))) {
		bool fed;
		int n;

		ERR_clear_error();
		n = SSL_read(k->ssl, t->plain, sizeof(t->plain));
		if (n <= 0) {
			if (SSL_get_error(k->ssl, n) != SSL_ERROR_WANT_READ) {
				tls_failed(k);
			}
			break;
		}
		k->clean_n = 0;
		fed = http2_session_feed(k->session, t->plain, (size_t)n);
		if (brings_secrets(k)) {
			explicit_bzero(t->plain + k->clean_n, (size_t)n - k->clean_n);
		}
		if (!fed) {
			not_fed(k);
			break;
		}
		if (k->in_n == 0 && SSL_pending(k->ssl) == 0) {
			break; /* OpenSSL could only say that it wants more */
		}
		if (k->in_n > 0 && clock_mono_us() > until_us) {
			return k->state == HTTP2_UP;
		}
	}
	return false;
}

/* What is left of the shared buffer is kept until the next turn. */
static void put_aside(struct http2_conn *k)
{
	if (!k->left) { /* else it lies there already */
		k->left = mk_malloc(k->in_n);
		if (!k->left) {
			starved(k);
			return;
		}
		memcpy(k->left, k->in, k->in_n);
		k->in = k->left;
	}
	list_add_tail(&k->t->resume, &k->in_resume);
	loop_post_now(k->t->post);
}

/* After reading: TLS or the session may have something to say. */
static void answer(struct http2_conn *k)
{
	if (k->state == HTTP2_UP && k->tx_n > k->tx_off && !write_out(k)) {
		return;
	}
	if (k->state == HTTP2_UP && http2_session_has_output(k->session)) {
		http2_cluster_due(k->cluster);
	}
}

static void set_unheard(struct http2_conn *k, bool unheard)
{
	loop_fd_free(k->watch);
	k->watch = NULL;
	k->unheard = unheard;
	if (!want(k, k->want_write)) {
		starved(k);
	}
}

static void listen_again(void *ctx)
{
	struct http2_conn *k = ctx;

	set_unheard(k, false);
	if (k->state == HTTP2_UP && k->left) {
		put_aside(k);
	}
}

/*
 * The loop's time since then was the cluster's, and 'n' bytes were decrypted. The manager's
 * connections are always heard.
 */
static void charge(struct http2_conn *k, int64_t since_us, size_t n)
{
	struct share *share = &k->cluster->share;
	int64_t until_us;

	share_charge(share, since_us, clock_mono_us());
	until_us = share_rests_until_us(share);
	if (k->state == HTTP2_UP && k->cluster->id != 0 && until_us != 0 && !k->unheard) {
		deadline_set(&k->t->deadlines, &k->again, until_us / 1000 + 1);
		set_unheard(k, true);
	}
	if (until_us != 0 && k->cluster->id != 0 && k->t->o.rests) {
		k->t->o.rests(k->t->o.report_ctx, k->cluster->id, share_take_rest(share));
	}
	n = share_take(share, n, k->body_n);
	k->body_n = 0;
	barren(k, n);
}

void http2_conn_resume(struct http2_conn *k)
{
	int64_t since_us = clock_mono_us();
	size_t n = k->in_n;

	list_del(&k->in_resume);
	if (k->unheard) {
		return;
	}
	if (digest(k)) {
		put_aside(k);
	} else {
		mk_free(k->left);
		k->left = NULL;
		k->in = NULL;
		k->in_n = 0;
		answer(k);
	}
	charge(k, since_us, n - k->in_n);
}

/* How many bytes were decrypted. */
static size_t read_in(struct http2_conn *k)
{
	struct transport_http2 *t = k->t;
	ssize_t n = recv(k->fd, t->rx, sizeof(t->rx), MSG_DONTWAIT);

	t->stats.reads++;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	if (n < 0) {
		socket_failed(k, errno);
		return 0;
	}
	if (n == 0) {
		if (k->state == HTTP2_UP) {
			lost(k, ERR_UNAVAILABLE, "http2: client connection lost (EOF)");
		} else {
			http2_conn_failed(k, ERR_UNAVAILABLE, "tls: handshake failed: EOF");
		}
		return 0;
	}
	k->read_ms = clock_mono_ms();
	k->in = t->rx;
	k->in_n = (size_t)n;
	if (digest(k)) {
		size_t left = k->in_n;

		put_aside(k);
		return (size_t)n - left;
	}
	k->in = NULL;
	k->in_n = 0;
	answer(k);
	return (size_t)n;
}

static void ready(void *ctx, unsigned what)
{
	struct http2_conn *k = ctx;
	struct transport_http2 *t = k->t;

	http2_enter(t);
	if (what & LOOP_WRITE && write_out(k) && k->tx_n == 0) {
		http2_cluster_due(k->cluster);
	}
	/* What is left over comes first; then the socket is ready still. */
	if (what & LOOP_READ && k->state != HTTP2_DEAD && !k->left) {
		int64_t since_us = clock_mono_us();

		size_t n = read_in(k);

		charge(k, since_us, n);
	}
	http2_leave(t);
}

/* --- time ------------------------------------------------------------------------------------ */

/*
 * Streams are open and nothing came for long: a sign of life is asked for, and then waited for. Of
 * a connection without streams nothing is expected.
 */
static void check_life(struct http2_conn *k, int64_t now)
{
	struct transport_http2 *t = k->t;
	int64_t heard = k->read_ms > k->awake_ms ? k->read_ms : k->awake_ms;
	bool asked = k->pinged_ms > heard;
	int64_t next = asked ? k->pinged_ms + http2_ping_wait_ms(t) : heard + k->ping_after_ms;

	if (http2_session_streams(k->session) == 0) {
		if (now >= k->used_ms + http2_idle_ms(t, k->lane)) {
			close_idle(k);
		} else {
			http2_conn_rest(k);
		}
		return;
	}
	if (now >= next && asked) {
		lost(k, ERR_UNAVAILABLE, "http2: client connection lost (no answer to a PING)");
		return;
	}
	if (now >= next) {
		http2_session_ping(k->session); /* without memory it is only waited */
		k->pinged_ms = now;
		next = now + http2_ping_wait_ms(t);
		http2_cluster_due(k->cluster);
	}
	deadline_set(&t->deadlines, &k->timer, next);
}

static void timer_fired(void *ctx)
{
	struct http2_conn *k = ctx;
	int64_t now = clock_mono_ms();

	if (k->state == HTTP2_UP) {
		check_life(k, now);
	} else {
		http2_dial_timeout(k, now);
	}
}
