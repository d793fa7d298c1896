/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a server's name to a connected socket: lookups, which addresses are allowed, and the next
 * address beside one that does not answer at once (RFC 8305); see http2_impl.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/address.h"
#include "core/net/http2_impl.h"

/* --- addresses ------------------------------------------------------------------------------- */

/* "192.0.2.1" or "[2001:db8::1]"; false: neither. */
static bool address_of(mk_str s, uint16_t port, struct http2_address *ret)
{
	char host[INET6_ADDRSTRLEN + 2];

	memset(ret, 0, sizeof(*ret));
	if (s.n > 1 && s.p[0] == '[') {
		s = str_sub(s, 1, s.n - 2);
	}
	snprintf(host, sizeof(host), "%.*s", STR_ARG(s));
	if (inet_pton(AF_INET, host, &ret->u.in.sin_addr) == 1) {
		ret->u.in.sin_family = AF_INET;
		ret->u.in.sin_port = htons(port);
		ret->n = sizeof(ret->u.in);
	} else if (inet_pton(AF_INET6, host, &ret->u.in6.sin6_addr) == 1) {
		ret->u.in6.sin6_family = AF_INET6;
		ret->u.in6.sin6_port = htons(port);
		ret->n = sizeof(ret->u.in6);
	}
	return ret->n > 0;
}

static void take_addresses(struct http2_cluster *c, mk_str list)
{
	c->n_addresses = 0;
	while (list.n > 0 && c->n_addresses < RESOLVER_MAX_ADDRESSES) {
		ptrdiff_t comma = str_index(list, ',');
		size_t n = comma < 0 ? list.n : (size_t)comma;

		if (address_of(str_sub(list, 0, n), c->peer->port, &c->addresses[c->n_addresses])) {
			c->n_addresses++;
		}
		list = str_sub(list, n + 1, list.n);
	}
}

void http2_dial_fixed(struct http2_cluster *c)
{
	if (strcasecmp(c->peer->host, "localhost") == 0) {
		take_addresses(c, STR("127.0.0.1,[::1]"));
	} else if (!c->peer->is_name) {
		take_addresses(c, str_of(c->peer->host));
	}
}

/* The families take turns, beginning with that of the first address. */
static void put_in_order(const struct http2_cluster *c, struct http2_dial *d)
{
	bool used[RESOLVER_MAX_ADDRESSES] = {false};
	sa_family_t last = AF_UNSPEC;

	for (d->n = 0; d->n < c->n_addresses; d->n++) {
		size_t take = c->n_addresses;

		for (size_t i = 0; i < c->n_addresses; i++) {
			bool other = c->addresses[i].u.sa.sa_family != last;

			if (!used[i] && (other || take == c->n_addresses)) {
				take = i;
				if (other) {
					break;
				}
			}
		}
		used[take] = true;
		d->order[d->n] = c->addresses[take];
		last = c->addresses[take].u.sa.sa_family;
	}
}

/* --- attempts -------------------------------------------------------------------------------- */

static void attempt_over(struct http2_attempt *a, bool close_it)
{
	struct http2_conn *k = a->conn;

	if (a->fd < 0) {
		return;
	}
	loop_fd_free(a->watch);
	a->watch = NULL;
	if (close_it) {
		close(a->fd);
		k->t->stats.sockets--;
	}
	a->fd = -1;
	k->dial->waiting--;
}

void http2_dial_free(struct http2_conn *k)
{
	if (k->dial) {
		for (size_t i = 0; i < k->dial->next; i++) {
			attempt_over(&k->dial->tries[i], true);
		}
		mk_free(k->dial);
		k->dial = NULL;
	}
}

static void note(struct http2_dial *d, int errno_value)
{
	d->code = ERR_UNAVAILABLE;
	snprintf(d->text, sizeof(d->text), "dial tcp %s: %s", d->address,
		 request_dial_words(errno_value));
}

static void set_options(int fd)
{
	unsigned user_ms = REQUEST_USER_TIMEOUT_MS;
	int idle_s = REQUEST_KEEP_IDLE_S, interval_s = REQUEST_KEEP_INTERVAL_S, one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
}

static void attempt_ready(void *ctx, unsigned ready);

/* False: this address is of no use; why is noted. */
static bool attempt(struct http2_conn *k, const struct http2_address *to, struct http2_attempt *a)
{
	struct transport_http2 *t = k->t;
	struct http2_dial *d = k->dial;
	const char *refused = peer_refuses(k->cluster->peer, &to->u.sa, to->n);

	*a = (struct http2_attempt){.conn = k, .fd = -1};
	address_text(&to->u.sa, to->n, d->address);
	if (refused) {
		d->code = ERR_DENIED;
		snprintf(d->text, sizeof(d->text),
			 "dial tcp %s: %s is not allowed (see multiKueue.network)", d->address,
			 refused);
		return false;
	}
	a->fd = socket(to->u.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0) {
		note(d, errno);
		return false;
	}
	t->stats.connects++;
	t->stats.sockets++;
	d->waiting++;
	set_options(a->fd);
	if (connect(a->fd, &to->u.sa, to->n) != 0 && errno != EINPROGRESS) {
		note(d, errno);
		attempt_over(a, true);
		return false;
	}
	a->watch = loop_fd_new(t->o.loop, a->fd, LOOP_WRITE, attempt_ready, a);
	if (!a->watch) {
		attempt_over(a, true);
		d->code = ERR_NO_MEMORY;
		snprintf(d->text, sizeof(d->text), "out of memory");
		return false;
	}
	return true;
}

/* Tries the next address that can be tried. When there is none and nothing is under way, it has
 * failed. */
