/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals of trees that are the workers': what counts, which workers, what the tree's condition says
 * of it, and what a pass makes of it.
 */
#include "core/base/alloc.h"
#include "core/trees/pass.h"
#include "t/unit/trees_capacity_world.h"

/* --- sums ------------------------------------------------------------------------------------- */

static void sums(void)
{
	struct world w;
	struct trees_quota two[] = {{STR("near"), STR("cpu"), {.v = 1500}},
				    {STR("odd"), STR("cpu"), {.v = 7000}},
				    {STR("far"), STR("memory"), {.v = 4096, .format = API_BINARY}}};

	begin(&w, 2);
	is_int(total(&w), 20, "what a queue has counts once, however many LocalQueues lead to it");
	ok(says(&w, "AllWorkers",
		"2 of 2 workers of MultiKueueConfig \"fleet\" have, in 2 "
		"ClusterQueues"),
	   "the condition says whose it is");
	ok(says(&w, "AllWorkers", "counted: w1, w2"), "... by name");
	has(&w, 1, "alone", "far", 100);
	leads(&w, 1, "other", "alone");
	is_int(total(&w), 20, "a queue that no LocalQueue of the tree leads to counts nothing");
	trees_fleet_put_queue(w.fleet, 1, STR("second"), two, 3);
	leads(&w, 1, "r", "second");
	is_int(total(&w), 21, "a flavor that the map does not have keeps its name");
	is_int(w.totals.v[0].totals[1].amount.v, 4096, "each resource for itself");
	is_int(w.totals.v[0].totals[1].amount.format, API_BINARY, "... spelled as on the workers");
	ok(says(&w, "AllWorkers",
		"not counted, because the tree does not have it: cpu in flavor "
		"odd"),
	   "a flavor that the tree does not have is named");
	trees_fleet_drop(w.fleet, 1, TREES_LOCALS, STR("ns"), STR("r"));
	w.now += 10 * MINUTE;
	total(&w);
	is_int(later(&w, 5 * MINUTE), 20, "a LocalQueue that is gone leads nowhere");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/multiplier", "\"0.25\"");
	total(&w);
	is_int(later(&w, 5 * MINUTE), 5, "a part of the sum");
	end(&w);
}

static void names(void)
{
	struct world w;
	mk_str labels[] = {STR("zone=a"), STR("tier=gold")};

	begin(&w, 3);
	w.workers[0].server = w.workers[1].server = STR("uid-1");
	tell(&w);
	is_int(total(&w), 20, "two names of one server count once");
	ok(says(&w, "AllWorkers", "other names of servers that are counted: w2"),
	   "... and it is said");
	w.workers[1].server = STR("uid-2");
	w.names[2] = STR("nobody");
	tell(&w);
	w.now += 10 * MINUTE;
	is_int(total(&w), 20, "a name without a MultiKueueCluster counts nothing");
	ok(says(&w, "WorkersLeftOut", "left out: nobody (there is no MultiKueueCluster"),
	   "... and it is said");
	w.workers[0].labels = labels;
	w.workers[0].n_labels = 2;
	w.workers[2].labels = labels;
	w.workers[2].n_labels = 1;
	tell(&w);
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers",
		    "{\"selector\":{\"matchLabels\":{\"zone\":\"a\"}}}");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/flavorMap", "{\"far\":\"near\"}");
	is_int(total(&w), 20, "those whose labels the selector meets");
	ok(says(&w, "AllWorkers", "2 of 2 workers of the selector"), "... which is said");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/selector",
		    "{\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"In\",\"values\":["
		    "\"gold\"]}]}");
	is_int(total(&w), 20, "fewer: not at once");
	is_int(later(&w, 5 * MINUTE), 10, "... later");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers/selector",
		    "{\"matchLabels\":{\"zone\":\"none\"}}");
	is_int(later(&w, 60 * MINUTE), 10, "a selector that no worker meets takes nothing away");
	ok(says(&w, "NoWorkers", "the total stays as it is"), "... and it is said");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom/workers",
		    "{\"multiKueueConfig\":\"flet\"}");
	is_int(later(&w, 60 * MINUTE), 10, "nor a config that does not exist");
	ok(says(&w, "ConfigNotFound", "there is no MultiKueueConfig \"flet\""),
	   "... and it is said");
	end(&w);
}

/* --- hostile ---------------------------------------------------------------------------------- */

