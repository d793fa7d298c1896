/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two managers with one origin on one worker: each sees it by the other's annotations, writes
 * an Event, and deletes nothing.
 */
#include "t/lib/engine_world.h"

#define CLASH "multikueued.io/OriginClash"

static struct object *theirs(struct world *w, const char *manager)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"theirs\",\"namespace\":\"ns\",\"labels\":{\"kueue.x-k8s."
		"io/multikueue-origin\":\"multikueue\"},\"annotations\":{%s}},\"spec\":{}}",
		manager);
	return w_put(w, 1, KIND_WORKLOAD, text);
}

static size_t count(const char *log, const char *what)
{
	size_t n = 0;

	for (const char *at = strstr(log, what); at; at = strstr(at + 1, what)) {
		n++;
	}
	return n;
}

static void told(void)
{
	struct world *w = w_new(3);
	const char *log;

	w_take(w);
	w->full = true;
	theirs(w, "\"multikueued.io/manager-id\":\"another\"");
	w_settle(w);
	is_str(clash_of(w), "True AnotherManager", "trap_55: the cluster has a condition");
	is_str(w_str(w, w_find(w, 0, KIND_CLUSTER, "", "w1"), "/status/conditions/0/type"),
	       "Active", "Active stays beside it");
	log = w_take(w);
	is_int((int)count(log, "\"reason\":\"AnotherManager\",\"type\":\"Warning\""), 1,
	       "trap_55: an Event tells");
	w->full = false;
	w_advance(w, 3600 * 1000);
	log = w_take(w);
	ok(!strstr(log, "delete ") && w_find(w, 1, KIND_WORKLOAD, "ns", "theirs"),
	   "trap_55: nothing is deleted");
	is_int((int)count(log, "event "), 0, "trap_55: told once");
	is_int((int)count(log, "merge 0"), 0, "and written once");
	is_str(clash_of(w), "True AnotherManager", "it lasts as long as the object");
	w_free(w);
}

static void over(void)
{
	struct world *w = w_new(3);

	theirs(w, "\"multikueued.io/manager-id\":\"another\"");
	w_settle(w);
	w_del(w, w_find(w, 1, KIND_WORKLOAD, "ns", "theirs"));
	w_advance(w, 9 * 60 * 1000);
	is_str(clash_of(w), "True AnotherManager", "one object less does not end it at once");
	w_restart(w);
	w_settle(w);
	is_str(clash_of(w), "True AnotherManager", "nor does a restart");
	w_advance(w, 11 * 60 * 1000);
	is_str(clash_of(w), "False NoOtherManager", "ten quiet minutes do");
	w_take(w);
	w_advance(w, 3600 * 1000);
	is_int((int)count(w_take(w), "merge 0"), 0, "and then it is quiet");
	w_free(w);
}

/*
 * The condition is another daemon's: this one stood by when it was
 * written, and sees to it when it leads.
 */
static void taken_over(void)
{
	struct world *w = w_new(1);

	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w1"),
		"{\"status\":{\"conditions\":[{\"type\":\"" CLASH
		"\",\"status\":\"True\",\"reason\":"
		"\"AnotherManager\",\"message\":\"m\",\"lastTransitionTime\":"
		"\"2027-01-15T08:00:00Z\"}]}}");
	w_settle(w);
	is_str(clash_of(w), "True AnotherManager", "it lasts for a while");
	w_advance(w, 11 * 60 * 1000);
	is_str(clash_of(w), "False NoOtherManager", "ten quiet minutes end it");
	w_free(w);
}

/* The Go controllers leave no annotation, and ours are ours: neither is a clash. */
static void no_clash(void)
{
	struct world *w = w_new(3);

	theirs(w, "");
	w_settle(w);
	is_str(clash_of(w), "", "an object without annotations is no clash");
	w_free(w);
}

/* A worker can be there before the manager's last list: then we do not know yet who we are. */
static void before_the_manager(const char *whose, const char *condition, const char *name)
{
	struct world *w = w_new(1);
	struct pending manager_up;

	theirs(w, whose);
	w_restart(w);
	manager_up = w->q[--w->n_q];
	is_int(manager_up.ev.type, EV_LINK, "the manager's link comes last");
	w_settle(w);
	ok(w->up[1], "the worker is there");
	is_str(clash_of(w), "", "no manager is another before our own id is known");
	w->q[w->n_q++] = manager_up;
	w_settle(w);
	is_str(clash_of(w), condition, name);
	w_advance(w, 3600 * 1000);
	is_str(clash_of(w), condition, "and stays so");
	w_free(w);
}

int main(void)
{
	before_the_manager("\"multikueued.io/manager-id\":\"manager-id\"", "",
			   "what is ours is no clash");
	before_the_manager("\"multikueued.io/manager-id\":\"another\"", "True AnotherManager",
			   "what is another's is one, although it came before");
	told();
	over();
	no_clash();
	taken_over();
	return done_testing();
}
