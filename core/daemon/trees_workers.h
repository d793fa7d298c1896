/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manager's watches show of workers' quota, for trees whose total is theirs
 * (core/trees/fleet.h); and whether there are such trees, so that the queues of workers are to be
 * watched. Main thread.
 */
#ifndef MK_DAEMON_TREES_WORKERS_H
#define MK_DAEMON_TREES_WORKERS_H

#include "core/base/map.h"
#include "core/engine/engine.h"
#include "core/kube/kube.h"
#include "core/trees/fleet.h"

enum { TREES_WANTING = 2 }; /* ClusterQuotaTrees, ClusterQueues of the manager */

struct trees_workers_watch {
	struct kube *kube; /* borrowed */
	struct trees_fleet *fleet;
	bool is_news; /* workers or configs may be others than the fleet has */
	bool failed;  /* ... and could not be kept */
	int64_t due_ms,
		step_ms; /* what is lost is listed anew then; and the next one so much later */
	/* Objects that want totals from workers: name to number of the list that named it last. */
	struct {
		struct map names;
		uintptr_t mark;
		bool lost; /* one may be missing: until the next list, there are such objects */
	} wanting[TREES_WANTING];
};

/* ERR_NO_MEMORY. */
enum mk_code trees_workers_open(struct trees_workers_watch *w, struct kube *k, struct mk_err *err);
void trees_workers_close(struct trees_workers_watch *w);

/* Told of every event of the manager; 'wants': its object has its total from workers. */
void trees_workers_event(struct trees_workers_watch *w, const struct event *ev, bool wants);
/* Has an object its total from workers? */
bool trees_workers_wanted(const struct trees_workers_watch *w);

/* Hands workers on, and asks for lists that are due. */
void trees_workers_run(struct trees_workers_watch *w, const struct engine *e, int64_t mono_ms,
		       int64_t wall_ms);
/* Monotonic ms of the next run; INT64_MAX: only an event makes one necessary. */
int64_t trees_workers_next_ms(const struct trees_workers_watch *w);

#endif
