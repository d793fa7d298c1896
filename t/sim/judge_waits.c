/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: what waits for longer than a minute says why (I6), and what is refused is tried as
 * long as the refusal lasts (I5).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "t/sim/sim.h"

#define EVENTS "events.k8s.io/v1/events"

enum {
	WORDS_MS = MINUTE + 15 * SECOND,    /* a minute, and what a write takes */
	TRY_MS = 17 * MINUTE + 30 * SECOND, /* a rest has a thousand seconds at most */
};

static mk_str message_of(const struct json *wl)
{
	return json_str_at(wl, "/status/admissionChecks/0/message");
}

bool judge_has_event(const struct sim *s, const struct user *u, const struct json *wl,
		     int64_t since, mk_str words)
{
	const struct ks_store *mgr = s->plane[u->site->home].store;
	mk_str uid = json_str_at(wl, "/metadata/uid"), note;
	size_t pos = 0;
	const struct json *o;
	int64_t ms;

	while ((o = ks_each(mgr, EVENTS, &pos)) != NULL) {
		note = json_str_at(o, "/note");
		if (str_eq(json_str_at(o, "/regarding/uid"), uid) &&
		    time_parse(json_str_at(o, "/eventTime"), &ms) && ms - WALL0 >= since - SECOND &&
		    (words.n == 0 || memmem(note.p, note.n, words.p, words.n) != NULL)) {
			return true;
		}
	}
	return false;
}

/*
 * Does the check's message end with the winner's name, with no word of what it waits for? A
 * server's words may end with a quote as well.
 */
static bool says_nothing(const struct json *wl)
{
	mk_str rest = message_of(wl), part;

	str_split(&rest, '"', &part);
	str_split(&rest, '"', &part);
	return rest.n == 0;
}

/*
 * Does a watch show its copy there? That of another manager's job of that name is none, and no more
 * is a user's own job. A member of a group that has ended gets no copy where the others win next.
 */
static bool has_copy(const struct sim *s, const struct user *u, const struct plane *w)
{
	const struct json *o = user_job(u, w);
	mk_str uid = json_str_at(o, ORIGIN_UID);

	for (size_t i = 0; u->group != NULL && i < u->group->n_members; i++) {
		if (member_pod(s, u, &u->group->member[i], w->index)) {
			return true;
		}
	}
	return judge_has_origin(u->site, o) && (uid.n == 0 || str_is(uid, u->uid));
}

/* It has a winner, whose server shows no copy of the job. */
static bool is_starting(struct sim *s, const struct user *u, const struct json *wl,
			const struct plane *w)
{
	return w && has_condition(wl, "QuotaReserved") && !has_condition(wl, "Evicted") &&
	       !has_condition(wl, "Finished") && !json_at(wl, "/metadata/deletionTimestamp") &&
	       !has_copy(s, u, w) && !job_over(user_job(u, &s->plane[u->site->home]));
}

/* A slice that has quota, and waits for more room where its job runs. */
static bool is_growing(const struct json *wl)
{
	return json_str_at(wl, "/status/clusterName").n > 0 && has_condition(wl, "QuotaReserved") &&
	       !has_condition(wl, "Evicted") && !has_condition(wl, "Finished") &&
	       !json_at(wl, "/metadata/deletionTimestamp") &&
	       str_is(json_str_at(wl, "/status/admissionChecks/0/state"), "Pending");
}

/* Which round of which Workload it is: one that loses its quota for a moment waits anew. */
static uint64_t round_of(const struct json *wl)
{
	const struct json *c =
		json_find(json_at(wl, "/status/conditions"), "type", "QuotaReserved");

	return hash64(json_str_at(wl, "/metadata/uid")) ^
	       hash64(json_str(json_get(c, "lastTransitionTime")));
}

/*
 * The winner is out of reach, and an Event has told that. A client that empties the check's message
 * later gives no other reason.
 */
static bool was_told(struct sim *s, const struct user *u, const struct json *wl,
		     const struct plane *w)
{
	int64_t off = leads_winner_off_since(s, wl);

	if (off != INT64_MAX && judge_has_event(s, u, wl, off, STR("that was admitted to"))) {
		return true; /* whatever becomes of the job on that server, or leads there */
	}
	return w && ((is_growing(wl) && excuse_late(s, w)) || !leads_any(s, w)) &&
	       judge_has_event(s, u, wl, w->bad_since, STR(""));
}

