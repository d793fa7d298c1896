/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a status says of running pods, by a descriptor's signs, and what
 * is left of it when no copy is.
 */
#include "core/plug/describe.h"
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#define mk_plugin_entry template_entry
#include "adapters/generic.c"
#undef mk_plugin_entry

static void is_left(const mk_adapter *d, const char *status, const char *want, const char *name)
{
	struct plug_adapter ad = {.d = d};
	struct arena a;
	struct json *job, *left, *again;

	arena_init(&a, 0);
	job = parse_json(&a, arena_printf(&a, "{\"spec\":{\"x\":1},\"status\":%s}", status).p);
	left = plug_status_without(&ad, job, &a);
	is_int(plug_active(&ad, job), want != NULL, name);
	if (!ok(json_equal(left, parse_json(&a, want ? want : status)), "... and what is left")) {
		printf("#   found %s\n", json_write(&a, left).p);
	}
	again = parse_json(&a, arena_printf(&a, "{\"status\":%s}", json_write(&a, left).p).p);
	ok(!plug_active(&ad, again), "... says nothing");
	arena_done(&a);
}

static const mk_sign none = {.pointer = NULL};

#define ONE(...)                                                \
	(&(const mk_adapter){.struct_size = sizeof(mk_adapter), \
			     .active = (const mk_sign[]){{__VA_ARGS__}, none}})

static void values(void)
{
	const char *const up[] = {"Up", "Rising", NULL}, *const down[] = {"Down", NULL};
	const mk_adapter *number = ONE(.pointer = "/status/n");
	const mk_adapter *among = ONE(.pointer = "/status/s", .values = up, .without = "\"Down\"");
	const mk_adapter *but = ONE(.pointer = "/status/s", .except = down);

	is_left(number, "{\"n\":2,\"m\":2}", "{\"m\":2}", "a number says so");
	is_left(number, "{\"n\":-1}", "{}", "... whatever it is");
	is_left(number, "{\"n\":18446744073709551615}", "{}", "... however large");
	is_left(number, "{\"n\":0}", NULL, "... but 0");
	is_left(number, "{\"n\":null}", NULL, "null does not");
	is_left(number, "{}", NULL, "nor what is not there");
	is_left(number, "{\"n\":true}", "{}", "true does");
	is_left(number, "{\"n\":false}", NULL, "false does not");
	is_left(number, "{\"n\":\"x\"}", "{}", "a string does");
	is_left(number, "{\"n\":\"\"}", NULL, "... but the empty one");
	is_left(number, "{\"n\":[1]}", "{}", "a list does");
	is_left(number, "{\"n\":{}}", NULL, "... but an empty object");
	is_left(among, "{\"s\":\"Rising\"}", "{\"s\":\"Down\"}", "one of the values");
	is_left(among, "{\"s\":\"Broken\"}", NULL, "none of them");
	is_left(among, "{\"s\":7}", NULL, "no string");
	is_left(but, "{\"s\":\"Broken\"}", "{}", "none of the exceptions");
	is_left(but, "{\"s\":\"Down\"}", NULL, "one of them");
	is_left(but, "{\"s\":\"\"}", NULL, "the empty string says nothing");
	is_left(but, "{\"s\":{\"a\":1}}", NULL, "nor does what is no string");
}

