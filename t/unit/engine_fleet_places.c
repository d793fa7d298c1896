/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a dispatcher that compares all workers of a large fleet by their queues:
 * engine_fleet_places WORKERS QUESTIONS asks multikueued.io/placement so often, each time about
 * another Workload after a queue has changed, for t/unit/engine_fleet_places.t. Alone it shows that
 * the answer is the right one.
 */
#include "t/lib/engine_fleet.h"
#include "t/lib/engine_probe.h"

/* 'n' workers with a queue of ten cpu each: of the last but one six are free, of the others one. */
static struct world *fleet_of(size_t n)
{
	static const mk_entry *const plugins[] = {&mk_entry_placement, NULL};
	struct world *w = fleet_new(n, plugins, "multikueued.io/placement");

	for (size_t i = 1; i <= n; i++) {
		probe_queue(w, (cluster_id)i, "cq", "", "\"nominalQuota\":\"10\"",
			    i + 1 == n ? "4" : "9");
		w->log[0] = 0;
	}
	w_restart(w);
	w_settle(w);
	w->log[0] = 0;
	return w;
}

static void ask(size_t workers, int questions)
{
	struct world *w = fleet_of(workers);
	char name[32];

	for (int i = 0; i < questions; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		(void)probe_job(w, name);
		w->log[0] = 0;
	}
	w_free(w);
}

static void finds_room(size_t workers)
{
	struct world *w = fleet_of(workers);
	struct object *wl = probe_job(w, "j");
	char name[32];

	snprintf(name, sizeof(name), "[\"w%zu\"]", workers - 1);
	is_str(nominated(w, wl), name, "the only worker of the fleet that has room is tried");
	w_free(w);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		ask((size_t)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
		return 0;
	}
	finds_room(20);
	finds_room(1000);
	return done_testing();
}
