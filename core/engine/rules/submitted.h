/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy is what the user submitted. When Kueue on the manager starts the local job, which it may
 * do before the copy exists, it changes the job's pod templates for its own nodes; none of that is
 * for a worker.
 */
#ifndef MK_ENGINE_RULES_SUBMITTED_H
#define MK_ENGINE_RULES_SUBMITTED_H

#include "core/engine/rules/pass.h"

/*
 * Takes back from 'draft', a copy of the local job that is to be created, what the start of the
 * local job added: labels, annotations, node selectors, tolerations and scheduling gates that the
 * Workload's pod sets do not have, and suspension. Of a job that is not started only the labels and
 * annotations of Kueue's own go. False: the Workload's text is missing and a get is sent, or out of
 * memory.
 */
bool submitted_restore(struct pass *p, struct json *draft);

#endif
