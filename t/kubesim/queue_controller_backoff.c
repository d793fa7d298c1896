/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times before which a Workload is not queued again: requeueAfterSeconds of a check in Retry,
 * and status.requeueState.requeueAt. As in Kueue up to 0.20.6 the first becomes the second, and a
 * Workload with such a time ahead is not even evicted.
 */
#include "core/base/timefmt.h"
#include "t/kubesim/queue_controller.h"

#define REQUEUE_AT "/status/requeueState/requeueAt"

/* What the checks in Retry ask for (wall ms); 0: nothing. */
static int64_t wanted(const struct json *wl)
{
	struct json_iter it = json_iter(json_at(wl, "/status/admissionChecks"));
	int64_t most = 0, since;

	while (json_next(&it)) {
		int64_t s = json_int(json_get(it.val, "requeueAfterSeconds"), -1);

		if (s >= 0 && str_is(json_str(json_get(it.val, "state")), "Retry") &&
		    time_parse(json_str(json_get(it.val, "lastTransitionTime")), &since) &&
		    since + s * 1000 > most) {
			most = since + s * 1000;
		}
	}
	return most;
}

static bool put_time(struct ks_actors *k, struct item *it, const struct json *wl, int64_t at)
{
	struct json *body = status_body(k, wl);
	mk_str text = time_rfc3339(&k->a, at);

	json_put(&k->a, body, REQUEUE_AT, at > 0 ? json_new_str(&k->a, text) : NULL);
	return status_apply(k, it, body);
}

bool row_backoff(struct ks_actors *k, struct item *it, const struct json *wl)
{
	int64_t most = wanted(wl), at = 0;

	(void)time_parse(json_str_at(wl, REQUEUE_AT), &at);
	if (most > k->now_ms && most > at) {
		(void)put_time(k, it, wl, most);
		return true;
	}
	if (at > k->now_ms) {
		item_at(k, it, at);
		return true;
	}
	if (at > 0 && !obj_is_true(wl, "QuotaReserved")) {
		(void)put_time(k, it, wl, 0);
		return true;
	}
	return false;
}
