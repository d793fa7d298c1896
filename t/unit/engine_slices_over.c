/* SPDX-License-Identifier: Apache-2.0 */
/* What a slice of an elastic job that is over leaves. */
#include "t/lib/engine_slices.h"

/* The slice 'new' has replaced 'old' on w2, and its job has grown there. */
static struct world *replaced(struct object **old, struct object **new)
{
	struct world *w = slice_grown(old, new);

	slice_finish(w, *old, "WorkloadSliceReplaced");
	quota_at(w, *new, "w2");
	w_settle(w);
	admit(w, 2, new_name);
	w_settle(w);
	clone_condition(w, 2, old_name, "Finished", "WorkloadSliceReplaced", true);
	w_settle(w);
	return w;
}

/* The manager is restored from before that slice was made. */
static void forgotten(void)
{
	struct object *old, *new;
	struct world *w = replaced(&old, &new);

	w_patch(w, old, "{\"status\":{\"conditions\":[" QUOTA "," ADMITTED "]}}");
	w_free_object(new);
	w_restart(w);
	w_settle(w);
	w_del(w, clone_of(w, 2, old_name)); /* with its owner, the copy */
	w_later(w, 60 * 1000);
	ok(!strstr(old->text, "\"Finished\""),
	   "a slice is forgotten, its clone and job go: no end");
	is_str(check_state(w, old), "Retry", "... the job starts anew as it was before");
	w_free(w);
}

static void the_last_one_ends(void)
{
	struct object *old, *new;
	struct world *w = replaced(&old, &new);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":4,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 2, new_name, "Finished", "Succeeded", true);
	w_later(w, 60 * 1000);
	is_int((long long)objects_on(w, 2), 0,
	       "the job ends at its new size: the clones of slices before go as well");
	w_free(w);
}

/* It lost its quota before the slice that replaces it got any: its run is over. */
static void replaced_without_quota(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	w_patch(w, old,
		"{\"status\":{\"clusterName\":null,\"conditions\":[{\"type\":\"Evicted\","
		"\"status\":\"True\",\"reason\":\"Preempted\",\"message\":\"m\"},{\"type\":"
		"\"QuotaReserved\",\"status\":\"False\",\"reason\":\"Pending\",\"message\":\"m\"},"
		"{\"type\":\"Finished\",\"status\":\"True\",\"reason\":"
		"\"WorkloadSliceReplaced\",\"message\":\"m\"}]}}");
	w_later(w, 60 * 1000);
	is_int((long long)objects_on(w, 2), 0,
	       "it was evicted, and then replaced: nothing is kept for the slice that waits");
	w_free(w);
}

/* The slice that replaced it is evicted, gives its quota back, and runs nowhere. */
static void the_next_one_is_evicted(void)
{
	struct object *old, *new;
	struct world *w = replaced(&old, &new);

	evict(w, new, "P");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":0}}");
	w_later(w, 1000);
	release_quota(w, new);
	w_later(w, 60 * 1000);
	is_int((long long)objects_on(w, 2), 0, "the next slice is evicted: both clones go");
	w_free(w);
}

/*
 * The slice is deleted before its job goes by its name, and Kueue makes a Workload anew, which
 * replaces none: the copy of the slice before is the same job's.
 */
static void made_anew_beside_the_copy(void)
{
	struct object *old, *new, *third;
	struct world *w = slice_grown(&old, &new);
	char name[300];

	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, "w2");
	w_settle(w);
	w_link(w, w->links[2], LINK_DOWN);
	w->stay_down[2] = true;
	w_del(w, new);
	w_settle(w);
	third = a_slice(w, slice_name(w, name, 3), NULL, 4);
	quota_at(w, third, NULL);
	w_settle(w);
	admit(w, 1, name);
	w_later(w, 60 * 1000);
	ok(!w_find(w, 1, JOB, "ns", "j"), "the job is not run again beside a copy out of sight");
	w->stay_down[2] = false;
	w_link(w, w->links[2], LINK_UP);
	w_later(w, 120 * 1000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, old_name),
	   "... which goes when it is back");
	is_str(w_str(w, third, "/status/clusterName"), "w1", "... and then the other one wins");
	w_free(w);
}

/*
 * No MultiKueueCluster leads any more to where the job runs, which only the slice before has seen,
 * and a client clears the winner of the next one.
 */
