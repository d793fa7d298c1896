/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants after every commit of every API server:
 *   I9 marks     a daemon writes and deletes on workers only what its manager made
 *   finish-once  the end is the winner's, and comes once
 *   order        a job is dispatched only while its quota is reserved
 *   monotone     what was decided or counted does not go back
 *   one writer   only the daemon that holds the lease sends writes
 * And no daemon sends a request that a server calls wrong.
 */
#include <stdio.h>

#include "core/base/hash.h"
#include "core/base/timefmt.h"
#include "t/sim/sim.h"

/* A new round may begin while a delete of the last one is on its way. */
enum { RIGHT_THEN_MS = 3 * SECOND };

static const struct json *condition(const struct json *o, const char *type)
{
	struct json_iter it = json_iter(json_at(o, "/status/conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), type)) {
			return it.val;
		}
	}
	return NULL;
}

bool has_condition(const struct json *o, const char *type)
{
	return str_is(json_str(json_get(condition(o, type), "status")), "True");
}

/* Whose daemon wrote it; NULL: another client. */
static struct site *writer(struct sim *s, const struct ks_commit *c)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		if (str_is(c->user_agent, s->site[i].agent)) {
			return &s->site[i];
		}
	}
	return NULL;
}

bool job_over(const struct json *job)
{
	return has_condition(job, "Complete") || has_condition(job, "Failed") ||
	       has_condition(job, "Completed") ||
	       (str_is(json_str_at(job, "/kind"), "Pod") &&
		(str_is(json_str_at(job, "/status/phase"), "Succeeded") ||
		 str_is(json_str_at(job, "/status/phase"), "Failed")));
}

static bool is_pod(const struct ks_commit *c)
{
	return str_is(c->resource, "v1/pods");
}

/*
 * The local Workload that a remote object stands for: by name for
 * clones, by the job's owner for jobs.
 */
static const struct json *local_of(struct sim *s, const struct site *site,
				   const struct ks_commit *c)
{
	const struct json *obj = c->before != NULL ? c->before : c->after;
	const struct ks_store *mgr = s->plane[site->home].store;
	mk_str name = c->name;

	if (is_job_resource(c->resource) || is_pod(c)) {
		name = json_str_at(obj,
				   "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name");
	}
	return ks_get(mgr, WORKLOADS, c->ns, name);
}

/* Is it the clone of a slice that waits? It may be made anew, while the slice before runs. */
static bool is_waiting_slice(const struct ks_commit *c, const struct json *local)
{
	return str_is(c->resource, WORKLOADS) &&
	       str_is(json_str_at(local, "/status/admissionChecks/0/state"), "Pending") &&
	       json_str_at(local, SLICE_BEFORE).n > 0;
}

/* Has a client evicted it of late, so that it got quota again, or taken its Finished back? */
static bool is_just_meddled(const struct sim *s, const struct user *u, const struct json *local)
{
	int64_t changed;

	return u->reserved_at + RIGHT_THEN_MS > s->now ||
	       (!has_condition(local, "Finished") &&
		time_parse(json_str(json_get(condition(local, "Finished"), "lastTransitionTime")),
			   &changed) &&
		changed + RIGHT_THEN_MS > wall_of(s));
}

/* Is there a copy with the clone that is deleted, or the reverse? */
static bool has_other_half(const struct sim *s, const struct user *u, const struct plane *p,
			   const struct ks_commit *c)
{
	mk_str clone = json_str_at(c->before,
				   "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name");

	return judge_is_marked(s, str_is(c->resource, WORKLOADS)
					  ? user_job(u, p)
					  : ks_get(p->store, WORKLOADS, c->ns, clone));
}

