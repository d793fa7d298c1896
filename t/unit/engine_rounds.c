/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatchers that need time, or that are chosen for one queue: rounds of the
 * incremental one, across a restart too; the annotation; nominations that do not stay;
 * names that the config does not know.
 */
#include "t/lib/engine_world.h"

#define INCREMENTAL "kueue.x-k8s.io/multikueue-dispatcher-incremental"

static struct world *incremental_world(size_t workers)
{
	struct world *w = w_new(workers);

	w_plugin(w, &mk_entry_incremental);
	w_stop(w);
	w->dispatcher = INCREMENTAL;
	w_restart(w);
	w_settle(w);
	return w;
}

static size_t clones(struct world *w, size_t workers)
{
	size_t n = 0;

	for (size_t i = 1; i <= workers; i++) {
		n += clone_of(w, (cluster_id)i, "wl-j") != NULL;
	}
	return n;
}

static void rounds(void)
{
	struct world *w = incremental_world(5);
	struct object *wl = a_job(w, "j");
	size_t requests;

	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\"]", "three to begin with, in config order");
	is_int((int)clones(w, 5), 3, "... and a clone on each");
	w_advance(w, 298 * 1000); /* the stored time has no fractions */
	is_int((int)clones(w, 5), 3, "a round is five minutes");
	w_advance(w, 2 * 1000);
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\",\"w4\",\"w5\"]",
	       "trap_36: exactly then the rest");
	is_int((int)clones(w, 5), 5, "... with clones");
	requests = w->requests;
	w_advance(w, 3600 * 1000);
	is_int((int)(w->requests - requests), 0, "no cluster left to try is a state, and silent");
	w_free(w);
}

static void rejected_in_a_round(void)
{
	struct world *w = incremental_world(4);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	is_int((int)clones(w, 4), 3, "a round is under way");
	w_patch(w, wl,
		"{\"status\":{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Rejected\"}]}}");
	w_settle(w);
	w_advance(w, 1000);
	is_int((int)clones(w, 4), 0, "a Rejected check takes all clones with it");
	w_free(w);
}

static void rounds_across_a_restart(void)
{
	struct world *w = incremental_world(4);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	w_advance(w, 200 * 1000);
	w_restart(w);
	w_settle(w);
	w_advance(w, 60 * 1000);
	is_int((int)clones(w, 4), 3, "a restart does not begin the next round");
	w_advance(w, 40 * 1000);
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\",\"w4\"]", "... which comes when it is due");
	queue_again(w, wl);
	is_int((int)clones(w, 4), 3, "quota lost and won: from the beginning");
	w_free(w);
}

static void a_round_without_anybody(void)
{
	struct world *w = incremental_world(4);
	struct object *wl;

	w_link(w, w->links[2], LINK_DOWN);
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\",\"w3\",\"w4\"]", "who is not connected is passed over");
	w_free(w);
}

static void chosen_by_annotation(void)
{
	struct world *w = w_new(4);
	struct object *check = w_find(w, 0, KIND_CHECK, "", "mk");
	struct object *config = w_find(w, 0, KIND_CONFIG, "", "cfg");
	struct object *wl;

	w_plugin(w, &mk_entry_incremental);
	w->full = true;
	w_patch(w, config,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":\"" INCREMENTAL
		"\"}}}");
	w_settle(w);
	wl = a_job(w, "j");
	w_settle(w);
	is_int((int)clones(w, 4), 3, "the config's annotation chooses");
	release_quota(w, wl);
	w_settle(w);
	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":"
		"\"kueue.x-k8s.io/multikueue-dispatcher-all-at-once\"}}}");
	w_settle(w);
	give_quota(w, wl);
	w_settle(w);
	is_int((int)clones(w, 4), 4, "... and the check's before it");
	release_quota(w, wl);
	w_settle(w);
	w_patch(w, check,
		"{\"metadata\":{\"annotations\":{\"multikueued.io/dispatcher\":\"nobody\"}}}");
	w_settle(w);
	(void)w_take(w);
	give_quota(w, wl);
	w_settle(w);
	is_int((int)clones(w, 4), 0, "an unknown name dispatches nowhere");
	ok(strstr(w_take(w), "No dispatcher is named \\\"nobody\\\"") != NULL,
	   "... and an Event tells");
	w_free(w);
}

static void names_of_others(void)
{
	struct world *w = w_new(2);
	struct object *wl;
	const char *log;

	w_stop(w);
	w->dispatcher = "example.com/ours";
	w_restart(w);
	w_settle(w);
	w->full = true;
	wl = a_job(w, "j");
	w_settle(w);
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w1\",\"mars\"]}}");
	(void)w_take(w);
	w_settle(w);
	log = w_take(w);
	ok(strstr(log, "\\\"mars\\\" is not in MultiKueueConfig \\\"cfg\\\"") != NULL,
	   "trap_34: a name that the config does not know is told");
	ok(clone_of(w, 1, "wl-j") != NULL, "... the others are tried");
	w_advance(w, 3600 * 1000);
	ok(!strstr(w_take(w), "mars"), "... once, and nothing is written over it");
	w_free(w);
}

static void nominations_that_do_not_stay(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	size_t requests;

	w_settle(w);
	w->full = true;
	(void)w_take(w);
	for (int i = 0; i < 40; i++) {
		w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w1\",\"mars\"]}}");
		w_settle(w);
	}
	ok(strstr(w_take(w), "does not stay as it was written") != NULL, "a tug-of-war is told");
	requests = w->requests;
	w_patch(w, wl, "{\"status\":{\"nominatedClusterNames\":[\"w1\"]}}");
	w_settle(w);
	is_int((int)(w->requests - requests), 0, "... and we let go for a while");
	w_advance(w, 61 * 1000);
	is_str(nominated(w, wl), "[\"w1\",\"w2\"]", "... but not for ever");
	w_free(w);
}

int main(void)
{
	rounds();
	rejected_in_a_round();
	rounds_across_a_restart();
	a_round_without_anybody();
	chosen_by_annotation();
	names_of_others();
	nominations_that_do_not_stay();
	return done_testing();
}
