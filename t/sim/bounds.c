/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds: an evicted Workload gives its quota back within some time, the requests about one
 * Workload and the passes within a minute are limited, and a job that ended is not given up.
 */
#include <stdio.h>

#include "core/base/timefmt.h"
#include "t/sim/sim.h"

enum {
	QUOTA_BACK_MS = 2 * 60 * 1000,
	REQUESTS_A_MINUTE = 120,
	PASSES_A_MINUTE = 100 * 1000, /* of Workloads; those that wake each other make millions */
	/* Each place has rests of its own (I7), from 1 s: six rounds of eight requests. */
	REQUESTS_A_WORKER = 50,
	FORBIDDEN_MS = 60 * 1000, /* SEEK_DENIED_MS of core/kube */
	HEARD_MS = 10 * 1000, /* after so long a server that can be reached has shown its state */
};

/* --- passes ----------------------------------------------------------------------------------- */

void bound_passes(struct proc *p)
{
	struct engine_stats stats;

	engine_get_stats(manager_engine(p->m), &stats);
	if (p->sim->now - p->minute >= MINUTE || stats.passes < p->passes) {
		p->minute = p->sim->now;
		p->passes = stats.passes; /* so far, or of a new process */
	}
	if (stats.passes - p->passes > PASSES_A_MINUTE) {
		fail(p->sim, "rest", "daemon %zu makes %llu passes within %lld s", p->index,
		     (unsigned long long)(stats.passes - p->passes),
		     (long long)(p->sim->now - p->minute) / SECOND);
	}
}

/* --- quota ------------------------------------------------------------------------------------ */

static void look_later(struct sim *s, size_t user, int64_t at)
{
	struct msg *m = msg_new(s, M_QUOTA);

	m->index = user;
	schedule(s, m, at);
}

void bound_evicted(struct sim *s, struct user *u)
{
	u->evicted_at = s->now;
	look_later(s, (size_t)(u - s->user), s->now + QUOTA_BACK_MS);
}

bool bound_is_busy(const struct sim *s, const struct plane *home)
{
	if (s->no_plugin || home->limit_jobs || excuse_late(s, home)) {
		return true;
	}
	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault_kind *k = s->fault[i].kind;

		if (k->stays && !k->is_lawless && s->fault[i].plane != home->index) {
			continue; /* it would be so for ever: the judge knows what it refuses */
		}
		/*
		 * The tail of a fault that a daemon or user causes: what
		 * it did is undone a while after.
		 */
		if (s->fault[i].on || s->now < s->fault[i].until + QUOTA_BACK_MS) {
			return true;
		}
	}
	return false;
}

/* When the condition became so; INT64_MAX: it is not. */
static int64_t since(const struct json *o, const char *type)
{
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));
	int64_t ms;

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type) &&
		    str_is(json_str(json_get(it.val, "status")), "True") &&
		    time_parse(json_str(json_get(it.val, "lastTransitionTime")), &ms)) {
			return ms - WALL0;
		}
	}
	return INT64_MAX;
}

/* Is a worker out of sight, which may have the copy? Its quota is held until that is known. */
static bool may_run_unseen(const struct sim *s)
{
	for (size_t i = 1; i <= s->n_workers; i++) {
		if (excuse_late(s, &s->plane[i])) {
			return true;
		}
	}
	return false;
}

/*
 * A MultiKueueCluster that was made anew since the reservation has no record of the server that its
 * name led to before: a process that has not seen the winner waits for that server, and so does
 * one that has where the winner's own name is the one.
 */
static bool may_be_at_former_server(struct sim *s, const struct user *u, const struct json *wl)
{
	int64_t reserved = since(wl, "QuotaReserved"), made;
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(s->plane[u->site->home].store, CLUSTERS, &pos)) != NULL) {
		if ((!judge_knows_winner(s, u) ||
		     leads_won_by(s, u, json_str_at(o, "/metadata/name"))) &&
		    time_parse(json_str_at(o, "/metadata/creationTimestamp"), &made) &&
		    made - WALL0 >= reserved &&
		    s->now < made - WALL0 + s->lost_timeout_ms + QUOTA_BACK_MS) {
			return true;
		}
	}
	return false;
}