static void places(void)
{
	const mk_adapter *each = ONE(.pointer = "/status/l/*/n", .without = "0");
	const mk_adapter *members = ONE(.pointer = "/status/*");
	const mk_adapter *deep = ONE(.pointer = "/status/*/*/n");
	const mk_adapter *odd = ONE(.pointer = "/status/a~1b~0c");
	const mk_adapter *second = ONE(.pointer = "/status/l/1");

	is_left(each, "{\"l\":[{\"n\":0},{\"n\":2,\"m\":1},7,null]}",
		"{\"l\":[{\"n\":0},{\"n\":0,\"m\":1},7,null]}", "each element of an array");
	is_left(each, "{\"l\":{\"x\":{\"n\":1},\"y\":{}}}", "{\"l\":{\"x\":{\"n\":0},\"y\":{}}}",
		"each member of an object");
	is_left(each, "{\"l\":\"x\"}", NULL, "nothing of a string");
	is_left(members, "{\"a\":1,\"b\":0,\"c\":{\"d\":1}}", "{\"b\":0}", "all of it");
	is_left(deep, "{\"a\":{\"b\":{\"n\":1}},\"c\":[{\"n\":2}]}",
		"{\"a\":{\"b\":{}},\"c\":[{}]}", "two levels");
	is_left(odd, "{\"a/b~c\":1,\"a\":1}", "{\"a\":1}", "a name with both escapes");
	is_left(second, "{\"l\":[1,2,3]}", NULL, "no element by its number");
}

static void conditions(void)
{
	const char *const maybe[] = {"True", "Unknown", NULL};
	const mk_adapter *ready = ONE(.condition = "Ready");
	const mk_adapter *open = ONE(.condition = "Ready", .values = maybe);

	is_left(ready,
		"{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"X\","
		"\"status\":"
		"\"True\"}]}",
		"{\"conditions\":[{\"type\":\"X\",\"status\":\"True\"}]}", "a condition goes");
	is_left(ready, "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}", NULL,
		"one that is not True stays");
	is_left(open, "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}",
		"{\"conditions\":[]}", "another status, where it says so");
	is_left(ready, "{\"conditions\":{\"a\":{\"type\":\"Ready\",\"status\":\"True\"}}}", NULL,
		"what is no list has none");
}

static void more(void)
{
	const mk_adapter run = {.struct_size = sizeof(mk_adapter),
				.active = (const mk_sign[]){{.pointer = "/status/n"}, none},
				.of_run = (const mk_sign[]){{.pointer = "/status/m"}, none}};
	const mk_adapter nothing = {.struct_size = sizeof(mk_adapter),
				    .active = (const mk_sign[]){none}};
	const mk_adapter unsaid = {.struct_size = sizeof(mk_adapter)};
	struct plug_adapter ad = {.d = &unsaid};
	struct arena a;

	is_left(&run, "{\"n\":1,\"m\":2}", "{}", "what is of the run goes with it");
	is_left(&run, "{\"m\":2}", NULL, "... and alone it stays");
	is_left(&run, "{\"n\":1,\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}",
		"{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}",
		"a part of an end goes");
	is_left(&nothing, "{\"active\":3}", NULL, "nothing of a kind says so");
	arena_init(&a, 0);
	ok(plug_active(&ad, parse_json(&a, "{\"status\":{\"active\":3}}")),
	   "of what says nothing, /status/active");
	is_str(json_write(&a, plug_status_without(
				      &ad, parse_json(&a, "{\"status\":{\"active\":3}}"), &a))
		       .p,
	       "{\"active\":3}", "which only its hook takes back");
	is_str(json_write(&a, plug_status_without(&ad, parse_json(&a, "{}"), &a)).p, "{}",
	       "no status is an empty one");
	arena_done(&a);
}

/* All that comes home goes, but not an end. */
static void end_is_kept(void)
{
	static const mk_sign all_of_it[] = {{.pointer = "/status/*"}, {.pointer = NULL}};
	const mk_adapter d = {.struct_size = sizeof(mk_adapter), .active = all_of_it};
	struct plug_adapter ad = {.d = &d};
	const char *job = "{\"status\":{\"n\":1,\"conditions\":[{\"type\":\"Failed\",\"status\":"
			  "\"True\"}]}}";
	struct arena a;

	arena_init(&a, 0);
	ok(json_equal(plug_status_without(&ad, parse_json(&a, job), &a),
		      json_get(parse_json(&a, job), "status")),
	   "a status that says an end is left alone when it would say none then");
	arena_done(&a);
}

