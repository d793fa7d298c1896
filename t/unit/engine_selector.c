/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiKueueConfigs that take clusters by their labels: which, what changes of labels do, and what
 * operators are told; and what a pass costs when a config has very many.
 */
#include "core/engine/answers/answers.h"
#include "core/engine/answers/pages.h"
#include "core/engine/state.h"
#include "core/engine/store/facts_cluster.h"
#include "t/lib/engine_world.h"

/* A config that names w1 and has the selector, NULL: none. */
static void selects(struct world *w, const char *selector)
{
	char text[512], quoted[256] = "null";

	if (selector) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", selector);
	}
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":%s}},"
		 "\"spec\":{\"clusters\":[\"w1\"]}}",
		 quoted);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
	w_settle(w);
}

static void label(struct world *w, const char *cluster, const char *region)
{
	char text[256], quoted[64] = "null";

	if (region) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", region);
	}
	snprintf(text, sizeof(text), "{\"metadata\":{\"labels\":{\"region\":%s}}}", quoted);
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", cluster), text);
	w_settle(w);
}

/* Six workers: w2, w3 and w5 are in eu, w4 in us. The config names w1 and takes those in eu. */
static struct world *selector_world(void)
{
	struct world *w = w_new(6);

	label(w, "w5", "eu");
	label(w, "w2", "eu");
	label(w, "w3", "eu");
	label(w, "w4", "us");
	selects(w, "region=eu");
	return w;
}

/* The Events so far on the config, "<type> <reason>: <note>" each; the log ends. */
static const char *told(struct world *w)
{
	static char text[4096];
	mk_str log = str_of(w->log), line;

	text[0] = 0;
	while (str_split(&log, '\n', &line)) {
		const char *of[3] = {"\"type\":\"", "\"reason\":\"", "\"note\":\""};
		char copy[4096];
		size_t n = strlen(text);

		snprintf(copy, sizeof(copy), "%.*s", STR_ARG(line));
		for (size_t i = 0; i < 3; i++) {
			of[i] = strstr(copy, of[i]) ? strstr(copy, of[i]) + strlen(of[i]) : NULL;
		}
		if (of[2] && strstr(copy, "\"kind\":\"MultiKueueConfig\"")) {
			snprintf(text + n, sizeof(text) - n, "%.*s %.*s: %.*s\n",
				 (int)strcspn(of[0], "\""), of[0], (int)strcspn(of[1], "\""), of[1],
				 (int)(strlen(of[2]) - 2), of[2]);
		}
	}
	w->log[0] = 0;
	return text;
}

static void by_label(void)
{
	struct world *w = selector_world();
	struct object *wl = a_job(w, "j");

	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\",\"w5\"]",
	       "those that spec.clusters names, then those that a label selects, by name");
	ok(clone_of(w, 5, "wl-j") && !clone_of(w, 4, "wl-j"), "they get clones, others none");
	label(w, "w4", "eu");
	is_str(nominated(w, wl), "[\"w1\",\"w2\",\"w3\",\"w4\",\"w5\"]", "a new label: it joins");
	ok(clone_of(w, 4, "wl-j") != NULL, "and gets a clone");
	label(w, "w2", NULL);
	is_str(nominated(w, wl), "[\"w1\",\"w3\",\"w4\",\"w5\"]", "a label that goes: it leaves");
	ok(!clone_of(w, 2, "wl-j"), "and its clone is deleted");
	label(w, "w1", "eu");
	is_str(nominated(w, wl), "[\"w1\",\"w3\",\"w4\",\"w5\"]", "one that is named comes once");
	w_del(w, w_find(w, 0, KIND_CLUSTER, "", "w3"));
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\",\"w4\",\"w5\"]", "a cluster that is deleted leaves");
	selects(w, "region=us");
	is_str(nominated(w, wl), "[\"w1\"]", "another selector takes others: here none");
	selects(w, NULL);
	label(w, "w6", "us");
	is_str(nominated(w, wl), "[\"w1\"]", "without the annotation only the list counts");
	w_free(w);
}

static void the_winner(void)
{
	struct world *w = selector_world();
	struct object *wl = a_job(w, "j");

	w_settle(w);
	admit(w, 5, "wl-j");
	w_settle(w);
	is_str(w_str(w, wl, "/status/clusterName"), "w5", "a cluster by label wins");
	w_restart(w);
	w_settle(w);
	is_str(check_state(w, wl), "Ready", "a new process finds the same clusters");
	label(w, "w5", "us");
	is_str(check_state(w, wl), "Retry",
	       "the winner's label goes: as when its name leaves the list");
	w_free(w);
}

