/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop over libevent; see loop.h. Every callback goes through a trampoline that times it.
 */
#include "core/net/loop.h"

#include <event2/event.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

struct loop {
	struct event_base *base;
	struct event *wake;
	int wake_fd;
	loop_fn *wake_fn;
	void *wake_ctx;
	loop_stall_fn *stall_fn;
	void *stall_ctx;
	int64_t max_stall_us, max_cpu_us;
	bool by_cpu;            /* see loop_max_cpu_us */
	int64_t cpu_entered_us; /* of the callback that runs */
};

struct loop_timer {
	struct loop *loop;
	struct event *ev;
	loop_fn *fn;
	void *ctx;
};

struct loop_post {
	struct loop *loop;
	struct event *ev;
	loop_fn *fn;
	void *ctx;
};

struct loop_fd {
	struct loop *loop;
	struct event *ev;
	loop_fd_fn *fn;
	loop_fn *signal_fn;
	void *ctx;
};

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t loop_enter(struct loop *l)
{
	l->cpu_entered_us = l->by_cpu ? cpu_us() : 0;
	return clock_mono_us();
}

void loop_leave(struct loop *l, int64_t entered_us)
{
	int64_t took = clock_mono_us() - entered_us;

	if (took > l->max_stall_us) {
		l->max_stall_us = took;
	}
	if (l->by_cpu && took > l->max_cpu_us) {
		int64_t cpu = cpu_us() - l->cpu_entered_us;

		l->max_cpu_us = cpu > l->max_cpu_us ? cpu : l->max_cpu_us;
	}
	if (took > LOOP_STALL_US && l->stall_fn) {
		l->stall_fn(l->stall_ctx, took);
	}
}

static void wake_ready(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;
	int64_t t0 = loop_enter(l);
	uint64_t n = 0;

	(void)what;
	if (read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) && l->wake_fn) {
		l->wake_fn(l->wake_ctx);
	}
	loop_leave(l, t0);
}

static bool is_real_time(void)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_FIFO || policy == SCHED_RR;
}

struct loop *loop_new(struct mk_err *err)
{
	struct loop *l = mk_malloc(sizeof(*l));

	if (!l) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	*l = (struct loop){.wake_fd = -1, .by_cpu = is_real_time()};
	/* a write to a closed connection fails with EPIPE instead of ending the process */
	signal(SIGPIPE, SIG_IGN);
	l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	l->base = event_base_new();
	if (l->base && l->wake_fd >= 0) {
		l->wake = event_new(l->base, l->wake_fd, EV_READ | EV_PERSIST, wake_ready, l);
	}
	if (!l->wake || event_add(l->wake, NULL) != 0) {
		err_set(err, ERR_UNAVAILABLE, "cannot create the event loop");
		loop_free(l);
		return NULL;
	}
	return l;
}

void loop_free(struct loop *l)
{
	if (!l) {
		return;
	}
	if (l->wake) {
		event_free(l->wake);
	}
	if (l->base) {
		event_base_free(l->base);
	}
	if (l->wake_fd >= 0) {
		close(l->wake_fd);
	}
	mk_free(l);
}

void loop_run(struct loop *l)
{
	event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_stop(struct loop *l)
{
	event_base_loopbreak(l->base);
}

static void turn_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

void loop_turn(struct loop *l, int64_t max_ms)
{
	struct timeval tv = {.tv_sec = max_ms / 1000, .tv_usec = (max_ms % 1000) * 1000};
	struct event *limit;

	if (max_ms <= 0) {
		event_base_loop(l->base, EVLOOP_NONBLOCK);
		return;
	}
	limit = evtimer_new(l->base, turn_over, NULL);
	if (limit && evtimer_add(limit, &tv) == 0) {
		event_base_loop(l->base, EVLOOP_ONCE);
	} else {
		event_base_loop(l->base, EVLOOP_NONBLOCK);
	}
	if (limit) {
		event_free(limit);
	}
}

struct event_base *loop_base(struct loop *l)
{
	return l->base;
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;
	struct loop *l = t->loop; /* the callback may free the timer */
	int64_t t0 = loop_enter(l);

	(void)fd;
	(void)what;
	t->fn(t->ctx);
	loop_leave(l, t0);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx)
{
	struct loop_timer *t = mk_malloc(sizeof(*t));

	if (!t) {
		return NULL;
	}
	*t = (struct loop_timer){.loop = l, .fn = fn, .ctx = ctx};
	t->ev = evtimer_new(l->base, timer_fired, t);
	if (!t->ev) {
		mk_free(t);
		return NULL;
	}
	return t;
}

void loop_timer_free(struct loop_timer *t)
{
	if (t) {
		event_free(t->ev);
		mk_free(t);
	}
}

void loop_timer_set(struct loop_timer *t, int64_t in_ms)
{
	enum { DAY_MS = 86400000 };
	int64_t ms = in_ms < 0 ? 0 : in_ms > DAY_MS ? DAY_MS : in_ms;
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};

	/* A timer already pending is moved by this; it fails only when the timer heap cannot grow.
	 */
	if (evtimer_add(t->ev, &tv) != 0) {
		event_active(t->ev, EV_TIMEOUT, 1);
	}
}

