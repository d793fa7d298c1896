/* SPDX-License-Identifier: Apache-2.0 */
/* A libcurl multi handle driven by the event loop; see pool.h. */
#include "core/net/pool.h"

#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/net/received.h"

/* A socket that libcurl asked us to watch. */
struct sock {
	struct pool *pool;
	struct sock *next, **link;
	struct loop_fd *watch;
	curl_socket_t fd;
	unsigned want;
	uint64_t received; /* bytes that were counted */
};

struct pool {
	struct loop *loop;
	struct resolver *resolver;
	struct lookup lookup;
	struct list_node waiting; /* exchanges, for the answer */
	struct list_node on_wire; /* those that libcurl has */
	struct list_node queued;  /* HTTP/1.1: for a free connection, in their order */
	struct loop_timer *turn;  /* one may be free, or the time of one that waits is over */
	size_t n_on_wire;
	char *route;      /* of exchange_route; NULL: not known */
	int64_t route_ms; /* when it was asked for */
	CURLM *multi;     /* NULL while there is nothing to do */
	struct loop_timer *timer, *idle;
	struct loop_timer *again; /* while 'unheard' */
	struct share *share;      /* NULL: always heard */
	struct exchange_env *env; /* with a share */
	void (*barren)(void *ctx, size_t n);
	void *barren_ctx;
	bool unheard; /* the cluster has had its share: what comes stays in the sockets */
	struct sock *socks;
	void (*ended)(void *ctx, struct exchange *x, CURLcode rc);
	void *ctx;
	const struct peer *peer; /* of the exchanges */
	size_t running;
	bool few;
	long most; /* connections that libcurl was told of; 0: no limit */
};

/* Notes what has ended. The message dies with the removal of its handle. */
static void collect(struct pool *p)
{
	int left = 0;

	for (;;) {
		CURLMsg *m = curl_multi_info_read(p->multi, &left);
		struct exchange *x = NULL;
		CURLcode rc;

		if (!m) {
			return;
		}
		if (m->msg != CURLMSG_DONE) {
			continue;
		}
		rc = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x);
		pool_remove(p, x);
		if (rc != CURLE_OK && !x->started) {
			p->route_ms = INT64_MIN / 2; /* the address may be outdated */
		}
		p->ended(p->ctx, x, rc);
	}
}

/* libcurl is out of memory and gave its handle up: none of its exchanges would ever end. */
static void give_up(struct pool *p)
{
	while (!list_empty(&p->on_wire)) {
		struct exchange *x = LIST_ENTRY(p->on_wire.next, struct exchange, of_pool);

		pool_remove(p, x);
		p->ended(p->ctx, x, CURLE_OUT_OF_MEMORY);
	}
	pool_drop(p);
}

/*
 * How many connections there may be, now that it is known (or not yet: one finds out) what one can
 * carry. Requests that wait for one go on when another ends.
 */
static void limit(struct pool *p)
{
	long most = p->peer && p->peer->is_http1 ? POOL_HTTP1_MAX : 1;

	if (p->few && p->multi && p->most != most &&
	    curl_multi_setopt(p->multi, CURLMOPT_MAX_HOST_CONNECTIONS, most) == CURLM_OK) {
		curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, most); /* kept while idle */
		p->most = most;
	}
}

/* libcurl has read so much that brought nothing, and would read on. */
static void cut(void *ctx)
{
	struct pool *p = ctx;

	for (struct sock *s = p->socks; s; s = s->next) {
		guard_disconnect(s->fd);
	}
	p->barren(p->barren_ctx, TRANSPORT_FLOOD);
}

static void act(struct pool *p, curl_socket_t fd, int ready)
{
	int64_t since_us = clock_mono_us();
	uint64_t body = p->share ? p->env->bytes_in : 0;
	int running = 0;
	CURLMcode code;

	if (p->share) {
		guard_begin(&p->env->guard, cut, p);
	}
	code = curl_multi_socket_action(p->multi, fd, ready, &running);
	if (p->share) {
		guard_end(&p->env->guard);
		share_charge(p->share, since_us, clock_mono_us());
		share_take(p->share, 0, p->env->bytes_in - body);
	}
	collect(p);
	limit(p);
	if (code != CURLM_OK) {
		give_up(p);
	}
}

