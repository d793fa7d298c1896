/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of answers for large fleets: pages, orders, filters, counts; each when memory runs out. */
#include "core/engine/answers/pages.h"

#include "core/base/alloc.h"
#include "core/engine/state.h"
#include "t/lib/engine_world.h"

enum { WORKERS = 12 };

static struct arena words;

static struct answer_env env_of(struct world *w)
{
	arena_clear(&words);
	return (struct answer_env){.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &words};
}

/* A member of each element, with blanks between them. */
static const char *column(const struct json *list, const char *key)
{
	static char text[1024];
	struct json_iter it = json_iter(list);
	size_t n = 0;

	text[0] = '\0';
	while (json_next(&it) && n < sizeof(text)) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", n > 0 ? " " : "",
				      STR_ARG(json_str(json_get(it.val, key))));
	}
	return text;
}

static const struct json *page_of(struct world *w, struct answer_clusters_filter f)
{
	struct answer_env env = env_of(w);

	return answer_clusters_page(&env, &f);
}

static const char *names(struct world *w, struct answer_clusters_filter f)
{
	return column(json_get(page_of(w, f), "items"), "name");
}

static void test_clusters(void)
{
	struct world *w = w_new(WORKERS);
	const struct json *page;

	w_settle(w);
	w_link(w, 3, LINK_DOWN);
	w_link(w, 11, LINK_DOWN);
	w_settle(w);
	w_advance(w, 60000);
	page = page_of(w, (struct answer_clusters_filter){.limit = 5});
	is_str(column(json_get(page, "items"), "name"), "w1 w2 w3 w4 w5", "a page, by number");
	is_int(json_int(json_get(page, "total"), 0), WORKERS, "... of so many");
	is_str(arena_dup(&words, json_str(json_get(page, "continue"))).p, "5", "... and the next");
	is_str(arena_dup(&words, json_write(&words, json_get(page, "counts"))).p,
	       "{\"Connected\":10,\"Connecting\":0,\"NotConnected\":2,\"problem\":2}",
	       "counts of all of them");
	page = page_of(w, (struct answer_clusters_filter){.limit = 5, .from = 10});
	is_str(column(json_get(page, "items"), "name"), "w11 w12", "the last page");
	ok(!json_get(page, "continue"), "... says that none follows");
	is_str(names(w, (struct answer_clusters_filter){.limit = 5, .from = 99}), "", "beyond it");
	is_str(names(w, (struct answer_clusters_filter){.order = STR("problem"), .limit = 4}),
	       "w3 w11 w1 w2", "those with a problem first");
	is_str(names(w, (struct answer_clusters_filter){.order = STR("-problem"), .limit = 2}),
	       "w1 w2", "... or last");
	is_str(names(w, (struct answer_clusters_filter){.problem = true}), "w3 w11",
	       "those with a problem alone");
	is_str(names(w, (struct answer_clusters_filter){.order = STR("-name"), .limit = 4}),
	       "w12 w11 w10 w9", "numbers in names count as such");
	is_str(names(w, (struct answer_clusters_filter){.order = STR("state"), .from = 9}),
	       "w12 w3 w11", "by state, then by name");
	is_str(names(w, (struct answer_clusters_filter){.state = STR("NotConnected")}), "w3 w11",
	       "of one state");
	is_str(names(w, (struct answer_clusters_filter){.match = STR("W1")}), "w1 w10 w11 w12",
	       "a part of the name, in any case");
	w_free(w);
}

static const struct json *part_of(struct world *w, struct answer_part part)
{
	struct answer_env env = env_of(w);

	return answer_workload_part(&env, STR("ns"), STR("wl-j"), &part);
}

