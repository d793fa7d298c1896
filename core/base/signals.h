/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the main loop, and which signals they leave to it. */
#ifndef MK_BASE_SIGNALS_H
#define MK_BASE_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/*
 * All but those of a crash: the kernel ends a thread that crashes with its signal blocked, and the
 * crash handler (core/daemon/crash.c) could not write its record.
 */
static inline void signals_of_threads(sigset_t *ret)
{
	sigfillset(ret);
	sigdelset(ret, SIGSEGV);
	sigdelset(ret, SIGBUS);
	sigdelset(ret, SIGFPE);
	sigdelset(ret, SIGILL);
	sigdelset(ret, SIGABRT);
}

/* Starts fn(ctx) on a thread that is to be joined, made with those signals blocked. */
static inline bool signals_start_thread(pthread_t *ret, void *(*fn)(void *ctx), void *ctx)
{
	sigset_t all, before;
	bool started;

	signals_of_threads(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
		return false;
	}
	started = pthread_create(ret, NULL, fn, ctx) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

#endif
