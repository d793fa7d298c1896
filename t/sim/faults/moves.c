/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users move jobs that wait for quota to a queue that is on hold and has no check of ours, and back
 * after a while; those that run are stopped for it. What was made for them in a round before is
 * withdrawn all the same. Elastic jobs are not moved: a size that waits on hold does so for ever.
 */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum { LOOK_MS = 500 };

#define HELD "held"
#define STOPPED "example.com/stopped"
#define HEAD "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

/* Managers have little quota, so that many wait. */
static void moves_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = 1000;
	f->until = 2000; /* what follows disturbs nothing */
	for (size_t i = 0; i < s->n_users; i++) {
		s->user[i].run_ms = rng_range(r, 50, 30 * SECOND);
	}
	for (size_t i = 0; i < s->n_sites; i++) {
		struct plane *home = &s->plane[s->site[i].home];

		plane_set_quota(home, (unsigned)rng_range(r, 10, 20));
		(void)plane_request(
			home, "POST", KUEUE "clusterqueues", NULL,
			arena_printf(&s->arena,
				     HEAD "\"ClusterQueue\",\"metadata\":{\"name\":\"" HELD
					  "\"},\"spec\":{\"namespaceSelector\":{},\"stopPolicy\":"
					  "\"Hold\",%.*s}}",
				     STR_ARG(plane_groups(s, 40, ""))));
		(void)plane_request(home, "POST", KUEUE "namespaces/default/localqueues", NULL,
				    STR(HEAD "\"LocalQueue\",\"metadata\":{\"name\":\"" HELD
					     "\",\"namespace\":\"default\"},\"spec\":{"
					     "\"clusterQueue\":\"" HELD "\"}}"));
	}
}

/* Kueue does not let users move a job that has begun. */
static void move(struct sim *s, const struct user *u, const char *queue)
{
	struct plane *home = &s->plane[u->site->home];
	const struct json *job = user_job(u, home);

	if (!job || job_over(job) || !json_bool(json_at(job, "/spec/suspend")) ||
	    str_is(json_str_at(job, "/metadata/labels/kueue.x-k8s.io~1queue-name"), queue)) {
		return;
	}
	say(s, "user", "moves %s to the queue %s: %d", u->name, queue,
	    plane_merge(home, churn_path(s, JOB_PATH, str_of(u->name), ""),
			arena_printf(&s->arena,
				     "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":"
				     "\"%s\"}}}",
				     queue)));
}

/* The Workload of one that runs is deactivated, and active again where its job is moved. */
static void set_active(struct sim *s, const struct user *u, bool active)
{
	const struct json *wl = workload_of(s, u);
	mk_str name = arena_dup(&s->arena, json_str_at(wl, "/metadata/name"));

	if (wl != NULL && !has_condition(wl, "Finished")) {
		churn_patch_named(
			s, &s->plane[u->site->home], WORKLOAD_PATH, name,
			active ? STR("{\"metadata\":{\"annotations\":{\"" STOPPED "\":null}},"
				     "\"spec\":{\"active\":true}}")
			       : STR("{\"metadata\":{\"annotations\":{\"" STOPPED "\":\"true\"}},"
				     "\"spec\":{\"active\":false}}"));
	}
}

static void turn_of(struct sim *s, struct fault *f, const struct user *u)
{
	const struct json *wl = workload_of(s, u);
	bool quota = has_condition(wl, "QuotaReserved");
	bool stopped = json_at(wl, "/metadata/annotations/example.com~1stopped") != NULL;

	if (s->now >= FAULTS_END_MS || rng_chance(&f->rng, 1, 10)) {
		move(s, u, "lq");
		if (stopped) {
			set_active(s, u, true);
		}
	} else if (!quota && (stopped || rng_chance(&f->rng, 1, 10))) {
		move(s, u, HELD);
		if (stopped) {
			set_active(s, u, true);
		}
	} else if (quota && u->kind == USER_JOB && rng_chance(&f->rng, 1, 15)) {
		set_active(s, u, false);
	}
}

static void moves_turn(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < s->n_users; i++) {
		const struct user *u = &s->user[i];

		if (!u->created || u->deleted || u->of != USER_OF_JOBS ||
		    u->kind == USER_NO_ADAPTER || u->elsewhere || u->notes) {
			continue;
		}
		turn_of(s, f, u);
	}
	fault_later(s, f, LOOK_MS);
}

static void moves_begin(struct sim *s, struct fault *f)
{
	fault_later(s, f, LOOK_MS);
}

FAULT(moves) = {
	.family = FAULT_OF_WORLD,
	.number = 23,
	.name = "jobs change their queue",
	.world = "moves",
	.on_request = true, /* older seeds would have another meaning */
	.drops_check = true,
	.draw = moves_draw,
	.begin = moves_begin,
	.turn = moves_turn,
};