/* --- what is told ----------------------------------------------------------------------------- */

static void events(void)
{
	struct world *w = w_new(4);

	w->full = true;
	w_take(w);
	selects(w, "region in (eu, us)");
	w_advance(w, 6000);
	is_str(told(w),
	       "Warning NothingSelected: Annotation multikueued.io/cluster-selector \\\"region in "
	       "(eu, us)\\\" takes 0 MultiKueueClusters beside those of spec.clusters\n",
	       "a selector that selects nothing is told");
	label(w, "w3", "us");
	label(w, "w2", "eu");
	w_advance(w, 40000);
	is_str(told(w), "", "the next Event comes a minute later at the earliest");
	w_advance(w, 20000);
	is_str(told(w),
	       "Normal ClustersSelected: Annotation multikueued.io/cluster-selector \\\"region in "
	       "(eu, us)\\\" takes 2 MultiKueueClusters beside those of spec.clusters: w2, w3\n",
	       "with all that changed until then");
	w_advance(w, 600000);
	label(w, "w1", "eu");
	w_advance(w, 600000);
	is_str(told(w), "", "a quiet fleet writes nothing");
	w_restart(w);
	w_later(w, 600000);
	is_str(told(w), "", "nor does a new process");
	label(w, "w3", NULL);
	w_advance(w, 600000);
	is_str(told(w),
	       "Normal ClustersSelected: Annotation multikueued.io/cluster-selector \\\"region in "
	       "(eu, us)\\\" takes 1 MultiKueueCluster beside those of spec.clusters: w2\n",
	       "which tells the next change");
	w_free(w);
}

static void mistakes(void)
{
	static const char *const wrong[][2] = {
		{"region in eu", "\"(\" after in or notin at byte 11"},
		{"region=eu,", "a requirement after \",\" at byte 11"},
		{"", "the name of a label at byte 1"},
		{"  ", "the name of a label at byte 1"},
		{"region=eu us", "\",\" or the end at byte 11"},
	};
	struct world *w = selector_world();
	char want[512];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		selects(w, wrong[i][0]);
		snprintf(want, sizeof(want),
			 "True BadSelector: Annotation multikueued.io/cluster-selector takes no "
			 "cluster: expected %s of \"%s\"; The admission check is active",
			 wrong[i][1], wrong[i][0]);
		is_str(w_active(w, KIND_CHECK, "mk"), want, "the check tells the mistake");
	}
	w_advance(w, 60000);
	w->full = true;
	w_take(w);
	selects(w, "!");
	w_advance(w, 60000);
	ok(strstr(told(w), "Warning BadSelector: Annotation multikueued.io/cluster-selector takes "
			   "no cluster: expected the name of a label at byte 2 of \\\"!\\\""),
	   "so does an Event");
	w_restart(w);
	w_later(w, 60000);
	ok(strstr(told(w), "Warning BadSelector"), "a new process tells it once more");
	w->full = false;
	selects(w, "region=eu");
	is_str(w_active(w, KIND_CHECK, "mk"), "True Active: The admission check is active",
	       "mended");
	w_link(w, 5, LINK_DOWN);
	w_settle(w);
	is_str(w_active(w, KIND_CHECK, "mk"), "True SomeActiveClusters: Inactive clusters: [w5]",
	       "the check knows of clusters by label");
	w_free(w);
}

/* What cannot be an annotation's value selects nothing; neither does one that is too long. */
static void hostile(void)
{
	static const char *const values[] = {"17", "null", "[\"region=eu\"]", "{\"a\":1}", "true"};
	struct world *w = selector_world();
	struct object *wl = a_job(w, "j");
	char text[8192], name[5000];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(
			text, sizeof(text),
			"{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":%s}}}",
			values[i]);
		w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
		w_settle(w);
		is_str(nominated(w, wl), "[\"w1\"]", values[i]);
	}
	memset(name, 'a', 4098);
	name[4098] = 0;
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":\"!%s\"}}}",
		 name);
	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"), text);
	w_settle(w);
	is_str(nominated(w, wl), "[\"w1\"]", "4,099 bytes");
	ok(strstr(w_active(w, KIND_CHECK, "mk"), "expected at most 4096 bytes"), "... are told");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w2"),
		"{\"metadata\":{\"labels\":{\"region\":{\"eu\":true}}}}");
	w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w3"), "{\"metadata\":{\"labels\":[1]}}");
	selects(w, "region=eu");
	is_str(nominated(w, wl), "[\"w1\",\"w5\"]", "labels of another type are none");
	w_del(w, w_find(w, 0, KIND_CONFIG, "", "cfg"));
	w_settle(w);
	ok(!clone_of(w, 5, "wl-j"), "a config that is deleted takes none");
	w_free(w);
}

