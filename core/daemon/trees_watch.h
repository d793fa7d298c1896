/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manager's watches show of queue trees, for the store (core/trees/store.h). Kinds that
 * something else watches too are not watched twice. Main thread.
 */
#ifndef MK_DAEMON_TREES_WATCH_H
#define MK_DAEMON_TREES_WATCH_H

#include "core/kube/kube.h"
#include "core/trees/store.h"

enum { TREES_WATCH_KINDS = 7 };

struct trees_watch {
	struct kube *kube;         /* borrowed */
	struct trees_store *store; /* borrowed */
	/* Kinds of which something was lost to memory: listed anew, 5 s, then up to 5 min later. */
	struct {
		bool lost;
		int64_t due_ms, step_ms;
	} kinds[TREES_WATCH_KINDS];
};

/* Asks for the watches; before manager_start. ERR_NO_MEMORY. */
enum mk_code trees_watch_open(struct trees_watch *w, struct kube *k, struct trees_store *s,
			      struct mk_err *err);

/* Told of every event of the manager. True: the store has changed. */
bool trees_watch_event(struct trees_watch *w, const struct event *ev);

/* Asks for lists that are due. */
void trees_watch_run(struct trees_watch *w, int64_t mono_ms);
/* Monotonic ms of the next run; INT64_MAX: only an event makes one necessary. */
int64_t trees_watch_next_ms(const struct trees_watch *w);

/* The kind of the model, or -1. */
int trees_watch_kind(enum api_kind kind);

#endif
