/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which LocalQueues lead to other clusters: LocalQueue -> ClusterQueue -> AdmissionCheck with our controllerName, kept
 * up to date from the manager's events. What the review of an object (review.h) asks; no I/O.
 *
 * A LocalQueue that was deleted keeps counting as what it was while this process lives: jobs that run through it
 * elsewhere are still there, and their pods here must stay parked.
 */
#ifndef MK_ADMIT_QUEUES_H
#define MK_ADMIT_QUEUES_H

#include "core/model/event.h"

struct admit_queues;

/* NULL: out of memory. */
struct admit_queues *admit_queues_new(void);
void admit_queues_free(struct admit_queues *q); /* NULL is fine */

/* Takes what concerns it (LocalQueues, ClusterQueues and AdmissionChecks of the manager) and ignores the rest. */
void admit_queues_event(struct admit_queues *q, const struct event *ev);

/*
 * Are all three kinds listed, and was nothing lost since? False while one of them may not be read or is not served, and
 * for good when memory ran out or there are more than 200,000 queues: what is not known must not count as "not ours".
 */
bool admit_queues_ready(const struct admit_queues *q);

/* Has the ClusterQueue behind LocalQueue 'name' of namespace 'ns' a check of ours? False for an unknown queue. */
bool admit_queues_lead_away(const struct admit_queues *q, mk_str ns, mk_str name);

/* Grows whenever an answer of the function above may have changed. */
uint64_t admit_queues_version(const struct admit_queues *q);

/* One LocalQueue that leads away. */
struct admit_row {
	mk_str key;           /* "<namespace>.<queue>": a namespace has no dot */
	mk_str cluster_queue; /* borrowed until the next event */
};

/*
 * All LocalQueues that lead away, sorted by key: what the ConfigMap holds that the policy of conf/admission looks into.
 * Left out are queues whose name no label can hold: no job can be in them. In 'a'; NULL: out of memory.
 */
const struct admit_row *admit_queues_table(const struct admit_queues *q, struct arena *a,
					   size_t *ret_n);

#endif
