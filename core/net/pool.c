/* SPDX-License-Identifier: Apache-2.0 */
/* A libcurl multi handle driven by the event loop; see pool.h. */
#include "core/net/pool.h"

#include "core/base/alloc.h"

/* A socket that libcurl asked us to watch. */
struct sock {
	struct pool *pool;
	struct sock *next, **link;
	struct loop_fd *watch;
	curl_socket_t fd;
};

struct pool {
	struct loop *loop;
	CURLM *multi; /* NULL while there is nothing to do */
	struct loop_timer *timer, *idle;
	struct sock *socks;
	void (*ended)(void *ctx, struct exchange *x, CURLcode rc);
	void *ctx;
	size_t running;
	bool one_connection;
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
		p->ended(p->ctx, x, rc);
	}
}

static void act(struct pool *p, curl_socket_t fd, int ready)
{
	int running = 0;

	curl_multi_socket_action(p->multi, fd, ready, &running);
	collect(p);
}

static void sock_ready(void *ctx, unsigned ready)
{
	struct sock *s = ctx; /* libcurl may let go of it inside act() */

	act(s->pool, s->fd,
	    (ready & LOOP_READ ? CURL_CSELECT_IN : 0) |
		    (ready & LOOP_WRITE ? CURL_CSELECT_OUT : 0));
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
	unsigned want = (what & CURL_POLL_IN ? (unsigned)LOOP_READ : 0u) |
			(what & CURL_POLL_OUT ? (unsigned)LOOP_WRITE : 0u);

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
	loop_fd_free(s->watch);
	s->watch = loop_fd_new(p->loop, fd, want, sock_ready, s);
	if (!s->watch) {
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

	if (p->multi) {
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

struct pool *pool_new(struct loop *l, bool one_connection,
		      void (*ended)(void *ctx, struct exchange *x, CURLcode rc), void *ctx)
{
	struct pool *p = mk_calloc(1, sizeof(*p));

	if (!p) {
		return NULL;
	}
	p->loop = l;
	p->ended = ended;
	p->ctx = ctx;
	p->one_connection = one_connection;
	p->timer = loop_timer_new(l, timer_fired, p);
	p->idle = loop_timer_new(l, idle_fired, p);
	if (!p->timer || !p->idle) {
		pool_free(p);
		return NULL;
	}
	return p;
}

void pool_free(struct pool *p)
{
	if (p) {
		pool_drop(p);
		loop_timer_free(p->timer);
		loop_timer_free(p->idle);
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
	if (p->one_connection) {
		curl_multi_setopt(p->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
	}
	return true;
}

enum mk_code pool_add(struct pool *p, struct exchange *x, struct mk_err *err)
{
	if ((!p->multi && !open_multi(p)) || curl_multi_add_handle(p->multi, x->easy) != CURLM_OK) {
		if (p->running == 0) {
			pool_drop(p); /* it may be broken for good */
		}
		return err_set(err, MK_NO_MEMORY, "net", "out of memory");
	}
	p->running++;
	loop_timer_stop(p->idle);
	return MK_OK;
}

void pool_remove(struct pool *p, struct exchange *x)
{
	curl_multi_remove_handle(p->multi, x->easy);
	p->running--;
	if (p->running == 0) {
		loop_timer_set(p->idle, POOL_IDLE_MS);
	}
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

size_t pool_running(const struct pool *p)
{
	return p->running;
}
