/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elastic job that grows: its Workload is replaced by a bigger slice, on
 * the cluster where the job runs.
 */
#include "t/lib/engine_slices.h"

static void grows(const char *reason)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);
	const char *log;

	is_str(remote_size(w), "2", "bigger: nothing happens before there is quota for it");
	slice_finish(w, old, reason);
	w_settle(w);
	is_str(w_take_work(w), "",
	       strcmp(reason, "OutOfSync") ? "a replaced slice: remote objects are kept"
					   : "... also when a core of v0.18.3 calls it OutOfSync");
	quota_at(w, new, "w2");
	w_settle(w);
	log = w_take_work(w);
	ok(strstr(log, "create 2 Workload") && !strstr(log, "create 1 ") &&
		   !strstr(log, "nominate"),
	   "the slice is cloned where its predecessor runs, and not nominated");
	is_str(remote_size(w), "2", "... whose job stays as it is");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"active\":1}}");
	w_advance(w, 2000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "1",
	       "... and is told of meanwhile");
	admit(w, 2, new_name);
	w_settle(w);
	is_str(check_state(w, new), "Ready", "admitted there: it is Ready");
	is_str(remote_size(w), "4", "... and the job grows");
	is_str(w_str(w, w_find(w, 2, JOB, "ns", "j"),
		     "/metadata/annotations/kueue.x-k8s.io~1prebuilt-workload-name"),
	       new_name, "... in the slice's name");
	w_take(w);
	clone_condition(w, 2, old_name, "Finished", "WorkloadSliceReplaced", false);
	w_advance(w, 60 * 1000);
	is_str(w_take_work(w), "", "the old clone ends: nothing is to do");
	ok(clone_of(w, 2, old_name) != NULL, "... and it stays");
	w_del(w, old);
	w_settle(w);
	ok(!clone_of(w, 2, old_name) && w_find(w, 2, JOB, "ns", "j"),
	   "the old slice is deleted: its clone goes, the job does not");
	w_del(w, new);
	w_settle(w);
	is_int((long long)objects_on(w, 2), 0, "with the new one everything goes");
	w_free(w);
}

/* The remote slice is replaced before the local one is. */
static void remote_first(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	clone_condition(w, 2, old_name, "Finished", "WorkloadSliceReplaced", true);
	w_settle(w);
	is_str(w_take_work(w), "", "a clone that was replaced is no end");
	clone_condition(w, 2, old_name, "Finished", "OutOfSync", true);
	w_settle(w);
	is_str(w_take_work(w), "", "... nor one of v0.18.3, when a newer slice is there");
	w_del(w, new);
	clone_condition(w, 2, old_name, "Finished", "OutOfSync", true);
	w_settle(w);
	is_str(check_state(w, old), "Retry", "... else an elastic one starts anew as others do");
	w_free(w);
}

static void deleted_early(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	slice_finish(w, old, "WorkloadSliceReplaced");
	w_settle(w);
	w_del(w, old);
	w_settle(w);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, old_name),
	   "the old slice is deleted before the new one runs: the job runs on");
	quota_at(w, new, "w2");
	w_settle(w);
	admit(w, 2, new_name);
	w_settle(w);
	is_str(remote_size(w), "4", "... and grows");
	w_advance(w, 60 * 1000);
	ok(!clone_of(w, 2, old_name), "... then the old clone goes");
	w_free(w);
}

static void given_up(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	w_del(w, new);
	w_settle(w);
	is_str(w_take_work(w), "", "a slice that never ran goes: nothing remote does");
	is_str(check_state(w, old), "Ready", "... the job runs on as it was");
	w_free(w);
}