static void copy_out_of_sight(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w2"));
	w_settle(w);
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, NULL);
	w_settle(w);
	admit(w, 1, new_name);
	w_later(w, 60 * 1000);
	ok(!w_find(w, 1, JOB, "ns", "j"), "what the slice before ran out of sight counts");
	w_later(w, 900 * 1000);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "... until it counts as lost");
	w_free(w);
}

/* The user changes the size again while the slice waits: Kueue resizes it, and keeps its name. */
static void resized_while_it_waits(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	w_patch(w, w_find(w, 0, JOB, "ns", "j"),
		"{\"metadata\":{\"generation\":3},\"spec\":{\"parallelism\":3}}");
	w_patch(w, new,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"podSets\":[{\"name\":\"main\","
		"\"count\":3}]}}");
	w_settle(w);
	is_str(remote_size(w), "2", "resized while it waits: nothing before its quota");
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, "w2");
	w_settle(w);
	admit(w, 2, new_name);
	w_settle(w);
	is_str(remote_size(w), "3", "... then the job has that size");
	w_free(w);
}

/* The slice 'of' is replaced in turn, and the next one wins on w1, where the job completes. */
static struct object *completes_elsewhere(struct world *w, struct object *of, char *name)
{
	struct object *third;

	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, old_name));
	w_del(w, clone_of(w, 2, new_name));
	slice_finish(w, of, "WorkloadSliceReplaced");
	third = a_slice(w, slice_name(w, name, 3), new_name, 3);
	quota_at(w, third, NULL);
	w_settle(w);
	admit(w, 1, name);
	w_settle(w);
	w_patch(w, w_find(w, 1, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":4,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 1, name, "Finished", "Succeeded", true);
	w_settle(w);
	return third;
}

/* The manager refuses the job's status for good. */
static void refuse_status(struct world *w)
{
	w->rig = (struct rig){.times = 1000000,
			      .type = OP_MERGE,
			      .cluster = CLUSTER_MANAGER,
			      .kind = JOB,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	w->rig_http = 403;
	w->rig_words = "jobs.batch \"j\" is forbidden: no";
}

static void the_end_is_refused(void)
{
	struct object *old, *new, *third;
	struct world *w = replaced(&old, &new);
	char name[SLICE_NAME];

	refuse_status(w);
	third = completes_elsewhere(w, new, name);
	w_later(w, 60 * 1000);
	ok(!strstr(third->text, "\"Finished\"") && w_find(w, 1, JOB, "ns", "j"),
	   "the last slice ends where it won, and its end is refused: its copy stays");
	w_later(w, 16 * 60 * 1000);
	ok(strstr(third->text, "\"Finished\"") != NULL, "... until it is Finished without");
	ok(w_find(w, 1, JOB, "ns", "j") && clone_of(w, 1, name),
	   "... and a slice before, which won elsewhere, does not delete what is owed");
	w->rig.times = 0;
	w_later(w, 6 * 60 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "4",
	       "... the end comes when the manager takes it");
	is_int((long long)objects_on(w, 1), 0, "... then nothing is left");
	w_free(w);
}

/*
 * The job ends before it has grown, and the manager refuses its status: the slice that waits says
 * so. 'cluster': the winner that Kueue has given it, or NULL.
 */
static void waits_for_a_refused_end(const char *cluster)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	refuse_status(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, cluster);
	w_later(w, 75 * 1000);
	ok(strstr(check_message(w, new), "The job has ended; the manager's API server has refused "
					 "the job's status since ") != NULL,
	   cluster ? "a slice waits to grow: its check says that the job's end is refused"
		   : "... also one that no place has won");
	w->rig.times = 0;
	w_later(w, 6 * 60 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "... until the manager takes it");
	w_free(w);
}

/* The user makes the job bigger before a worker has taken it. */
static void replaced_before_it_won(void)
{
	struct object *old, *new;
	struct world *w = slice_races(&old);

	new = a_slice(w, slice_name(w, new_name, 2), old_name, 4);
	w_settle(w);
	ok(clone_of(w, 1, old_name) && clone_of(w, 2, old_name), "a slice races");
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, NULL);
	w_settle(w);
	ok(clone_of(w, 1, new_name) && clone_of(w, 2, new_name), "it is replaced: the next races");
	ok(!clone_of(w, 1, old_name) && !clone_of(w, 2, old_name),
	   "... and what never ran takes no quota from it");
	w_free(w);
}

