/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals the threads beside the main loop leave to it. */
#ifndef MK_BASE_SIGNALS_H
#define MK_BASE_SIGNALS_H

#include <signal.h>

/*
 * All but those of a crash: a thread that crashes with its signal blocked is ended by the kernel, and nobody could say
 * a last word.
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
