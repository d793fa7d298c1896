/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others write does multikueued.io/placement no harm: values of another type, missing, huge or
 * odd, one at a time in a rich question; and a fleet of a thousand workers within the soft budget.
 */
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include "core/base/str.h"
#include "core/plug/plug.h"

extern const mk_entry mk_entry_placement;

static struct plug *plug;
static int64_t n_asked, n_faults, n_words;

/* Each member that a question may have, with what a user could write. */
static const char question[] =
	"{\"config\":{\"candidates\":3,\"race\":\"always\",\"roundSeconds\":60,\"maxWorkers\":4,"
	"\"maxAgeSeconds\":60,\"maxWaitSeconds\":600,\"overflowSeconds\":120,"
	"\"keepFreePercent\":10,\"requires\":\"region in (eu, us), gpu\",\"prefers\":\"cache\","
	"\"tolerates\":\"team=ml, spot\",\"overflow\":\"cloud=true\",\"spreadBy\":\"region\","
	"\"weights\":{\"fit\":1000,\"block\":10,\"pack\":10,\"spread\":10,\"pending\":10,"
	"\"cost\":10,\"prefers\":10,\"stick\":10,\"group\":10,\"failures\":10}},"
	"\"requests\":[{\"name\":\"cpu\",\"amount\":2000},{\"name\":\"gpu\",\"amount\":1},"
	"{\"name\":\"pods\",\"amount\":2}],"
	"\"job\":{\"kind\":\"batch/v1, Kind=Job\",\"name\":\"a\",\"labels\":[],\"annotations\":["
	"{\"name\":\"multikueued.io/requires\",\"value\":\"region=eu\"},"
	"{\"name\":\"multikueued.io/prefers\",\"value\":\"rack in (7, 8), !slow\"},"
	"{\"name\":\"multikueued.io/tolerates\",\"value\":\"team=ml\"}]},"
	"\"workload\":{\"metadata\":{\"annotations\":{}},\"spec\":{\"podSets\":[{\"count\":1,"
	"\"minCount\":1},{\"count\":1}]}},"
	"\"clusters\":[{\"name\":\"east\",\"connected\":true,\"nominated\":true,\"labels\":["
	"{\"name\":\"region\",\"value\":\"eu\"},{\"name\":\"gpu\",\"value\":\"h100\"}],"
	"\"annotations\":[{\"name\":\"cost\",\"value\":\"spot=1.5, on-demand=4\"},"
	"{\"name\":\"taints\",\"value\":\"team=ml,spot=true\"}],"
	"\"clone\":{\"sinceMs\":1000,\"quota\":false,\"says\":\"insufficient quota\"},"
	"\"ranMs\":1000,\"group\":2,\"running\":3,\"failures\":1,"
	"\"facts\":{\"ageMs\":0,\"waiting\":1,\"queue\":{\"name\":\"cq\",\"active\":true,"
	"\"pending\":2,\"preempts\":true,\"elderMs\":1000,\"assumed\":[{\"name\":\"cpu\","
	"\"amount\":1500}],\"flavors\":[{\"name\":\"spot\",\"group\":0,\"free\":["
	"{\"name\":\"cpu\",\"amount\":9000},{\"name\":\"gpu\",\"amount\":4}],\"borrow\":["
	"{\"name\":\"cpu\",\"amount\":-1000},{\"name\":\"gpu\",\"amount\":1}],\"most\":["
	"{\"name\":\"cpu\",\"amount\":16000},{\"name\":\"gpu\",\"amount\":8}]}]}}},"
	"{\"name\":\"west\",\"connected\":true,\"nominated\":false,\"labels\":["
	"{\"name\":\"region\",\"value\":\"eu\"},{\"name\":\"gpu\",\"value\":\"a100\"}],"
	"\"facts\":{\"ageMs\":0,\"waiting\":0,\"queue\":{\"active\":true,\"preempts\":true,"
	"\"flavors\":[{\"name\":\"f\",\"group\":0,\"free\":[{\"name\":\"cpu\",\"amount\":0},"
	"{\"name\":\"gpu\",\"amount\":0}],\"most\":[{\"name\":\"cpu\",\"amount\":16000},"
	"{\"name\":\"gpu\",\"amount\":8}]}]}}}]}";

static const char *const odd[] = {
	"null",
	"true",
	"0",
	"-1",
	"9223372036854775807",
	"-9223372036854775808",
	"1.5",
	"\"\"",
	"\"in\"",
	"\"a in (\"",
	"\"a=b,\\u0000\\n\\ud83d\\ude00\"",
	"\"=,=,,=\"",
	"\"9999999999999999999\"",
	"[]",
	"{}",
	"[null,[],{},\"a\",{\"name\":7,\"amount\":\"x\",\"value\":[]}]",
	"{\"name\":\"cpu\",\"amount\":9223372036854775807}",
};

