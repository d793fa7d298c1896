/* SPDX-License-Identifier: Apache-2.0 */
/* What is no fault of a daemon, although a check would say so: decision 0056 gives the reasons. */
#include "core/base/timefmt.h"
#include "t/sim/sim.h"

#define POD_GROUP "kueue.x-k8s.io~1pod-group-name"

enum {
	HEALED_MS = 60 * 1000,
	GAP_MS = 5 * 1000, /* no daemon needs to connect again in so short a time */
	LEARNS_MS = 1000,  /* a daemon may not know for so long that its manager was restored */
};

/*
 * Waits between tries to connect grow with the outage: one that ends for no longer than it took may
 * go unseen, but the server must be found within HEALED_MS.
 */
static int64_t gap_of(const struct plane *p)
{
	int64_t took = p->bad_until - p->bad_since;

	if (p->sim->led_at > 0) {
		return HEALED_MS; /* which name led to which server is noted by a leader only */
	}
	took = took < HEALED_MS ? took : HEALED_MS;
	return took > GAP_MS ? took : GAP_MS;
}

void excuse_disturbed(struct plane *p, bool on)
{
	bool again = p->bad_until > 0 && p->bad_until != INT64_MAX &&
		     p->sim->now < p->bad_until + gap_of(p);

	on |= !leads_any(p->sim, p);
	if (on && p->bad_until != INT64_MAX && !again) {
		p->bad_since = p->sim->now;
	}
	p->bad_until = on ? INT64_MAX : p->sim->now;
}

bool excuse_late(const struct sim *s, const struct plane *p)
{
	return p->bad_until == INT64_MAX || s->now < p->bad_until + HEALED_MS;
}

bool excuse_unseen(const struct sim *s, const struct plane *p)
{
	/* A store that went back has copies again that were deleted. */
	bool back = p->restored_at > 0 && s->now < p->restored_at + HEALED_MS;

	return back || (excuse_late(s, p) &&
			(p->declared_lost || s->now - p->bad_since >= s->lost_timeout_ms));
}

/* Does the job at home say that it runs? A process that finds no winner on record waits then. */
static bool says_it_runs(struct sim *s, const struct user *u)
{
	const struct json *job = user_job(u, &s->plane[u->site->home]);

	return json_int(json_at(job, "/status/active"), 0) > 0 ||
	       json_int(json_at(job, "/status/replicas"), 0) > 0;
}

bool excuse_taken_back(struct sim *s, const struct plane *p, const struct json *copy)
{
	const struct user *u = user_by_uid(s, json_str_at(copy, ORIGIN_UID));
	int64_t made;

	if (!u || !excuse_late(s, p) ||
	    !time_parse(json_str_at(copy, "/metadata/creationTimestamp"), &made) ||
	    (made - WALL0 >= s->plane[u->site->home].restored_at &&
	     (!u->meddled || says_it_runs(s, u)))) {
		return false;
	}
	for (size_t i = 0; i < s->n_procs; i++) {
		if (s->proc[i].site == u->site && s->proc[i].alive &&
		    s->proc[i].began < p->bad_since) {
			return false;
		}
	}
	return true;
}

bool excuse_outdated(const struct sim *s, const struct site *site)
{
	const struct plane *home = &s->plane[site->home];

	return home->restored_at > 0 && s->sent_at < home->restored_at + LEARNS_MS;
}

bool excuse_forgotten(const struct sim *s, const struct proc *p, const struct proc *q)
{
	const struct plane *home = &s->plane[q->site->home];

	return p->saw_lease <= home->restored_rv && q->heard_lease < home->restored_at;
}

/*
 * A create on its way, to a cluster that had won, may be overtaken: by an eviction, and
 * no other cluster may have won since; or, while the cluster is out of reach, by the
 * worker's loss and another's win.
 */
bool excuse_overtaken(struct sim *s, const struct json *local, const struct plane *p,
		      const struct ks_commit *c)
{
	const struct user *u = user_by_uid(s, json_str_at(c->after, ORIGIN_UID));

	if (!u) {
		return false;
	}
	return (u->won == p->index && json_str_at(local, "/status/clusterName").n == 0) ||
	       (s->is_wide && (u->had_won & (uint64_t)1 << p->index) != 0 && excuse_late(s, p));
}

bool excuse_not_managed(const struct sim *s, const struct user *u)
{
	const struct json *job = user_job(u, &s->plane[u->site->home]);

	return !str_is(json_str_at(job, "/spec/managedBy"), "kueue.x-k8s.io/multikueue");
}