static void test_workload(void)
{
	struct world *w = w_new(WORKERS);
	const struct json *v;
	struct answer_env env;

	w_patch(w, w_find(w, 0, KIND_CONFIG, "", "cfg"),
		"{\"spec\":{\"clusters\":[\"w1\",\"w2\",\"w3\",\"w4\",\"w5\",\"w6\",\"w7\","
		"\"typo\"]}}");
	w_settle(w);
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	a_job(w, "j");
	w_settle(w);
	v = part_of(w, (struct answer_part){.limit = 3});
	is_int(json_len(json_get(v, "clusters")), 3, "a page of the workers of a Workload");
	is_int(json_int(json_get(v, "total"), 0), 8, "... of so many");
	is_str(arena_dup(&words, json_str(json_get(v, "continue"))).p, "3", "... and the next");
	is_str(arena_dup(&words, json_write(&words, json_get(v, "reasons"))).p,
	       "[{\"reason\":\"WaitsForQuota\",\"workers\":6,\"names\":[\"w2\",\"w3\",\"w4\","
	       "\"w5\",\"w6\"]},{\"reason\":\"NotConnected\",\"workers\":1,\"names\":[\"w1\"]},"
	       "{\"reason\":\"ClusterMissing\",\"workers\":1,\"names\":[\"typo\"]}]",
	       "all reasons with counts, and five names at most");
	v = part_of(w, (struct answer_part){.limit = 100, .from = 5});
	is_str(column(json_get(v, "clusters"), "name"), "w7 w1 typo",
	       "those where most has happened come first");
	ok(!json_get(v, "continue"), "none follows");
	v = part_of(w, (struct answer_part){.limit = 100, .reason = STR("NotConnected")});
	is_str(column(json_get(v, "clusters"), "name"), "w1", "those with one reason");
	is_int(json_int(json_get(v, "total"), 0), 1, "... of which there are so many");
	is_int(json_len(json_get(v, "reasons")), 3, "... while all reasons are counted");
	v = part_of(w, (struct answer_part){.limit = 100, .reason = STR("None")});
	is_int(json_len(json_get(v, "clusters")), 0, "a reason that there is not");
	env = env_of(w);
	v = answer_workload(&env, STR("ns"), STR("wl-j"));
	is_str(column(json_get(v, "clusters"), "name"), "w1 w2 w3 w4 w5 w6 w7 typo",
	       "without a limit all, in the order of the config");
	ok(!json_get(v, "reasons") && !json_get(v, "total"), "... and nothing else");
	w_free(w);
}

/* All workers but one are tried again by themselves: what comes next is cut to the soonest. */
static void test_next(void)
{
	enum { MANY = 30 };
	struct world *w = w_new(MANY);
	const struct json *v;
	int64_t total;

	w_settle(w);
	w->rig = (struct rig){.times = MANY - 1,
			      .type = OP_CREATE,
			      .cluster = ANY_CLUSTER,
			      .kind = KIND_WORKLOAD,
			      .outcome = OUTCOME_REFUSED,
			      .code = ERR_DENIED};
	w->rig_words = "no";
	w->rig_http = 403;
	a_job(w, "j");
	w_settle(w);
	v = part_of(w, (struct answer_part){.limit = 100});
	total = json_int(json_get(v, "nextTotal"), 0);
	is_int(json_len(json_get(v, "next")), ANSWER_NEXT_MAX, "what comes next is bounded");
	is_int(total, MANY - 1, "... and how much there is is told");
	w_free(w);
}

static const struct json *found(struct world *w, const char *match)
{
	struct answer_env env = env_of(w);
	struct answer_filter f = {.limit = 0};

	return json_get(answer_workloads_matching(&env, &f, str_of(match)), "items");
}

static void test_workloads(void)
{
	struct world *w = w_new(1);

	a_job(w, "red");
	a_job(w, "blue");
	w_settle(w);
	is_str(column(found(w, ""), "name"), "wl-red wl-blue", "all Workloads");
	is_str(column(found(w, "WL-R"), "name"), "wl-red", "a part of the name");
	is_int(json_len(found(w, "green")), 0, "what none has");
	w_free(w);
}

static const struct json *queues(struct world *w, struct answer_queues_filter f)
{
	struct answer_env env = env_of(w);

	return answer_queues_page(&env, &f);
}