static void hostile(void)
{
	static const char *const bad[] = {
		"{}",
		"{\"workers\":[]}",
		"{\"workers\":{\"multiKueueConfig\":{}}}",
		"{\"workers\":{\"multiKueueConfig\":\"fleet\",\"flavorMap\":7}}",
		"{\"workers\":{\"multiKueueConfig\":\"fleet\",\"flavorMap\":{\"far\":[]}}}",
		"{\"workers\":{\"multiKueueConfig\":\"fleet\",\"multiplier\":\"1e400\"}}",
		"{\"workers\":{\"multiKueueConfig\":\"fleet\",\"dropAfter\":\"99999999999999999h\"}"
		"}",
		"{\"workers\":{\"selector\":{\"matchLabels\":[1],\"matchExpressions\":[7,{}]}}}",
	};
	struct world w;
	bool good = true;

	begin(&w, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		objects_put(&w.a, w.docs, "/0/spec/capacityFrom", bad[i]);
		good = !look(&w) && good;
	}
	ok(good, "a tree whose capacityFrom cannot be read has no total from workers");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom",
		    "{\"workers\":{\"multiKueueConfig\":\"fleet\",\"flavorMap\":{\"far\":\"near\"},"
		    "\"multiplier\":\"1000\",\"dropAfter\":\"2000000h\"}}");
	has(&w, 1, "queue", "far", INT64_MAX / 1000);
	trees_fleet_put_queue(w.fleet, 1, STR("more"),
			      &(struct trees_quota){STR("far"), STR("cpu"), {.v = INT64_MAX}}, 1);
	leads(&w, 1, "r", "more");
	ok(look(&w) != NULL && w.totals.v[0].totals[0].amount.v == (int64_t)1 << 60,
	   "sums end at what a tree can have");
	has(&w, 1, "queue", "far", -5);
	trees_fleet_put_queue(w.fleet, 1, STR("more"),
			      &(struct trees_quota){STR("far"), STR("cpu"), {.v = INT64_MIN}}, 1);
	root_has(&w, 0);
	is_int(total(&w), 0, "quota below 0 counts as none");
	trees_fleet_put_local(w.fleet, 1, STR("ns"), STR(""), STR("queue"));
	trees_fleet_drop(w.fleet, 9, TREES_QUEUES, STR(""), STR("queue"));
	trees_fleet_listed(w.fleet, 9, TREES_QUEUES);
	ok(look(&w) != NULL, "names that are none are harmless");
	end(&w);
}

static void memory(void)
{
	struct world w;
	bool good = true;
	uint64_t n = 0, asked;

	begin(&w, 3);
	sees(&w, 2, false);
	total(&w);
	has(&w, 1, "queue", "far", 3);
	do {
		const struct trees_capacity *c;

		trees_settling_clear(&w.settling);
		arena_done(&w.pass);
		arena_init(&w.pass, 64 * 1024 * 1024);
		alloc_fail_after(++n);
		c = look(&w);
		asked = alloc_fail_after(0);
		good = good && (asked >= n) == !c;
	} while (asked >= n && n < 10000);
	ok(good && n > 5 && n < 10000, "out of memory at any point is an error, and the only one");
	end(&w);
}

/* --- a tree of parents, and the pass ---------------------------------------------------------- */

