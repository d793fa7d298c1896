/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants after every commit of every API server (names as in the reliability page):
 *   I1 single-run  I2 origin  I3 finish-once  I7 monotone  I11 one writer, and: no request that a server calls wrong.
 */
#include <stdio.h>

#include "t/sim/sim.h"

#define ORIGIN "/metadata/labels/kueue.x-k8s.io~1multikueue-origin"
#define ORIGIN_UID "/metadata/annotations/kueue.x-k8s.io~1multikueue-origin-uid"
#define MANAGER "/metadata/annotations/multikueued.io~1manager-id"

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

static bool is_ours(const struct sim *s, const struct json *o)
{
	return str_is(json_str_at(o, ORIGIN), "multikueue") &&
	       str_is(json_str_at(o, MANAGER), s->manager_id);
}

static bool job_over(const struct json *job)
{
	return has_condition(job, "Complete") || has_condition(job, "Failed");
}

/* I1: counts the copies of a job that may run, over all workers. */
static void check_single(struct sim *s, const struct ks_commit *c, size_t plane)
{
	struct user *u = user_by_name(s, c->name);
	int running = 0;

	mk_str uid = json_str_at(c->after, ORIGIN_UID);

	if (c->after == NULL || json_bool(json_at(c->after, "/spec/suspend")) ||
	    json_str_at(c->after, ORIGIN).n == 0) {
		return;
	}
	for (size_t i = 1; i < s->n_planes; i++) {
		const struct json *o = ks_get(s->plane[i].store, "batch/v1/jobs", c->ns, c->name);

		/* A copy of an earlier job of this name is another job's. */
		running += o != NULL && json_str_at(o, ORIGIN).n > 0 &&
			   str_eq(json_str_at(o, ORIGIN_UID), uid) &&
			   !json_bool(json_at(o, "/spec/suspend")) && !job_over(o);
	}
	if (running > 1) {
		fail(s, "I1 single-run", "%.*s runs on %d clusters", STR_ARG(c->name), running);
	}
	if (u == NULL || !str_is(uid, u->uid)) {
		return;
	}
	u->ran |= (uint64_t)1 << plane;
	if (u->ran & (u->ran - 1)) {
		fail(s, "I1 single-run", "%.*s ran on several clusters, one after the other",
		     STR_ARG(c->name));
	}
}

/* The local Workload that a remote object stands for: by name for clones, by the job's owner for jobs. */
static const struct json *local_of(struct sim *s, const struct ks_commit *c)
{
	const struct json *obj = c->before != NULL ? c->before : c->after;
	const struct ks_store *mgr = s->plane[0].store;
	mk_str name = c->name;

	if (str_is(c->resource, "batch/v1/jobs")) {
		name = json_str_at(obj,
				   "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name");
	}
	return ks_get(mgr, "kueue.x-k8s.io/v1beta2/workloads", c->ns, name);
}

/* I1: a job is made on the committed winner only; this is why it cannot start twice. */
static void check_job_create(struct sim *s, const struct plane *p, const struct ks_commit *c)
{
	const struct json *local = local_of(s, c);
	mk_str uid = json_str_at(c->after, "/metadata/annotations/multikueued.io~1workload-uid");

	if (local != NULL && str_eq(json_str_at(local, "/metadata/uid"), uid) &&
	    !str_is(json_str_at(local, "/status/clusterName"), p->name)) {
		fail(s, "I1 single-run", "%.*s is made on %s, which has not won", STR_ARG(c->name),
		     p->name);
	}
}

/* I3: nothing of the winner goes before the local Finished is written. */
static void check_remote_delete(struct sim *s, struct plane *p, const struct ks_commit *c)
{
	const struct json *local = local_of(s, c);
	mk_str uid = json_str_at(c->before, "/metadata/annotations/multikueued.io~1workload-uid");

	if (local == NULL || json_at(local, "/metadata/deletionTimestamp") != NULL ||
	    !str_eq(json_str_at(local, "/metadata/uid"), uid)) {
		return;
	}
	if (has_condition(local, "QuotaReserved") && !has_condition(local, "Finished") &&
	    !has_condition(local, "Evicted") &&
	    str_is(json_str_at(local, "/status/clusterName"), p->name)) {
		fail(s, "I3 finish-once",
		     "%.*s %.*s deleted on the winner %s before the local Workload is Finished",
		     STR_ARG(c->resource), STR_ARG(c->name), p->name);
	}
}

static void check_worker(struct sim *s, struct plane *p, const struct ks_commit *c, bool by_us)
{
	bool job = str_is(c->resource, "batch/v1/jobs");

	if (job) {
		check_single(s, c, p->index);
	}
	if (!by_us) {
		return;
	}
	s->writes++;
	if (!job && !str_is(c->resource, "kueue.x-k8s.io/v1beta2/workloads")) {
		fail(s, "I2 origin", "wrote %.*s %.*s on %s", STR_ARG(c->resource),
		     STR_ARG(c->name), p->name);
	} else if (!is_ours(s, c->before != NULL ? c->before : c->after)) {
		fail(s, "I2 origin", "%.*s of %.*s %.*s on %s, which is not ours", STR_ARG(c->verb),
		     STR_ARG(c->resource), STR_ARG(c->name), p->name);
	}
	if (job && c->before == NULL) {
		check_job_create(s, p, c);
	}
	if (str_is(c->verb, "delete") && c->before != NULL) {
		check_remote_delete(s, p, c);
	}
}