/* Nothing of the winner is deleted before the local Finished is written. */
static void check_remote_delete(struct sim *s, const struct site *site, struct plane *p,
				const struct ks_commit *c)
{
	const struct json *local = local_of(s, site, c);
	const struct user *u = user_by_workload(s, local);
	mk_str uid = json_str_at(c->before, WORKLOAD_UID);

	if (u != NULL && faults_lawless(s) && is_just_meddled(s, u, local)) {
		return; /* it had no quota, or was Finished, when the delete was sent */
	}
	if (!local || json_at(local, "/metadata/deletionTimestamp") != NULL ||
	    !str_eq(json_str_at(local, "/metadata/uid"), uid) || excuse_outdated(s, site)) {
		return;
	}
	if (excuse_unasked(s, p, local) || excuse_started(&s->plane[site->home], local) ||
	    excuse_orphaned(s, p, local, c)) {
		return;
	}
	if (u && leads_renamed(s, local) && !has_other_half(s, u, p, c)) {
		return; /* only both tell that they are the winner's, under whichever name */
	}
	if (is_pod(c) &&
	    !user_local(s, user_by_uid(s, json_str_at(c->before, ORIGIN_UID)), c->before)) {
		return; /* a member that is gone leaves before its group */
	}
	if (has_condition(local, "QuotaReserved") && !has_condition(local, "Finished") &&
	    !has_condition(local, "Evicted") && !is_waiting_slice(c, local) &&
	    leads_winner(s, local) == p) {
		fail(s, "I3 end",
		     "%.*s %.*s deleted on the winner %s before the local Workload is Finished",
		     STR_ARG(c->resource), STR_ARG(c->name), p->name);
	}
}

/* How did it end, by reason and message; 0 if it did not. */
static uint64_t verdict_of(const struct json *wl)
{
	const struct json *fin = condition(wl, "Finished");

	return !has_condition(wl, "Finished") ? 0
					      : 31 * hash64(json_str(json_get(fin, "reason"))) +
							hash64(json_str(json_get(fin, "message")));
}

/* What it said before a client changed that may be all that a daemon saw of it. */
static void note_said(struct user *u, const struct plane *p, uint64_t said)
{
	if (said != u->verdict[p->index]) {
		u->former_verdict[p->index] = said != 0 ? u->verdict[p->index] : 0;
		u->verdict[p->index] = said;
	}
}

/*
 * What a clone said of its end counts, even when another client removes it a moment
 * later, or its server forgets it.
 */
static void note_verdict(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	for (size_t i = 0; c->after != NULL && i < s->n_sites; i++) {
		struct user *u = judge_is_ours(&s->site[i], c->after)
					 ? user_of_workload(s, local_of(s, &s->site[i], c))
					 : NULL;

		if (u != NULL && (!c->before || verdict_of(c->after) != 0)) {
			note_said(u, p, verdict_of(c->after));
		}
	}
}

/* Another client removed a job that was over: how it ended may never be known to its owner. */
static void note_taken(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	mk_str uid = json_str_at(c->before, ORIGIN_UID);
	struct user *u = user_by_uid(s, uid);

	if (u != NULL && !c->after && job_over(c->before)) {
		judge_taken(s, u, uid, p);
	}
}

static void check_worker(struct sim *s, struct plane *p, const struct ks_commit *c,
			 const struct site *by)
{
	bool job = is_job_resource(c->resource);
	const struct json *o = c->before != NULL ? c->before : c->after;

	if (!by) {
		judge_disowned(s, p, c);
	}
	judge_commit(s, p, c, by);
	if (str_is(c->resource, WORKLOADS)) {
		note_verdict(s, p, c);
		if (s->places && by) {
			placing_cloned(s, p, c);
		}
	}
	if (judge_is_copy(c->resource) && !by) {
		note_taken(s, p, c);
	}
	if (!by) {
		return;
	}
	s->writes++;
	if (!job && !is_pod(c) && !str_is(c->resource, WORKLOADS)) {
		fail(s, "I9 marks", "wrote %.*s %.*s on %s", STR_ARG(c->resource), STR_ARG(c->name),
		     p->name);
	} else if (!judge_is_ours(by, o) && !judge_may_seem_ours(s, by, p, o)) {
		fail(s, "I9 marks", "%.*s of %.*s %.*s on %s, which is not ours", STR_ARG(c->verb),
		     STR_ARG(c->resource), STR_ARG(c->name), p->name);
	}
	if (str_is(c->verb, "delete") && c->before != NULL) {
		check_remote_delete(s, by, p, c);
	}
}

/* The end is the one that the worker reported, and it comes once. */
static void check_finish(struct sim *s, const struct ks_commit *c)
{
	mk_str cluster = json_str_at(c->before, "/status/clusterName");
	const struct user *u = user_of_workload(s, c->after);
	const struct plane *winner = leads_winner(s, c->before);

	if (has_condition(c->before, "Finished") || !has_condition(c->after, "Finished")) {
		return;
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		const struct json *remote = ks_get(s->plane[i].store, WORKLOADS, c->ns, c->name);
		uint64_t said = verdict_of(c->after);

		/* Evicted, it has no winner any more: its last one may still tell how it ended. */
		if ((winner == &s->plane[i] || !winner) &&
		    (said == verdict_of(remote) ||
		     (u != NULL && (said == u->verdict[i] || said == u->former_verdict[i])))) {
			return;
		}
	}
	fail(s, "finish-once", "%.*s is Finished (%.*s), but not by its winner %.*s",
	     STR_ARG(c->name),
	     STR_ARG(json_str(json_get(condition(c->after, "Finished"), "message"))),
	     STR_ARG(cluster));
}

