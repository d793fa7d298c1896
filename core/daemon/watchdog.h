/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends the process when its main loop hangs, whether it leads, waits for the Lease or runs without
 * leader election: a thread looks at a heartbeat, and after 8 s without one writes which plugin's
 * hook runs for which object, and aborts. Time in which the process as a whole was stopped does not
 * count.
 *
 * Life: start -> beat from the main loop, lives from any thread -> stop -> free.
 */
#ifndef MK_DAEMON_WATCHDOG_H
#define MK_DAEMON_WATCHDOG_H

#include "core/base/err.h"
#include "core/net/fence.h"
#include "core/plug/plug.h"

struct watchdog;

enum {
	WATCHDOG_STALE_MS = 5000, /* the Lease is not renewed while the last heartbeat is older */
	WATCHDOG_ABORT_MS = 8000, /* a main loop that hangs that long ends the process */
};

struct watchdog_options {
	struct net_fence *fence; /* borrowed: it falls before the process ends */
	struct plug *plug;       /* borrowed, or NULL: whose hook is running */
	void (*on_stuck)(void);  /* NULL = abort(3) */
};

/* Counts as the first heartbeat. ERR_NO_MEMORY, ERR_UNAVAILABLE (no thread): NULL. */
struct watchdog *watchdog_start(const struct watchdog_options *o, struct mk_err *err);

/* The main loop lives. Call at least every second. */
void watchdog_beat(struct watchdog *w);

/* Is the last heartbeat young enough that the Lease may be renewed? */
bool watchdog_lives(const struct watchdog *w);

/* It looks no more; lives can be asked on. NULL is fine, and so is a second time. */
void watchdog_stop(struct watchdog *w);
void watchdog_free(struct watchdog *w); /* NULL is fine */

#endif
