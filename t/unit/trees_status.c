/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a ClusterQuotaTree: sizes, sums and lists, when it is written, what it makes of
 * hostile objects, its bounds. t/real/tree_status.json is one of them, which t/real/crd.t gives to
 * an API server; UPDATE=1 writes it anew.
 */
#include <stdlib.h>

#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/file_read.h"
#include "t/lib/trees_scene.h"

#define GOLDEN "t/real/tree_status.json"
#define SAMPLE "conf/samples/quota/plan-b.yaml"
#define USES(cpu, gpu)                                                                            \
	"\"pendingWorkloads\":2,\"reservingWorkloads\":1,\"admittedWorkloads\":1,"                \
	"\"flavorsReservation\":[{\"name\":\"on-demand\",\"resources\":[{\"name\":\"cpu\","       \
	"\"total\":\"" cpu "\",\"borrowed\":\"0\"},{\"name\":\"nvidia.com/gpu\",\"total\":\"" gpu \
	"\"}]}]"

static void add_flavor(struct scene *s, const char *name)
{
	scene_put(s, "/-",
		  arena_printf(&s->a,
			       "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
			       "\"ResourceFlavor\",\"metadata\":{\"name\":\"%s\"}}",
			       name)
			  .p);
}

/* The sample, with one policy and open fences so that Kueue can enforce it; two teams at work. */
static void open_sample(struct scene *s)
{
	scene_open_file(s, SAMPLE);
	scene_put(s, "/0/spec/hierarchies/research/policy", "\"capacity\"");
	scene_put(s, "/0/spec/hierarchies/research/weightedQuotas",
		  "[{\"name\":\"vision\",\"minWeight\":50},{\"name\":\"language\",\"minWeight\":"
		  "50}]");
	scene_put(s, "/0/spec/hierarchies/product/fence", "\"EnableCrossQuotaPreemption\"");
	add_flavor(s, "on-demand");
	add_flavor(s, "spot");
	scene_queue(s, "company", "Any", "");
	scene_queue(s, "research", "Any", "");
	scene_queue(s, "product", "Any", "");
	scene_queue(s, "vision", "Any", USES("32", "4"));
	scene_queue(s, "language", "Any", "");
	scene_queue(s, "search", "Any", "");
	scene_queue(s, "ads", "Any", USES("12", "0"));
	scene_judge(s);
}

/* Text of the value at a pointer of the status. */
static mk_str part(struct scene *s, const struct json *body, const char *pointer)
{
	return json_write(&s->a, json_at(json_get(body, "status"), pointer));
}

