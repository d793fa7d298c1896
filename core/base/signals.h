/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals the threads beside the main loop leave to it. */
#ifndef MK_BASE_SIGNALS_H
#define MK_BASE_SIGNALS_H

#include <signal.h>

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

#endif