static void note_winner(struct sim *s, const struct ks_commit *c, bool by_us)
{
	struct user *u = user_by_workload(s, c->after);
	bool won = by_us && json_str_at(c->before, "/status/clusterName").n == 0;
	const struct plane *p;

	if (won) {
		leads_won(s, c->after);
	}
	p = leads_winner(s, c->after);
	if (u != NULL && p != NULL) {
		if (won) {
			judge_won(s, u, p, c->after);
		}
		u->won = p->index;
		u->had_won |= (uint64_t)1 << p->index;
	}
}

/* A round is over: the job may run elsewhere, and begins from nothing. */
static void note_round(struct sim *s, const struct ks_commit *c)
{
	struct user *u = user_by_workload(s, c->before);

	if (u != NULL && !has_condition(c->before, "QuotaReserved") &&
	    has_condition(c->after, "QuotaReserved")) {
		u->reserved_at = s->now;
	}
	if (u != NULL && !c->after) {
		judge_anew(s, u); /* Kueue makes another one, and all begins anew */
	}
	if (!u || !c->after || !has_condition(c->after, "Evicted") ||
	    has_condition(c->before, "Evicted")) {
		return;
	}
	s->cov->situations[SIT_ROUND] += json_str_at(c->before, "/status/clusterName").n > 0;
	u->rounds++;
	u->ran = 0;
	bound_evicted(s, u);
}

/*
 * The state that a daemon writes into our check. Rejected is final: no adapter, no check, a wall.
 */
static void note_check(struct sim *s, const struct ks_commit *c)
{
	struct user *u = user_by_workload(s, c->after);
	mk_str before = json_str_at(c->before, "/status/admissionChecks/0/state");
	mk_str state = json_str_at(c->after, "/status/admissionChecks/0/state");

	if (!u || str_eq(before, state)) {
		return;
	}
	if (s->places && str_is(state, "Rejected")) {
		placing_rejected(s, u, c->after);
	}
	u->refused |= str_is(state, "Rejected") &&
		      (u->rejecting || s->walls || (s->places && s->places->rejects) ||
		       excuse_not_managed(s, u));
	u->retries += str_is(state, "Retry");
	if (str_is(state, "Retry")) {
		judge_retry(s, u, c);
	}
	u->ready_at = str_is(state, "Ready") ? s->now : u->ready_at;
}

static bool is_dispatched_by(const struct ks_commit *c)
{
	return json_str_at(c->after, "/status/clusterName").n >
		       json_str_at(c->before, "/status/clusterName").n ||
	       json_len(json_at(c->after, "/status/nominatedClusterNames")) >
		       json_len(json_at(c->before, "/status/nominatedClusterNames"));
}

static void check_manager_workload(struct sim *s, const struct ks_commit *c, bool by_us)
{
	mk_str before = json_str_at(c->before, "/status/clusterName");
	mk_str after = json_str_at(c->after, "/status/clusterName");

	note_round(s, c);
	note_winner(s, c, by_us);
	if (before.n > 0 && after.n > 0 && !str_eq(before, after) &&
	    (by_us || !faults_lawless(s))) {
		fail(s, "monotone", "%.*s: clusterName %.*s became %.*s", STR_ARG(c->name),
		     STR_ARG(before), STR_ARG(after));
	}
	if (!c->before || !c->after || !by_us) {
		return;
	}
	if (json_at(c->before, "/status/admission") != NULL &&
	    !json_at(c->after, "/status/admission")) {
		fail(s, "monotone", "%.*s: our write lost status.admission", STR_ARG(c->name));
	}
	note_check(s, c);
	/* Only a Workload that holds quota and is not evicted may be dispatched. */
	if (is_dispatched_by(c) && !has_condition(c->before, "QuotaReserved")) {
		fail(s, "order", "%.*s is dispatched without quota", STR_ARG(c->name));
	}
	if (is_dispatched_by(c) && has_condition(c->before, "Evicted")) {
		fail(s, "order", "%.*s is dispatched although it is evicted", STR_ARG(c->name));
	}
	check_finish(s, c);
}