/* Asks with what 'v' has; a fault is counted. */
static void ask(struct arena *a, const struct json *v)
{
	struct plug_pick pick = {.n = 0};
	struct mk_err err = {.msg = ""};
	const struct plug_question q = {.workload = json_get(v, "workload"),
					.clusters = json_get(v, "clusters"),
					.config = json_get(v, "config"),
					.requests = json_get(v, "requests"),
					.job = json_get(v, "job"),
					.now_wall_ms = json_int(json_get(v, "now"), 1000000),
					.last_set_ms = json_int(json_get(v, "last"), 940000),
					.reserved_ms = json_int(json_get(v, "reserved"), 900000)};

	n_asked++;
	if (plug_nominate(plug, 0, &q, a, &pick, &err) != ERR_OK) {
		n_faults++;
		printf("# %s\n", err.msg);
		return;
	}
	n_words += pick.said.n > 0 ? 1 : 0;
}

/* Puts each odd value, and nothing, at 'pointer'. */
static void bend(const struct json *whole, mk_str pointer)
{
	for (size_t i = 0; i <= sizeof(odd) / sizeof(odd[0]); i++) {
		struct json *copy, *v = NULL;
		struct arena a;

		arena_init(&a, 0);
		copy = json_dup(&a, whole);
		if (i < sizeof(odd) / sizeof(odd[0])) {
			(void)json_parse(&a, str_of(odd[i]), &v, NULL);
		}
		(void)json_put(&a, copy, pointer.p, v);
		ask(&a, copy);
		arena_done(&a);
	}
}

/* Bends every value of 'v', which is at 'pointer' of 'whole'. */
static void bend_all(struct arena *a, const struct json *whole, const struct json *v,
		     mk_str pointer)
{
	struct json_iter it = json_iter(v);
	size_t i = 0;

	if (pointer.n > 0) {
		bend(whole, pointer);
	}
	if (json_type(v) != JSON_OBJ && json_type(v) != JSON_ARR) {
		return;
	}
	while (json_next(&it)) {
		bend_all(a, whole, it.val,
			 json_type(v) == JSON_OBJ
				 ? arena_printf(a, "%.*s/%.*s", STR_ARG(pointer), STR_ARG(it.key))
				 : arena_printf(a, "%.*s/%zu", STR_ARG(pointer), i++));
	}
}

static void odd_values(void)
{
	struct arena a;
	struct json *v;

	arena_init(&a, 0);
	v = parse_json(&a, question);
	ask(&a, v);
	bend_all(&a, v, v, STR(""));
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		static const char *const times[] = {"now", "last", "reserved"};

		for (size_t k = 0; k < 3; k++) {
			struct json *copy = json_dup(&a, v);

			json_set(&a, copy, str_of(times[k]), parse_json(&a, odd[i]));
			ask(&a, copy);
		}
	}
	printf("# asked %" PRId64 " times\n", n_asked);
	ok(n_asked > 1500, "each value is bent in each way");
	is_int(n_faults, 0, "values of another type, missing or huge are no fault");
	is_int(n_words, n_asked, "each answer has words");
	arena_done(&a);
}

/* A thousand workers of 16 labels; a selector as long as may be. */
static void large_fleet(void)
{
	struct plug_stats before, after;
	struct json *clusters;
	struct arena a;
	struct buf b;

	arena_init(&a, 0);
	buf_init(&b, 1 << 24);
	buf_printf(&b, "[");
	for (int i = 0; i < 1000; i++) {
		buf_printf(&b, "%s{\"name\":\"worker-%d\",\"connected\":true,\"labels\":[",
			   i > 0 ? "," : "", i);
		for (int k = 0; k < 16; k++) {
			buf_printf(&b, "%s{\"name\":\"label-%d\",\"value\":\"v%d\"}",
				   k > 0 ? "," : "", k, i % 7);
		}
		buf_printf(&b,
			   "],\"facts\":{\"ageMs\":0,\"queue\":{\"active\":true,\"flavors\":[{"
			   "\"name\":\"f\",\"group\":0,\"free\":[{\"name\":\"cpu\",\"amount\":%d}],"
			   "\"most\":[{\"name\":\"cpu\",\"amount\":%d}]}]}}}",
			   i * 10, i * 10);
	}
	buf_printf(&b, "]");
	clusters = parse_json(&a, arena_dup(&a, buf_str(&b)).p);
	const struct plug_question q = {
		.workload = parse_json(&a, "{\"spec\":{\"podSets\":[{\"count\":1}]}}"),
		.clusters = clusters,
		.config = parse_json(
			&a, "{\"requires\":\"label-1=v3,label-2=v3,!a,!b,!c,!d,!e,!f,!g,!h,"
			    "!i,!j,!k,!l,!m,label-15=v3\"}"),
		.requests = parse_json(&a, "[{\"name\":\"cpu\",\"amount\":2000}]"),
		.now_wall_ms = 1000000,
		.last_set_ms = -1,
		.reserved_ms = -1};
	struct plug_pick pick = {.n = 0};
	struct mk_err err = {.msg = ""};

	plug_get_stats(plug, &before);
	ok(plug_nominate(plug, 0, &q, &a, &pick, &err) == ERR_OK, "a thousand workers: an answer");
	printf("# %.*s\n", STR_ARG(pick.said));
	plug_get_stats(plug, &after);
	is_int(pick.n, 1, "... one is chosen");
	is_int(pick.index[0], 206, "... the smallest of the matching ones with room");
	is_int(after.soft_calls - before.soft_calls + after.soft_bytes - before.soft_bytes, 0,
	       "... within the soft budget of calls and memory");
	buf_done(&b);
	arena_done(&a);
}