static void refused(const mk_sign *sign, const char *want)
{
	const mk_adapter ad = {.struct_size = sizeof(ad),
			       .group = "g",
			       .version = "v1",
			       .kind = "K",
			       .active = (const mk_sign[]){*sign, none}};
	const void *const list[] = {&ad};
	const mk_factory f = {sizeof(f), 1, MK_FACTORY_ADAPTER, list};
	const mk_factory *const fs[] = {&f, NULL};
	const mk_entry e = MK_ENTRY("test.refused", "1", fs);
	struct plug *p = plug_new(NULL);
	struct mk_err err = {0};

	ok(plug_add(p, &e, "", &err) == ERR_INVALID, want);
	ok(strstr(err.msg, want) != NULL, "... is what is found");
	if (!strstr(err.msg, want)) {
		printf("#   %s\n", err.msg);
	}
	plug_free(p);
}

static void bad(void)
{
	const char *const up[] = {"Up", NULL};

	refused(&(const mk_sign){.pointer = "status"}, "active: expected a JSON pointer");
	refused(&(const mk_sign){.pointer = "/spec/x"}, "active: expected a pointer below /status");
	refused(&(const mk_sign){.pointer = "/status"}, "active: expected a pointer below /status");
	refused(&(const mk_sign){.pointer = "/status/x", .without = "{"},
		"active: without: expected JSON");
	refused(&(const mk_sign){.pointer = "/status/x", .without = "1"},
		"active: without: expected what does not say that pods run, found 1");
	refused(&(const mk_sign){.pointer = "/status/x", .values = up, .without = "\"Up\""},
		"active: without: expected what does not say that pods run, found \"Up\"");
	refused(&(const mk_sign){.condition = "a b"}, "active: expected a type of condition");
	refused(&(const mk_sign){.condition = "Ready", .without = "0"},
		"active: expected except and without of a value");
}

/* Adapters without code: what they say, and what is taken when they say nothing. */
static void described(const char *more_yaml, const char *status, const char *want, const char *name)
{
	struct plug *p = plug_new(NULL);
	struct mk_err err = {0};
	mk_str findings, text;
	struct arena a;

	arena_init(&a, 0);
	text = arena_printf(&a,
			    "apiVersion: multikueued.io/v1alpha1\nkind: Adapter\njob: {apiVersion: "
			    "g/v1, kind: K}\n%s\n",
			    more_yaml);
	if (plug_add(p, &template_entry, "", &err) != ERR_OK ||
	    plug_add_description(p, text, "k.yaml", &a, &findings, &err) != ERR_OK) {
		is_str(err.msg, want, name);
	} else {
		is_left(plug_adapter(p, 0)->d, status, want, name);
	}
	arena_done(&a);
	plug_free(p);
}

static void without_code(void)
{
	described("", "{\"a\":1,\"b\":{\"c\":2}}", "{}", "an adapter that does not say: all of it");
	described("status: {map: [{from: /a, to: /x/a}]}", "{\"x\":{\"a\":1,\"b\":2},\"a\":1}",
		  "{\"x\":{\"b\":2},\"a\":1}", "... or what is mapped");
	described("status: {active: []}", "{\"a\":1}", NULL, "one that says: nothing");
	described("status:\n  active:\n  - {path: /status/a, values: [Up], without: Down}\n"
		  "  ofRun: [{path: /status/n/*/m, without: 0}, {condition: Live}]",
		  "{\"a\":\"Up\",\"n\":[{\"m\":3}],\"conditions\":[{\"type\":\"Live\",\"status\":"
		  "\"True\"}]}",
		  "{\"a\":\"Down\",\"n\":[{\"m\":0}],\"conditions\":[]}", "one that says it all");
	described("status: {active: [{values: [x]}]}", NULL,
		  "/status/active/0: expected a condition or a path", "neither condition nor path");
	described("status: {ofRun: [{path: /spec/a}]}", NULL,
		  "job: of_run: expected a pointer below /status, found /spec/a",
		  "a path that is not of the status");
}

int main(void)
{
	values();
	places();
	conditions();
	more();
	end_is_kept();
	bad();
	without_code();
	return done_testing();
}