/* I3: the verdict is the remote one, and it comes once. */
static void check_finish(struct sim *s, const struct ks_commit *c)
{
	mk_str cluster = json_str_at(c->before, "/status/clusterName");
	const struct json *fin = condition(c->after, "Finished");

	if (has_condition(c->before, "Finished") || !has_condition(c->after, "Finished")) {
		return;
	}
	for (size_t i = 1; i < s->n_planes; i++) {
		const struct json *remote = ks_get(
			s->plane[i].store, "kueue.x-k8s.io/v1beta2/workloads", c->ns, c->name);
		const struct json *rc = condition(remote, "Finished");

		if (str_is(cluster, s->plane[i].name) && has_condition(remote, "Finished") &&
		    str_eq(json_str(json_get(rc, "reason")), json_str(json_get(fin, "reason"))) &&
		    str_eq(json_str(json_get(rc, "message")), json_str(json_get(fin, "message")))) {
			return;
		}
	}
	fail(s, "I3 finish-once", "%.*s is Finished, but not by its winner %.*s", STR_ARG(c->name),
	     STR_ARG(cluster));
}

static void check_manager_workload(struct sim *s, const struct ks_commit *c, bool by_us)
{
	mk_str before = json_str_at(c->before, "/status/clusterName");
	mk_str after = json_str_at(c->after, "/status/clusterName");

	if (before.n > 0 && after.n > 0 && !str_eq(before, after)) {
		fail(s, "I7 monotone", "%.*s: clusterName %.*s became %.*s", STR_ARG(c->name),
		     STR_ARG(before), STR_ARG(after));
	}
	if (c->before == NULL || c->after == NULL) {
		return;
	}
	if (by_us && json_at(c->before, "/status/admission") != NULL &&
	    json_at(c->after, "/status/admission") == NULL) {
		fail(s, "I7 monotone", "%.*s: our write lost status.admission", STR_ARG(c->name));
	}
	if (by_us) {
		check_finish(s, c);
	}
}

static void check_manager_job(struct sim *s, const struct ks_commit *c)
{
	if (c->before == NULL || c->after == NULL) {
		return;
	}
	if (job_over(c->before) && !job_over(c->after)) {
		fail(s, "I7 monotone", "job %.*s was over and is no more", STR_ARG(c->name));
	}
	if (json_int(json_at(c->after, "/status/succeeded"), 0) <
	    json_int(json_at(c->before, "/status/succeeded"), 0)) {
		fail(s, "I7 monotone", "job %.*s: succeeded went back", STR_ARG(c->name));
	}
}

void check_commit(struct sim *s, struct plane *p, const struct ks_commit *c)
{
	bool by_us = str_is(c->user_agent, AGENT);
	bool workload = str_is(c->resource, "kueue.x-k8s.io/v1beta2/workloads");
	bool job = str_is(c->resource, "batch/v1/jobs");

	if (p->index > 0) {
		check_worker(s, p, c, by_us);
		return;
	}
	if (workload) {
		check_manager_workload(s, c, by_us);
	} else if (job) {
		check_manager_job(s, c);
	}
	if (!by_us || str_starts(c->resource, STR("events.k8s.io"))) {
		return;
	}
	s->writes++;
	if (!str_is(c->subresource, "status")) {
		fail(s, "I2 origin", "%.*s of %.*s %.*s on the manager, not of its status",
		     STR_ARG(c->verb), STR_ARG(c->resource), STR_ARG(c->name));
	}
}

void check_send(struct proc *p, const struct msg *m)
{
	struct sim *s = p->sim;

	if (str_is(m->req.method, "DELETE") &&
	    memmem(m->req.body.p, m->req.body.n, "\"uid\":\"", 7) == NULL) {
		fail(s, "I2 origin", "%.*s is to be deleted, whichever uid it has",
		     STR_ARG(m->req.target));
	}

	if (!s->lease_rests && lease_until_ms(&p->lease) <= s->now) {
		fail(s, "I11 one writer", "daemon %zu sends %.*s %.*s without the lease", p->index,
		     STR_ARG(m->req.method), STR_ARG(m->req.target));
	}
	for (size_t i = 0; i < s->n_procs; i++) {
		const struct proc *q = &s->proc[i];

		if (q != p && q->alive && q->leads && q->fence_until > s->now) {
			fail(s, "I11 one writer", "daemons %zu and %zu may both write", p->index,
			     q->index);
		}
	}
}

void check_status(struct sim *s, const struct msg *m, int status, mk_str body)
{
	bool list = m->cls != TRANSPORT_WRITE;

	if (!list && memmem(m->req.target.p, m->req.target.n, "/events", 7) == NULL) {
		s->requests++;
	}
	/* 400 and 422 to a watch or list are how an old server refuses a streaming list. */
	if (list ? status == 406 || status == 415
		 : status == 400 || status == 415 || status == 422 || status == 500) {
		fail(s, "our bug", "%.*s %.*s: %d %.*s", STR_ARG(m->req.method),
		     STR_ARG(m->req.target), status, STR_ARG(str_cut(body, 250)));
	}
}
