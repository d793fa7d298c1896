/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a job that its worker decides, and descriptors that say where they stand. */
#include <stdlib.h>

#include "core/plug/plug.h"
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

static const mk_scale scale = {
	.enabled = "/spec/auto",
	.declared = "/spec/groups",
	.groups = "/spec/groups",
	.name = "/name",
	.count = "/n",
	.times = "/each",
	.sizes = "k/sizes",
	.revision = "k/revision",
};

/* 'want' NULL: nothing is to be written. */
static void sizes(const char *local, const char *groups, const char *want, const char *name)
{
	const mk_adapter d = {.struct_size = sizeof(d), .scale = &scale};
	struct plug_adapter ad = {.d = &d};
	struct json *notes = NULL;
	struct arena a;
	struct mk_err err;
	const char *copy;

	arena_init(&a, 0);
	copy = arena_printf(
		       &a,
		       "{\"metadata\":{\"uid\":\"u\",\"generation\":7},\"spec\":{\"groups\":%s}}",
		       groups)
		       .p;
	is_int(plug_sizes(&ad, parse_json(&a, local), parse_json(&a, copy), &a, &notes, &err),
	       ERR_OK, name);
	is_str(json_str(json_get(notes, "k/sizes")).n ? json_str(json_get(notes, "k/sizes")).p : "",
	       want ? want : "", "... the sizes");
	is_str(json_str(json_get(notes, "k/revision")).n ? json_str(json_get(notes, "k/revision")).p
							 : "",
	       want ? "u-7" : "", "... the revision");
	arena_done(&a);
}

#define LOCAL(notes, groups) \
	"{\"metadata\":{\"annotations\":{" notes "}},\"spec\":{\"groups\":[" groups "]}}"
#define GROUPS "{\"name\":\"B\"},{\"name\":\"a\"}"
#define TOLD                                \
	"\"k/sizes\":\"[{\\\"count\\\":1, " \
	"\\\"name\\\":\\\"a\\\"},{\\\"name\\\":\\\"b\\\",\\\"count\\\":6}]\""

static void values(void)
{
	static const char now[] =
		"[{\"name\":\"B\",\"n\":3,\"each\":2},{\"name\":\"a\"},{\"name\":\"c\",\"n\":9}]";
	static const char text[] = "[{\"name\":\"a\",\"count\":1},{\"name\":\"b\",\"count\":6}]";

	sizes(LOCAL("", GROUPS), now, text, "by name, in lower case, of declared groups alone");
	sizes(LOCAL(TOLD, GROUPS), now, NULL, "written otherwise, they are the same");
	sizes(LOCAL("\"k/sizes\":\"x\"", GROUPS), now, text, "an annotation that is no JSON");
	sizes(LOCAL("\"k/sizes\":\"{}\"", GROUPS), now, text, "... no list");
	sizes(LOCAL("\"k/sizes\":7", GROUPS), now, text, "... no string");
	sizes(LOCAL("", GROUPS), "[]", NULL, "no group there");
	sizes(LOCAL("", GROUPS), "{}", NULL, "no list there");
	sizes(LOCAL("", ""), now, NULL, "none declared");
	sizes("{\"spec\":{\"groups\":\"x\"}}", now, NULL, "no list declared");
	sizes(LOCAL("", GROUPS), "[{\"name\":\"a\",\"n\":-4},{\"name\":\"B\",\"n\":99999999999}]",
	      "[{\"name\":\"a\",\"count\":0},{\"name\":\"b\",\"count\":2147483647}]",
	      "numbers beyond the API's");
	sizes(LOCAL("", GROUPS),
	      "[{\"name\":\"a\",\"n\":2000000000,\"each\":2000000000},{\"name\":7}]",
	      "[{\"name\":\"a\",\"count\":2147483647}]", "a product beyond them");
	sizes(LOCAL("", GROUPS),
	      "[{\"name\":\"a\",\"n\":2,\"each\":0},{\"name\":\"B\",\"n\":\"x\"}]",
	      "[{\"name\":\"a\",\"count\":2},{\"name\":\"b\",\"count\":1}]",
	      "what is not given counts as 1");
}

static void many(void)
{
	const mk_adapter d = {.struct_size = sizeof(d), .scale = &scale};
	struct plug_adapter ad = {.d = &d};
	struct json *notes = NULL, *list, *none;
	struct arena a;
	struct mk_err err;

	arena_init(&a, 0);
	none = parse_json(&a, "{}");
	list = parse_json(&a, "{\"spec\":{\"groups\":[]}}");
	for (int i = 0; i < 65; i++) {
		json_add(&a, json_at(list, "/spec/groups"), json_new_obj(&a));
	}
	is_int(plug_sizes(&ad, list, none, &a, &notes, &err), ERR_INVALID, "65 groups declared");
	is_str(err.msg, "/spec/groups: expected at most 64 groups, found 65", "... is told");
	is_int(plug_sizes(&ad, none, list, &a, &notes, &err), ERR_INVALID, "65 groups there");
	is_str(err.msg, "its copy: /spec/groups: expected at most 64 groups, found 65",
	       "... is told");
	arena_done(&a);
}

static void refused(const mk_adapter *ad, const char *want)
{
	const void *const list[] = {ad};
	const mk_factory f = {sizeof(f), 1, MK_FACTORY_ADAPTER, list};
	const mk_factory *const fs[] = {&f, NULL};
	const mk_entry e = MK_ENTRY("test.refused", "1", fs);
	struct plug *p = plug_new(NULL);
	struct mk_err err = {0};

	is_int(plug_add(p, &e, "", &err), want ? ERR_INVALID : ERR_OK, want ? want : "is taken");
	if (want && !ok(strstr(err.msg, want) != NULL, "... is what is found")) {
		printf("#   %s\n", err.msg);
	}
	plug_free(p);
}

static void descriptors(void)
{
	mk_scale s = scale;
	mk_adapter ad = {
		.struct_size = sizeof(ad), .group = "g", .version = "v1", .kind = "K", .scale = &s};

	refused(&ad, NULL);
	s.enabled = "x";
	refused(&ad, "scale: enabled: expected a JSON pointer");
	s = scale;
	s.count = NULL;
	refused(&ad, "scale: count: expected a JSON pointer");
	s = scale;
	s.sizes = NULL;
	refused(&ad, "scale: sizes: expected a metadata key, found NULL");
	s = scale;
	s.child = "/status/child";
	refused(&ad, "scale: kind: expected a kind, found NULL");
	s.group = "g";
	s.version = "v1";
	s.kind = "Child";
	refused(&ad, NULL);
	ad.replicas = "/spec/replicas";
	refused(&ad, "scale: expected no group_key or replicas beside it, found one");
	ad.struct_size = offsetof(mk_adapter, scale);
	refused(&ad, NULL);
}

int main(void)
{
	values();
	many();
	descriptors();
	return done_testing();
}