static void lists(void)
{
	struct scene s;
	const struct json *body;

	open_sample(&s);
	body = scene_status(&s);
	is_str(part(&s, body, "/nodeCount").p, "7", "nodes");
	is_str(part(&s, body, "/leafCount").p, "4", "leaves");
	is_str(part(&s, body, "/depth").p, "3", "levels");
	is_str(part(&s, body, "/observedGeneration").p, "3", "the generation");
	is_str(part(&s, body, "/pendingWorkloads").p, "4", "Workloads that wait");
	is_str(part(&s, body, "/usage/0").p,
	       "{\"name\":\"on-demand\",\"resources\":[{\"name\":\"cpu\",\"total\":\"44\"},"
	       "{\"name\":\"nvidia.com/gpu\",\"total\":\"4\"}]}",
	       "what is used adds up at the root");
	is_str(part(&s, body, "/total/1/resources/0").p, "{\"name\":\"cpu\",\"total\":\"16\"}",
	       "what there is");
	is_str(part(&s, body, "/levels").p,
	       "[{\"depth\":1,\"nodes\":1,\"maxed\":0,\"overMin\":0},"
	       "{\"depth\":2,\"nodes\":2,\"maxed\":0,\"overMin\":1},"
	       "{\"depth\":3,\"nodes\":4,\"maxed\":0,\"overMin\":2}]",
	       "levels");
	is_str(part(&s, body, "/topConsumers").p,
	       "[{\"name\":\"vision\",\"flavor\":\"on-demand\",\"resource\":\"cpu\",\"used\":"
	       "\"32\",\"percent\":66},{\"name\":\"ads\",\"flavor\":\"on-demand\",\"resource\":"
	       "\"cpu\",\"used\":\"12\",\"percent\":25}]",
	       "those who use most, in flavor and resource of which it is most");
	is_str(part(&s, body, "/queues/2/name").p, "\"research\"",
	       "queues in the order of the tree");
	is_str(part(&s, body, "/queues/2/quotas/0").p,
	       "{\"flavor\":\"on-demand\",\"resource\":\"cpu\",\"nominal\":\"28800m\",\"max\":"
	       "\"38400m\",\"used\":\"32\",\"borrowed\":\"3200m\",\"from\":[\"product\"]}",
	       "a division borrows from its sibling");
	is_str(part(&s, body, "/queues/6/quotas/0").p,
	       "{\"flavor\":\"on-demand\",\"resource\":\"cpu\",\"nominal\":\"14400m\",\"max\":"
	       "\"38400m\",\"used\":\"32\",\"borrowed\":\"17600m\",\"from\":[\"language\","
	       "\"research\"]}",
	       "a team from its sibling, and from what its division borrows");
	is_str(part(&s, body, "/queues/3/quotas/0").p,
	       "{\"flavor\":\"on-demand\",\"resource\":\"cpu\",\"nominal\":\"5760m\",\"max\":"
	       "\"24\",\"used\":\"12\",\"borrowed\":\"6240m\",\"from\":[\"search\"]}",
	       "a team from its sibling alone");
	ok(!json_at(body, "/status/truncated"), "nothing is left out");
	scene_close(&s);
}

static void golden(void)
{
	struct scene s;
	const char *update = getenv("UPDATE");
	mk_str text, want = STR("");

	open_sample(&s);
	text = arena_printf(&s.a, "%s\n", json_write_pretty(&s.a, scene_status(&s)).p);
	if (update != NULL && *update != '\0') {
		FILE *f = fopen(GOLDEN, "w");

		if (f != NULL) {
			(void)fwrite(text.p, 1, text.n, f);
			(void)fclose(f);
		}
	}
	ok(file_read(&s.a, GOLDEN, 1024 * 1024, &want, NULL) == ERR_OK && str_eq(text, want),
	   "the status of the sample is " GOLDEN " (UPDATE=1 writes it)");
	scene_close(&s);
}

/* --- when it is written ----------------------------------------------------------------------- */

static mk_str time_of(const struct json *body, const char *type)
{
	return json_str(json_get(json_find(json_at(body, "/status/conditions"), "type", type),
				 "lastTransitionTime"));
}

static void unchanged(void)
{
	struct scene s;
	const struct json *body;
	struct trees_usage *u;

	open_sample(&s);
	body = scene_status(&s);
	is_str(json_str(json_get(body, "apiVersion")).p, "kueue.x-k8s.io/v1alpha1", "apiVersion");
	is_str(json_str(json_get(body, "kind")).p, "ClusterQuotaTree", "kind");
	is_str(json_write(&s.a, json_get(body, "metadata")).p, "{\"name\":\"company\"}",
	       "metadata: the name alone");
	is_int(json_len(json_at(body, "/status/conditions")), 7, "all conditions");
	is_str(time_of(body, "Active").p, "2026-01-15T12:00:00Z", "they begin now");
	scene_take(&s, body);
	ok(!scene_status(&s), "nothing is written when nothing differs");
	scene_put(&s, "/0/status/conditions/-",
		  "{\"type\":\"Mine\",\"status\":\"True\",\"reason\":\"R\",\"message\":\"\","
		  "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}");
	ok(!scene_status(&s), "conditions of others do not count");
	u = trees_usage(&s.a, &s.j);
	s.j.written = false;
	body = trees_status(&s.a, &s.j, u, SCENE_NOW + 60000);
	is_str(time_of(body, "Active").p, "2026-01-15T12:01:00Z",
	       "a status that changes has its time");
	is_str(time_of(body, "Accepted").p, "2026-01-15T12:00:00Z", "one that stays keeps it");
	is_int(json_len(json_at(body, "/status/conditions")), 7, "others' conditions are not ours");
	scene_take(&s, body);
	s.j.refusal = &(struct trees_refusal){STR("company"), STR("Cohort/company.company"),
					      STR("Forbidden"), STR("no right")};
	body = trees_status(&s.a, &s.j, u, SCENE_NOW + 120000);
	is_str(time_of(body, "Active").p, "2026-01-15T12:01:00Z",
	       "another reason is no transition");
	scene_put(&s, "/0/metadata/generation", "4");
	scene_take(&s, body);
	body = scene_status(&s);
	is_str(part(&s, body, "/observedGeneration").p, "4", "another generation is told");
	is_str(part(&s, body, "/conditions/6/observedGeneration").p, "4", "in each condition");
	scene_close(&s);
}

