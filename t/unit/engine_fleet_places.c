/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a dispatcher that compares all workers of a large fleet by their queues:
 * engine_fleet_places WORKERS QUESTIONS asks multikueued.io/placement so often, each time about
 * another Workload after a queue has changed, for t/unit/engine_fleet_places.t. Alone it shows that
 * the answer is the right one.
 */
#include "t/lib/engine_probe.h"

extern const mk_entry mk_entry_placement;

/* 'n' workers with a queue of ten cpu each, of which 'used' are taken; all but the last are. */
static struct world *fleet_of(size_t n)
{
	struct world *w = w_new(1);
	char text[512];
	struct mk_err err;

	w_stop(w);
	if (plug_add(w->plug, &mk_entry_placement, "", &err) != ERR_OK) {
		printf("Bail out! no plugin: %s\n", err.msg);
		exit(1);
	}
	w->dispatcher = "multikueued.io/placement";
	w_restart(w);
	for (size_t i = 2; i <= n; i++) {
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"w%zu\",\"namespace\":\"kueue-system\"},"
			 "\"data\":{\"kubeconfig\":\"k%zu\"}}",
			 i, i);
		w_put(w, 0, KIND_SECRET, text);
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"w%zu\",\"generation\":1,\"labels\":{\"fleet\":"
			 "\"a\",\"region\":\"r%zu\",\"gpu\":\"h100\"},\"annotations\":{"
			 "\"multikueued.io/cost\":\"%zu\"}},\"spec\":{\"clusterSource\":{"
			 "\"kubeConfig\":{\"location\":\"w%zu\",\"locationType\":\"Secret\"}}}}",
			 i, i % 7, i % 5, i);
		w_put(w, 0, KIND_CLUSTER, text);
		w->log[0] = 0;
	}
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":\"fleet=a\"}"
		"}}");
	w_settle(w);
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