/*
 * Does the Job name us by its managedBy, or its Workload a cluster that was nominated? A process
 * that never had a check of ours lists no Jobs.
 */
static bool names_us(const struct sim *s, const struct user *u, const struct json *wl)
{
	const struct proc *leader = judge_leader(s, u->site).by;
	bool lists = !leader || leader->began < judge_unasked(s, u->site);

	return u->of != USER_OF_JOBS || (lists && !excuse_not_managed(s, u)) ||
	       json_len(json_at(wl, "/status/nominatedClusterNames")) > 0 ||
	       json_str_at(wl, "/status/clusterName").n > 0;
}

/*
 * No check of ours asks for it any more, or the manager has begun to run it, and an Event has told
 * that nothing is begun for it: a copy that another client removes then is not made again. One
 * that was submitted without such a check, so that Kueue did not make it ours, and that nothing was
 * begun for, is not told.
 */
static bool is_unasked(const struct sim *s, const struct user *u, const struct json *wl)
{
	int64_t since = judge_unasked(s, u->site);

	if (excuse_started(&s->plane[u->site->home], wl) &&
	    judge_has_event(s, u, wl, 0, STR("has begun on the manager"))) {
		return true;
	}
	return since != INT64_MAX &&
	       (!names_us(s, u, wl) ||
		judge_has_event(s, u, wl, since - JUDGE_LOOK_MS, STR("nothing new is begun")));
}

/* When the check became ours: its controller cannot be changed, it is made anew. 0: it is not. */
static int64_t asked_since(const struct sim *s, const struct user *u)
{
	const struct json *check =
		ks_get(s->plane[u->site->home].store, CHECKS, STR(""), STR("mk"));
	int64_t made;

	return judge_unasked(s, u->site) == INT64_MAX &&
			       time_parse(json_str_at(check, "/metadata/creationTimestamp"), &made)
		       ? made - WALL0
		       : 0;
}

void judge_waits(struct sim *s, const struct user *u, const struct json *wl)
{
	struct judged *j = judged_of(s, u);
	const struct plane *w = leads_winner(s, wl);
	bool starting = is_starting(s, u, wl, w);
	bool waits = is_waiting(wl) || is_growing(wl) || starting;
	uint64_t said = hash64(message_of(wl)) + starting;
	uint64_t round = round_of(wl);
	/* Members of a group may have ended, and the refusal of that is on record since long. */
	int64_t since = u->group ? judge_calm(s, u->site) : judge_can_tell(s, u->site);

	if (!waits || u->kind == USER_UNMANAGED || !user_job(u, &s->plane[u->site->home])) {
		j->waits_since = 0;
		return;
	}
	if (j->waits_since == 0 || j->waits_round != round) {
		j->waits_since = s->now;
		j->waits_round = round;
		j->said = said;
	}
	if (judge_calm(s, u->site) == INT64_MAX && !starting && message_of(wl).n > 0) {
		j->waits_since = s->now; /* ... for the manager's server: what follows is another */
	}
	if (since == INT64_MAX) {
		return; /* an Event that comes before the calm counts, the time does not */
	}
	since = since > j->waits_since ? since : j->waits_since;
	since = since > asked_since(s, u) ? since : asked_since(s, u);
	if (starting && w->restored_at > 0 && since < w->restored_at + MINUTE) {
		since = w->restored_at + MINUTE; /* until then a process does not believe it */
	}
	if (s->now - since > WORDS_MS &&
	    (starting ? said == j->said && says_nothing(wl) : message_of(wl).n == 0) &&
	    !judge_has_event(s, u, wl, j->waits_since, STR("")) && !was_told(s, u, wl, w) &&
	    !is_unasked(s, u, wl)) {
		if (s->story) {
			rest_say(s, u, wl);
		}
		fail(s, "I6 words", "%s waits for %lld s%s, and its check says \"%.*s\"", u->name,
		     (long long)(s->now - since) / SECOND,
		     starting ? " for its job on the winner" : "", STR_ARG(message_of(wl)));
	}
	judge_words(s, u, wl, starting);
}

