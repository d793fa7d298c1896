/* SPDX-License-Identifier: Apache-2.0 */
/* A server shows what is old, or goes back to it. */
#include "t/sim/churn.h"
#include "t/sim/sim.h"

static void lag_begin(struct sim *s, struct fault *f)
{
	plane_lag(&s->plane[f->plane], true);
}

static void lag_over(struct sim *s, struct fault *f)
{
	if (faults_on(s, f->kind, f->plane)) {
		upkeep(s);
	} else {
		plane_lag(&s->plane[f->plane], false);
	}
}

/* Lists and watches. */
FAULT(lag) = {
	.family = FAULT_OF_CHURN,
	.number = 22,
	.name = "lagging server",
	.hits_managers = true,
	.begin = lag_begin,
	.over = lag_over,
};

static void restore_begin(struct sim *s, struct fault *f)
{
	arena_init(&f->arena, 0);
	f->snapshot = ks_snapshot(s->plane[f->plane].store, &f->arena);
}

static void restore_over(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	plane_restore(p, f->snapshot);
	for (size_t i = 0; i < s->n_users; i++) {
		/* Its end was told, its last status perhaps not; both are forgotten there. */
		judged_of(s, &s->user[i])->taken |= s->user[i].verdict[p->index] != 0;
		s->user[i].meddled = true;
	}
	groups_forgotten(s, p);
	upkeep(s);
	if (!is_worker(p)) {
		world_know_manager(p->site); /* of before it was built anew, perhaps */
		users_restored(s, p->site);
	}
	churn_restored(s, p);
}

/* Of a worker's store or a manager's, as from a backup of etcd. */
FAULT(restore) = {
	.family = FAULT_OF_CHURN,
	.number = 23,
	.name = "restore from a snapshot",
	.hits_managers = true,
	.begin = restore_begin,
	.over = restore_over,
};
