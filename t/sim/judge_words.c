/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: what waits for a worker whose server refuses what is to be created there says so in
 * that server's words (I6).
 */
#include <string.h>

#include "core/base/timefmt.h"
#include "t/sim/sim.h"

enum {
	WORDS_MS = MINUTE + 15 * SECOND,
	WORDS_MAX = 60, /* of the server's: the rest may be cut */
};

/* Is the worker one of those that may take it, or the one that did? */
static bool is_asked(struct sim *s, const struct plane *w, const struct json *wl)
{
	const struct json *list = json_at(wl, "/status/nominatedClusterNames");
	mk_str won = json_str_at(wl, "/status/clusterName");

	if (won.n > 0) {
		return plane_of_cluster(s, won) == w;
	}
	for (size_t i = 0; i < json_len(list); i++) {
		if (plane_of_cluster(s, json_str(json_elem(list, i))) == w) {
			return true;
		}
	}
	return false;
}

/* Does the refusal keep what waits from a worker that may have it? '*ret': the server's words. */
static bool is_in_the_way(struct sim *s, const struct user *u, const struct json *wl, bool starting,
			  const struct refusal *r, mk_str *ret)
{
	struct plane *w = &s->plane[r->plane];
	mk_str name = starting ? str_of(u->name) : json_str_at(wl, "/metadata/name"), body;
	const char *resource = starting ? user_resource(u) : WORKLOADS;
	struct json *o = NULL;

	if (!str_is(name, r->name) || !is_worker(w) || !is_asked(s, w, wl) || excuse_late(s, w) ||
	    ks_get(w->store, resource, STR("default"), name) != NULL ||
	    faults_refuse(s, w, str_of(r->method), str_of(r->target), &body) == 0 ||
	    json_parse(&s->arena, body, &o, NULL) != ERR_OK) {
		return false;
	}
	*ret = str_sub(json_str_at(o, "/message"), 0, WORDS_MAX);
	return ret->n > 0;
}

/*
 * When was the winner's MultiKueueCluster made anew? Since then nothing is created there: what
 * waits says that the name may lead to another server, and no refusal from before.
 */
static int64_t made_anew_at(const struct sim *s, const struct user *u, const struct json *wl)
{
	const struct json *c = ks_get(s->plane[u->site->home].store, CLUSTERS, STR(""),
				      json_str_at(wl, "/status/clusterName"));
	int64_t made;

	return judge_winner_is_anew(s, u->site, wl) &&
			       time_parse(json_str_at(c, "/metadata/creationTimestamp"), &made)
		       ? made - WALL0
		       : INT64_MIN;
}

void judge_words(struct sim *s, const struct user *u, const struct json *wl, bool starting)
{
	const struct judged *j = judged_of(s, u);
	mk_str said = json_str_at(wl, "/status/admissionChecks/0/message"), words;

	for (size_t i = 0; i < s->judge->n_refused && !s->failed; i++) {
		struct refusal *r = &s->judge->refused[i];
		int64_t since = judge_can_tell(s, u->site);

		if (r->last_at < j->waits_since || !is_in_the_way(s, u, wl, starting, r, &words)) {
			continue;
		}
		if (r->last_at < made_anew_at(s, u, wl)) {
			words = STR("leads to another API server");
		}
		if (r->round != j->waits_round) {
			r->round = j->waits_round;
			r->since = s->now;
		}
		since = since > r->since ? since : r->since;
		if (since != INT64_MAX && s->now - since > WORDS_MS &&
		    !memmem(said.p, said.n, words.p, words.n) &&
		    !judge_has_event(s, u, wl, j->waits_since, words)) {
			fail(s, "I6 words",
			     "%s is refused on %s for %lld s, but nothing says \"%.*s\", only "
			     "\"%.*s\"",
			     u->name, s->plane[r->plane].name, (long long)(s->now - since) / SECOND,
			     STR_ARG(words), STR_ARG(said));
		}
	}
}