bool judge_is_refused(const struct sim *s, const struct user *u)
{
	(void)u;
	for (size_t i = 0; i < s->n_planes; i++) {
		int64_t until = faults_refused_until(s, &s->plane[i]);

		if (until == INT64_MAX || until > s->now - TRY_MS) {
			return true;
		}
	}
	return false;
}

static mk_str path_of(mk_str target)
{
	mk_str path;

	str_split(&target, '?', &path);
	return path;
}

/* The name of the Workload or job that was to be created, in the arena. */
static mk_str created(struct sim *s, const struct msg *m)
{
	struct json *o = NULL;

	return str_is(m->req.method, "POST") && !str_ends(path_of(m->req.target), STR("/events")) &&
			       json_parse(&s->arena, m->req.body, &o, NULL) == ERR_OK
		       ? json_str_at(o, "/metadata/name")
		       : STR("");
}

static struct refusal *new_refusal(struct judge *j)
{
	if (j->n_refused == j->room_refused) {
		j->room_refused = 2 * j->room_refused + 64;
		j->refused = realloc(j->refused, j->room_refused * sizeof(*j->refused));
		if (!j->refused) {
			abort();
		}
	}
	return &j->refused[j->n_refused++];
}

void judge_refused(struct sim *s, const struct msg *m)
{
	struct judge *j = s->judge;
	mk_str path = path_of(m->req.target), name = created(s, m);
	struct refusal *r = NULL;

	if (m->cls != TRANSPORT_WRITE || path.n >= sizeof(r->target) || name.n >= sizeof(r->name)) {
		return;
	}
	for (size_t i = 0; i < j->n_refused && !r; i++) {
		if (j->refused[i].plane == m->plane->index &&
		    str_is(m->req.method, j->refused[i].method) &&
		    str_is(path, j->refused[i].target) && str_is(name, j->refused[i].name)) {
			r = &j->refused[i];
		}
	}
	if (!r) {
		r = new_refusal(j);
		*r = (struct refusal){.plane = m->plane->index};
		snprintf(r->method, sizeof(r->method), "%.*s", STR_ARG(m->req.method));
		snprintf(r->target, sizeof(r->target), "%.*s", STR_ARG(path));
		snprintf(r->name, sizeof(r->name), "%.*s", STR_ARG(name));
	}
	r->last_at = s->now;
	r->n++;
}

/* What the path names on that server; NULL: nothing. 'ret': its resource. */
static const struct json *object_at(struct sim *s, const struct refusal *r, bool *ret_is_job)
{
	mk_str rest = str_of(r->target), part, before = STR("");

	while (rest.n > 0) {
		str_split(&rest, '/', &part);
		if (str_is(before, "jobs") || str_is(before, "workloads")) {
			*ret_is_job = str_is(before, "jobs");
			return ks_get(s->plane[r->plane].store, *ret_is_job ? JOBS : WORKLOADS,
				      STR("default"), part);
		}
		before = part;
	}
	return NULL;
}

/* Is what was refused still to be done: a leftover to delete, an end to write? */
static bool is_due(struct sim *s, const struct refusal *r)
{
	bool is_job = false;
	const struct json *o = object_at(s, r, &is_job);
	const struct user *u = user_by_uid(s, json_str_at(o, "/metadata/uid"));

	if (str_is(str_of(r->method), "DELETE")) {
		return o && judge_is_left(s, json_str_at(o, "/metadata/uid")) &&
		       !judge_may_be_anothers(s, &s->plane[r->plane], o);
	}
	return u && is_job && !is_worker(&s->plane[r->plane]) && judge_owes(s, u);
}

void judge_tries(struct sim *s)
{
	for (size_t i = 0; i < s->judge->n_refused; i++) {
		const struct refusal *r = &s->judge->refused[i];
		mk_str body;

		if (s->now - r->last_at > TRY_MS && !excuse_late(s, &s->plane[r->plane]) &&
		    faults_refuse(s, &s->plane[r->plane], str_of(r->method), str_of(r->target),
				  &body) != 0 &&
		    is_due(s, r)) {
			fail(s, "I5 tries",
			     "%s %s was refused %u times by %s, and was not tried again for %lld s",
			     r->method, r->target, r->n, s->plane[r->plane].name,
			     (long long)(s->now - r->last_at) / SECOND);
		}
	}
}