static void sock_ready(void *ctx, unsigned ready);

/* False: no memory. */
static bool watch(struct sock *s)
{
	unsigned want = s->want & ~(s->pool->unheard ? (unsigned)LOOP_READ : 0u);

	loop_fd_free(s->watch);
	s->watch = want ? loop_fd_new(s->pool->loop, s->fd, want, sock_ready, s) : NULL;
	return s->watch || !want;
}

static void set_unheard(struct pool *p, bool unheard)
{
	bool watched = true;

	p->unheard = unheard;
	for (struct sock *s = p->socks; s; s = s->next) {
		watched = watch(s) && watched;
	}
	if (!watched) {
		give_up(p);
	}
}

static void again_fired(void *ctx)
{
	set_unheard(ctx, false);
}

/* How long the cluster is to be unheard, in milliseconds. */
static int64_t rests_ms(const struct pool *p)
{
	int64_t left_us = p->share ? share_rests_until_us(p->share) - clock_mono_us() : INT64_MIN;

	return left_us > 0 ? left_us / 1000 + 1 : 0;
}

/* What was read since the last time is paid for by what it brought. */
static void count(struct sock *s)
{
	struct pool *p = s->pool;
	uint64_t received = received_bytes(s->fd);
	size_t n = received > s->received ? (size_t)(received - s->received) : 0;

	s->received = received;
	n = share_take(p->share, n, 0);
	if (n > 0) {
		p->barren(p->barren_ctx, n);
	}
}

static void sock_ready(void *ctx, unsigned ready)
{
	struct sock *s = ctx; /* libcurl may let go of it inside act() */
	struct pool *p = s->pool;
	curl_socket_t fd = s->fd;
	int64_t ms = rests_ms(p);

	if (p->share) {
		count(s);
	}
	if (ms > 0 && ready & LOOP_READ) {
		loop_timer_set(p->again, ms);
		set_unheard(p, true);
		ready &= ~(unsigned)LOOP_READ;
	}
	if (ready && p->multi) {
		act(p, fd,
		    (ready & LOOP_READ ? CURL_CSELECT_IN : 0) |
			    (ready & LOOP_WRITE ? CURL_CSELECT_OUT : 0));
	}
}

static void sock_free(struct sock *s)
{
	*s->link = s->next;
	if (s->next) {
		s->next->link = s->link;
	}
	loop_fd_free(s->watch);
	mk_free(s);
}

static struct sock *sock_new(struct pool *p, curl_socket_t fd)
{
	struct sock *s = mk_calloc(1, sizeof(*s));

	if (!s) {
		return NULL;
	}
	s->pool = p;
	s->fd = fd;
	if (p->share) {
		share_pay(p->share, SHARE_CONNECTION);
		s->received = received_bytes(fd);
	}
	s->next = p->socks;
	s->link = &p->socks;
	if (s->next) {
		s->next->link = &s->next;
	}
	p->socks = s;
	return s;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *sock)
{
	struct pool *p = ctx;
	struct sock *s = sock;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s) {
			sock_free(s);
			curl_multi_assign(p->multi, fd, NULL);
		}
		return 0;
	}
	s = s ? s : sock_new(p, fd);
	if (!s) {
		return -1;
	}
	s->want = (what & CURL_POLL_IN ? (unsigned)LOOP_READ : 0u) |
		  (what & CURL_POLL_OUT ? (unsigned)LOOP_WRITE : 0u);
	if (!watch(s)) {
		sock_free(s);
		curl_multi_assign(p->multi, fd, NULL);
		return -1;
	}
	curl_multi_assign(p->multi, fd, s);
	return 0;
}

static int on_timer(CURLM *multi, long ms, void *ctx)
{
	struct pool *p = ctx;

	(void)multi;
	if (ms < 0) {
		loop_timer_stop(p->timer);
	} else {
		loop_timer_set(p->timer, ms);
	}
	return 0;
}

static void timer_fired(void *ctx)
{
	struct pool *p = ctx;
	int64_t ms = rests_ms(p);

	if (p->multi && ms > 0) {
		loop_timer_set(p->timer, ms); /* libcurl reads on by its timer, too */
	} else if (p->multi) {
		act(p, CURL_SOCKET_TIMEOUT, 0);
	}
}

