/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which LocalQueues lead to other clusters: LocalQueue -> ClusterQueue -> AdmissionCheck with our
 * controllerName, kept up to date from the manager's events. The review of an object (review.h)
 * asks it; no I/O. Any thread may ask while another one passes events.
 *
 * A LocalQueue that was deleted counts as what it was while a Workload is in it: jobs that run
 * through it elsewhere are still there, and their pods here must stay parked. Then it is forgotten
 * (locals.h has the limits).
 */
#ifndef MK_ADMIT_QUEUES_H
#define MK_ADMIT_QUEUES_H

#include "core/model/event.h"

struct admit_queues;

/* NULL: out of memory. */
struct admit_queues *admit_queues_new(void);
void admit_queues_free(struct admit_queues *q); /* NULL is fine */

/*
 * Takes what concerns it (LocalQueues, ClusterQueues, AdmissionChecks and Workloads of the manager)
 * and ignores the rest.
 */
void admit_queues_event(struct admit_queues *q, const struct event *ev);

/*
 * Are all three kinds listed, and was nothing lost since? False while one of them may not be read
 * or is not served, and when memory ran out or there are more than 200,000 ClusterQueues or checks,
 * until a list ends without that: an unknown queue must not count as "not ours".
 */
bool admit_queues_ready(const struct admit_queues *q);

/*
 * Is something of 'kind' missing that a list would show? The caller should list it anew (not too
 * often).
 */
bool admit_queues_wants_list(const struct admit_queues *q, uint16_t kind);

enum { ADMIT_SPACE_MAX = 64 };

/*
 * In how many namespaces are LocalQueues not known, because there are too many? 'ret_name' gets the
 * name of one, or "".
 */
size_t admit_queues_over(const struct admit_queues *q, char ret_name[static ADMIT_SPACE_MAX]);

enum admit_way {
	ADMIT_STAYS,      /* no check of ours behind it; also for a queue that does not exist */
	ADMIT_LEADS_AWAY, /* its ClusterQueue has a check of ours */
	ADMIT_UNSURE,     /* unknown, in a namespace of which not all queues are known */
	ADMIT_NOT_READY,  /* admit_queues_ready */
};

/* Where does LocalQueue 'name' of namespace 'ns' lead? */
enum admit_way admit_queues_ask(const struct admit_queues *q, mk_str ns, mk_str name);

/*
 * Grows whenever an answer of the function above may have changed (ADMIT_UNSURE and ADMIT_NOT_READY
 * aside).
 */
uint64_t admit_queues_version(const struct admit_queues *q);

/* One LocalQueue that leads away. */
struct admit_row {
	mk_str key; /* "<namespace>.<queue>": a namespace has no dot */
	mk_str cluster_queue;
};

/*
 * All LocalQueues that lead away, sorted by key: what the ConfigMap holds that the policy of
 * conf/admission looks into. Left out are queues whose name no label can hold: no job can be in
 * them. In 'a'; NULL: out of memory.
 */
const struct admit_row *admit_queues_table(const struct admit_queues *q, struct arena *a,
					   size_t *ret_n);

#endif
