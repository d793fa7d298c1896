/* SPDX-License-Identifier: Apache-2.0 */
/* Another living manager with our id: a copy of this one, restored from its backup elsewhere. */
#include "t/lib/engine_world.h"

enum { MINUTE = 60 * 1000 };

/* A clone as the other manager makes it; 'more': of its metadata, ",\"finalizers\":[]" or so. */
static const char *clone_text(const char *name, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"labels\":{"
		 "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},"
		 "\"annotations\":{\"multikueued.io/manager-id\":\"manager-id\","
		 "\"multikueued.io/workload-uid\":\"theirs-%s\"}%s},\"spec\":{}}",
		 name, name, more);
	return text;
}

static void theirs(struct world *w, cluster_id c, const char *name)
{
	w_put(w, c, KIND_WORKLOAD, clone_text(name, ""));
	w_settle(w);
}

/* A manager that has led for long enough, with a job that runs on w2. */
static struct world *a_manager(void)
{
	struct world *w = w_new(2);

	w->full = true;
	(void)running_job(w);
	w_later(w, 3 * MINUTE);
	w_take(w);
	return w;
}

static size_t events(const char *log)
{
	return w_times(log, "and was not made by it: another manager has the same id");
}

static void is_found(void)
{
	struct world *w = a_manager();
	struct object *wl;
	const char *log;

	theirs(w, 1, "wl-x");
	log = w_take(w);
	ok(clone_of(w, 1, "wl-x") != NULL, "what another manager with our id makes is left");
	is_int((int)events(log), 1, "an Event says that there is one");
	ok(strstr(log,
		  "Workload ns/wl-x has this manager's id (manager-id) and was not made by it"),
	   "... and by which object it is known");
	wl = a_job(w, "k");
	w_later(w, 3 * MINUTE);
	ok(!clone_of(w, 1, "wl-k") && clone_of(w, 2, "wl-k"),
	   "nothing new is sent to that worker, others get it");
	ok(strstr(check_message(w, wl), "w1: gets nothing new until 2027-01-15T08:13:00Z: another "
					"manager with this one's id makes objects there"),
	   "the check's message says so, and until when");
	ok(clone_of(w, 1, "wl-x") != NULL, "the collector leaves what is there");
	theirs(w, 1, "wl-y");
	is_int((int)events(w_take(w)), 0, "one Event is enough");
	ok(w_find(w, 2, JOB, "ns", "j") != NULL, "jobs run on elsewhere");
	w_later(w, 9 * MINUTE);
	ok(clone_of(w, 1, "wl-x") && clone_of(w, 1, "wl-y") && !clone_of(w, 1, "wl-k"),
	   "and that it lasts for ten minutes after the last of its objects");
	w_later(w, 3 * MINUTE);
	ok(!clone_of(w, 1, "wl-x") && !clone_of(w, 1, "wl-y"), "then garbage goes");
	ok(clone_of(w, 1, "wl-k") != NULL, "and new work is sent there");
	is_int((int)events(w_take(w)), 0, "without an Event");
	w_free(w);
}

/* A process that comes after it has not seen the other manager, and cannot for two minutes. */
static void on_record(void)
{
	struct world *w = a_manager();

	is_str(clash_of(w), "", "in a plain life there is no condition");
	theirs(w, 1, "wl-x");
	is_str(clash_of(w), "True ManagerIdShared", "what was seen is on record");
	w_take(w);
	w_restart(w);
	(void)a_job(w, "k");
	w_later(w, 8 * MINUTE);
	ok(clone_of(w, 1, "wl-x") != NULL, "a process after it leaves what the other has made");
	ok(!clone_of(w, 1, "wl-k") && clone_of(w, 2, "wl-k"), "... and sends nothing new there");
	is_int((int)events(w_take(w)), 0, "... without another Event");
	w_later(w, 5 * MINUTE);
	ok(!clone_of(w, 1, "wl-x") && clone_of(w, 1, "wl-k"), "for ten minutes");
	is_str(clash_of(w), "False NoOtherManager", "then the record says that it is over");
	w_restart(w);
	w_later(w, MINUTE);
	theirs(w, 1, "wl-y");
	w_later(w, 4 * MINUTE);
	ok(!clone_of(w, 1, "wl-y"), "the next process does not wait");
	w_free(w);
}

