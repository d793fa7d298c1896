/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each cluster is as a place for a Workload, for dispatchers with MK_WANTS_PLACES
 * (sdk/multikueue/dispatcher.h), and what that needs to be remembered: where a Workload ran last,
 * where the jobs of a group are, and how often runs on a cluster ended badly. A restart forgets the
 * first and the last; the second comes back with the passes over Workloads that run.
 */
#ifndef MK_ENGINE_RULES_PLACES_H
#define MK_ENGINE_RULES_PLACES_H

#include "core/engine/rules/card.h"
#include "core/engine/rules/pass.h"

/*
 * Adds to 'o', in the scratch arena, what the clone's cluster is for the Workload; 'card' is that
 * of the cluster.
 */
void places_of_cluster(struct pass *p, const struct clone *k, const struct card *card,
		       struct json *o);
/* The local job, in the scratch arena; NULL: it is not known, or out of memory. */
struct json *places_job(struct pass *p);

/* The end of each pass: notes where the Workload runs, and where its clones are. */
void places_note(struct pass *p);
/* The Workload is being freed. */
void places_forget(struct engine *e, struct wl *w);
/* Frees the groups; no Workload is left. */
void places_done(struct engine *e);

/* A run of the Workload on its winner ended badly; it counts once a round. */
void places_failed(struct pass *p);

#endif