/* The copy of an evicted run cannot be removed from w2, and the slice waits on w1 and w2. */
static void replaced_beside_a_copy_that_stays(void)
{
	struct object *old, *new;
	struct world *w = slice_races(&old);

	admit(w, 2, old_name);
	w_settle(w);
	refuse_jobs(w, OP_DELETE, 1000000);
	evict(w, old, "x");
	w_settle(w);
	release_quota(w, old);
	w_settle(w);
	quota_at(w, old, NULL);
	w_later(w, 10 * 1000);
	ok(clone_of(w, 1, old_name) && w_find(w, 2, JOB, "ns", "j"),
	   "a slice races again while its copy is left");
	new = a_slice(w, slice_name(w, new_name, 2), old_name, 4);
	w_settle(w);
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, NULL);
	w_settle(w);
	ok(!clone_of(w, 1, old_name), "it is replaced: its clone goes where no copy is");
	ok(clone_of(w, 2, old_name) != NULL, "... that of the copy stays");
	w_free(w);
}

/* A slice that waited is replaced by one that wins another place. */
static void replaced_by_one_that_won(void)
{
	struct object *old, *new;
	struct world *w = slice_races(&old);

	w->rig = (struct rig){.times = 1000000,
			      .type = OP_DELETE,
			      .cluster = 1,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_UNAVAILABLE};
	new = a_slice(w, slice_name(w, new_name, 2), old_name, 4);
	w_settle(w);
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, NULL);
	w_settle(w);
	admit(w, 2, new_name);
	w_later(w, 60 * 1000);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 1, old_name),
	   "a slice wins, and what the one before waits as cannot be deleted yet");
	w->rig.times = 0;
	w_later(w, 600 * 1000);
	ok(!clone_of(w, 1, old_name) && !clone_of(w, 2, old_name),
	   "... it goes as soon as it can be");
	w_free(w);
}

static const char complete[] = "{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{"
			       "\"type\":\"Complete\",\"status\":\"True\"}]}}";

/* The local job is Complete, and the slice that waited is Finished. */
static void is_over(struct world *w, struct object *slice, const char *what)
{
	ok(strstr(w_find(w, 0, JOB, "ns", "j")->text, "\"Complete\"") != NULL, what);
	is_str(check_state(w, slice), "Pending", "... it does not run again");
	ok(strstr(slice->text, "\"Finished\"") != NULL, "... and the slice is Finished");
}

/* The job ends at its size, which no list of jobs shows to a new process: only its clone. */
static void ends_unlisted(bool listed_later)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_stop(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), complete);
	clone_condition(w, 2, old_name, "Finished", "Succeeded", true);
	w->hold_jobs[2] = true;
	w_start(w);
	w_later(w, 800 * 1000);
	ok(!strstr(new->text, "\"Finished\""),
	   "a clone says that its job ended: its list is awaited");
	if (listed_later) {
		w->hold_jobs[2] = false;
		w_list(w, 2, JOB);
	}
	w_later(w, 110 * 1000);
	is_over(w, new, listed_later ? "... then the end comes home" : "... for so long");
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), listed_later ? "2" : "",
	       "... with what the copy, or its clone, says");
	w_free(w);
}

/* The same, and its TTL was over before a process looked. */
static void ends_and_goes_unseen(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_stop(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	clone_condition(w, 2, old_name, "Finished", "Succeeded", true);
	admit(w, 2, new_name);
	w_start(w);
	w_later(w, 10 * 1000);
	is_over(w, new, "a job went after its end, while a slice waited: its clone tells it");
	w_free(w);
}

/* The end was seen, and the manager refused it while the Workload was replaced. */
static void goes_with_its_end_owed(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	refuse_status(w);
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), complete);
	w_settle(w);
	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, old_name));
	w_settle(w);
	slice_finish(w, old, "WorkloadSliceReplaced");
	w_settle(w);
	quota_at(w, new, "w2");
	w_later(w, 10 * 1000);
	w->rig.times = 0;
	w_later(w, 6 * 60 * 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "an end that was seen outlives its copy, and the Workload that ran");
	is_str(check_state(w, new), "Pending", "... and the job does not run again");
	w_free(w);
}

int main(void)
{
	ends_unlisted(true);
	ends_unlisted(false);
	ends_and_goes_unseen();
	goes_with_its_end_owed();
	forgotten();
	the_last_one_ends();
	replaced_without_quota();
	replaced_before_it_won();
	replaced_beside_a_copy_that_stays();
	replaced_by_one_that_won();
	the_next_one_is_evicted();
	made_anew_beside_the_copy();
	copy_out_of_sight();
	resized_while_it_waits();
	the_end_is_refused();
	waits_for_a_refused_end("w2");
	waits_for_a_refused_end(NULL);
	return done_testing();
}