/* Is the Pod of the Workload's group, or its one Pod? */
static bool is_pod_of(const struct json *pod, const struct json *wl)
{
	const struct json *owner = json_elem(json_at(wl, "/metadata/ownerReferences"), 0);

	return json_bool(json_get(owner, "controller"))
		       ? str_eq(json_str(json_get(owner, "uid")), json_str_at(pod, "/metadata/uid"))
		       : str_eq(json_str_at(pod, "/metadata/labels/" POD_GROUP),
				json_str_at(wl, "/metadata/name"));
}

bool excuse_started(const struct plane *home, const struct json *local)
{
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(home->store, PODS, &pos)) != NULL) {
		if (is_pod_of(o, local) && pod_has_begun(o)) {
			return true;
		}
	}
	return false;
}

/*
 * A clone whose job is not made, since the check or the owner is gone, waits for nothing. The copy
 * of an earlier Workload may be in its way.
 */
bool excuse_unasked(struct sim *s, const struct plane *p, const struct json *local)
{
	const struct user *u = user_by_workload(s, local);
	const struct json *copy = u != NULL ? user_job(u, p) : NULL;

	for (size_t i = 0; i < s->n_faults; i++) {
		if (s->fault[i].kind->drops_check) {
			return !judge_is_marked(s, copy) ||
			       !str_eq(json_str_at(copy, WORKLOAD_UID),
				       json_str_at(local, "/metadata/uid"));
		}
	}
	return false;
}

/*
 * The job of an orphan's clone is not made any more: nothing is lost with the clone. The copy of an
 * earlier job of that name may be in its way.
 */
static bool waits_for_nothing(const struct sim *s, const struct plane *p, const struct json *local,
			      const struct ks_commit *c)
{
	mk_str owner = json_str_at(c->before, "/metadata/annotations/multikueued.io~1owner-name");
	mk_str uid = json_str_at(local, "/metadata/labels/kueue.x-k8s.io~1job-uid");

	for (size_t i = 0; i < s->n_users; i++) {
		const struct json *copy = user_job(&s->user[i], p);

		if (str_is(owner, s->user[i].name) && judge_is_marked(s, copy) &&
		    (uid.n == 0 || str_eq(json_str_at(copy, ORIGIN_UID), uid))) {
			return false;
		}
	}
	return owner.n > 0 && json_len(json_at(local, "/metadata/ownerReferences")) == 0;
}

/*
 * Its job was deleted with --cascade=orphan, and has no copy; or another client has deleted the
 * clone of the copy, which comes to no end then: Kueue there stops it for good. A clone that
 * another client made another manager's tells no end either: there is none to wait for.
 */
bool excuse_orphaned(struct sim *s, const struct plane *p, const struct json *local,
		     const struct ks_commit *c)
{
	mk_str uid = json_str_at(c->before, ORIGIN_UID);
	const struct user *u = user_by_uid(s, uid);

	if (uid.n == 0) {
		return waits_for_nothing(s, p, local, c);
	}
	return !user_local(s, u, c->before) &&
	       !judge_is_marked(
		       s, ks_get(p->store, WORKLOADS, c->ns, json_str_at(local, "/metadata/name")));
}

/* The manager runs it, under another controller's hand: it is not ours to reject. */
bool excuse_runs_here(const struct sim *s, const struct user *u)
{
	const struct json *job = user_job(u, &s->plane[u->site->home]);

	return u->kind != USER_NO_ADAPTER && excuse_not_managed(s, u) && job != NULL &&
	       !json_bool(json_at(job, "/spec/suspend"));
}

void excuse_rejecting(struct sim *s, const struct msg *m)
{
	static const char path[] = "/workloads/", state[] = "\"state\":\"Rejected\"";
	const char *at = memmem(m->req.target.p, m->req.target.n, path, sizeof(path) - 1);
	mk_str rest, name;
	struct user *u;

	if (!at || !memmem(m->req.body.p, m->req.body.n, state, sizeof(state) - 1)) {
		return;
	}
	rest = str_sub(m->req.target, (size_t)(at - m->req.target.p) + sizeof(path) - 1,
		       m->req.target.n);
	str_split(&rest, '/', &name);
	u = user_by_workload(s, ks_get(m->plane->store, WORKLOADS, STR("default"), name));
	if (u != NULL) {
		u->rejecting = true;
	}
}

/*
 * Kueue looks at checks only of Workloads that are not evicted, and an eviction ends when the job
 * has stopped: a Workload without any owner that was evicted before we rejected it stays as it is.
 */
bool excuse_rejected_in_vain(const struct user *u, const struct json *wl)
{
	return u->kind == USER_NO_ADAPTER && has_condition(wl, "Evicted") &&
	       str_is(json_str_at(wl, "/status/admissionChecks/0/state"), "Rejected");
}

bool excuse_dropped(const struct sim *s, const struct json *wl)
{
	for (size_t i = 0; !wl && i < s->n_faults; i++) {
		if (s->fault[i].kind->drops_workloads) {
			return true;
		}
	}
	return false;
}
