/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter's work on the job: create it on the winner, copy its status back, forward changes
 * that the adapter wants forwarded. Plugins edit drafts; the engine sends the difference to what it
 * has read.
 */
#ifndef MK_ENGINE_RULES_JOB_H
#define MK_ENGINE_RULES_JOB_H

#include "core/engine/rules/pass.h"

enum sync { SYNC_SAME, SYNC_WAIT, SYNC_FAULT };
/*
 * Copies the remote job's status to the local one, as the adapter wants it. 'terminal': the job has
 * ended, so its status is written at once, and a missing local job is confirmed by a get.
 * SYNC_SAME: the status is up to date, or there is none to write.
 */
enum sync job_status(struct pass *p, struct record *remote, enum rule rule, bool terminal);
/*
 * The remote job is gone for good: lets the adapter remove what the local status says about running
 * pods.
 */
void job_abandoned_status(struct pass *p);
/*
 * The same, when the Finished of a Workload or clone, 'f', tells how the job ended: the local job
 * gets that end and no more, if its kind declares what an end looks like.
 */
enum sync job_ended_status(struct pass *p, const struct facts *f);
/*
 * True when the local job has ended as another copy than 'remote': an end is final, and no API
 * server lets it be changed.
 */
bool job_ended_elsewhere(struct pass *p, const struct record *remote);
/* Does the local job show a run that began after that of the copy? */
bool job_began_after(struct pass *p, const struct record *copy);
/*
 * Adds to 'draft' (an object or a merge patch) the labels and annotations that mark a remote job as
 * ours and as this Workload's.
 */
void job_stamp(struct pass *p, struct json *draft);
/* Sends changes of the local job to its copy 'remote', as the adapter and the kind want them. */
void job_forward(struct pass *p, struct clone *k, struct record *remote);
/* Creates the copy 'remote' of the local job on the clone's cluster. */
void job_create(struct pass *p, struct clone *k, struct record *remote);

#endif
