/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service manager is told that started the daemon: the protocol of sd_notify(3), which is
 * a datagram to the socket that NOTIFY_SOCKET names. Ready, ending, a word for `systemctl status`,
 * and with WATCHDOG_USEC a sign of life from the main loop. Used by the main thread alone.
 *
 * A message that does not fit into the socket's queue, or finds nothing behind it for a while, is
 * sent again; the daemon never waits for it. Each tells the whole state, so the last one counts.
 */
#ifndef MK_DAEMON_NOTIFY_H
#define MK_DAEMON_NOTIFY_H

#include "core/base/err.h"
#include "core/net/loop.h"

enum notify_phase { NOTIFY_STARTING, NOTIFY_READY, NOTIFY_STOPPING };

struct notify;

/*
 * Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that programs that
 * we start do not speak for us, and says that the daemon starts. *ret is NULL without a socket's
 * name. ERR_INVALID: a value that cannot be meant. ERR_UNAVAILABLE: the socket takes nothing.
 * ERR_NO_MEMORY. The message names the variable.
 */
enum mk_code notify_new(struct loop *l, struct notify **ret, struct mk_err *err);
void notify_free(struct notify *n); /* NULL is fine */

/* Tells the phase, and 'status' (static, one line) to those who look. NULL 'n' is fine. */
void notify_tell(struct notify *n, enum notify_phase phase, const char *status);

#endif
