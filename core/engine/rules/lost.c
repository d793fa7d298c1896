/* SPDX-License-Identifier: Apache-2.0 */
/* When a hidden worker counts as lost for good; see lost.h. */
#include "core/engine/rules/lost.h"

enum { START_GRACE_MS = 60 * 1000, KEEP_PATIENCE_MS = 15 * 60 * 1000 };

int64_t lost_deadline(const struct engine *e, int64_t since)
{
	int64_t timeout = e->o.worker_lost_timeout_ms;
	int64_t grace = e->start_ms + (timeout < START_GRACE_MS ? timeout : START_GRACE_MS);
	int64_t deadline = since == INT64_MAX ? INT64_MAX : since + timeout;

	return deadline > grace ? deadline : grace;
}

/*
 * A timeout that keeps running jobs for ever must not keep the quota of evicted ones:
 * docs/decisions/0051.
 */
static int64_t patience(const struct engine *e)
{
	const int64_t year = INT64_C(365) * 24 * 3600 * 1000;

	return e->o.worker_lost_timeout_ms > year ? KEEP_PATIENCE_MS : e->o.worker_lost_timeout_ms;
}

bool lost_given_up(struct pass *p, const struct cluster *c, uint16_t kind)
{
	int64_t since = hidden_since(c, kind);
	int64_t sooner = p->e->o.worker_lost_timeout_ms - patience(p->e);

	/* Not before a new process has had time to find it, as for a winner. */
	return pass_is_due(p, lost_deadline(p->e, since == INT64_MAX ? since : since - sooner));
}
