/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server does: it ends watches, forgets, starts anew, refuses requests. */
#include "t/sim/sim.h"

static void end_begin(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	ks_watch_end_all(p->store);
	plane_watches(p);
}

/* All of them, cleanly. */
FAULT(end) = {
	.family = FAULT_OF_MACHINES,
	.number = 5,
	.name = "watches ended",
	.begin = end_begin,
};

static void compact_begin(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	ks_compact(p->store);
	plane_end_streams(p, TRANSPORT_LOST);
}

/* History is forgotten: a watch that is resumed gets 410. */
FAULT(compact) = {
	.family = FAULT_OF_MACHINES,
	.number = 6,
	.name = "410",
	.begin = compact_begin,
};

static void restart_begin(struct sim *s, struct fault *f)
{
	compact_begin(s, f);
	s->plane[f->plane].refuse = true;
}

static void restart_over(struct sim *s, struct fault *f)
{
	s->plane[f->plane].refuse = false;
}

/* It loses its history, and refuses connections until it is there again. */
FAULT(restart) = {
	.family = FAULT_OF_MACHINES,
	.number = 9,
	.name = "server restart",
	.begin = restart_begin,
	.over = restart_over,
};

static void limit_set(struct sim *s, struct fault *f, bool on)
{
	s->plane[f->plane].limit = on;
}

FAULT(limit) = {
	.family = FAULT_OF_MACHINES,
	.number = 13,
	.name = "429",
	.set = limit_set,
};

static void error_set(struct sim *s, struct fault *f, bool on)
{
	s->plane[f->plane].error = on;
}

FAULT(error) = {
	.family = FAULT_OF_MACHINES,
	.number = 14,
	.name = "503",
	.set = error_set,
};

/* First another token, or nonsense; in the end something good again. */
static void rewrite_secret(struct sim *s, const struct fault *f, bool broken)
{
	if (is_worker(&s->plane[f->plane])) {
		plane_secret(s, f->plane, broken);
	}
}

static void secret_begin(struct sim *s, struct fault *f)
{
	rewrite_secret(s, f, f->at % 2 == 0);
}

static void secret_over(struct sim *s, struct fault *f)
{
	rewrite_secret(s, f, false);
}

FAULT(secret) = {
	.family = FAULT_OF_MACHINES,
	.number = 16,
	.name = "kubeconfig rewritten",
	.begin = secret_begin,
	.over = secret_over,
};
