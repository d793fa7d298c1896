/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that went back: versions that are lower than what was seen, in an epoch that kube knows of, or found out by what
 * a list or a get says.
 */
#include "core/engine/store.h"
#include "t/unit/engine_world.h"

/* In which version an object's end was seen in one epoch says nothing of the next one's versions. */
static void low_versions_in_a_new_epoch(void)
{
	struct store s;
	struct table *t = table_new(1, KIND_WORKLOAD);
	struct record *r;

	store_init(&s);
	r = store_touch(&s, t, STR("ns"), STR("a"), 0);
	record_gone(&s, r, 50, 1, 0);
	ok(record_is_newer(r, 1, 49) && !record_is_newer(r, 1, 51),
	   "its end is known in one epoch");
	record_gone(&s, r, 0, 2, 0);
	ok(!record_is_newer(r, 2, 9), "a low version is news in the next one, where it was not");
	record_gone(&s, r, 7, 3, 0);
	ok(record_is_newer(r, 3, 6) && !record_is_newer(r, 3, 9), "as of the list that lacked it");
	table_free(&s, t);
}

static void rv_back(struct world *w, struct object *o, const char *patch)
{
	uint64_t now = w->rv;

	w->rv = o->rv - 2;
	w_patch(w, o, patch);
	w_drop(w, w->n_q); /* nobody is told */
	w->rv = now + 10;
}

/* A list as of a later version names an object in an earlier one: what it says counts, after a new look at everything. */
static void found_by_a_list(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	struct object *c = w_find(w, 0, KIND_CLUSTER, "", "w1");

	is_str(w_str(w, c, "/status/conditions/0/status"), "True", "w1 is Active");
	rv_back(w, c,
		"{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"False\",\"reason\":"
		"\"ClientConnectionFailed\",\"lastTransitionTime\":\"2027-01-15T08:00:00Z\"}]}}");
	w_list(w, 0, KIND_CLUSTER);
	w_later(w, 5000);
	ok(strstr(w_take(w), "watch_close 0 Workload") != NULL, "everything is listed anew");
	is_str(w_str(w, c, "/status/conditions/0/status"), "True",
	       "and the condition of then is seen, and put right");
	is_str(check_state(w, wl), "Ready", "the job is not touched");
	w_take(w);
	w_list(w, 0, KIND_CLUSTER);
	w_later(w, 60000);
	is_str(w_take_work(w), "", "the next list contradicts nothing");
	w_free(w);
}

/* A list from a server that lags contradicts nothing: what is later than the list was not to be in it. */
static void a_lagging_list(void)
{
	struct world *w = w_new(2);
	struct object *c;

	running_job(w);
	c = w_find(w, 0, KIND_CLUSTER, "", "w1");
	w_list(w, 0, KIND_CLUSTER);
	for (size_t i = 0; i < w->n_q; i++) {
		struct pending *p = &w->q[i];

		if (p->ev.type == EV_OBSERVED && strcmp(p->name, "w1") == 0) {
			p->ev.rv = c->rv - 1;
		}
		if (p->ev.type == EV_LIST_END) {
			p->ev.rv = c->rv - 1;
		}
	}
	w_later(w, 5000);
	ok(strstr(w_take(w), "watch_close 0") == NULL, "nothing is listed anew");
	w_free(w);
}

/* A write conflicts, and the get after it brings an older version than the one we knew. */
static void found_by_a_get(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");

	w_settle(w);
	rv_back(w, wl, "{\"metadata\":{\"annotations\":{\"restored\":\"yes\"}}}");
	admit(w, 2, "wl-j");
	w_later(w, 10000);
	ok(strstr(w_take(w), "watch_close 0 Workload") != NULL, "everything is listed anew");
	is_str(w_str(w, wl, "/status/clusterName"), "w2", "and the win is written");
	w_free(w);
}

int main(void)
{
	low_versions_in_a_new_epoch();
	found_by_a_list();
	a_lagging_list();
	found_by_a_get();
	return done_testing();
}