static void a_queue(struct world *w, uint16_t kind, const char *name, const char *cohort)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"generation\":1},\"spec\":{\"%s\":\"%s\"}}", name,
		 kind == KIND_COHORT ? "parentName" : "cohortName", cohort);
	w_put(w, 0, kind, text);
}

static void test_queues(void)
{
	struct world *w = w_new(1);
	const struct json *v;

	w_settle(w);
	w_stop(w);
	w->read_queues = true;
	w_restart(w);
	a_queue(w, KIND_COHORT, "all", "");
	a_queue(w, KIND_COHORT, "team", "all");
	a_queue(w, KIND_CLUSTER_QUEUE, "q1", "team");
	a_queue(w, KIND_CLUSTER_QUEUE, "q2", "team");
	a_queue(w, KIND_CLUSTER_QUEUE, "q3", "other");
	w_settle(w);
	v = queues(w, (struct answer_queues_filter){.of = QUEUES_MANAGER, .limit = 2});
	is_str(column(json_get(v, "items"), "name"), "q1 q2", "a page of the manager's queues");
	is_int(json_len(json_get(v, "cohorts")), 0, "... without Cohorts");
	is_int(json_int(json_get(v, "total"), 0), 3, "... of so many");
	is_str(arena_dup(&words, json_str(json_get(v, "continue"))).p, "2", "... and the next");
	v = queues(w, (struct answer_queues_filter){.of = QUEUES_MANAGER, .limit = 2, .from = 2});
	is_str(column(json_get(v, "items"), "name"), "q3", "the last page");
	ok(!json_get(v, "continue"), "... says so");
	v = queues(w, (struct answer_queues_filter){
			      .of = QUEUES_MANAGER, .match = STR("OTHER"), .limit = 2});
	is_str(column(json_get(v, "items"), "name"), "q3", "those of a Cohort");
	v = queues(w, (struct answer_queues_filter){.of = QUEUES_COHORTS, .limit = 1, .from = 1});
	is_str(column(json_get(v, "cohorts"), "name"), "team", "a page of Cohorts");
	v = queues(w, (struct answer_queues_filter){.of = QUEUES_WORKERS, .limit = 1});
	is_int(json_len(json_get(v, "items")), 0, "none of workers is watched");
	w_free(w);
}

enum { ASK_CLUSTERS, ASK_PART, ASK_WORKLOADS, ASK_QUEUES, ASKS };

static const struct json *ask(const struct answer_env *env, int what)
{
	const struct answer_clusters_filter clusters = {.order = STR("problem")};
	const struct answer_part part = {.limit = 100};
	const struct answer_filter workloads = {.limit = 0};
	const struct answer_queues_filter all = {.of = QUEUES_ALL};

	return what == ASK_CLUSTERS ? answer_clusters_page(env, &clusters)
	       : what == ASK_PART   ? answer_workload_part(env, STR("ns"), STR("wl-j"), &part)
	       : what == ASK_QUEUES ? answer_queues_page(env, &all)
				    : answer_workloads_matching(env, &workloads, STR("j"));
}

static void test_memory(void)
{
	struct world *w = w_new(WORKERS);

	a_job(w, "j");
	w_settle(w);
	for (int what = 0; what < ASKS; what++) {
		bool whole = true, done = false;

		for (uint64_t n = 1; !done && n < 10000; n++) {
			struct arena a;
			struct answer_env env = {
				.e = w->e, .mono_ms = w->now, .wall_ms = w->wall, .a = &a};

			arena_done(&w->e->scratch);
			arena_init(&w->e->scratch, 0);
			arena_init(&a, 0);
			alloc_fail_after(n);
			done = ask(&env, what) != NULL;
			alloc_fail_after(0);
			whole = whole && (done || !w->e->no_memory);
			arena_done(&a);
		}
		ok(done && whole, "an answer is whole, or none: memory ran out at each place");
	}
	w_free(w);
}

int main(void)
{
	arena_init(&words, 0);
	test_clusters();
	test_workload();
	test_next();
	test_workloads();
	test_queues();
	test_memory();
	arena_done(&words);
	return done_testing();
}
