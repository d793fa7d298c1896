/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another manager with our id, as one that was restored from a backup of ours: what it makes on the
 * workers carries our marks, under names that are not known here.
 */
#include "core/api/names.h"
#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum { THEIRS = 4 };

static mk_str name_of(struct sim *s, const struct fault *f, size_t i)
{
	return arena_printf(&s->arena, JUDGE_THEIRS "%u-%zu", f->variant, i);
}

/* The metadata of what it makes under that name. */
static mk_str marks(struct sim *s, const struct fault *f, mk_str name)
{
	const struct site *site = s->proc[f->proc].site;

	return arena_printf(&s->arena,
			    "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"default\",\"labels\":{"
			    "\"kueue.x-k8s.io/multikueue-origin\":\"%s\","
			    "\"kueue.x-k8s.io/prebuilt-workload-name\":\"%.*s\"},\"annotations\":{"
			    "\"" NAME_MANAGER_ID "\":\"%s\",\"" NAME_WORKLOAD_UID "\":\"of-%.*s\","
			    "\"" NAME_OUR_OWNER_KIND "\":\"batch/v1, Kind=Job\","
			    "\"" NAME_OUR_OWNER_NAME "\":\"%.*s\"}}",
			    STR_ARG(name), site->origin, STR_ARG(name), site->manager_id,
			    STR_ARG(name), STR_ARG(name));
}

/* A clone, and, as after a win, its job. */
static void make(struct sim *s, struct fault *f, size_t i)
{
	struct plane *p = &s->plane[1 + rng_below(&f->rng, (uint64_t)s->n_workers)];
	mk_str name = name_of(s, f, i), meta = marks(s, f, name);

	say(s, "world", "another manager with our id makes %.*s on %s", STR_ARG(name), p->name);
	if (plane_request(
		    p, "POST", WORKLOADS_PATH, NULL,
		    arena_printf(&s->arena,
				 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
				 "%.*s,\"spec\":{\"queueName\":\"lq\",\"active\":true,\"podSets\":"
				 "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
				 "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
				 "\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
				 STR_ARG(meta))) == 201) {
		judge_twin_made(s, s->proc[f->proc].site, p, name);
	}
	if (rng_chance(&f->rng, 1, 2)) {
		(void)plane_request(
			p, "POST", JOBS_PATH, NULL,
			arena_printf(
				&s->arena,
				"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",%.*s,\"spec\":{"
				"\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":"
				"\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
				STR_ARG(meta)));
	}
}

static void twin_turn(struct sim *s, struct fault *f)
{
	size_t i = (size_t)rng_below(&f->rng, THEIRS);

	if (!f->on) {
		return;
	}
	world_unmake(s, name_of(s, f, i));
	if (rng_chance(&f->rng, 3, 4)) {
		make(s, f, i);
	}
	fault_later(s, f, rng_range(&f->rng, 500, 20000));
}

/* It lives for long enough to be known: a leader must have led for minutes. */
static void twin_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)s;
	f->at = rng_range(r, 0, 20000);
	f->until = f->at + rng_range(r, 3 * MINUTE, 12 * MINUTE);
}

/* Its jobs are gone before the end is judged: nothing of any manager is left then. */
static void twin_over(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < THEIRS; i++) {
		world_unmake(s, name_of(s, f, i));
	}
}

/* The restore of a worker brings them back, and that manager collects its garbage as ours does. */
static void twin_restored(struct sim *s, struct fault *f, const struct plane *p)
{
	if (is_worker(p) && !f->on) {
		twin_over(s, f);
	}
}

FAULT(twin) = {
	.family = FAULT_OF_WORLD,
	.number = 25,
	.name = "another manager has our id",
	.world = "twin",
	.on_request = true,
	.stays = true,
	.unsettled = true,
	.draw = twin_draw,
	.begin = twin_turn,
	.turn = twin_turn,
	.over = twin_over,
	.restored = twin_restored,
};
