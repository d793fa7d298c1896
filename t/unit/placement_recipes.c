/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recipes of docs/placement.md do what they say: the YAML is taken from the page itself, the
 * queues of the workers are set here. Each is asked twice, with its YAML and without, and the
 * answers differ. Run from the root.
 */
#include "t/lib/tap.h"

#include "core/base/str.h"
#include "core/base/yaml.h"
#include "core/plug/plug.h"
#include "core/plug/schema.h"

enum { MAX_WORKERS = 3, N_RECIPES = 10 };

extern const mk_entry mk_entry_placement;

static struct arena a;
static struct plug *plug;
static struct buf page;

/*
 * A flavor: nominal quota that is free, what may be borrowed, what it has at most; thousandths of
 * cpus.
 */
#define FLAVOR(flavor, free, borrow, most)                                       \
	"{\"name\":\"" flavor "\",\"group\":0," AMOUNT("free", free) "," AMOUNT( \
		"borrow", borrow) "," AMOUNT("most", most) "}"
#define AMOUNT(of, cpu) "\"" of "\":[{\"name\":\"cpu\",\"amount\":" #cpu "}]"
#define FACTS(flavors, more)                                                                \
	",\"facts\":{\"ageMs\":0,\"waiting\":0,\"queue\":{\"name\":\"cq\",\"active\":true," \
	"\"pending\":0" more ",\"flavors\":[" flavors "]}}"
/* A job of two cpus has so much free on a worker that has eight. */
#define FREE(free) FACTS(FLAVOR("f", free, 0, 8000), "")

/* What the test sets, and who is tried with the recipe and without it, or without its Job. */
struct recipe {
	const char *name;
	const char *workers[MAX_WORKERS]; /* members of east, north, west; NULL: not there */
	const char *with, *without;
	const char *other;   /* the section that is used instead of the recipe's; NULL: none */
	bool job_only;       /* the other parts of the recipe stay */
	int64_t reserved_ms; /* before now */
};

static const char *const names[MAX_WORKERS] = {"east", "north", "west"};

static const struct recipe recipes[N_RECIPES] = {
	{.name = "nearest",
	 .workers = {FREE(5000), NULL, FREE(2000)},
	 .with = "[\"east\"]",
	 .without = "[\"west\"]"},
	{.name = "cheapest",
	 .workers = {FREE(2000), NULL,
		     FACTS(FLAVOR("spot", 0, 4000, 8000) "," FLAVOR("on-demand", 0, 0, 8000), "")},
	 .with = "[\"west\",\"east\"]",
	 .without = "[\"east\"]"},
	{.name = "gpu",
	 .workers = {FREE(2000), NULL, FREE(4000)},
	 .with = "[\"west\"]",
	 .without = "[\"east\"]"},
	{.name = "regions",
	 .workers = {",\"running\":3" FREE(2000), ",\"running\":4" FREE(2000),
		     ",\"running\":5" FREE(4000)},
	 .with = "[\"west\"]",
	 .without = "[\"east\"]"},
	{.name = "keep-free",
	 .workers = {FACTS(FLAVOR("f", 2000, 0, 10000), ""), NULL,
		     FACTS(FLAVOR("f", 3000, 0, 10000), "")},
	 .with = "[\"west\"]",
	 .without = "[\"east\"]"},
	{.name = "overflow",
	 .workers = {FREE(0), NULL, FREE(4000)},
	 .with = "[\"east\"]",
	 .without = "[\"west\"]",
	 .reserved_ms = 119 * 1000},
	{.name = "guaranteed",
	 .workers = {",\"ranMs\":1000" FACTS(FLAVOR("f", 0, 8000, 8000), ""), NULL,
		     ",\"failures\":3" FREE(4000)},
	 .with = "[\"west\"]",
	 .without = "[\"east\",\"west\"]",
	 .other = "{\"weights\":{\"fit\":0}}"},
	{.name = "stick",
	 .workers = {",\"ranMs\":1000" FACTS(FLAVOR("f", 0, 8000, 8000), ""), NULL, FREE(4000)},
	 .with = "[\"east\",\"west\"]",
	 .without = "[\"west\"]"},
	{.name = "taint",
	 .workers = {FREE(4000), NULL, FREE(2000)},
	 .with = "[\"west\"]",
	 .without = "[\"east\"]",
	 .job_only = true},
	{.name = "oldest",
	 .workers = {FACTS(FLAVOR("f", 2000, 0, 8000), ",\"elderMs\":601000"), NULL,
		     FACTS(FLAVOR("f", 4000, 0, 8000), ",\"elderMs\":599000")},
	 .with = "[\"west\"]",
	 .without = "[\"east\"]"},
};

/* What a recipe's YAML has of each kind. */
struct parts {
	const struct json *documents, *section, *job;
};

static struct json *parse(mk_str text)
{
	struct json *v = NULL;

	if (json_parse(&a, text, &v, NULL) != ERR_OK) {
		ok(false, "what the test sets is JSON");
	}
	return v;
}

static bool read_page(void)
{
	FILE *f = fopen("docs/placement.md", "r");
	char part[4096];
	size_t n;

	while (f && (n = fread(part, 1, sizeof(part), f)) > 0) {
		buf_add(&page, (mk_str){part, n});
	}
	if (f) {
		fclose(f);
	}
	return f && !page.failed && page.n > 0;
}

/* The text of the block ```yaml recipe=NAME; empty when the page has none. */
static mk_str block(const char *name)
{
	mk_str head = arena_printf(&a, "```yaml recipe=%s\n", name);
	const char *from = strstr(page.p, head.p), *to = from ? strstr(from + head.n, "```") : NULL;

	return to ? (mk_str){from + head.n, (size_t)(to - from) - head.n} : STR("");
}