static void one_member(void)
{
	static const char *const changes[][2] = {
		{"/0/status/truncated", "true"},
		{"/0/status/relatedElasticQuotas", "[]"},
		{"/0/status/enforcement", "\"Observe\""},
		{"/0/status/usage/0/resources/0/total", "\"43\""},
		{"/0/status/levels/0/maxed", "1"},
		{"/0/status/topConsumers", NULL},
		{"/0/status/queues/3/quotas/0/from", "[\"x\"]"},
		{"/0/status/conditions/4", NULL},
		{"/0/status/conditions/4/message", "\"x\""},
		{"/0/status", NULL},
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct scene s;

		open_sample(&s);
		scene_take(&s, scene_status(&s));
		scene_put(&s, changes[i][0], changes[i][1]);
		ok(scene_status(&s) != NULL, changes[i][0]);
		scene_close(&s);
	}
}

/* --- hostile objects -------------------------------------------------------------------------- */

static void hostile_live(void)
{
	static const char *const statuses[] = {
		"\"x\"",
		"[]",
		"null",
		"{\"conditions\":{\"type\":\"Active\"},\"queues\":7,\"usage\":\"x\"}",
		"{\"conditions\":[1,null,[],{\"type\":5},{\"type\":\"Active\",\"status\":true},"
		"{\"type\":\"OverLimit\",\"status\":\"False\",\"lastTransitionTime\":\"soon\"},"
		"{\"type\":\"Degraded\",\"status\":\"False\",\"lastTransitionTime\":12}]}",
	};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct scene s;
		const struct json *body;

		open_sample(&s);
		scene_put(&s, "/0/status", statuses[i]);
		scene_put(&s, "/0/metadata/generation", "\"x\"");
		body = scene_status(&s);
		ok(str_is(time_of(body, "OverLimit"), "2026-01-15T12:00:00Z") &&
			   str_is(time_of(body, "Active"), "2026-01-15T12:00:00Z"),
		   statuses[i]);
		scene_take(&s, body);
		ok(!scene_status(&s), "and is well then");
		scene_close(&s);
	}
}

