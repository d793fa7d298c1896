/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that ends the process; see last_resort.h. It uses nothing that is taken apart meanwhile.
 */
#include "core/daemon/last_resort.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/daemon/early.h"

static int exit_status;
static int64_t limit_ms;
static const char *_Atomic at = "nothing";

static void *wait_and_end(void *ctx)
{
	struct timespec left = {.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1000000};

	(void)ctx;
	while (nanosleep(&left, &left) != 0) {
	}
	log_write(LOG_WARN, "daemon", "the end takes too long: leaving without it",
		  LOG_CSTR("at", atomic_load(&at)), LOG_INT("dur_ms", limit_ms),
		  LOG_INT("status", exit_status), LOG_END);
	_exit(exit_status);
}

void last_resort_begin(int status, int64_t ms)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	early_status(status);
	exit_status = status;
	limit_ms = ms;
	if (pthread_attr_init(&attr) != 0) {
		return;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, wait_and_end, NULL) != 0) {
		log_write(LOG_WARN, "daemon", "no thread to watch the end", LOG_END);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

void last_resort_at(const char *what)
{
	atomic_store(&at, what);
}