void loop_timer_stop(struct loop_timer *t)
{
	event_del(t->ev);
}

static void post_fired(evutil_socket_t fd, short what, void *arg)
{
	struct loop_post *p = arg;
	struct loop *l = p->loop;
	int64_t t0 = loop_enter(l);

	(void)fd;
	(void)what;
	p->fn(p->ctx);
	loop_leave(l, t0);
}

struct loop_post *loop_post_new(struct loop *l, loop_fn *fn, void *ctx)
{
	struct loop_post *p = mk_malloc(sizeof(*p));

	if (!p) {
		return NULL;
	}
	*p = (struct loop_post){.loop = l, .fn = fn, .ctx = ctx};
	p->ev = evtimer_new(l->base, post_fired, p);
	if (!p->ev) {
		mk_free(p);
		return NULL;
	}
	return p;
}

void loop_post_free(struct loop_post *p)
{
	if (p) {
		event_free(p->ev);
		mk_free(p);
	}
}

void loop_post_now(struct loop_post *p)
{
	/*
	 * A timer of 0 instead of event_active: libevent polls sockets before it fires, so a post
	 * that posts itself again does not starve them.
	 */
	static const struct timeval now;

	if (!evtimer_pending(p->ev, NULL) && evtimer_add(p->ev, &now) != 0) {
		event_active(p->ev, EV_TIMEOUT, 1);
	}
}

static void fd_ready(evutil_socket_t fd, short what, void *arg)
{
	struct loop_fd *w = arg;
	struct loop *l = w->loop;
	int64_t t0 = loop_enter(l);

	(void)fd;
	if (w->signal_fn) {
		w->signal_fn(w->ctx);
	} else {
		unsigned ready = (what & EV_READ ? (unsigned)LOOP_READ : 0u) |
				 (what & EV_WRITE ? (unsigned)LOOP_WRITE : 0u);

		w->fn(w->ctx, ready);
	}
	loop_leave(l, t0);
}

static struct loop_fd *watch_new(struct loop *l, int fd, short what, loop_fd_fn *fn,
				 loop_fn *signal_fn, void *ctx)
{
	struct loop_fd *w = mk_malloc(sizeof(*w));

	if (!w) {
		return NULL;
	}
	*w = (struct loop_fd){.loop = l, .fn = fn, .signal_fn = signal_fn, .ctx = ctx};
	w->ev = event_new(l->base, fd, what, fd_ready, w);
	if (!w->ev || event_add(w->ev, NULL) != 0) {
		loop_fd_free(w);
		return NULL;
	}
	return w;
}

struct loop_fd *loop_fd_new(struct loop *l, int fd, unsigned want, loop_fd_fn *fn, void *ctx)
{
	int what =
		EV_PERSIST | (want & LOOP_READ ? EV_READ : 0) | (want & LOOP_WRITE ? EV_WRITE : 0);

	return watch_new(l, fd, (short)what, fn, NULL, ctx);
}

struct loop_fd *loop_signal_new(struct loop *l, int signo, loop_fn *fn, void *ctx)
{
	return watch_new(l, signo, EV_SIGNAL | EV_PERSIST, NULL, fn, ctx);
}

void loop_fd_free(struct loop_fd *w)
{
	if (w) {
		if (w->ev) {
			event_free(w->ev);
		}
		mk_free(w);
	}
}

void loop_on_wake(struct loop *l, loop_fn *fn, void *ctx)
{
	l->wake_fn = fn;
	l->wake_ctx = ctx;
}

void loop_wake(struct loop *l)
{
	uint64_t one = 1;
	ssize_t n = write(l->wake_fd, &one, sizeof(one));

	/* A full counter means that a wake-up is already on its way. */
	(void)n;
}

void loop_on_stall(struct loop *l, loop_stall_fn *fn, void *ctx)
{
	l->stall_fn = fn;
	l->stall_ctx = ctx;
}

int64_t loop_max_stall_us(const struct loop *l)
{
	return l->max_stall_us;
}

int64_t loop_max_cpu_us(const struct loop *l)
{
	return l->max_cpu_us;
}
