/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: another living manager with the id of one is reported (ManagerIdShared), where there
 * is one and nowhere else, and from then on what it makes is left (I9).
 */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "t/sim/sim.h"

#define EVENTS "events.k8s.io/v1/events"
#define PREBUILT "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"
#define MANAGER "/metadata/annotations/multikueued.io~1manager-id"

enum {
	LED_MS = 2 * MINUTE + 15 * SECOND,   /* a leader knows then that none before it made it */
	SAY_MS = 15 * SECOND,                /* an Event is written by then */
	RESTS_MS = 9 * MINUTE + 30 * SECOND, /* for ten minutes since the object that it names */
	GOES_MS = 11 * MINUTE + 15 * SECOND, /* ten minutes, and a round of the collector */
};

/* Has the daemon that reported it known the cluster since? */
static bool is_known(const struct sim *s, const struct site *site, const struct plane *p)
{
	const struct shared *h = &s->judge->shared[p->index];
	const struct json *c =
		ks_get(s->plane[site->home].store, CLUSTERS, STR(""), str_of(p->name));
	int64_t made;

	return h->told_at > 0 && judge_is_led(h->told_by, judge_leader(s, site)) &&
	       time_parse(json_str_at(c, "/metadata/creationTimestamp"), &made) &&
	       made - WALL0 < h->told_at - MINUTE;
}

static void told(struct sim *s, const struct plane *home, const struct json *event)
{
	const struct plane *p = plane_of_cluster(s, json_str_at(event, "/regarding/name"));
	struct shared *h = p ? &s->judge->shared[p->index] : NULL;

	if (!h || h->by != home->site) {
		fail(s, "I9 marks", "another manager with this id is reported, and there is none");
		return;
	}
	h->told_at = s->now;
	h->told_by = judge_leader(s, home->site);
}

/* Was it made after the report, and deleted while the manager leaves what it does not know? */
static void gone(struct sim *s, const struct site *site, const struct plane *p,
		 const struct ks_commit *c)
{
	const struct shared *h = &s->judge->shared[p->index];
	int64_t made;

	if (str_starts(c->name, STR(JUDGE_THEIRS)) && is_known(s, site, p) &&
	    s->now < h->told_at + RESTS_MS &&
	    time_parse(json_str_at(c->before, "/metadata/creationTimestamp"), &made) &&
	    made - WALL0 > h->told_at) {
		fail(s, "I9 marks", "%.*s %.*s on %s is another manager's, as was reported",
		     STR_ARG(c->resource), STR_ARG(c->name), p->name);
	}
}

void judge_shared(struct sim *s, struct plane *p, const struct ks_commit *c, const struct site *by)
{
	if (!is_worker(p) && str_is(c->resource, EVENTS) && !c->before &&
	    str_is(json_str_at(c->after, "/reason"), "ManagerIdShared")) {
		told(s, p, c->after);
	} else if (is_worker(p) && by != NULL && str_is(c->verb, "delete") && c->before != NULL) {
		gone(s, by, p, c);
	}
}

bool judge_may_be_anothers(const struct sim *s, const struct plane *w, const struct json *o)
{
	const struct shared *h = &s->judge->shared[w->index];
	mk_str name = json_str_at(o, PREBUILT);

	return h->made_at > 0 && s->now < h->made_at + GOES_MS &&
	       str_is(json_str_at(o, MANAGER), h->by->manager_id) &&
	       !ks_get(s->plane[h->by->home].store, WORKLOADS, STR("default"),
		       name.n > 0 ? name : json_str_at(o, "/metadata/name"));
}

/* Since when could the leader of the site see what is made there; INT64_MAX: it could not. */
static int64_t watches_since(const struct sim *s, const struct site *site, const struct plane *p)
{
	int64_t since = judge_calm_with(s, site, p);

	return since == INT64_MAX || p->restored_at > since ? INT64_MAX : since;
}

void judge_twin_made(struct sim *s, const struct site *site, const struct plane *p, mk_str name)
{
	struct shared *h = &s->judge->shared[p->index];
	int64_t since = watches_since(s, site, p);

	h->by = site;
	h->made_at = s->now;
	if (h->seen_at == 0 && since != INT64_MAX && s->now - since > LED_MS) {
		h->seen_at = s->now;
		h->seen_by = judge_leader(s, site);
		snprintf(h->name, sizeof(h->name), "%.*s", STR_ARG(name));
	}
}

void judge_shared_look(struct sim *s)
{
	for (size_t i = 1; i <= s->n_workers; i++) {
		struct shared *h = &s->judge->shared[i];
		int64_t at = h->seen_at;

		if (at == 0 || s->now - at < SAY_MS) {
			continue;
		}
		h->seen_at = 0;
		if (judge_is_led(h->seen_by, judge_leader(s, h->by)) &&
		    watches_since(s, h->by, &s->plane[i]) <= at - LED_MS &&
		    !(h->told_at > 0 && is_known(s, h->by, &s->plane[i])) &&
		    h->told_at < at - RESTS_MS) {
			fail(s, "I9 marks",
			     "%s on %s is another manager's, and that is not reported", h->name,
			     s->plane[i].name);
		}
	}
}