static void try_next(struct http2_conn *k)
{
	struct http2_dial *d = k->dial;
	int64_t limit = k->begun_ms + REQUEST_CONNECT_MS;
	bool begun = false;

	while (!begun && d->next < d->n) {
		size_t i = d->next++;

		begun = attempt(k, &d->order[i], &d->tries[i]);
	}
	if (d->waiting == 0) {
		char text[sizeof(d->text)];
		enum mk_code code = d->code;

		snprintf(text, sizeof(text), "%s", d->text);
		k->cluster->asked_ms = INT64_MIN / 2; /* the addresses may be outdated */
		http2_conn_failed(k, code, text);
		return;
	}
	if (d->next < d->n) {
		int64_t next = clock_mono_ms() + HTTP2_NEXT_ADDRESS_MS;

		limit = next < limit ? next : limit;
	}
	deadline_set(&k->t->deadlines, &k->timer, limit);
}

static void attempt_ready(void *ctx, unsigned ready)
{
	struct http2_attempt *a = ctx;
	struct http2_conn *k = a->conn;
	struct transport_http2 *t = k->t;
	socklen_t n = sizeof(int);
	int fd = a->fd, e = 0;

	(void)ready;
	http2_enter(t);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) != 0) {
		e = errno;
	}
	if (e != 0) {
		note(k->dial, e);
		attempt_over(a, true);
		try_next(k);
	} else {
		attempt_over(a, false);
		http2_dial_free(k); /* 'a' is gone */
		http2_conn_connected(k, fd);
	}
	http2_leave(t);
}

/* --- the name -------------------------------------------------------------------------------- */

static void begin(struct http2_conn *k)
{
	k->state = HTTP2_DIAL;
	k->dial = mk_calloc(1, sizeof(*k->dial));
	if (!k->dial) {
		http2_conn_failed(k, ERR_NO_MEMORY, "out of memory");
		return;
	}
	k->dial->code = ERR_UNAVAILABLE;
	put_in_order(k->cluster, k->dial);
	try_next(k);
}

static void name_failed(struct http2_conn *k, enum mk_code code)
{
	char text[256] = "out of memory";

	if (code == ERR_TIMEOUT) {
		snprintf(text, sizeof(text), "dial tcp: lookup %.200s: i/o timeout",
			 k->cluster->peer->host);
	} else if (code == ERR_LIMITED) {
		snprintf(text, sizeof(text), "too many names are being looked up");
	} else if (code != ERR_NO_MEMORY) {
		snprintf(text, sizeof(text), "dial tcp: lookup %.200s: no such host",
			 k->cluster->peer->host);
		code = ERR_UNAVAILABLE;
	}
	http2_conn_failed(k, code, text);
}

/* A connection that waits for the addresses, or NULL. */
static struct http2_conn *who_waits(const struct http2_cluster *c)
{
	for (LIST_EACH_AS(struct http2_conn, k, &c->conns, in_cluster)) {
		if (k->state == HTTP2_RESOLVE) {
			return k;
		}
	}
	return NULL;
}

static void answered(void *ctx, enum mk_code code, const char *addresses)
{
	struct http2_cluster *c = ctx;
	struct transport_http2 *t = c->t;

	http2_enter(t);
	if (code == ERR_OK) {
		take_addresses(c, str_of(addresses));
		code = c->n_addresses > 0 ? ERR_OK : ERR_NOT_FOUND;
	} else if (code == ERR_NOT_FOUND) {
		c->n_addresses = 0; /* on other failures the old ones stay */
	}
	for (struct http2_conn *k = who_waits(c); k && !c->closed; k = who_waits(c)) {
		if (code == ERR_OK) {
			begin(k);
		} else {
			name_failed(k, code);
		}
	}
	http2_leave(t);
}

void http2_dial_start(struct http2_conn *k)
{
	struct http2_cluster *c = k->cluster;
	enum mk_code code = ERR_OK;

	k->begun_ms = clock_mono_ms();
	if (c->peer->is_name &&
	    (c->n_addresses == 0 || k->begun_ms - c->asked_ms > REQUEST_ROUTE_MS)) {
		c->asked_ms = k->begun_ms;
		code = resolver_ask(k->t->resolver, &c->lookup, c->peer->host, answered, c);
	}
	if (c->n_addresses > 0) {
		begin(k);
	} else if (code != ERR_OK) {
		name_failed(k, code);
	} else {
		deadline_set(&k->t->deadlines, &k->timer, k->begun_ms + REQUEST_CONNECT_MS);
	}
}

void http2_dial_timeout_text(const struct http2_cluster *c, const struct http2_conn *k,
			     char text[static 256])
{
	if (!k || k->state == HTTP2_RESOLVE) {
		snprintf(text, 256, "%s%.200s: i/o timeout",
			 c->n_addresses > 0 ? "dial tcp " : "dial tcp: lookup ", c->peer->host);
	} else if (k->state == HTTP2_DIAL) {
		snprintf(text, 256, "dial tcp %s: i/o timeout", k->dial->address);
	} else if (k->state == HTTP2_HANDSHAKE) {
		snprintf(text, 256, "net/http: TLS handshake timeout");
	} else {
		snprintf(text, 256, "context deadline exceeded (no stream was free in time)");
	}
}

void http2_dial_timeout(struct http2_conn *k, int64_t now)
{
	if (now < k->begun_ms + REQUEST_CONNECT_MS) {
		try_next(k);
	} else {
		char text[256];

		http2_dial_timeout_text(k->cluster, k, text);
		k->cluster->asked_ms = INT64_MIN / 2;
		http2_conn_failed(k, ERR_TIMEOUT, text);
	}
}