static void idle_fired(void *ctx)
{
	struct pool *p = ctx;

	if (p->running == 0) {
		pool_drop(p);
	}
}

static void turn_fired(void *ctx);

struct pool *pool_new(struct loop *l, struct resolver *r, bool few,
		      void (*ended)(void *ctx, struct exchange *x, CURLcode rc), void *ctx)
{
	struct pool *p = mk_calloc(1, sizeof(*p));

	if (!p) {
		return NULL;
	}
	p->loop = l;
	p->resolver = r;
	list_init(&p->waiting);
	list_init(&p->on_wire);
	list_init(&p->queued);
	p->ended = ended;
	p->ctx = ctx;
	p->few = few;
	p->timer = loop_timer_new(l, timer_fired, p);
	p->idle = loop_timer_new(l, idle_fired, p);
	p->turn = loop_timer_new(l, turn_fired, p);
	p->again = loop_timer_new(l, again_fired, p);
	if (!p->timer || !p->idle || !p->turn || !p->again) {
		pool_free(p);
		return NULL;
	}
	return p;
}

void pool_set_share(struct pool *p, struct share *share, struct exchange_env *env,
		    void (*barren)(void *ctx, size_t n), void *ctx)
{
	p->share = share;
	p->env = env;
	p->barren = barren;
	p->barren_ctx = ctx;
}

void pool_free(struct pool *p)
{
	if (p) {
		pool_drop(p);
		if (p->resolver) {
			resolver_cancel(p->resolver, &p->lookup);
		}
		mk_free(p->route);
		loop_timer_free(p->timer);
		loop_timer_free(p->idle);
		loop_timer_free(p->turn);
		loop_timer_free(p->again);
		mk_free(p);
	}
}

static bool open_multi(struct pool *p)
{
	p->multi = curl_multi_init();
	if (!p->multi) {
		return false;
	}
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
	p->most = 0;
	limit(p);
	return true;
}

static CURLcode start(struct pool *p, struct exchange *x)
{
	if ((p->multi || open_multi(p)) && curl_multi_add_handle(p->multi, x->easy) == CURLM_OK) {
		if (p->share) {
			share_pay(p->share, SHARE_REQUEST);
		}
		x->is_on_wire = true;
		list_add_tail(&p->on_wire, &x->of_pool);
		p->n_on_wire++;
		return CURLE_OK;
	}
	if (p->running == 0) {
		pool_drop(p); /* it may be broken for good */
	}
	return CURLE_OUT_OF_MEMORY;
}

/* One less; connections without any are dropped after a while. */
static void leave(struct pool *p)
{
	p->running--;
	if (p->running == 0) {
		loop_timer_set(p->idle, POOL_IDLE_MS);
	}
}

static bool is_full(const struct pool *p)
{
	return p->few && p->peer->is_http1 && p->n_on_wire >= POOL_HTTP1_MAX;
}

/*
 * libcurl queues exchanges that get no connection without applying their time limits: so it gets
 * only as many as it can send.
 */
static void turn_fired(void *ctx)
{
	struct pool *p = ctx;
	int64_t now = clock_mono_ms(), next = INT64_MAX;

	for (LIST_EACH_SAFE(n, &p->queued)) {
		struct exchange *x = LIST_ENTRY(n, struct exchange, of_pool);
		int64_t end = x->timeout_ms > 0 ? x->begun_ms + x->timeout_ms : INT64_MAX;
		CURLcode rc = CURLE_OK;

		if (is_full(p) && now < end) {
			next = end < next ? end : next;
			continue;
		}
		list_del(&x->of_pool);
		rc = exchange_waited(x, now);
		rc = rc == CURLE_OK ? start(p, x) : rc;
		if (rc != CURLE_OK) {
			leave(p);
			p->ended(p->ctx, x, rc);
		}
	}
	if (next != INT64_MAX) {
		loop_timer_set(p->turn, next - now);
	}
}

