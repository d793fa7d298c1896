/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message of a check that stays Pending: why no worker has taken the Workload, cluster by
 * cluster, for who asks `kubectl describe workload`. It is written 30 s after the race began, or at
 * once when a cluster is left out; again only when it has another text, and ever more seldom: at
 * most MESSAGE_WRITES_MAX times in an hour for a Workload that waits.
 */
#ifndef MK_ENGINE_ANSWERS_MESSAGE_H
#define MK_ENGINE_ANSWERS_MESSAGE_H

#include "core/engine/rules/pass.h"

enum { MESSAGE_AFTER_MS = 30 * 1000, MESSAGE_WRITES_MAX = 12 };

/* Brings the message up to date, when its time has come. For a pass whose race goes on. */
void message_explain(struct pass *p);

#endif
