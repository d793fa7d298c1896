/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our conditions: Active of MultiKueueClusters and AdmissionChecks, OriginClash, SameServer and
 * Server of MultiKueueClusters, MultiKueueManagerQuotaAutomation of ClusterQueues.
 */
#ifndef MK_ENGINE_ACT_COND_H
#define MK_ENGINE_ACT_COND_H

#include "core/engine/state.h"

/* What 'tail' begins with: a message that differs only from there on is no news. */
#define COND_TAIL "; connection attempts: "

struct cond {
	const char *type; /* NULL: "Active" */
	bool status;
	bool alarm;             /* True is the bad news */
	bool quiet;             /* no Event tells of it */
	bool anew;              /* since_wall_ms counts also where the status stays */
	mk_str reason, message; /* what the API server would not take of the message is cut */
	mk_str tail;            /* behind the message: COND_TAIL and more, or "" */
	mk_str more; /* what the Event says besides: the message is Kueue's, word by word */
	int64_t since_wall_ms; /* lastTransitionTime when the status changes */
};

/*
 * Writes the condition if status, reason, message or observedGeneration differ from what 'r' shows;
 * other conditions stay. When the write is applied, an Event says the same, unless only the
 * generation or the tail was another.
 */
void cond_write(struct engine *e, struct record *r, struct queue_item *item, const struct cond *c,
		enum rule rule);

/* Removes the condition of this type, if there is one. */
void cond_remove(struct engine *e, struct record *r, struct queue_item *item, const char *type,
		 enum rule rule);

/* Does the object have the condition with status True? */
bool cond_is_true(struct engine *e, const struct record *r, const char *type);

/* Its reason there, "" when it is missing: borrowed for the pass. */
mk_str cond_reason(struct engine *e, const struct record *r, const char *type);

#endif