static CURLcode start_or_queue(struct pool *p, struct exchange *x)
{
	if (!is_full(p) && list_empty(&p->queued)) {
		return start(p, x);
	}
	list_add_tail(&p->queued, &x->of_pool);
	loop_timer_set(p->turn, 0);
	return CURLE_OK;
}

/* --- where the server's name leads ----------------------------------------------------------- */

static bool set_route(struct pool *p, const struct peer *peer, const char *addresses)
{
	size_t size = strlen(peer->host) + strlen(addresses) + 8;
	char *route = mk_malloc(size);

	if (route) {
		snprintf(route, size, "%s:%u:%s", peer->host, (unsigned)peer->port, addresses);
		mk_free(p->route);
		p->route = route;
	}
	return route != NULL;
}

static CURLcode as_curl(enum mk_code code)
{
	return code == ERR_OK          ? CURLE_OK
	       : code == ERR_TIMEOUT   ? CURLE_OPERATION_TIMEDOUT
	       : code == ERR_NO_MEMORY ? CURLE_OUT_OF_MEMORY
				       : CURLE_COULDNT_RESOLVE_HOST;
}

/* The addresses are known, or the lookup failed: starts or ends the exchanges that waited. */
static void answered(void *ctx, enum mk_code code, const char *addresses)
{
	struct pool *p = ctx;
	int64_t now = clock_mono_ms();

	if (code == ERR_OK && !set_route(p, p->peer, addresses)) {
		code = ERR_NO_MEMORY;
	} else if (code == ERR_NOT_FOUND) {
		mk_free(p->route); /* on failure the old addresses stay */
		p->route = NULL;
	}
	while (!list_empty(&p->waiting)) {
		struct exchange *x = LIST_ENTRY(p->waiting.next, struct exchange, of_pool);
		CURLcode rc = as_curl(code);

		list_del(&x->of_pool);
		rc = rc == CURLE_OK ? exchange_route(x, p->route, now) : rc;
		rc = rc == CURLE_OK ? start_or_queue(p, x) : rc;
		if (rc != CURLE_OK) {
			leave(p);
			p->ended(p->ctx, x, rc);
		}
	}
}

/*
 * A name: its route, if known, is used while it is looked up anew; else the answer is waited for.
 */
static enum mk_code add_by_name(struct pool *p, struct exchange *x)
{
	int64_t now = clock_mono_ms();
	enum mk_code code = ERR_OK;

	if (!p->route || now - p->route_ms > REQUEST_ROUTE_MS) {
		p->route_ms = now;
		code = resolver_ask(p->resolver, &p->lookup, x->peer->host, answered, p);
	}
	if (!p->route) {
		if (code == ERR_OK) {
			list_add_tail(&p->waiting, &x->of_pool);
		}
		return code;
	}
	return exchange_route(x, p->route, now) == CURLE_OK && start_or_queue(p, x) == CURLE_OK
		       ? ERR_OK
		       : ERR_NO_MEMORY;
}

enum mk_code pool_add(struct pool *p, struct exchange *x, struct mk_err *err)
{
	enum mk_code code;

	p->peer = x->peer;
	limit(p);
	code = p->resolver && x->peer->is_name    ? add_by_name(p, x)
	       : start_or_queue(p, x) == CURLE_OK ? ERR_OK
						  : ERR_NO_MEMORY;
	if (code != ERR_OK) {
		return err_set(err, code, "%s",
			       code == ERR_LIMITED ? "too many names are being looked up"
						   : "out of memory");
	}
	p->running++;
	loop_timer_stop(p->idle);
	return ERR_OK;
}

void pool_remove(struct pool *p, struct exchange *x)
{
	if (x->is_on_wire) {
		x->is_on_wire = false;
		p->n_on_wire--;
		curl_multi_remove_handle(p->multi, x->easy);
		if (!list_empty(&p->queued)) {
			loop_timer_set(p->turn, 0);
		}
	}
	list_del(&x->of_pool);
	leave(p);
}

void pool_drop(struct pool *p)
{
	if (p->multi) {
		curl_multi_cleanup(p->multi);
		p->multi = NULL;
	}
	while (p->socks) {
		sock_free(p->socks);
	}
	if (p->timer && p->idle) {
		loop_timer_stop(p->timer);
		loop_timer_stop(p->idle);
	}
}