static bool holds_in_vain(const struct json *wl)
{
	return has_condition(wl, "Evicted") && has_condition(wl, "QuotaReserved") &&
	       !has_condition(wl, "Finished") && !json_at(wl, "/metadata/deletionTimestamp");
}

/* The user's Workload that was evicted and has quota, perhaps beside a slice that waits. */
static const struct json *evicted_of(struct sim *s, const struct user *u)
{
	const struct json *o = workload_of(s, u);
	size_t pos = 0;

	if (holds_in_vain(o)) {
		return o;
	}
	while ((o = ks_each(s->plane[u->site->home].store, WORKLOADS, &pos)) != NULL &&
	       !(holds_in_vain(o) && user_by_workload(s, o) == u)) {
	}
	return o;
}

void bound_quota(struct sim *s, size_t index)
{
	struct user *u = &s->user[index];
	const struct json *wl = evicted_of(s, u);

	if (s->now < u->evicted_at + QUOTA_BACK_MS || u->kind == USER_NO_ADAPTER || !wl ||
	    (u->group && !user_job(u, &s->plane[u->site->home]))) {
		return; /* it was evicted again since, or has no quota, or no job that could stop */
	}
	if (bound_is_busy(s, &s->plane[u->site->home]) || judge_is_refused(s, u) ||
	    may_run_unseen(s) || may_be_at_former_server(s, u, wl)) {
		look_later(s, index, s->now + QUOTA_BACK_MS / 2);
		return;
	}
	if (s->story) {
		rest_say(s, u, wl);
	}
	fail(s, "I4 duties", "%s was evicted %lld s ago, and still holds its quota", u->name,
	     (long long)(s->now - u->evicted_at) / 1000);
}

/* --- requests --------------------------------------------------------------------------------- */

/* The part of the path after "/workloads/" or "/jobs/"; for a create, the name in the body. */
static mk_str name_in(struct sim *s, const struct msg *m, const char *collection)
{
	mk_str t = m->req.target, name;
	const char *at = memmem(t.p, t.n, collection, strlen(collection));
	struct json *o = NULL;
	size_t from = at ? (size_t)(at - t.p) + strlen(collection) : t.n;

	if (!at) {
		return STR("");
	}
	if (from == t.n) {
		return json_parse(&s->arena, m->req.body, &o, NULL) == ERR_OK
			       ? json_str_at(o, "/metadata/name")
			       : STR("");
	}
	if (t.p[from] != '/') {
		return STR(""); /* a longer word */
	}
	t = str_sub(t, from + 1, t.n);
	str_split(&t, '/', &name);
	t = name;
	str_split(&t, '?', &name);
	return name;
}

/* A Workload is called after its job, with a hash behind; a bare one as its user says. */
static struct user *user_of(struct sim *s, const struct site *site, mk_str job, mk_str wl)
{
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];
		mk_str name = str_of(u->name);

		if (u->site != site) {
			continue;
		}
		if (job.n > 0 ? str_eq(job, name)
			      : str_eq(wl, name) ||
					(wl.n > name.n + 5 && str_starts(wl, STR("job-")) &&
					 str_starts(str_sub(wl, 4, wl.n), name) &&
					 wl.p[4 + name.n] == '-')) {
			return u;
		}
	}
	return NULL;
}

/* One that a user deletes every other second is another Workload each time. */
static bool is_another(struct sim *s, struct user *u)
{
	mk_str uid = json_str_at(workload_of(s, u), "/metadata/uid");
	bool is_first = u->counted[0] == 0;

	if (uid.n == 0 || str_is(uid, u->counted)) {
		return false;
	}
	snprintf(u->counted, sizeof(u->counted), "%.*s", STR_ARG(uid));
	return !is_first;
}

