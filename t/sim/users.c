/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users: they submit jobs over a minute or so, some of which fail, some are
 * deleted, some are not ours to run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/sim/sim.h"

static enum user_kind pick_kind(struct sim *s)
{
	switch (rng_below(&s->rng, 14)) {
	case 0:
		return USER_FAILING;
	case 1:
	case 2:
		return USER_DELETED;
	case 3:
		return USER_UNMANAGED;
	case 4:
		return USER_NO_ADAPTER;
	case 5:
		return USER_FOREIGN_JOB;
	case 6:
		return USER_FOREIGN_WORKLOAD;
	case 7:
		return USER_AGAIN;
	default:
		return USER_JOB;
	}
}

static void turn_at(struct sim *s, size_t index, enum user_turn turn, int64_t at)
{
	struct msg *m = msg_new(s, M_USER);

	m->index = index;
	m->status = (int)turn;
	schedule(s, m, at);
}

static void user_init(struct sim *s, size_t i, struct site *site, size_t number)
{
	struct user *u = &s->user[i];

	u->kind = s->no_faults ? USER_JOB : pick_kind(s);
	u->site = site;
	snprintf(u->name, sizeof(u->name), "job-%02zu", number);
	u->create_at = rng_range(&s->rng, 0, 60000);
	turn_at(s, i, TURN_SUBMIT, u->create_at);
	if (u->kind == USER_DELETED || u->kind == USER_AGAIN) {
		u->delete_at = u->create_at + rng_range(&s->rng, 5, 15000);
		turn_at(s, i, TURN_DELETE, u->delete_at);
	}
	if (u->kind == USER_AGAIN) {
		turn_at(s, i, TURN_SUBMIT, u->delete_at + rng_range(&s->rng, 1, 4000));
	}
	if (u->kind == USER_FOREIGN_WORKLOAD) {
		turn_at(s, i, TURN_PLANT, u->create_at + 1);
	}
}

void user_deletes_at(struct sim *s, size_t i, int64_t at)
{
	s->user[i].kind = USER_DELETED;
	s->user[i].delete_at = at;
	turn_at(s, i, TURN_DELETE, at);
}

void users_init(struct sim *s)
{
	size_t n = 20 + (size_t)rng_below(&s->rng, 4);

	for (size_t i = 0; i < n; i++) {
		user_init(s, s->n_users++, &s->site[0], i);
	}
	/* The other manager's jobs have the same names. */
	for (size_t i = 0; s->n_sites > 1 && i < n / 3; i++) {
		user_init(s, s->n_users++, &s->site[1], i);
	}
}

/* Has a job of that name, of whichever manager, few servers only, at times? */
static bool has_few_servers(const struct sim *s, const char *name)
{
	bool any = s->n_spares > 0 ||
		   s->selects; /* w1 has no quota, and each manager's users plant one */

	for (size_t i = 0; i < s->n_users; i++) {
		any |= s->user[i].elsewhere && strcmp(s->user[i].name, name) == 0;
	}
	return any;
}

void users_clear_later(struct sim *s)
{
	for (size_t i = 0; i < s->n_users; i++) {
		if ((s->user[i].kind == USER_FOREIGN_JOB ||
		     s->user[i].kind == USER_FOREIGN_WORKLOAD) &&
		    has_few_servers(s, s->user[i].name)) {
			turn_at(s, i, TURN_CLEAR, FAULTS_END_MS);
		}
	}
}

void users_classed(struct sim *s)
{
	static const char *const names[] = {"low", "high"};

	if (s->classed) {
		return;
	}
	s->classed = true;
	for (size_t i = 0; i < s->n_sites * 2; i++) {
		(void)plane_request(
			&s->plane[s->site[i / 2].home], "POST", KUEUE "workloadpriorityclasses",
			NULL,
			arena_printf(&s->arena,
				     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
				     "\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"%s\"},"
				     "\"value\":%d}",
				     names[i % 2], i % 2 ? 100 : -5));
	}
}

