/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line of the log when the process is about to die: by SIGSEGV, SIGBUS, SIGFPE, SIGILL or
 * SIGABRT, because its main loop hangs, or because a plugin called exit(). It names the plugin
 * whose code ran on that thread, its hook and the object of the call, or says that none did. Then
 * the signal does what it does without us, so that the parent process sees it.
 *
 * A sanitizer has handlers and reports of its own: there nothing is installed.
 */
#ifndef MK_DAEMON_CRASH_H
#define MK_DAEMON_CRASH_H

#include <stdint.h>

#include "core/plug/plug.h"

#if defined(__SANITIZE_ADDRESS__)
#define CRASH_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRASH_IS_SANITIZED 1
#endif
#endif
#ifndef CRASH_IS_SANITIZED
#define CRASH_IS_SANITIZED 0
#endif

/*
 * Sets the handlers, and a stack for them for the calling thread: the one that hooks run on, since
 * a hook that used up its stack leaves none. Once, at the start.
 */
void crash_install(void);

/* The plugins whose hooks run from now on; borrowed, NULL: none. */
void crash_watch(const struct plug *p);

/*
 * Writes that the main loop hangs for 'age_ms', and where. 'p' may be NULL. Waits for no lock, on
 * any thread.
 */
void crash_tell_stuck(struct plug *p, int64_t age_ms);

/* Ends the process by SIGABRT without another line: the reason was told already. */
_Noreturn void crash_abort(void);

#endif