static void check_manager_job(struct sim *s, const struct ks_commit *c)
{
	struct user *u = user_by_uid(s, json_str_at(c->after, "/metadata/uid"));
	int64_t before = json_int(json_at(c->before, "/status/succeeded"), 0);
	int64_t after = json_int(json_at(c->after, "/status/succeeded"), 0);

	if (!c->before || !c->after) {
		return;
	}
	if (job_over(c->before) && !job_over(c->after)) {
		fail(s, "monotone", "job %.*s was over and is no more", STR_ARG(c->name));
	}
	if (after < before && (!u || u->rounds == u->progress_round)) {
		fail(s, "monotone", "job %.*s: succeeded went back", STR_ARG(c->name));
	}
	if (u != NULL && after != before) {
		u->progress_round = u->rounds;
	}
}

/* The one object on the manager of which daemons write more than the status. */
static bool is_quota(const struct sim *s, const struct ks_commit *c)
{
	return s->gates.quota_automation && str_is(c->resource, CLUSTER_QUEUES);
}

void check_commit(struct sim *s, struct plane *p, const struct ks_commit *c)
{
	const struct site *by = writer(s, c);
	bool workload = str_is(c->resource, WORKLOADS);
	bool job = is_job_resource(c->resource);

	judge_shared(s, p, c, by);
	if (is_worker(p)) {
		check_worker(s, p, c, by);
		return;
	}
	if (workload) {
		check_manager_workload(s, c, by != NULL);
	} else if (job || is_pod(c)) {
		check_manager_job(s, c);
	}
	if (!by || str_starts(c->resource, STR("events.k8s.io"))) {
		return;
	}
	s->writes++;
	if (by != p->site) {
		fail(s, "origin", "a daemon of another manager wrote %.*s %.*s",
		     STR_ARG(c->resource), STR_ARG(c->name));
	}
	if (!str_is(c->subresource, "status") && !is_quota(s, c)) {
		fail(s, "origin", "%.*s of %.*s %.*s on the manager, not of its status",
		     STR_ARG(c->verb), STR_ARG(c->resource), STR_ARG(c->name));
	}
}

void check_send(struct proc *p, const struct msg *m)
{
	struct sim *s = p->sim;

	if (str_is(m->req.method, "DELETE") &&
	    !memmem(m->req.body.p, m->req.body.n, "\"uid\":\"", 7)) {
		fail(s, "I9 marks", "%.*s is to be deleted, whichever uid it has",
		     STR_ARG(m->req.target));
	}

	if (s->no_plugin) {
		excuse_rejecting(s, m);
	}
	if (s->no_plugin && memmem(m->req.target.p, m->req.target.n, "/jobs", 5) != NULL) {
		fail(s, "frozen", "daemon %zu sends %.*s %.*s without an adapter", p->index,
		     STR_ARG(m->req.method), STR_ARG(m->req.target));
	}
	if (!s->lease_rests && lease_until_ms(&p->lease) <= s->now) {
		fail(s, "one writer", "daemon %zu sends %.*s %.*s without the lease", p->index,
		     STR_ARG(m->req.method), STR_ARG(m->req.target));
	}
	for (size_t i = 0; i < s->n_procs; i++) {
		const struct proc *q = &s->proc[i];

		if (q != p && q->site == p->site && q->alive && q->leads &&
		    q->fence_until > s->now && !excuse_forgotten(s, p, q) &&
		    !excuse_forgotten(s, q, p)) {
			fail(s, "one writer", "daemons %zu and %zu may both write", p->index,
			     q->index);
		}
	}
}

void check_status(struct sim *s, const struct msg *m, int status, mk_str body)
{
	bool list = m->cls != TRANSPORT_WRITE;

	if (!list && !memmem(m->req.target.p, m->req.target.n, "/events", 7)) {
		s->requests++;
	}
	/* 400 and 422 to a watch or list are how an old server refuses a streaming list. */
	if (list ? status == 406 || status == 415
		 : status == 400 || status == 415 || status == 422 || status == 500) {
		fail(s, "our bug", "%.*s %.*s: %d %.*s", STR_ARG(m->req.method),
		     STR_ARG(m->req.target), status, STR_ARG(str_cut(body, 250)));
	}
}
