/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MultiKueue of another manager's Kueue dispatches to the same workers, with the same default
 * origin and without an id of its manager: what it makes there is not ours, whatever happens.
 */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

enum { THEIRS = 4 };

static mk_str name_of(struct sim *s, const struct fault *f, size_t i)
{
	return arena_printf(&s->arena, "theirs-%u-%zu", f->variant, i);
}

static struct plane *drawn_worker(struct sim *s, struct fault *f)
{
	return &s->plane[1 + rng_below(&f->rng, (uint64_t)s->n_workers)];
}

/* A clone, and, as after a win, its job. */
static void make(struct sim *s, struct fault *f, size_t i)
{
	struct plane *p = drawn_worker(s, f);
	mk_str name = name_of(s, f, i);

	(void)plane_request(
		p, "POST", WORKLOADS_PATH, NULL,
		arena_printf(&s->arena,
			     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			     "\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"default\",\"labels\":"
			     "{\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"}},\"spec\":{"
			     "\"queueName\":\"lq\",\"active\":true,\"podSets\":[{\"name\":\"main\","
			     "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
			     "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
			     STR_ARG(name)));
	if (rng_chance(&f->rng, 1, 2)) {
		(void)plane_request(
			p, "POST", JOBS_PATH, NULL,
			arena_printf(&s->arena,
				     "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
				     "\"name\":\"%.*s\",\"namespace\":\"default\",\"labels\":{"
				     "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\","
				     "\"kueue.x-k8s.io/prebuilt-workload-name\":\"%.*s\"}},"
				     "\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
				     "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
				     "\"image\":\"i\"}]}}}}",
				     STR_ARG(name), STR_ARG(name)));
	}
	say(s, "world", "another manager's Kueue makes %.*s on %s", STR_ARG(name), p->name);
}

static void neighbour_turn(struct sim *s, struct fault *f)
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

static void neighbour_draw(struct sim *s, struct fault *f, struct rng *r)
{
	(void)s;
	f->at = rng_range(r, 0, 20000);
}

/* Its jobs are gone before the end is judged: nothing of any manager is left then. */
static void neighbour_over(struct sim *s, struct fault *f)
{
	for (size_t i = 0; i < THEIRS; i++) {
		world_unmake(s, name_of(s, f, i));
	}
}

/* The restore of a worker brings them back, and that manager collects its garbage as ours does. */
static void neighbour_restored(struct sim *s, struct fault *f, const struct plane *p)
{
	if (is_worker(p) && !f->on) {
		neighbour_over(s, f);
	}
}

FAULT(neighbour) = {
	.family = FAULT_OF_WORLD,
	.number = 19,
	.name = "another manager's Kueue",
	.world = "neighbour",
	.draw = neighbour_draw,
	.begin = neighbour_turn,
	.turn = neighbour_turn,
	.over = neighbour_over,
	.restored = neighbour_restored,
};