/* Asks about clusters; returns the answer, and its words in *said. */
static struct plug_pick asked(struct arena *a, const char *clusters, const char *config,
			      const char *tolerates, char said[1024])
{
	struct plug_pick pick = {.n = 0};
	struct mk_err err = {.msg = ""};
	struct json *job =
		parse_json(a, "{\"annotations\":[{\"name\":\"multikueued.io/tolerates\"}]}");
	const struct plug_question q = {
		.workload = parse_json(a, "{\"spec\":{\"podSets\":[{\"count\":1}]}}"),
		.clusters = parse_json(a, clusters),
		.config = parse_json(a, config),
		.requests = parse_json(a, "[{\"name\":\"cpu\",\"amount\":2000}]"),
		.job = job,
		.now_wall_ms = 1000000,
		.last_set_ms = -1,
		.reserved_ms = -1};

	(void)json_put(a, job, "/annotations/0/value", json_new_str(a, str_of(tolerates)));
	if (plug_nominate(plug, 0, &q, a, &pick, &err) != ERR_OK) {
		ok(false, err.msg);
	}
	snprintf(said, 1024, "%.*s", STR_ARG(pick.said));
	return pick;
}

/* More workers than are looked at: the others are not unplaceable, and lose no clone. */
static void beyond(void)
{
	struct plug_pick pick;
	struct arena a;
	struct buf b;
	char said[1024];

	arena_init(&a, 0);
	buf_init(&b, 1 << 20);
	for (int i = 0; i < 1100; i++) {
		buf_printf(&b,
			   "%s{\"name\":\"worker-%d\",\"connected\":true,\"nominated\":%s,"
			   "\"annotations\":[{\"name\":\"taints\",\"value\":\"team=%s\"}]}",
			   i > 0 ? "," : "[", i, i == 1080 ? "true" : "false", i == 7 ? "ml" : "x");
	}
	buf_printf(&b, "]");
	pick = asked(&a, arena_dup(&a, buf_str(&b)).p, "{}", "", said);
	is_int(pick.verdict, MK_KEEP, "none of the first 1,024 may take it: another may");
	ok(strstr(said, " and 9") && str_ends(str_of(said), STR("; not looked at: 76 workers "
								"behind the first 1024")),
	   "... which the words tell");
	printf("# %s\n", said);
	pick = asked(&a, arena_dup(&a, buf_str(&b)).p, "{}", "team=ml", said);
	ok(pick.n == 2 && pick.index[0] == 1080 && pick.index[1] == 7,
	   "one that is not looked at keeps its clone as another is tried");
	buf_done(&b);
	arena_done(&a);
}

static void long_texts(void)
{
	static const char two[] = "[{\"name\":\"a\",\"connected\":true,\"annotations\":[{\"name\":"
				  "\"%s\",\"value\":\"%s\"}]},{\"name\":\"b\",\"connected\":true}]";
	char text[2001], said[1024];
	struct arena a;
	struct plug_pick pick;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		text[i] = i % 2 == 0 ? 't' : ',';
	}
	text[sizeof(text) - 1] = '\0';
	pick = asked(&a, arena_printf(&a, two, "taints", text).p, "{\"candidates\":2}", "t", said);
	ok(pick.n == 1 && pick.index[0] == 1, "taints that are too long: nothing tolerates them");
	pick = asked(&a, arena_printf(&a, two, "taints", "t").p, "{}", text, said);
	ok(pick.n == 1 && strstr(said, "annotation multikueued.io/tolerates: expected at most "
				       "1024 bytes, so it tolerates nothing"),
	   "a job that tolerates too much tolerates nothing, and is told");
	pick = asked(&a, arena_printf(&a, two, "cost", text).p, "{\"candidates\":2}", "", said);
	ok(pick.n == 2 && strstr(said, "a (facts not known, cost not readable)"),
	   "a price that is too long is none");
	arena_done(&a);
}

int main(void)
{
	struct mk_err err = {.msg = ""};

	plug = plug_new(NULL);
	ok(plug_add(plug, &mk_entry_placement, "", &err) == ERR_OK, "the plugin is loaded");
	odd_values();
	large_fleet();
	beyond();
	long_texts();
	plug_free(plug);
	return done_testing();
}
