/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one event loop of the process: timers, posted callbacks, sockets, signals and a wake-up from
 * other threads, over libevent. Everything but loop_wake belongs to the thread that runs the loop.
 * Each callback is timed: the longest one is the stall that every socket of the daemon had to
 * wait for.
 *
 * Life: loop_new -> (timers, watches, posts) -> loop_run until loop_stop -> free what was made ->
 * loop_free.
 */
#ifndef MK_NET_LOOP_H
#define MK_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct loop;
struct loop_timer;
struct loop_fd;
struct loop_post;
struct event_base;

typedef void loop_fn(void *ctx);
typedef void loop_fd_fn(void *ctx, unsigned ready);

enum { LOOP_READ = 1, LOOP_WRITE = 2 };
enum { LOOP_STALL_US = 1000 };

/*
 * Also makes the process ignore SIGPIPE. ERR_NO_MEMORY or ERR_UNAVAILABLE (no epoll, no
 * descriptors): NULL then.
 */
struct loop *loop_new(struct mk_err *err);
void loop_free(struct loop *l); /* NULL is fine */

/* Runs until loop_stop. */
void loop_run(struct loop *l);
/* Makes loop_run return after the callback that is running. */
void loop_stop(struct loop *l);
/* Runs what is ready, waiting at most 'max_ms' for something to become ready. For tests and the
 * drain. */
void loop_turn(struct loop *l, int64_t max_ms);

/* For libraries that speak libevent themselves (evhttp). Borrowed. */
struct event_base *loop_base(struct loop *l);

/* A timer that is not running yet; NULL when out of memory. */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx);
void loop_timer_free(struct loop_timer *t); /* NULL is fine */
/* Fires once, 'in_ms' from now (below 0 counts as 0), in place of what was set before. */
void loop_timer_set(struct loop_timer *t, int64_t in_ms);
void loop_timer_stop(struct loop_timer *t);

/* Watches 'fd' for LOOP_READ and LOOP_WRITE in 'want' until freed. The descriptor stays the
 * caller's. NULL: no memory. */
struct loop_fd *loop_fd_new(struct loop *l, int fd, unsigned want, loop_fd_fn *fn, void *ctx);
void loop_fd_free(struct loop_fd *w); /* NULL is fine */

/* Calls fn(ctx) from the loop whenever signal 'signo' arrives. Freed with loop_fd_free. */
struct loop_fd *loop_signal_new(struct loop *l, int signo, loop_fn *fn, void *ctx);

/* A callback to be run soon by loop_post_now: from the loop, never inside the call; several calls
 * before that are one. */
struct loop_post *loop_post_new(struct loop *l, loop_fn *fn, void *ctx);
void loop_post_free(struct loop_post *p); /* NULL is fine; a run that is due is dropped */
void loop_post_now(struct loop_post *p);

/* What loop_wake triggers. One per loop. */
void loop_on_wake(struct loop *l, loop_fn *fn, void *ctx);
/* Makes the loop run the function of loop_on_wake soon. The only call allowed from other threads.
 */
void loop_wake(struct loop *l);

/* Brackets a callback that libevent made without this module (evhttp), so that it is timed too. */
int64_t loop_enter(struct loop *l);
void loop_leave(struct loop *l, int64_t entered_us);

/* Calls fn(ctx, us) after each callback that took longer than LOOP_STALL_US. One per loop. */
typedef void loop_stall_fn(void *ctx, int64_t us);
void loop_on_stall(struct loop *l, loop_stall_fn *fn, void *ctx);
/* Longest callback ever in microseconds. */
int64_t loop_max_stall_us(const struct loop *l);
/*
 * The most CPU of a callback, where the loop was made under a real-time priority; else 0. The
 * kernel puts a real-time thread aside that takes a whole processor, so its callbacks may take
 * longer than what they do.
 */
int64_t loop_max_cpu_us(const struct loop *l);

#endif
