/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that watches the main loop; see watchdog.h. It waits for nothing but the time. Times
 * are CLOCK_BOOTTIME, as those of the Lease.
 */
#include "core/daemon/watchdog.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/daemon/crash.h"

enum {
	TICK_MS = 500,   /* how often the heartbeat is looked at */
	PAUSE_MS = 2000, /* a gap this long between ticks: the whole process was stopped */
};

struct watchdog {
	struct watchdog_options o;
	pthread_t thread;
	int wake_fd;
	int64_t ticked_ms, resumed_ms; /* the thread's own */
	_Atomic int64_t beat_ms;
	atomic_bool stop;
	bool joinable;
};

static void end_process(struct watchdog *w, int64_t age_ms)
{
	net_fence_set(w->o.fence, 0);
	crash_tell_stuck(w->o.plug, age_ms);
	if (!w->o.on_stuck) {
		crash_abort();
	}
	w->o.on_stuck();
	w->resumed_ms = clock_boot_ms();
}

static void look(struct watchdog *w)
{
	int64_t now = clock_boot_ms(), beat = atomic_load(&w->beat_ms), silent;

	if (now - w->ticked_ms > PAUSE_MS) {
		w->resumed_ms = now;
	}
	w->ticked_ms = now;
	silent = now - (beat > w->resumed_ms ? beat : w->resumed_ms);
	if (silent >= WATCHDOG_ABORT_MS) {
		end_process(w, silent);
	}
}

static void *run(void *ctx)
{
	struct watchdog *w = ctx;
	struct pollfd p = {.fd = w->wake_fd, .events = POLLIN};

	w->ticked_ms = w->resumed_ms = clock_boot_ms();
	while (!atomic_load(&w->stop)) {
		look(w);
		(void)poll(&p, 1, TICK_MS);
	}
	return NULL;
}

struct watchdog *watchdog_start(const struct watchdog_options *o, struct mk_err *err)
{
	struct watchdog *w = mk_calloc(1, sizeof(*w));

	if (!w) {
		err_set(err, ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	w->o = *o;
	atomic_init(&w->beat_ms, clock_boot_ms());
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	w->joinable = w->wake_fd >= 0 && signals_start_thread(&w->thread, run, w);
	if (!w->joinable) {
		err_set(err, ERR_UNAVAILABLE, "cannot start the thread that watches the main loop");
		watchdog_free(w);
		return NULL;
	}
	return w;
}

void watchdog_beat(struct watchdog *w)
{
	atomic_store(&w->beat_ms, clock_boot_ms());
}

bool watchdog_lives(const struct watchdog *w)
{
	return clock_boot_ms() - atomic_load(&w->beat_ms) < WATCHDOG_STALE_MS;
}

void watchdog_stop(struct watchdog *w)
{
	const uint64_t one = 1;

	if (w && w->joinable) {
		atomic_store(&w->stop, true);
		(void)!write(w->wake_fd, &one, sizeof(one)); /* a full counter wakes, too */
		pthread_join(w->thread, NULL);
		w->joinable = false;
	}
}

void watchdog_free(struct watchdog *w)
{
	if (!w) {
		return;
	}
	watchdog_stop(w);
	if (w->wake_fd >= 0) {
		close(w->wake_fd);
	}
	mk_free(w);
}