void user_deletes_one(struct sim *s)
{
	size_t from = (size_t)rng_below(&s->rng, s->n_users);

	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[(from + i) % s->n_users];

		if (u->kind == USER_JOB && u->created && !u->deleted &&
		    s->now - u->create_at < 9000) {
			s->cov->situations[SIT_AWAY]++;
			user_deletes_at(s, (from + i) % s->n_users,
					s->now + rng_range(&s->rng, 1, 3000));
			return;
		}
	}
}

bool is_waiting(const struct json *wl)
{
	return !json_at(wl, "/metadata/deletionTimestamp") && has_condition(wl, "QuotaReserved") &&
	       !has_condition(wl, "Evicted") && !has_condition(wl, "Finished") &&
	       json_str_at(wl, "/status/clusterName").n == 0 &&
	       str_is(json_str_at(wl, "/status/admissionChecks/0/state"), "Pending");
}

bool is_hindered(const struct sim *s, const struct user *u)
{
	for (size_t i = 0; s->n_sites > 1 && i < s->n_users; i++) {
		if (s->user[i].site != u->site && strcmp(s->user[i].name, u->name) == 0) {
			return true;
		}
	}
	return u->kind == USER_FOREIGN_JOB || u->kind == USER_FOREIGN_WORKLOAD;
}

int64_t pods_of(const struct json *wl)
{
	return json_int(json_at(wl, "/spec/podSets/0/count"), 1);
}

struct user *user_by_uid(struct sim *s, mk_str uid)
{
	for (size_t i = 0; uid.n > 0 && i < s->n_users; i++) {
		if (str_is(uid, s->user[i].uid) || str_is(uid, s->user[i].former_uid) ||
		    member_by_uid(&s->user[i], uid) != NULL) {
			return &s->user[i];
		}
	}
	return NULL;
}

bool is_follower(const struct json *wl)
{
	mk_str index =
		json_str_at(wl, "/metadata/annotations/kueue.x-k8s.io~1component-workload-index");

	return index.n > 0 && !str_is(index, "0");
}

struct user *user_by_workload(struct sim *s, const struct json *wl)
{
	struct user *u =
		is_follower(wl)
			? NULL
			: user_by_uid(
				  s, json_str(json_get(
					     json_elem(json_at(wl, "/metadata/ownerReferences"), 0),
					     "uid")));

	for (size_t i = 0; !u && i < s->n_users; i++) {
		if (s->user[i].group != NULL &&
		    str_is(json_str_at(wl, "/metadata/name"), s->user[i].name)) {
			return &s->user[i]; /* its first member was another one */
		}
	}
	return u;
}

struct user *user_of_workload(struct sim *s, const struct json *wl)
{
	struct user *u = user_by_workload(s, wl);

	for (size_t i = 0; wl != NULL && !u && i < s->n_users; i++) {
		mk_str of = arena_printf(&s->arena, "job-%s-", s->user[i].name);

		if (str_starts(json_str_at(wl, "/metadata/name"), of)) {
			u = &s->user[i];
		}
	}
	return u;
}

void user_meddled(struct sim *s, const struct json *wl)
{
	struct user *u = user_by_workload(s, wl);

	u = u ? u
	      : user_by_uid(
			s, json_str(json_get(json_elem(json_at(wl, "/metadata/ownerReferences"), 0),
					     "uid"))); /* of a component that follows */
	if (u) {
		u->meddled = true;
	}
}

static mk_str job_body(struct sim *s, const struct user *u)
{
	bool failing = u->kind == USER_FAILING;
	const char *other = u->kind == USER_UNMANAGED ? ",\"managedBy\":\"example.com/other\"" : "";

	return arena_printf(
		&s->arena,
		"{\"apiVersion\":\"batch/"
		"v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
		"\"default\",\"labels\":{\"kueue.x-k8s.io/"
		"queue-name\":\"%s\"%s},\"annotations\":{\"kubesim.x-k8s.io/"
		"run-ms\":\"%lld\"%s%s}},\"spec\":{\"parallelism\":%llu,\"completions\":%"
		"llu,\"suspend\":true%s,\"template\":{\"spec\":{\"restartPolicy\":"
		"\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
		"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}",
		u->name, u->elsewhere ? "lq3" : "lq",
		s->classed ? ",\"kueue.x-k8s.io/priority-class\":\"low\"" : "",
		(long long)(u->run_ms ? u->run_ms : rng_range(&s->rng, 50, 9000)),
		failing ? ",\"kubesim.x-k8s.io/exit-code\":\"1\"" : "", u->notes ? u->notes : "",
		s->each_pods ? s->each_pods : 1 + (unsigned long long)rng_below(&s->rng, 3),
		s->each_pods ? s->each_pods : 3ull, other);
}