static size_t n_faults;

static void count_fault(void *ctx, mk_str pointer, mk_str text)
{
	(void)ctx;
	printf("# %.*s: %.*s\n", STR_ARG(pointer), STR_ARG(text));
	n_faults++;
}

static struct parts read_recipe(const struct recipe *r)
{
	struct parts p = {NULL, NULL, NULL};
	struct json *documents = NULL;
	struct mk_err err = {.msg = ""};
	struct json_iter it;

	ok(yaml_documents(&a, block(r->name), NULL, &documents, &err) == ERR_OK &&
		   json_len(documents) > 0,
	   r->name);
	p.documents = documents;
	it = json_iter(documents);
	while (json_next(&it)) {
		const struct json *section =
			json_at(it.val, "/multiKueue/dispatchers/multikueued.io~1placement");

		p.section = section ? section : p.section;
		p.job = str_is(json_str(json_get(it.val, "kind")), "Job") ? it.val : p.job;
	}
	if (p.section) {
		schema_check(&a, plug_dispatcher(plug, 0)->schema, p.section, STR(""), count_fault,
			     NULL);
	}
	return p;
}

/* The API's map as a dispatcher has it: [{"name", "value"}], without 'prefix' of the name. */
static struct json *pairs(const struct json *map, const char *prefix)
{
	struct json *list = json_new_arr(&a);
	struct json_iter it = json_iter(map);

	while (json_next(&it)) {
		struct json *one = json_new_obj(&a);
		bool cut = str_starts(it.key, str_of(prefix));

		json_set_str(&a, one, "name", str_sub(it.key, cut ? strlen(prefix) : 0, SIZE_MAX));
		json_set_str(&a, one, "value", json_str(it.val));
		json_add(&a, list, one);
	}
	return list;
}

static const struct json *cluster_of(const struct parts *p, const char *name)
{
	struct json_iter it = json_iter(p->documents);

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "kind")), "MultiKueueCluster") &&
		    str_is(json_str_at(it.val, "/metadata/name"), name)) {
			return it.val;
		}
	}
	return NULL;
}

static struct json *clusters(const struct recipe *r, const struct parts *p)
{
	struct json *list = json_new_arr(&a);

	for (size_t i = 0; i < MAX_WORKERS; i++) {
		const struct json *object = cluster_of(p, names[i]);
		struct json *one;

		if (!r->workers[i]) {
			continue;
		}
		one = parse(arena_printf(
			&a, "{\"name\":\"%s\",\"connected\":true,\"nominated\":false%s}", names[i],
			r->workers[i]));
		json_set(&a, one, STR("labels"), pairs(json_at(object, "/metadata/labels"), ""));
		json_set(&a, one, STR("annotations"),
			 pairs(json_at(object, "/metadata/annotations"), "multikueued.io/"));
		json_add(&a, list, one);
	}
	return list;
}

/* Who is tried, as JSON. */
static const char *tried(const struct recipe *r, const struct parts *p, int64_t reserved_ms)
{
	struct json *list = clusters(r, p), *job = json_new_obj(&a), *got = json_new_arr(&a);
	struct plug_pick pick = {.n = 0};
	struct mk_err err = {.msg = ""};

	json_set(&a, job, STR("annotations"), pairs(json_at(p->job, "/metadata/annotations"), ""));
	const struct plug_question q = {
		.workload = parse(STR("{\"metadata\":{},\"spec\":{\"podSets\":[{\"count\":1}]}}")),
		.clusters = list,
		.config = p->section,
		.requests = parse(STR("[{\"name\":\"cpu\",\"amount\":2000}]")),
		.job = job,
		.now_wall_ms = 1000000,
		.last_set_ms = -1,
		.reserved_ms = 1000000 - reserved_ms};

	if (plug_nominate(plug, 0, &q, &a, &pick, &err) != ERR_OK) {
		return err.msg[0] ? arena_printf(&a, "%s", err.msg).p : "a fault";
	}
	for (uint32_t i = 0; i < pick.n; i++) {
		json_add(&a, got,
			 json_new_str(&a,
				      json_str(json_get(json_elem(list, pick.index[i]), "name"))));
	}
	printf("# %s: %.*s\n", r->name, STR_ARG(pick.said));
	return json_write(&a, got).p;
}

int main(void)
{
	struct mk_err err = {.msg = ""};
	size_t blocks = 0;

	arena_init(&a, 0);
	buf_init(&page, 1 << 20);
	plug = plug_new(NULL);
	ok(plug_add(plug, &mk_entry_placement, "", &err) == ERR_OK, "the plugin is loaded");
	if (!ok(read_page(), "the page is there")) {
		return done_testing();
	}
	for (size_t i = 0; i < N_RECIPES; i++) {
		const struct recipe *r = &recipes[i];
		struct parts p = read_recipe(r), without = p;

		is_str(tried(r, &p, r->reserved_ms), r->with, r->name);
		without.job = NULL;
		if (!r->job_only) {
			without.documents = NULL;
			without.section = r->other ? parse(str_of(r->other)) : NULL;
		}
		is_str(tried(r, &without, r->reserved_ms), r->without,
		       "... and elsewhere without it");
		if (r->reserved_ms > 0) {
			is_str(tried(r, &p, r->reserved_ms + 1000), r->without,
			       "... its time over");
		}
	}
	is_int(n_faults, 0, "each section fits the schema");
	for (const char *at = page.p; (at = strstr(at, "recipe=")) != NULL; at++) {
		blocks++;
	}
	is_int(blocks, N_RECIPES, "each recipe of the page is tried here");
	plug_free(plug);
	buf_done(&page);
	arena_done(&a);
	return done_testing();
}