/* Writes, and reads apart: a round of either kind alone shows what repeats. */
static void count(struct sim *s, struct user *u, const struct msg *m)
{
	unsigned most = REQUESTS_A_WORKER * (unsigned)s->n_workers;
	unsigned *n = str_is(m->req.method, "GET") ? &u->reads : &u->writes;

	most = most > REQUESTS_A_MINUTE ? most : REQUESTS_A_MINUTE;
	if (s->now >= u->minute + 60 * 1000 || is_another(s, u)) {
		u->minute = s->now;
		u->reads = u->writes = 0;
	}
	if (++*n > s->cov->most_requests) {
		s->cov->most_requests = *n;
	}
	if (*n > most) {
		fail(s, "budget", "%s: %u requests within a minute, the last one %.*s %.*s",
		     u->name, *n, STR_ARG(m->req.method), STR_ARG(m->req.target));
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Has this daemon had a link to the server for a while, by whatever name? */
static bool is_linked(const struct proc *p, const struct plane *to)
{
	for (size_t i = 0; i < MAX_PLANES * 4; i++) {
		const struct conn *c = &p->conn[i];

		if (c->open && c->plane == to->index && p->sim->now - 100 > c->up_at) {
			return true;
		}
	}
	return false;
}

static bool is_his(struct sim *s, const struct user *u, const struct json *o)
{
	return user_by_uid(s, json_str_at(o, ORIGIN_UID)) == u;
}

/* Has an operator taken the cluster away from the check? */
static bool is_taken_out(const struct sim *s, const struct plane *w)
{
	struct wanted wanted = faults_want(s);

	return wanted.other_config || wanted.no_check || wanted.unchecked ||
	       wanted.left_config[w->index] || wanted.no_cluster[w->index] ||
	       (s->selects && wanted.unlabelled[w->index]);
}

/* A kind that was forbidden there is asked for once a minute, and may count as lost before. */
static bool was_forbidden(const struct sim *s, const struct plane *w)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->fault[i];

		if (f->plane == w->index && (f->kind->hides_worker || f->hides) &&
		    s->now >= f->at && s->now < f->until + FORBIDDEN_MS) {
			return true;
		}
	}
	return false;
}

/* The server, in reach of 'p', which shows that the job has ended; NULL: none that it must know. */
static const struct plane *shows_end(struct proc *p, const struct user *u)
{
	struct sim *s = p->sim;
	const struct json *wl = workload_of(s, u);
	const struct plane *w = leads_winner(s, wl);
	const struct json *job;
	int64_t complete, failed;

	if (!w || w->bad_until == INT64_MAX || !is_linked(p, w) || is_taken_out(s, w) ||
	    was_forbidden(s, w) || u->meddled) {
		return NULL;
	}
	job = user_job(u, w);
	complete = since(job, "Complete");
	failed = since(job, "Failed");
	return is_his(s, u, job) && s->now - HEARD_MS > (complete < failed ? complete : failed)
		       ? w
		       : NULL;
}

void bound_decided(struct proc *p, const struct op *op)
{
	struct user *u = op->cluster == 0 && op->kind == KIND_WORKLOAD
				 ? user_of(p->sim, p->site, STR(""), op->name)
				 : NULL;

	if (u) {
		u->unaware &= ~(1u << p->index);
		u->unaware |= (unsigned)!shows_end(p, u) << p->index;
	}
}

/*
 * Does the write give up the job? One of Finished brings the end home, and carries along the
 * check's state that stands already.
 */
static bool is_giving_up(mk_str body)
{
	static const char retry[] = "\"state\":\"Retry\"", end[] = "\"type\":\"Finished\"";

	return memmem(body.p, body.n, retry, sizeof(retry) - 1) != NULL &&
	       !memmem(body.p, body.n, end, sizeof(end) - 1);
}

/*
 * A job may be given up only when no server that can be reached knows how it ended. What was not
 * known when it was decided is no fault of a write that waited behind others.
 */
static void check_retry(struct proc *p, const struct user *u)
{
	const struct plane *w = u->unaware >> p->index & 1 ? NULL : shows_end(p, u);

	if (w) {
		fail(p->sim, "I3 end", "%s is given up, although it has ended on %s", u->name,
		     w->name);
	}
}

void bound_send(struct proc *p, const struct msg *m)
{
	struct sim *s = p->sim;
	mk_str job = name_in(s, m, "/jobs"), wl = name_in(s, m, "/workloads");

	job = job.n > 0 ? job : name_in(s, m, "/jobsets");
	job = job.n > 0 ? job : name_in(s, m, "/rayclusters");
	struct user *u = job.n + wl.n > 0 ? user_of(s, p->site, job, wl) : NULL;

	if (!u) {
		return;
	}
	count(s, u, m);
	if (wl.n > 0 && m->plane->site != NULL && is_giving_up(m->req.body)) {
		check_retry(p, u);
	}
}
