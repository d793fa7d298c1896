/* SPDX-License-Identifier: Apache-2.0 */
/* When a hidden worker counts as lost for good; see lost.h. */
#include "core/engine/rules/lost.h"

enum { START_GRACE_MS = 60 * 1000, KEEP_PATIENCE_MS = 15 * 60 * 1000 };

int64_t lost_after(const struct engine *e, int64_t since, int64_t timeout)
{
	int64_t grace = e->start_ms + (timeout < START_GRACE_MS ? timeout : START_GRACE_MS);
	int64_t deadline = since == INT64_MAX ? INT64_MAX : since + timeout;

	return deadline > grace ? deadline : grace;
}

int64_t lost_deadline(const struct engine *e, int64_t since)
{
	return e->o.worker_lost_keep ? INT64_MAX
				     : lost_after(e, since, e->o.worker_lost_timeout_ms);
}

/*
 * With lostWorkerPolicy Keep a running job waits without limit, the quota of an evicted one does
 * not: docs/decisions/0051.
 */
bool lost_given_up(struct pass *p, const struct cluster *c, uint16_t kind)
{
	const struct engine *e = p->e;
	int64_t patience = e->o.worker_lost_keep ? KEEP_PATIENCE_MS : e->o.worker_lost_timeout_ms;

	/* Not before a new process has had time to find it, as for a winner. */
	return pass_is_due(p, lost_after(e, hidden_since(c, kind), patience));
}