static void hostile_queues(void)
{
	static const char *const statuses[][2] = {
		{"\"flavorsReservation\":\"x\"", "\"0\""},
		{"\"flavorsReservation\":{\"a\":{\"name\":\"on-demand\"}}", "\"0\""},
		{"\"flavorsReservation\":[1,null,{\"name\":7,\"resources\":[{}]},{\"name\":"
		 "\"on-demand\",\"resources\":{\"x\":5}}]",
		 "\"0\""},
		{"\"flavorsReservation\":[{\"name\":\"on-demand\",\"resources\":[{\"name\":"
		 "\"cpu\",\"total\":\"-5\"},{\"name\":\"cpu\",\"total\":\"a lot\"},{\"name\":"
		 "\"cpu\",\"total\":{}},{\"name\":\"cpu\"}]}],\"pendingWorkloads\":-4",
		 "\"0\""},
		{"\"flavorsReservation\":[{\"name\":\"on-demand\",\"resources\":[{\"name\":"
		 "\"cpu\",\"total\":2},{\"name\":\"cpu\",\"total\":\"1500m\"}]}]",
		 "\"3500m\""},
		{"\"flavorsReservation\":[{\"name\":\"on-demand\",\"resources\":[{\"name\":"
		 "\"cpu\",\"total\":\"99999999E\"},{\"name\":\"cpu\",\"total\":\"99999999E\"}]}],"
		 "\"pendingWorkloads\":9223372036854775807",
		 "\"9223372036854775807m\""},
	};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct scene s;
		const struct json *body;

		scene_open_file(&s, SAMPLE);
		scene_queue(&s, "ads", "Any", statuses[i][0]);
		scene_queue(&s, "vision", "Any", "\"pendingWorkloads\":9223372036854775807");
		scene_judge(&s);
		body = scene_status(&s);
		is_str(part(&s, body, "/usage/0/resources/0/total").p, statuses[i][1],
		       statuses[i][0]);
		scene_close(&s);
	}
}