static void evicted_meanwhile(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, "w2");
	w_settle(w);
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	evict(w, new, "P");
	w_advance(w, 60 * 1000);
	ok(!w_find(w, 2, JOB, "ns", "j"), "evicted before it runs: the job stops");
	ok(strcmp(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/active"), "2") != 0,
	   "... and no pods are counted, so that its quota can go");
	release_quota(w, new);
	w_settle(w);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, new_name),
	   "... then neither job nor clone of it is left");
	give_quota(w, new);
	w_settle(w);
	is_str(nominated(w, new), "[\"w1\",\"w2\"]", "... and later it is tried anywhere");
	is_str(w_str(w, clone_of(w, 1, new_name), "/spec/podSets/0/count"), "4",
	       "... at the size of its spec");
	w_free(w);
}

static void cluster_lost(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	slice_finish(w, old, "WorkloadSliceReplaced");
	w_settle(w);
	w_link(w, w->links[2], LINK_DOWN);
	w_settle(w);
	quota_at(w, new, "w2");
	w_advance(w, 800 * 1000);
	is_str(check_state(w, new), "Pending", "its cluster is away: it waits");
	w_advance(w, 200 * 1000);
	is_str(check_message(w, new), "Admitting remote lost, Previously: \"Pending\"",
	       "... as long as for a running job");
	w_free(w);
}

/* Another client has a Workload of the slice's name where the job runs: it can never grow there. */
static void name_is_taken(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{}}", new_name);
	w_put(w, 2, KIND_WORKLOAD, text);
	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, "w2");
	w_later(w, 60 * 1000);
	is_str(check_state(w, new), "Retry",
	       "the slice's name is taken there: the job starts anew");
	w_free(w);
}

/* The worker's Kueue deactivates the clone of the slice that waits: it never admits it. */
static void is_deactivated(void)
{
	struct object *old, *new;
	struct world *w = slice_grown(&old, &new);

	slice_finish(w, old, "WorkloadSliceReplaced");
	quota_at(w, new, "w2");
	w_settle(w);
	w_patch(w, clone_of(w, 2, new_name), "{\"spec\":{\"active\":false}}");
	clone_condition(w, 2, new_name, "Evicted", "DeactivatedDueToRequeuingLimitExceeded", false);
	w_later(w, 60 * 1000);
	is_str(check_state(w, new), "Retry", "the slice is deactivated there: so it does");
	w_free(w);
}

static void running_one_is_evicted(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	clone_condition(w, 2, old_name, "Evicted", "Preempted", false);
	w_later(w, 1000);
	is_str(check_state(w, new), "Retry",
	       "the worker evicts the slice that runs: so it is told");
	is_str(check_message(w, new),
	       "Workload evicted on worker cluster: \"w2\", resetting for re-admission. "
	       "Previously: \"Pending\"",
	       "... as without slices");
	evict(w, new, "x");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"suspend\":true}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"spec\":{\"suspend\":true},\"status\":{\"active\":0}}");
	w_later(w, 1000);
	release_quota(w, new);
	w_settle(w);
	give_quota(w, new);
	w_later(w, 60 * 1000);
	ok(clone_of(w, 1, new_name) && !w_find(w, 2, JOB, "ns", "j"),
	   "... and others get their turn, when nothing of it is left there");
	w_free(w);
}

/* Two slices in a row were replaced, and their clones are evicted and stay. */
static void evicted_ones_stay(void)
{
	struct object *new, *third;
	struct world *w = slice_waits(&new, 0);
	char name[64];

	third = a_slice(w, slice_name(w, name, 3), new_name, 6);
	slice_finish(w, new, "WorkloadSliceReplaced");
	clone_condition(w, 2, old_name, "Evicted", "Preempted", false);
	clone_condition(w, 2, new_name, "Evicted", "Preempted", false);
	w_settle(w);
	ok(clone_of(w, 2, old_name) && clone_of(w, 2, new_name) && third,
	   "evicted clones of replaced slices stay: they do not wake each other for ever");
	w_free(w);
}

static void running_one_is_gone(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, old_name));
	w_later(w, 1000);
	is_str(check_state(w, new), "Retry", "the job is deleted there while the slice waits");
	is_str(check_message(w, new), "Admitting remote no longer exists, Previously: \"Pending\"",
	       "... which is told");
	w_free(w);
}

