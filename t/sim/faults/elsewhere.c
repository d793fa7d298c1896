/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A MultiKueueCluster leads to another API server: to another worker's, in exchange or beside its
 * own name, or to one that was built anew and has nothing of ours; while daemons run or are down,
 * and back later or never. Servers hide who they are, and operators declare some of them lost.
 */
#include "t/sim/sim.h"

static void elsewhere_prepare(struct sim *s)
{
	s->n_spares = 1;
}

static void elsewhere_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = rng_range(r, 1000, 40000);
	f->until = f->at + (rng_chance(r, 1, 2) ? rng_range(r, 5000, 80000)
						: rng_range(r, 2 * MINUTE, 25 * MINUTE));
	for (size_t i = 0; i < s->n_users; i++) {
		if (rng_chance(r, 1, 2)) {
			s->user[i].run_ms = rng_range(r, 10 * SECOND, 4 * MINUTE);
		}
	}
	users_clear_later(s);
	for (size_t i = leads_named(s) + 1; i <= s->n_workers; i++) {
		s->plane[i].bad_until = INT64_MAX; /* none of ours has ever been there */
		s->plane[i].bad_since = INT64_MIN / 2;
	}
}

static size_t some_name(const struct sim *s, struct rng *r)
{
	return 1 + (size_t)rng_below(r, leads_named(s));
}

static struct plane *some_server(struct sim *s, struct rng *r)
{
	return &s->plane[1 + rng_below(r, s->n_workers)];
}

static void stop_daemons(struct sim *s, struct rng *r)
{
	for (size_t i = 0; i < s->n_procs; i++) {
		proc_restart(&s->proc[i], rng_range(r, 10, 20000));
	}
}

static void move(struct sim *s, struct rng *r)
{
	size_t name = some_name(s, r), other = some_name(s, r), to = leads_to(s, name);

	if (rng_chance(r, 1, 3)) {
		leads_move(s, name, leads_to(s, other)); /* an exchange */
		leads_move(s, other, to);
	} else {
		leads_move(s, name, some_server(s, r)->index);
	}
}

/*
 * Beside no move: a server that hides who it is counts as the one on record, and when its name
 * leads back to that one, nothing on the manager tells that jobs were sent elsewhere meanwhile.
 */
static void hide(struct sim *s, struct rng *r)
{
	struct plane *p = some_server(s, r);
	size_t name = some_name(s, r);

	p->hides_identity = !p->hides_identity;
	say(s, "world", "%s %s its identity", p->name, p->hides_identity ? "hides" : "shows");
	leads_move(s, name, name); /* connected anew */
}

/* Whether or not anything runs there: an operator says so. */
static void declare_lost(struct sim *s, struct rng *r)
{
	struct plane *p = some_server(s, r);

	if (rng_chance(r, 1, 2) && !leads_any(s, p) && p->bad_since >= 0) {
		leads_declare_lost(s, p);
	}
}

static void elsewhere_turn(struct sim *s, struct fault *f)
{
	struct rng *r = &f->rng;

	if (!f->on) {
		return;
	}
	if (rng_chance(r, 1, 3)) {
		stop_daemons(s, r);
	}
	if (f->variant >= 6) {
		hide(s, r);
	} else {
		move(s, r);
		declare_lost(s, r);
	}
	fault_later(s, f,
		    rng_chance(r, 1, 4) ? rng_range(r, 2 * MINUTE, 12 * MINUTE)
					: rng_range(r, 1000, 40000));
}

/*
 * All of it is taken back, or it stays as it is. Who a server is is asked for on connecting only: a
 * process that began later would know more.
 */
static void elsewhere_over(struct sim *s, struct fault *f)
{
	stop_daemons(s, &f->rng);
	for (size_t i = 1; f->variant % 4 < 2 && i <= leads_named(s); i++) {
		leads_move(s, i, i);
	}
	for (size_t i = 1; i <= s->n_workers; i++) {
		s->plane[i].hides_identity &= f->variant % 2 != 0;
	}
}

FAULT(elsewhere) = {
	.family = FAULT_OF_WORLD,
	.number = 29,
	.name = "a name leads elsewhere",
	.world = "elsewhere",
	.on_request = true,
	.alone = "the judge knows by name what other worlds do to a worker",
	.stays = true,
	.unsettled = true,
	.prepare = elsewhere_prepare,
	.draw = elsewhere_draw,
	.begin = elsewhere_turn,
	.turn = elsewhere_turn,
	.over = elsewhere_over,
};