/* What runs there goes on, and what its user deletes goes. */
static void ours_go_on(void)
{
	struct world *w = a_manager();

	theirs(w, 2, "wl-x");
	w_later(w, 2 * MINUTE);
	ok(w_find(w, 2, JOB, "ns", "j") && clone_of(w, 2, "wl-j"), "a job there runs on");
	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, clone_of(w, 0, "wl-j"));
	w_later(w, 5000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "and goes when its user deletes it");
	ok(clone_of(w, 2, "wl-x") != NULL, "alone");
	w_free(w);
}

/* --- what is no sign of another --------------------------------------------------------------- */

static void is_no_sign(struct world *w, const char *what)
{
	w_settle(w);
	w_later(w, 2 * MINUTE);
	is_int((int)events(w_take(w)), 0, what);
	w_free(w);
}

static void listed(void)
{
	struct world *w = a_manager();

	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	w_put(w, 1, KIND_WORKLOAD, clone_text("wl-x", ""));
	w_link(w, 1, LINK_UP);
	is_no_sign(w, "no alarm: a list shows the object");
}

/* It was out of what the watch shows, for lack of its label. */
static void old(void)
{
	struct world *w = a_manager();
	struct object *o = w_put(w, 1, KIND_WORKLOAD, clone_text("wl-x", ""));

	o->hidden = true;
	w_drop(w, w->n_q);
	w_later(w, 2 * MINUTE);
	o->hidden = false;
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	is_no_sign(w, "... it is older than that");
}

static void of_a_copy(void)
{
	struct world *w = a_manager();

	w_put(w, 1, KIND_WORKLOAD,
	      clone_text("wl-x", ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
				 "\"Job\",\"name\":\"x\",\"uid\":\"x\"}]"));
	is_no_sign(w, "... Kueue there has made it for a copy");
}

static void of_the_leader_before(void)
{
	struct world *w = a_manager();

	w_restart(w);
	w_later(w, MINUTE);
	w_put(w, 1, KIND_WORKLOAD, clone_text("wl-x", ""));
	is_no_sign(w, "... the leader before this one may have made it");
}

static void of_a_workload_that_is_gone(void)
{
	struct world *w = a_manager();

	w_del(w, w_find(w, 0, JOB, "ns", "j"));
	w_del(w, clone_of(w, 0, "wl-j"));
	w_later(w, MINUTE);
	w_put(w, 1, KIND_WORKLOAD, clone_text("wl-j", ""));
	is_no_sign(w, "... there was a Workload of this name: a create of ours comes late");
}

/* --- an id of its own ------------------------------------------------------------------------- */

static void own_id(void)
{
	struct world *w = w_new(2);
	struct object *o;

	w->own_id = "west";
	w_restart(w);
	w_settle(w);
	o = running_job(w);
	is_str(w_str(w, clone_of(w, 2, "wl-j"), "/metadata/annotations/multikueued.io~1manager-id"),
	       "west", "multiKueue.managerId marks clones in place of the uid");
	w_later(w, 3 * MINUTE);
	w_take(w);
	theirs(w, 1, "wl-x");
	w_later(w, 3 * MINUTE);
	ok(clone_of(w, 1, "wl-x") != NULL, "what has the uid is another manager's then, and left");
	w_put(w, 1, KIND_WORKLOAD,
	      "{\"metadata\":{\"name\":\"wl-y\",\"namespace\":\"ns\",\"labels\":{"
	      "\"kueue.x-k8s.io/multikueue-origin\":\"multikueue\"},\"annotations\":{"
	      "\"multikueued.io/manager-id\":\"west\"}},\"spec\":{}}");
	w_later(w, 1000);
	ok(!clone_of(w, 1, "wl-y"), "and garbage has this id");
	is_str(check_state(w, o), "Ready", "jobs run");
	w_free(w);
}

int main(void)
{
	own_id();
	is_found();
	on_record();
	ours_go_on();
	listed();
	old();
	of_a_copy();
	of_the_leader_before();
	of_a_workload_that_is_gone();
	return done_testing();
}
