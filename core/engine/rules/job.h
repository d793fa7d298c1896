/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter pass over the root job: create it on the winner, copy its status back, forward what the adapter wants
 * forwarded. Plugins edit drafts; what is sent is the difference to what was read.
 */
#ifndef MK_ENGINE_RULES_JOB_H
#define MK_ENGINE_RULES_JOB_H

#include "core/engine/rules/pass.h"

enum sync { SYNC_SAME, SYNC_WAIT, SYNC_FAULT };
/* Copies the remote job's status to the local one as the adapter wants it. SYNC_SAME: nothing is left to do. */
enum sync job_status(struct pass *p, struct record *remote, enum rule rule, bool terminal);
/* The remote job is gone for good: lets the adapter take back what the local status says of running pods. */
void job_abandoned_status(struct pass *p);
/* The same, and its clone says how it ended: the local job gets that end, where its kind says how an end looks. */
enum sync job_ended_status(struct pass *p, const struct clone *k);
/* Has the local job ended as another copy than this one did, or does? That is final: no API server lets an end be changed. */
bool job_ended_elsewhere(struct pass *p, const struct record *remote);
/* What marks a remote job as ours and as this workload's, into 'draft' (an object or a merge patch). */
void job_stamp(struct pass *p, struct json *draft);
void job_forward(struct pass *p, struct clone *k, struct record *remote);
void job_create(struct pass *p, struct clone *k, struct record *remote);

#endif