/* What an inner queue still has of the time when it was a leaf. */
static void orphans(void)
{
	struct scene s;

	scene_open_file(&s, SAMPLE);
	scene_queue(&s, "research", "Any", USES("5", "1"));
	scene_queue(&s, "vision", "Any", USES("3", "0"));
	scene_judge(&s);
	is_str(part(&s, scene_status(&s), "/queues/2/quotas/0/used").p, "\"8\"",
	       "counts in it, and above it");
	scene_close(&s);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void figures(void)
{
	struct scene s;
	struct trees_figure room[7 * 4];
	struct trees_plan plan = {.figures = room};
	const struct trees_figure *ads = NULL;
	size_t n_leaves = 0;

	open_sample(&s);
	trees_figures(&s.j, trees_usage(&s.a, &s.j), &plan);
	is_int(plan.n_figures, 28, "a figure per queue and pair");
	for (size_t i = 0; i < plan.n_figures; i++) {
		n_leaves += room[i].leaf ? 1 : 0;
		if (str_is(room[i].queue, "ads") && str_is(room[i].flavor, "on-demand") &&
		    str_is(room[i].resource, "cpu")) {
			ads = &room[i];
		}
	}
	is_int(n_leaves, 16, "leaves are told");
	ok(ads != NULL && str_is(ads->tree, "company") && ads->nominal == 5760 &&
		   ads->max == 24000 && ads->use == 12000 && ads->hold == 12000,
	   "with minimum, maximum and use");
	scene_close(&s);
}

/* A tree of parents has no status here, but figures. */
static void parents(void)
{
	struct scene s;
	struct trees_figure room[5 * 4];
	struct trees_plan plan = {.figures = room};

	scene_open_file(&s, "conf/samples/quota/plan-a.yaml");
	scene_judge(&s);
	s.j.live = NULL;
	s.j.name = s.j.model->name;
	trees_figures(&s.j, trees_usage(&s.a, &s.j), &plan);
	ok(plan.n_figures == quota_n_nodes(s.q) * quota_n_frs(s.q) &&
		   str_is(room[0].tree, "company") && str_is(room[0].queue, "company"),
	   "figures of a tree of parents");
	scene_close(&s);
}

/* --- out of memory ---------------------------------------------------------------------------- */

static void no_memory(void)
{
	struct scene s;
	bool fine = true, done = false;
	size_t n = 1;

	open_sample(&s);
	for (; !done && n < 10000; n++) {
		struct arena a;
		const struct trees_usage *u;
		const struct json *body = NULL;

		arena_init(&a, 0);
		alloc_fail_after(n);
		u = trees_usage(&a, &s.j);
		if (u != NULL) {
			body = trees_status(&a, &s.j, u, SCENE_NOW);
		}
		done = alloc_fail_after(0) < n;
		fine = fine && (done ? body != NULL : !body && arena_failed(&a));
		arena_done(&a);
	}
	for (size_t cap = 64; cap < 200000; cap += cap / 64 + 64) {
		struct arena a;
		const struct trees_usage *u;
		const struct json *body = NULL;

		arena_init(&a, cap);
		u = trees_usage(&a, &s.j);
		if (u != NULL) {
			body = trees_status(&a, &s.j, u, SCENE_NOW);
		}
		fine = fine && !body == arena_failed(&a);
		arena_done(&a);
	}
	printf("# %zu allocations\n", n);
	ok(fine && done, "out of memory is told, wherever it happens");
	scene_close(&s);
}

/* --- bounds ----------------------------------------------------------------------------------- */

static void add_leaf(struct scene *s, int group, int leaf, bool busy)
{
	mk_str name = arena_printf(&s->a, "team-%03d-%02d", group, leaf);
	int used = busy ? 40 + (group * 7 + leaf) % 400 : 0;

	scene_queue(
		s, name.p, "Any",
		arena_printf(&s->a,
			     "\"pendingWorkloads\":1,\"flavorsReservation\":["
			     "{\"name\":\"on-demand\",\"resources\":[{\"name\":\"cpu\",\"total\":"
			     "\"%d\"},{\"name\":\"memory\",\"total\":\"%dGi\"}]},"
			     "{\"name\":\"spot\",\"resources\":[{\"name\":\"cpu\",\"total\":"
			     "\"%d\"},{\"name\":\"memory\",\"total\":\"%dGi\"}]}]",
			     used, used * 4, used / 2, used * 2)
			.p);
}

/* A root, 100 divisions, 99 teams in each: 10,001 queues. */
static void open_large(struct scene *s, bool busy)
{
	static const char head[] =
		"{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
		"\"metadata\":{\"name\":\"large\",\"generation\":1},\"spec\":{\"resourceGroup\":{"
		"\"coveredResources\":[\"cpu\",\"memory\"],\"flavors\":[{\"name\":\"on-demand\","
		"\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"200000\"},{\"name\":"
		"\"memory\",\"nominalQuota\":\"800000Gi\"}]},{\"name\":\"spot\",\"resources\":[{"
		"\"name\":\"cpu\",\"nominalQuota\":\"100000\"},{\"name\":\"memory\","
		"\"nominalQuota\":\"400000Gi\"}]}]},\"hierarchies\":{\"root\":{\"weightedQuotas\":"
		"[";
	struct buf b;
	struct json *o = NULL;

	scene_open(s, "{apiVersion: v1, kind: List, items: []}\n");
	buf_init(&b, 4 * 1024 * 1024);
	buf_add(&b, str_of(head));
	for (int g = 0; g < 100; g++) {
		buf_printf(&b, "%s{\"name\":\"division-%03d\"}", g > 0 ? "," : "", g);
	}
	buf_add(&b, STR("]}"));
	for (int g = 0; g < 100; g++) {
		buf_printf(&b, ",\"division-%03d\":{\"weightedQuotas\":[", g);
		for (int i = 0; i < 99; i++) {
			buf_printf(&b, "%s{\"name\":\"team-%03d-%02d\"}", i > 0 ? "," : "", g, i);
		}
		buf_add(&b, STR("]}"));
	}
	buf_add(&b, STR("}}}"));
	ok(json_parse(&s->a, buf_str(&b), &o, NULL) == ERR_OK, "a large tree");
	buf_done(&b);
	s->docs = json_new_arr(&s->a);
	json_add(&s->a, s->docs, o);
	for (int g = 0; g < 100; g++) {
		for (int i = 0; i < 99; i++) {
			add_leaf(s, g, i, busy);
		}
	}
	scene_judge(s);
}

static void large(bool busy)
{
	struct scene s;
	struct trees_usage *u;
	const struct json *body;
	int64_t begin, usage_us, status_us;
	size_t size;

	open_large(&s, busy);
	begin = clock_cpu_us();
	u = trees_usage(&s.a, &s.j);
	usage_us = clock_cpu_us() - begin;
	begin = clock_cpu_us();
	body = trees_status(&s.a, &s.j, u, SCENE_NOW);
	status_us = clock_cpu_us() - begin;
	size = part(&s, body, "").n;
	printf("# %s: %zu bytes; usage %lld us, status %lld us of CPU time\n",
	       busy ? "busy" : "idle", size, (long long)usage_us, (long long)status_us);
	is_str(part(&s, body, "/nodeCount").p, "10001", "10,001 queues");
	ok(size < 200 * 1024, "their status is shorter than 200 KiB");
	ok(json_bool(json_at(body, "/status/truncated")), "and says that not all are listed");
	is_int(json_len(json_at(body, "/status/topConsumers")), busy ? 20 : 0, "most consumers");
	is_str(part(&s, body, "/queues/0/name").p, "\"root\"", "the upper ones are listed");
	ok(json_len(json_at(body, "/status/queues")) <= 200 &&
		   json_len(json_at(body, "/status/queues")) >= 100,
	   "so are many more");
	scene_take(&s, body);
	ok(!scene_status(&s), "and it is the same again");
	scene_close(&s);
}

/* Names and pairs as long and as many as the API allows. */
static void widest(void)
{
	struct scene s;
	struct buf b;
	struct json *o = NULL;
	char name[236];
	const struct json *body;
	size_t size;

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	scene_open(&s, "{apiVersion: v1, kind: List, items: []}\n");
	buf_init(&b, 4 * 1024 * 1024);
	buf_add(&b, STR("{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
			"\"metadata\":{\"name\":\"wide\"},\"spec\":{\"resourceGroups\":["));
	for (int g = 0; g < 16; g++) {
		buf_printf(&b, "%s{\"coveredResources\":[\"r%d.%s\"],\"flavors\":[",
			   g > 0 ? "," : "", g, name);
		for (int f = 0; f < 4; f++) {
			buf_printf(&b,
				   "%s{\"name\":\"f%d-%d.%s\",\"resources\":[{\"name\":\"r%d.%s\","
				   "\"nominalQuota\":\"1000000000\"}]}",
				   f > 0 ? "," : "", g, f, name, g, name);
		}
		buf_add(&b, STR("]}"));
	}
	buf_printf(&b, "],\"hierarchies\":{\"root.%s\":{\"weightedQuotas\":[", name);
	for (int i = 0; i < 400; i++) {
		buf_printf(&b, "%s{\"name\":\"q%d.%s\"}", i > 0 ? "," : "", i, name);
	}
	buf_add(&b, STR("]}}}}"));
	ok(json_parse(&s.a, buf_str(&b), &o, NULL) == ERR_OK, "a wide tree");
	buf_done(&b);
	s.docs = json_new_arr(&s.a);
	json_add(&s.a, s.docs, o);
	for (int i = 0; i < 400; i++) {
		mk_str queue = arena_printf(&s.a, "q%d.%s", i, name);
		mk_str used = arena_printf(&s.a,
					   "\"flavorsReservation\":[{\"name\":\"f0-0.%s\","
					   "\"resources\":[{\"name\":\"r0.%s\",\"total\":"
					   "\"99999999999\"}]}]",
					   name, name);

		scene_queue(&s, queue.p, "Never", used.p);
	}
	scene_judge(&s);
	body = scene_status(&s);
	size = part(&s, body, "").n;
	printf("# wide: %zu bytes\n", size);
	ok(json_at(body, "/status/nodeCount") != NULL, "which is valid");
	ok(size < 200 * 1024, "has a status of bounded length, too");
	scene_close(&s);
}

int main(void)
{
	lists();
	golden();
	unchanged();
	one_member();
	hostile_live();
	hostile_queues();
	orphans();
	figures();
	parents();
	no_memory();
	large(false);
	large(true);
	widest();
	return done_testing();
}
