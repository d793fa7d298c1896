/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller of queue trees (multiKueue.quotaTrees; KEP-1093): what the manager's watches show
 * goes to a store (core/trees/store.h); a thread with a connection of its own makes passes
 * (core/trees/pass.h) and writes what they say, while this process leads: level by level, a few
 * requests of one level at a time. Nothing of it holds up the main loop. All writes obey the fence
 * of the lease.
 *
 * Life: new -> start -> (event, lead, run)* -> stop -> free. All calls on the main thread.
 */
#ifndef MK_DAEMON_TREES_THREAD_H
#define MK_DAEMON_TREES_THREAD_H

#include "core/config/config.h"
#include "core/manager/manager.h"
#include "core/net/fence.h"
#include "core/trees/store.h"

struct trees_thread;

struct trees_thread_options {
	enum config_trees mode; /* not CONFIG_TREES_OFF */
	struct kube *kube;      /* borrowed: of the manager */
	const struct kinds *kinds;
	struct net_fence *fence;
	const char *user_agent;
	int64_t lost_ms; /* lostAfter of trees that have their total from workers and do not say it */
	bool tls13;      /* nothing older than TLS 1.3 */
};

/* Asks for the watches; before manager_start. ERR_NO_MEMORY: NULL. */
struct trees_thread *trees_thread_new(const struct trees_thread_options *o, struct mk_err *err);

/*
 * Begins; 'e' is the manager cluster, copied. libcurl must be initialised. ERR_INVALID,
 * ERR_NO_MEMORY, ERR_UNAVAILABLE (no thread).
 */
enum mk_code trees_thread_start(struct trees_thread *t, const struct endpoint *e,
				struct mk_err *err);

/* Told of every event of the manager. NULL is fine. */
void trees_thread_event(struct trees_thread *t, const struct event *ev);

/* This process leads, or no longer does. NULL is fine. */
void trees_thread_lead(struct trees_thread *t, bool leads);

/*
 * Looks at the workers that 'm' knows, lets it watch their queues while a tree has its total from
 * them, tells it when other queues may be in trees, and asks for lists that are due. NULL is fine.
 */
void trees_thread_run(struct trees_thread *t, struct manager *m, int64_t mono_ms, int64_t wall_ms);
/* Monotonic ms of the next run; INT64_MAX of NULL. */
int64_t trees_thread_next_ms(const struct trees_thread *t);

/*
 * For engine_options: is the quota of that ClusterQueue the thread's, because it is in a tree that
 * is compiled? 'ctx' points to a struct trees_thread *, which may be NULL.
 */
bool trees_thread_owns(void *ctx, mk_str cluster_queue);

/* What reviews are judged by (core/trees/review.h). NULL of NULL. */
struct trees_store *trees_thread_store(struct trees_thread *t);
enum { TREES_ACCOUNT_MAX = 512 };
/* Writes the name by which the API server knows this process; "" while it is not known. */
void trees_thread_account(struct trees_thread *t, char out[static TREES_ACCOUNT_MAX]);

/* Ends the thread, waiting for a request in flight at most 200 ms. NULL is fine. */
void trees_thread_stop(struct trees_thread *t);
/* Stops it, if that was not done, and frees the store as well. NULL is fine. */
void trees_thread_free(struct trees_thread *t);

#endif