static void gone_as_it_is_admitted(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_del(w, w_find(w, 2, JOB, "ns", "j"));
	w_del(w, clone_of(w, 2, old_name));
	admit(w, 2, new_name);
	w_settle(w);
	ok(!w_find(w, 2, JOB, "ns", "j"), "the job is gone as the slice is admitted: none is made");
	is_str(check_state(w, new), "Retry", "... and another round begins");
	w_free(w);
}

static void kind_is_gone(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 0);

	w_event(w, EV_UNSERVED, 2, JOB)->ev.code = ERR_NOT_FOUND;
	w_later(w, 800 * 1000);
	is_str(check_state(w, new), "Pending", "its kind is not served there any more: it waits");
	w_later(w, 200 * 1000);
	is_str(check_state(w, new), "Retry", "... as long as for a job without slices");
	w_free(w);
}

static void ends_as_it_was(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 600 * 1000);

	w_patch(w, w_find(w, 2, JOB, "ns", "j"),
		"{\"status\":{\"active\":null,\"succeeded\":2,\"conditions\":[{\"type\":"
		"\"Complete\",\"status\":\"True\"}]}}");
	clone_condition(w, 2, old_name, "Finished", "Succeeded", true);
	w_later(w, 1000);
	is_str(w_str(w, w_find(w, 0, JOB, "ns", "j"), "/status/succeeded"), "2",
	       "a job ends at its size while a slice waits: its end comes home");
	ok(strstr(new->text, "\"Finished\"") != NULL, "... the slice is Finished");
	is_int((long long)objects_on(w, 2), 0, "... and nothing is left there");
	w_later(w, 3600 * 1000);
	is_str(check_state(w, new), "Pending", "... nor runs again");
	w_free(w);
}

/* Its spec is edited: its clone is made anew, and the job runs on at the size before. */
static void edited_while_it_waits(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 600 * 1000);

	w_patch(w, new,
		"{\"metadata\":{\"generation\":2},\"spec\":{\"maximumExecutionTimeSeconds\":3600}"
		"}");
	w_take(w);
	w_later(w, 20 * 1000);
	ok(w_find(w, 2, JOB, "ns", "j") && !strstr(w_take(w), "delete 2 Job"),
	   "a slice that waits is edited: the job runs on");
	is_str(w_str(w, clone_of(w, 2, new_name), "/spec/maximumExecutionTimeSeconds"), "3600",
	       "... and its clone is made anew");
	w_free(w);
}

static void finds_no_room(void)
{
	struct object *new;
	struct world *w = slice_waits(&new, 600 * 1000);

	w_apply(w, clone_of(w, 2, new_name),
		"{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":"
		"\"Pending\",\"message\":\"no room\"}]}");
	w_tell(w, clone_of(w, 2, new_name), EV_OBSERVED, VIA_WATCH);
	w_later(w, 60 * 1000);
	is_str(check_message(w, new),
	       "Not admitted yet by the worker where its job runs: w2: has no quota: no room",
	       "a slice that waits says for what");
	is_str(check_state(w, new), "Pending", "... and waits");
	w_later(w, 600 * 1000);
	is_str(check_state(w, new), "Retry", "placementTimeout counts for it, too");
	ok(strstr(check_message(w, new), "No worker admitted it within 10m") != NULL,
	   "... which the check says");
	w_free(w);
}
int main(void)
{
	grows("WorkloadSliceReplaced");
	grows("OutOfSync");
	remote_first();
	deleted_early();
	given_up();
	evicted_meanwhile();
	cluster_lost();
	name_is_taken();
	is_deactivated();
	running_one_is_evicted();
	evicted_ones_stay();
	running_one_is_gone();
	gone_as_it_is_admitted();
	kind_is_gone();
	ends_as_it_was();
	edited_while_it_waits();
	finds_no_room();
	return done_testing();
}
