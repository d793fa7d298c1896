/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election on a thread and a connection of its own, so that no load on the main loop delays
 * a renewal. But it renews only while the main loop shows signs of life (watchdog.h): a leader that
 * hangs must lose the lease.
 *
 * Life: start -> (the loop is woken when the state changes)* -> release -> free. What the thread
 * knows goes through atomics: the state here, and the fence that the transport obeys. Who holds the
 * Lease is logged when it changes, and may be asked.
 */
#ifndef MK_DAEMON_LEASE_THREAD_H
#define MK_DAEMON_LEASE_THREAD_H

#include "core/daemon/watchdog.h"
#include "core/kube/lease.h"
#include "core/kube/transport.h"
#include "core/net/fence.h"
#include "core/net/loop.h"

struct lease_thread;

struct lease_thread_options {
	struct lease_options lease;
	const struct endpoint *endpoint; /* the manager cluster; copied */
	const char *user_agent;          /* borrowed */
	bool tls13;                      /* nothing older than TLS 1.3 */
	struct net_fence *fence;         /* borrowed: set to the lease's validity */
	struct loop *loop;               /* borrowed: loop_wake on every change of state */
	const struct watchdog *watchdog; /* borrowed: does the main loop live? */
};

/* ERR_INVALID (durations, names, endpoint), ERR_NO_MEMORY, ERR_UNAVAILABLE (no thread): NULL. */
struct lease_thread *lease_thread_start(const struct lease_thread_options *o, struct mk_err *err);

/* The state as last published. */
enum lease_state lease_thread_state(const struct lease_thread *t);

/* Which Lease it is and who has it. Its strings live as long as the thread. */
void lease_thread_view(struct lease_thread *t, struct lease_view *ret);

/*
 * Gives the lease back: the fence falls at once, then the record is released and the state becomes
 * LEASE_RELEASED (or stays LEASE_LOST). Call when nothing writes any more.
 */
void lease_thread_release(struct lease_thread *t);

/* Stops the thread, waiting for a request in flight at most 200 ms, and frees. The fence falls.
 * NULL is fine. */
void lease_thread_free(struct lease_thread *t);

#endif
