/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half of the jobs are groups of Pods, whose members end, fail, are deleted and replaced, and are
 * removed on the worker right after their end; or single Pods. t/sim/groups.c plays who does that.
 */
#include "t/sim/sim.h"

enum { TURN_MS = 300 };

static void groups_prepare(struct sim *s)
{
	s->pods = true;
}

static void draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->at = 1000;
	f->until = 2000; /* what follows disturbs nothing */
	groups_draw(s, GROUP_SIZE, r);
}

static void turn(struct sim *s, struct fault *f)
{
	groups_turn(s, &f->rng);
	fault_later(s, f, TURN_MS);
}

static void begin(struct sim *s, struct fault *f)
{
	fault_later(s, f, TURN_MS);
}

FAULT(groups) = {
	.family = FAULT_OF_WORLD,
	.number = 21,
	.name = "groups of Pods",
	.world = "groups",
	.alone = "what its Pods do there is not known to other worlds",
	.beside = "refusals,fields",
	.on_request = true, /* older seeds would have another meaning */
	.prepare = groups_prepare,
	.draw = draw,
	.begin = begin,
	.turn = turn,
};

static void single_draw(struct sim *s, struct fault *f, struct rng *r)
{
	f->until = f->at;
	groups_draw(s, 1, r);
}

FAULT(pods) = {
	.family = FAULT_OF_WORLD,
	.number = 28,
	.name = "Pods without a group",
	.world = "pods",
	.alone = "what its Pods do there is not known to other worlds",
	.beside = "refusals,fields",
	.on_request = true, /* older seeds would have another meaning */
	.prepare = groups_prepare,
	.draw = single_draw,
	.begin = begin,
	.turn = turn,
};
