/* SPDX-License-Identifier: Apache-2.0 */
/* A server shows what is old, or goes back to it. */
#include <string.h>

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

/* Does the server have an object that is named after the user's job: itself, a Workload, a Pod? */
static bool concerns(const struct plane *p, const struct user *u, const char *resource)
{
	size_t pos = 0;
	const struct json *o;

	while ((o = ks_each(p->store, resource, &pos)) != NULL) {
		mk_str name = json_str_at(o, "/metadata/name");

		if (memmem(name.p, name.n, u->name, strlen(u->name)) != NULL) {
			return true;
		}
	}
	return false;
}

/*
 * Of whom the server has something now, before it goes back or after: of others the restore can
 * have brought nothing back, and taken nothing.
 */
static void meddles(struct sim *s, const struct plane *p)
{
	for (size_t i = 0; i < s->n_users; i++) {
		struct user *u = &s->user[i];
		bool any = concerns(p, u, WORKLOADS) || concerns(p, u, PODS);

		for (size_t k = 0; !any && job_resource(s, k) != NULL; k++) {
			any = concerns(p, u, job_resource(s, k));
		}
		u->meddled |= any;
	}
}

static void restore_begin(struct sim *s, struct fault *f)
{
	arena_init(&f->arena, 0);
	f->snapshot = ks_snapshot(s->plane[f->plane].store, &f->arena);
}

static void restore_over(struct sim *s, struct fault *f)
{
	struct plane *p = &s->plane[f->plane];

	meddles(s, p);
	plane_restore(p, f->snapshot);
	meddles(s, p);
	for (size_t i = 0; i < s->n_users; i++) {
		/* Its end was told, its last status perhaps not; both are forgotten there. */
		judged_of(s, &s->user[i])->taken |= s->user[i].verdict[p->index] != 0;
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