static struct plane *home_of(struct sim *s, const struct user *u)
{
	return &s->plane[u->site->home];
}

static struct plane *some_worker(struct sim *s)
{
	return &s->plane[1 + rng_below(&s->rng, s->n_workers)];
}

static int submit_workload(struct sim *s, const struct user *u)
{
	return plane_request(
		home_of(s, u), "POST", WORKLOADS_PATH, NULL,
		arena_printf(
			&s->arena,
			"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			"\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{"
			"\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,"
			"\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
			"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
			u->name));
}

/* A user of a worker has a job of that name: not ours, never to be touched. */
static void plant_job(struct sim *s, const struct user *u)
{
	(void)plane_request(
		some_worker(s), "POST", JOBS_PATH, NULL,
		arena_printf(
			&s->arena,
			"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
			"\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"suspend\":true,"
			"\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
			"\"name\":\"c\",\"image\":\"i\"}]}}}}",
			u->name));
}

/* The job as it is now: its uid, and that it begins anew. */
static void know_job(struct sim *s, struct user *u)
{
	const struct json *job = user_job(u, home_of(s, u));

	snprintf(u->uid, sizeof(u->uid), "%.*s", STR_ARG(json_str_at(job, "/metadata/uid")));
	u->former_uid[0] = 0;
	u->ran = 0;
	u->had_won = 0;
	u->rounds++;
	*judged_of(s, u) = (struct judged){0};
}

static void submit(struct sim *s, struct user *u)
{
	int status;

	if (u->kind == USER_NO_ADAPTER) {
		status = submit_workload(s, u);
	} else {
		if (u->kind == USER_FOREIGN_JOB) {
			plant_job(s, u);
		}
		status = u->group ? 201
				  : plane_request(home_of(s, u), "POST", user_path(s, u, false),
						  NULL,
						  u->of == USER_OF_JOBS ? job_body(s, u)
									: sim_kinds_body(s, u));
		u->started_at = INT64_MAX;
	}
	/* 409: the first one came back by a restore. */
	if (status / 100 != 2 && (status != 409 || !s->is_wide)) {
		fail(s, "setup", "submitting %s: %d", u->name, status);
	}
	if (u->group != NULL) {
		groups_submit(s, u);
	}
	know_job(s, u);
	u->again = u->created;
	s->cov->situations[SIT_AGAIN] += u->created;
	u->created = true;
	u->deleted = false;
	say(s, "user", "submits %s", u->name);
}

size_t user_submits(struct sim *s, int64_t run_ms)
{
	size_t index = s->n_users++;
	struct user *u = &s->user[index];

	if (index >= MAX_USERS) {
		abort();
	}
	u->kind = USER_JOB;
	u->site = &s->site[0];
	u->run_ms = run_ms;
	u->elsewhere = s->elsewhere;
	u->notes = s->notes;
	u->of = s->of;
	u->create_at = s->now;
	snprintf(u->name, sizeof(u->name), "job-%04zu", index);
	submit(s, u);
	return index;
}

/* Is how the job ended lost: the restored manager does not say, and its copy is gone? */
static bool forgets_end(struct sim *s, const struct user *u)
{
	bool any = job_over(user_job(u, home_of(s, u)));

	for (size_t i = 1; i <= s->n_workers; i++) {
		any |= user_job(u, &s->plane[i]) != NULL;
	}
	return !any && has_condition(workload_of(s, u), "Finished");
}

void user_restored(struct sim *s, struct user *u)
{
	const struct json *o =
		u->kind == USER_NO_ADAPTER ? workload_of(s, u) : user_job(u, home_of(s, u));
	const struct judged before = *judged_of(s, u);

	u->deleted = !o || (!u->group && json_at(o, "/metadata/deletionTimestamp") != NULL);
	if (!u->deleted && (u->of == USER_OF_STATEFULSETS || u->of == USER_OF_LEADERS)) {
		turn_at(s, (size_t)(u - s->user), TURN_DELETE, s->now + MINUTE); /* it is back */
	}
	if (u->group != NULL) {
		groups_restored(u);
	}
	know_job(s, u);
	leads_keep(judged_of(s, u), &before); /* its Workload names the same winner again */
	judged_of(s, u)->taken |= !u->group && forgets_end(s, u);
}

void users_restored(struct sim *s, const struct site *site)
{
	for (size_t i = 0; i < s->n_users; i++) {
		if (s->user[i].site == site && s->user[i].created) {
			user_restored(s, &s->user[i]);
		}
	}
}

/*
 * A user of a worker has a Workload of the name that the clone would get:
 * not ours, never to be touched.
 */
static void plant(struct sim *s, size_t index)
{
	const struct json *wl = workload_of(s, &s->user[index]);
	struct plane *w = some_worker(s);
	mk_str name = json_str_at(wl, "/metadata/name");
	int status;

	if (!wl) {
		if (s->now < FAULTS_END_MS) {
			/* its controller is about to make it */
			turn_at(s, index, TURN_PLANT, s->now + (s->is_wide ? 20 : 1));
		}
		return;
	}
	status = plane_request(
		w, "POST", WORKLOADS_PATH, NULL,
		arena_printf(&s->arena,
			     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			     "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"default\"},"
			     "\"spec\":{\"queueName\":\"nowhere\",\"podSets\":[{\"name\":\"main\","
			     "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
			     "\"image\":\"i\"}]}}}]}}",
			     STR_ARG(name)));
	s->cov->situations[SIT_PLANTED] += status == 201;
	say(s, "user", "has a Workload %.*s of their own on %s: %d", STR_ARG(name), w->name,
	    status);
}

/*
 * A user who has an object of their own on a worker is done with it. While the alias is away its
 * config has one server only, and with that in the way the user's job can run nowhere.
 */
static void clear(struct sim *s, const struct user *u)
{
	static const char *const resources[] = {JOBS, WORKLOADS};
	static const char *const paths[] = {JOBS_PATH, WORKLOADS_PATH};
	mk_str workload = json_str_at(workload_of(s, u), "/metadata/name");

	for (size_t i = 1; i <= s->n_workers; i++) {
		for (size_t r = 0; r < 2; r++) {
			struct plane *w = &s->plane[i];
			mk_str name = arena_dup(&s->arena, r == 0 ? str_of(u->name) : workload);
			const struct json *o = ks_get(w->store, resources[r], STR("default"), name);

			if (!o ||
			    json_at(o, "/metadata/labels/kueue.x-k8s.io~1multikueue-origin")) {
				continue;
			}
			say(s, "user", "takes a %s %.*s of their own from %s",
			    r == 0 ? "Job" : "Workload", STR_ARG(name), w->name);
			(void)plane_request(
				w, "DELETE",
				arena_printf(&s->arena, "%s/%.*s", paths[r], STR_ARG(name)).p, NULL,
				STR("{\"propagationPolicy\":\"Background\"}"));
		}
	}
}

static void delete_job(struct sim *s, const struct user *u)
{
	if (u->foreground && rng_chance(&s->wide, 1, 2)) {
		(void)plane_merge(home_of(s, u), user_path(s, u, true),
				  STR("{\"metadata\":{\"finalizers\":[\"" USER_FINALIZER "\"]}}"));
	}
	(void)plane_request(home_of(s, u), "DELETE", user_path(s, u, true), NULL,
			    u->foreground ? STR("{\"propagationPolicy\":\"Foreground\"}")
					  : STR("{\"propagationPolicy\":\"Background\"}"));
}

void user_turn(struct sim *s, size_t index, enum user_turn turn)
{
	struct user *u = &s->user[index];

	if (turn == TURN_SUBMIT) {
		submit(s, u);
		return;
	}
	if (turn == TURN_PLANT) {
		plant(s, index);
		return;
	}
	if (turn == TURN_CLEAR) {
		clear(s, u);
		return;
	}
	say(s, "user", "deletes %s", u->name);
	if (u->group != NULL) {
		groups_delete(s, u);
	} else {
		delete_job(s, u);
	}
	u->deleted = true;
}
