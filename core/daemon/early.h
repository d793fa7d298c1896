/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals from the first instruction of main on, before the loop takes them. A daemon that is told
 * to end then has nothing to drain: it ends at once, with status 0. As process 1 of a container it
 * would not even end without a handler.
 */
#ifndef MK_DAEMON_EARLY_H
#define MK_DAEMON_EARLY_H

/* First of all: SIGTERM and SIGINT wait until one of the next two. */
void early_begin(void);
/* We are a daemon: they end it, also where our parent had them blocked; SIGHUP is ignored. */
void early_run(void);
/* We do a small task, whose status must not say that it is done: they end it as any program. */
void early_task(void);

/* What such a signal ends the process with, while the loop has not taken it or no longer does. */
void early_status(int status);

#endif