/* What /v1/clusters says of the first config. */
static void answers(void)
{
	struct world *w = selector_world();
	struct arena a;
	struct answer_env env = {.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};
	const struct answer_clusters_filter all = {.limit = 0}, page = {.limit = 1};
	const struct json *v;

	arena_init(&a, 0);
	v = json_at(answer_clusters_page(&env, &all), "/configs");
	is_str(json_write(&a, v).p,
	       "[{\"name\":\"cfg\",\"selector\":\"region=eu\",\"clusters\":[\"w1\",\"w2\","
	       "\"w3\",\"w5\"]}]",
	       "an answer has each config with its clusters");
	ok(!json_get(answer_clusters_page(&env, &page), "configs"), "a page of a few has not");
	selects(w, "a b");
	env.mono_ms = w->now;
	v = json_at(answer_clusters_page(&env, &all), "/configs/0");
	ok(json_str_at(v, "/mistake").n > 0 && json_len(json_get(v, "clusters")) == 1,
	   "a mistake is told with what is left");
	arena_done(&a);
	w_free(w);
}

/* Memory runs out at each allocation of a change: the list is right in the end. */
static void no_memory(void)
{
	bool good = true;

	for (uint64_t n = 1; n <= 60; n++) {
		struct world *w = selector_world();
		struct object *wl = a_job(w, "j");

		w_settle(w);
		w_patch(w, w_find(w, 0, KIND_CLUSTER, "", "w4"),
			"{\"metadata\":{\"labels\":{\"region\":\"eu\"}}}");
		w->fail_at = n;
		w_step(w);
		w_settle(w);
		w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
			"{\"metadata\":{\"annotations\":{\"multikueued.io/cluster-selector\":"
			"\"region=eu,!x\"}}}");
		w->fail_at = n;
		w_step(w);
		w_settle(w);
		w_advance(w, 30000);
		if (strcmp(nominated(w, wl), "[\"w1\",\"w2\",\"w3\",\"w4\",\"w5\"]") != 0) {
			printf("# allocation %d: %s\n", (int)n, nominated(w, wl));
			good = false;
		}
		w_free(w);
	}
	ok(good, "without memory for a moment no cluster is lost");
}

/* --- labels ----------------------------------------------------------------------------------- */

/* The labels of a JSON object, with 'prefix', at most 'max', as "a=1 b=2". */
static const char *labels_of(const char *object, const char *prefix, uint32_t max)
{
	static char text[4096];
	struct arena a;
	struct json *v = NULL;
	mk_str to[8];
	uint32_t n;

	arena_init(&a, 0);
	text[0] = 0;
	(void)json_parse(&a, str_of(object), &v, NULL);
	n = facts_labels(v, prefix, to, max, &a);
	for (uint32_t i = 0; i < n; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%.*s", i > 0 ? " " : "", STR_ARG(to[i]));
	}
	arena_done(&a);
	return text;
}

static void labels(void)
{
	is_str(labels_of("{\"b\":\"2\",\"a\":\"1\",\"c\":\"\"}", "", 8),
	       "a=1 b=2 c=", "labels by name");
	is_str(labels_of("{\"a\":\"2\",\"a-b\":\"1\",\"a.b\":\"0\",\"a/b\":\"3\"}", "", 8),
	       "a=2 a-b=1 a.b=0 a/b=3", "of two names the value does not count in the order");
	is_str(labels_of("{\"x/b\":\"2\",\"a\":\"1\",\"x/a\":\"3\",\"x/\":\"4\"}", "x/", 8),
	       "=4 a=3 b=2", "those with a prefix, without it");
	is_str(labels_of("{\"d\":\"\",\"b\":\"\",\"c\":\"\",\"a\":\"\"}", "", 2),
	       "a= b=", "the first by name when there is no room for all");
	is_str(labels_of("{\"a\":\"\"}", "", 0), "", "no room");
	is_str(labels_of("{\"a\":1,\"b\":{\"c\":\"d\"},\"c\":null}", "", 8),
	       "a= b= c=", "values of other types are empty");
	is_str(labels_of("[\"a\"]", "", 8), "", "no object: none");
	is_int(facts_labels(NULL, "", NULL, 8, NULL), 0, "nothing: none");
}

int main(void)
{
	by_label();
	the_winner();
	events();
	mistakes();
	hostile();
	answers();
	no_memory();
	labels();
	return done_testing();
}