static void parents(void)
{
	struct world w;
	const struct trees_capacity *c;
	struct json *changed;

	begin(&w, 2);
	w.docs = objects_read(
		&w.a, "apiVersion: kueue.x-k8s.io/v1beta2\n"
		      "kind: ClusterQueue\n"
		      "metadata: {name: root, annotations: {kueue.x-k8s.io/capacity-from: "
		      "'{\"workers\":{\"multiKueueConfig\":\"fleet\"}}'}}\n"
		      "spec:\n"
		      "  resourceGroups:\n"
		      "  - coveredResources: [cpu]\n"
		      "    flavors: [{name: far, resources: [{name: cpu, nominalQuota: 3}]}]\n"
		      "---\n"
		      "apiVersion: kueue.x-k8s.io/v1beta2\n"
		      "kind: ClusterQueue\n"
		      "metadata: {name: leaf, annotations: {kueue.x-k8s.io/parent: root, "
		      "kueue.x-k8s.io/min-weight: '100'}}\n"
		      "spec: {}\n"
		      "---\n"
		      "apiVersion: kueue.x-k8s.io/v1beta2\n"
		      "kind: LocalQueue\n"
		      "metadata: {name: l, namespace: ns}\n"
		      "spec: {clusterQueue: leaf}\n");
	c = look(&w);
	ok(c != NULL && c->parents && str_is(c->tree, "root") && c->n == 1 &&
		   c->totals[0].amount.v == 20000,
	   "the root of a tree of parents");
	changed = c != NULL ? trees_capacity_apply(&w.pass, c, json_elem(w.docs, 0)) : NULL;
	is_str(json_str_at(changed, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota").p,
	       "20", "its ClusterQueue with the total");
	is_int(json_int(json_at(json_elem(w.docs, 0),
				"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"),
			0),
	       3, "... the object itself stays as it is");
	end(&w);
}

/* For those who read a cluster without its workers. */
static void restored(void)
{
	struct world w;
	struct json *tree;

	begin(&w, 1);
	tree = json_elem(w.docs, 0);
	ok(api_totals_restore(&w.a, tree), "a tree without a status");
	is_str(json_write(&w.a, json_at(tree, "/spec/resourceGroup/flavors/0/resources")).p,
	       "[{\"name\":\"cpu\",\"nominalQuota\":1},{\"name\":\"memory\",\"nominalQuota\":0}]",
	       "... keeps what it says");
	objects_put(&w.a, w.docs, "/0/status",
		    "{\"total\":[{\"name\":\"near\",\"resources\":[{\"name\":\"cpu\",\"total\":"
		    "\"1500m\"},{\"name\":\"memory\",\"total\":[]}]},7,{\"resources\":8}]}");
	ok(api_totals_restore(&w.a, tree), "one with a status, half of which cannot be read");
	is_str(json_write(&w.a, json_at(tree, "/spec/resourceGroup/flavors/0/resources")).p,
	       "[{\"name\":\"cpu\",\"nominalQuota\":\"1500m\"},{\"name\":\"memory\","
	       "\"nominalQuota\":0}]",
	       "... has the totals that it says");
	objects_put(&w.a, w.docs, "/0/spec/capacityFrom", NULL);
	objects_put(&w.a, w.docs, "/0/status/total/0/resources/0/total", "\"9\"");
	api_totals_restore(&w.a, json_elem(w.docs, 0));
	is_str(json_write(&w.a, json_at(json_elem(w.docs, 0),
					"/spec/resourceGroup/flavors/0/resources/0"))
		       .p,
	       "{\"name\":\"cpu\",\"nominalQuota\":\"1500m\"}", "a total of its own stays");
	end(&w);
}

/* What a pass makes of it. */
static void passes(void)
{
	struct world w;
	struct trees_plan plan;
	struct trees_input in = {.mode = TREES_COMPILE, .settled = true};
	struct json **v;
	const char *root = NULL, *left = NULL;

	begin(&w, 2);
	look(&w);
	in.n = json_len(w.docs);
	v = arena_array(&w.pass, in.n, sizeof(*v));
	for (size_t i = 0; i < in.n; i++) {
		v[i] = json_elem(w.docs, i);
	}
	in.objects = v;
	in.capacities = &w.totals;
	ok(trees_pass(&w.pass, &in, &plan, NULL) == ERR_OK, "a pass");
	for (size_t i = 0; i < plan.n; i++) {
		const char *quota =
			json_str_at(plan.writes[i].body,
				    "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota")
				.p;

		root = str_is(plan.writes[i].name, "root") ? quota : root;
		left = str_is(plan.writes[i].name, "left") ? quota : left;
	}
	is_str(root, "20", "the root gets the workers' quota");
	is_str(left, "10", "... and a leaf its part");
	w.workers[0].was_seen = w.workers[1].was_seen = false;
	sees(&w, 1, false);
	sees(&w, 2, false);
	look(&w);
	v = arena_array(&w.pass, in.n, sizeof(*v));
	for (size_t i = 0; i < in.n; i++) {
		v[i] = json_elem(w.docs, i);
	}
	in.objects = v;
	trees_pass(&w.pass, &in, &plan, NULL);
	ok(plan.n == 1 && plan.writes[0].verb == TREES_STATUS,
	   "without a total nothing is written but the status");
	is_str(json_str(json_get(json_find(json_at(plan.writes[0].body, "/status/conditions"),
					   "type", "Active"),
				 "reason"))
		       .p,
	       "CapacityUnknown", "... which says why");
	is_str(json_str(json_get(json_find(json_at(plan.writes[0].body, "/status/conditions"),
					   "type", "CapacityFromWorkers"),
				 "status"))
		       .p,
	       "Unknown", "... in both conditions");
	end(&w);
}

int main(void)
{
	sums();
	names();
	hostile();
	memory();
	parents();
	restored();
	passes();
	return done_testing();
}
