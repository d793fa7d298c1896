/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running daemon: the manager (manager.h) on the event loop, with the libcurl transport, leader
 * election, HTTP endpoints, signals, and word to the service manager (notify.h). Threads besides
 * this one: that of leader election, that of queue trees, and up to 16 that look names up.
 *
 * SIGTERM or SIGINT: not ready any more, nothing new is begun, what is on the wire is awaited (at
 * most 20 s), the lease is given back, end with 0. A second one ends the process at once. A lost
 * lease ends it with 1.
 */
#ifndef MK_DAEMON_DAEMON_H
#define MK_DAEMON_DAEMON_H

#include "core/daemon/options.h"
#include "core/daemon/setup.h"

/* Runs until told to end; 's' is loaded, plugins included, and outlives the call. Returns the exit
 * status. */
int daemon_run(struct setup *s, const struct options *o);

#endif
