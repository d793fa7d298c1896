/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has Kueue seen what got less? What gets more waits for that (core/trees/pass.h). Kueue says in
 * the condition Active which generation of a ClusterQueue it has seen; of a Cohort it says nothing:
 * that gets a moment. What this process gave more is not waited for, because a queue has less until
 * Kueue sees it; what another client changed is.
 */
#ifndef MK_DAEMON_TREES_SEEN_H
#define MK_DAEMON_TREES_SEEN_H

#include "core/base/map.h"
#include "core/trees/pass.h"

struct trees_seen {
	struct map
		queues; /* ClusterQueues of which Kueue need not have seen the last generations */
	uint64_t looks;
	int64_t less_ms; /* when something got less last */
	int64_t wait_ms; /* since when a queue is waited for; -1: none is */
};

/* A process begins to lead: the one before may just have written anything. */
void trees_seen_begin(struct trees_seen *s, int64_t mono_ms);
void trees_seen_done(struct trees_seen *s);

/*
 * A write was carried out, or it is not known whether it was; one that is no quota counts for
 * nothing. 'generation': that of the object since then; 0: not known.
 */
void trees_seen_wrote(struct trees_seen *s, const struct trees_write *w, int64_t generation,
		      int64_t mono_ms);

/*
 * For trees_input: two seconds after something got less, when Kueue has seen each ClusterQueue of
 * 'objects', or has not within half a minute.
 */
bool trees_seen_settled(struct trees_seen *s, struct json *const *objects, size_t n,
			int64_t mono_ms);

#endif
