/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values: parsing of good and hostile text, lookups, building, changing, comparing, writing.
 */
#include "t/lib/tap.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/json.h"

static struct arena a;

static struct json *parse(const char *text)
{
	struct json *v = NULL;
	struct mk_err err;

	if (json_parse(&a, str_of(text), &v, &err) != ERR_OK) {
		printf("# %s: %s\n", text, err.msg);
		return NULL;
	}
	return v;
}

static const char *text_of(const struct json *v)
{
	return json_write(&a, v).p;
}

/* Parses and writes: NULL when refused. */
static const char *round_trip(const char *text)
{
	return text_of(parse(text));
}

static void refused_n(mk_str text, enum mk_code want, const char *name)
{
	struct json *v = (struct json *)&a;
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = json_parse(&a, text, &v, &err);

	is_int(code, want, name);
	ok(err.code == code && err.msg[0] != '\0' && v == (struct json *)&a,
	   "... with a message, and the output untouched");
	printf("# %s\n", err.msg);
}

static void refused(const char *text, enum mk_code want, const char *name)
{
	refused_n(str_of(text), want, name);
}

static void test_numbers(void)
{
	struct json *v = parse("[0,-0,7,-7,9223372036854775807,-9223372036854775808,"
			       "18446744073709551615,18446744073709551616,1.0,1e2,0.10,-0.0]");

	is_int(json_len(v), 12, "twelve numbers");
	is_str(text_of(v),
	       "[0,0,7,-7,9223372036854775807,-9223372036854775808,18446744073709551615,"
	       "18446744073709551616,1.0,1e2,0.10,-0.0]",
	       "numbers keep bits and text");
	is_int(json_type(json_elem(v, 6)), JSON_INT, "2^64-1 is an integer");
	is_int(json_int(json_elem(v, 6), -5), -5, "... that does not fit");
	is_int(json_type(json_elem(v, 7)), JSON_REAL, "2^64 is none");
	is_int(json_type(json_elem(v, 8)), JSON_REAL, "1.0 is a real");
	is_int(json_int(json_elem(v, 8), -5), -5, "... and no integer");
	ok(json_int(json_elem(v, 4), 0) == INT64_MAX, "largest integer");
	ok(json_int(json_elem(v, 5), 0) == INT64_MIN, "smallest integer");
	ok(!json_equal(parse("1"), parse("1.0")), "1 is not 1.0");
	ok(json_equal(parse("1.50"), parse("1.5")), "1.50 is 1.5");
	ok(!json_equal(parse("1.50"), parse("1.25")), "1.50 is not 1.25");
	is_str(text_of(json_new_num(&a, STR("-12"))), "-12", "a number from text");
	is_str(text_of(json_new_num(&a, STR("2.50"))), "2.50", "a real from text");
	ok(!json_new_num(&a, STR("012")), "no number: 012");
	ok(!json_new_num(&a, STR(" 1")), "no number: blank before");
	ok(!json_new_num(&a, STR("1 ")), "no number: blank behind");
	ok(!json_new_num(&a, STR("\"1\"")), "no number: a string");
	ok(!json_new_num(&a, STR("")), "no number: nothing");
}

static void test_hostile(void)
{
	refused("", ERR_INVALID, "empty");
	refused("{", ERR_INVALID, "half an object");
	refused("[1,]", ERR_INVALID, "trailing comma");
	refused("{\"a\":1} x", ERR_INVALID, "something behind");
	refused("/* c */ 1", ERR_INVALID, "comment");
	refused("NaN", ERR_INVALID, "NaN");
	refused("01", ERR_INVALID, "leading zero");
	refused("'a'", ERR_INVALID, "single quotes");
	refused("\"a\nb\"", ERR_INVALID, "bare newline in a string");
	refused("\"\xff\"", ERR_INVALID, "invalid UTF-8");
	refused("\"\xed\xa0\x80\"", ERR_INVALID, "encoded surrogate");
	refused("\"\\ud800\"", ERR_INVALID, "lone high surrogate");
	refused("\"\\udc00x\"", ERR_INVALID, "lone low surrogate");
	refused("\"\\ud800\\u0041\"", ERR_INVALID, "high surrogate before a letter");
	refused("\xef\xbb\xbf{}", ERR_INVALID, "byte order mark");
	refused("{\"a\":1,\"b\":2,\"a\":3}", ERR_INVALID, "duplicate key");
	refused("{\"a\":1,\"\\u0061\":3}", ERR_INVALID, "duplicate key by escape");
	refused("[{\"x\":{\"a\":1,\"a\":1}}]", ERR_INVALID, "duplicate key deep down");
	refused("{\"\":1,\"\":2}", ERR_INVALID, "duplicate empty key");
	refused_n((mk_str){"1\0", 2}, ERR_INVALID, "NUL behind");
	is_str(round_trip("\"\\ud83d\\ude00\""), "\"\xf0\x9f\x98\x80\"", "a surrogate pair");
	ok(json_str(parse("\"a\\u0000b\"")).n == 3, "a NUL inside a string counts");
	is_str(round_trip("\"a\\u0000b\""), "\"a\\u0000b\"", "... and is written");
}

static void test_size_and_depth(void)
{
	struct buf b;

	buf_init(&b, (size_t)16 << 20);
	for (int i = 0; i < JSON_MAX_DEPTH; i++) {
		buf_add(&b, STR("["));
	}
	for (int i = 0; i < JSON_MAX_DEPTH; i++) {
		buf_add(&b, STR("]"));
	}
	ok(parse(b.p) != NULL, "128 levels are fine");
	buf_clear(&b);
	for (int i = 0; i <= JSON_MAX_DEPTH; i++) {
		buf_add(&b, STR("{\"a\":"));
	}
	buf_add(&b, STR("1"));
	for (int i = 0; i <= JSON_MAX_DEPTH; i++) {
		buf_add(&b, STR("}"));
	}
	refused_n(buf_str(&b), ERR_INVALID, "129 levels are too many");
	buf_clear(&b);
	for (int i = 0; i < 1000000; i++) {
		buf_add(&b, STR("["));
	}
	refused_n(buf_str(&b), ERR_INVALID, "a million open brackets");
	for (int i = 0; i < 1000000; i++) {
		buf_add(&b, STR("]"));
	}
	refused_n(buf_str(&b), ERR_INVALID, "a million levels, well formed");
	buf_clear(&b);
	buf_add(&b, STR("\""));
	while (b.n < (size_t)10 << 20) {
		buf_add(&b, STR("0123456789abcdef"));
	}
	buf_add(&b, STR("\""));
	refused_n(buf_str(&b), ERR_TOO_BIG, "10 MiB");
	refused_n(str_sub(buf_str(&b), 0, JSON_MAX_SIZE + 1), ERR_TOO_BIG, "one byte over 8 MiB");
	buf_clear(&b);
	buf_add(&b, STR("{"));
	for (int i = 0; i < 50000; i++) {
		buf_printf(&b, "\"k%d\":%d,", i, i);
	}
	buf_add(&b, STR("\"k49999x\":0}"));
	ok(parse(b.p) != NULL, "fifty thousand keys");
	b.n -= 1;
	buf_add(&b, STR(",\"k7\":1}"));
	refused_n(buf_str(&b), ERR_INVALID, "one of fifty thousand keys twice");
	buf_done(&b);
}

static void test_lookup(void)
{
	struct json *v = parse("{\"a\":{\"b\":[1,{\"c/d~\":\"x\"},null]},\"\":5,\"t\":true}");

	is_str(json_str_at(v, "/a/b/1/c~1d~0").p, "x", "pointer with escapes");
	is_int(json_int(json_at(v, "/a/b/0"), 0), 1, "pointer into an array");
	is_int(json_int(json_at(v, "/"), 0), 5, "pointer to the empty key");
	ok(json_at(v, "") == v, "pointer to all");
	ok(!json_at(v, "/a/b/00"), "index with a leading zero");
	ok(!json_at(v, "/a/b/-"), "the element behind the last");
	ok(!json_at(v, "/a/b/3"), "index out of range");
	ok(!json_at(v, "/a/~2"), "bad escape");
	ok(!json_at(v, "/a/~"), "half an escape");
	ok(!json_at(v, "a"), "no slash");
	ok(!json_at(NULL, "/a"), "of nothing");
	ok(!json_get(json_get(json_get(v, "x"), "y"), "z"), "path of absent values");
	is_int(json_type(json_at(v, "/a/b/2")), JSON_NULL, "null is not absent");
	is_int(json_type(NULL), JSON_ABSENT, "absent");
	ok(json_bool(json_get(v, "t")) && !json_bool(json_get(v, "a")), "booleans");
	is_int(json_str(json_get(v, "t")).n, 0, "no string");
	is_str(json_str(NULL).p, "", "no value");
	is_int(json_len(v), 3, "members");
	ok(!json_elem(v, 0), "an object has no elements");
}

static void test_change(void)
{
	struct json *o = json_new_obj(&a);
	struct json *arr;
	struct json *x;

	json_set_int(&a, o, "one", 1);
	json_set_str(&a, o, "two", STR("zwei"));
	json_set_bool(&a, o, "three", true);
	json_set(&a, o, STR("four"), json_new_null(&a));
	is_str(text_of(o), "{\"one\":1,\"two\":\"zwei\",\"three\":true,\"four\":null}", "built");
	json_set_int(&a, o, "two", 2);
	json_set_int(&a, o, "four", -4);
	is_str(text_of(o), "{\"one\":1,\"two\":2,\"three\":true,\"four\":-4}", "replaced in place");
	json_set(&a, o, STR("one"), NULL);
	json_set(&a, o, STR("four"), NULL);
	json_set(&a, o, STR("none"), NULL);
	is_str(text_of(o), "{\"two\":2,\"three\":true}", "removed first and last");
	json_set(&a, o, STR("three"), NULL);
	json_set_int(&a, o, "two", 22);
	is_str(text_of(o), "{\"two\":22}", "the only member replaced");
	json_set(&a, o, STR("two"), NULL);
	is_str(text_of(o), "{}", "empty again");
	json_set_int(&a, o, "again", 1);
	is_str(text_of(o), "{\"again\":1}", "and filled again");

	arr = json_new_arr(&a);
	for (int i = 0; i < 4; i++) {
		json_add(&a, arr, json_new_int(&a, i));
	}
	json_remove(arr, 3);
	json_remove(arr, 0);
	json_remove(arr, 9);
	json_add(&a, arr, json_new_str(&a, STR("e")));
	is_str(text_of(arr), "[1,2,\"e\"]", "array changed");
	json_remove(arr, 0);
	json_remove(arr, 0);
	json_remove(arr, 0);
	is_str(text_of(arr), "[]", "array emptied");
	json_add(&a, arr, json_new_int(&a, 8));
	is_str(text_of(arr), "[8]", "array filled again");

	x = json_new_obj(&a);
	json_set(&a, o, STR("x"), x);
	json_set(&a, o, STR("y"), x);
	json_set_int(&a, x, "n", 1);
	is_str(text_of(o), "{\"again\":1,\"x\":{\"n\":1},\"y\":{}}",
	       "a value of two parents is copied");
	json_set(&a, x, STR("self"), x);
	is_str(text_of(x), "{\"n\":1,\"self\":{\"n\":1}}", "no knot");
	json_set(&a, o, STR("x"), x);
	is_int(json_len(o), 3, "setting what is there changes nothing");
	json_set(&a, arr, STR("x"), json_new_int(&a, 1));
	json_add(&a, o, json_new_int(&a, 1));
	json_set_int(&a, NULL, "x", 1);
	json_add(&a, arr, NULL);
	is_str(text_of(arr), "[8]", "wrong types are left alone");
	is_str(text_of(json_new_str(&a, (mk_str){"a\xff\xc3(\xed\xa0\x80z", 8})),
	       "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"",
	       "bytes that are no UTF-8 are replaced");
}

static void test_iterate(void)
{
	struct json *v = parse("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}");
	struct json_iter it = json_iter(v);
	int64_t sum = 0;

	while (json_next(&it)) {
		sum = sum * 10 + json_int(it.val, 0);
		if (json_int(it.val, 0) != 3) {
			json_set(&a, v, it.key, NULL);
		}
	}
	is_int(sum, 1234, "every member once, in order, while they go");
	is_str(text_of(v), "{\"c\":3}", "one is left");
	it = json_iter(parse("3"));
	ok(!json_next(&it), "a scalar has nothing to iterate");
	it = json_iter(NULL);
	ok(!json_next(&it), "nothing has nothing to iterate");
	it = json_iter(parse("[[],[1],{}]"));
	sum = 0;
	while (json_next(&it)) {
		sum += 10 + (int64_t)json_len(it.val);
	}
	is_int(sum, 31, "elements");
}

static void put(const char *root, const char *pointer, const char *value, const char *want)
{
	struct json *r = parse(root);
	enum mk_code code = json_put(&a, r, pointer, value ? parse(value) : NULL);
	char name[256];

	snprintf(name, sizeof(name), "put %s at %s of %s", value ? value : "nothing", pointer,
		 root);
	if (!want) {
		is_int(code, ERR_INVALID, name);
		is_str(text_of(r), root, "... left alone");
	} else {
		is_str(code == ERR_OK ? text_of(r) : "failed", want, name);
	}
}

static void test_put(void)
{
	put("{}", "/a/b/c", "1", "{\"a\":{\"b\":{\"c\":1}}}");
	put("{\"a\":null}", "/a/b", "1", "{\"a\":{\"b\":1}}");
	put("{\"a\":[]}", "/a/-", "1", "{\"a\":[1]}");
	put("{\"a\":[1]}", "/a/-/x", "2", "{\"a\":[1,{\"x\":2}]}");
	put("{\"a\":[1]}", "/a/0", "2", "{\"a\":[2]}");
	put("{\"a\":[1,2,3]}", "/a/0", "9", "{\"a\":[9,2,3]}");
	put("{\"a\":[1,2,3]}", "/a/1", "9", "{\"a\":[1,9,3]}");
	put("{\"a\":[1,2,3]}", "/a/2", "9", "{\"a\":[1,2,9]}");
	put("{\"a\":[1,2,3]}", "/a/1", NULL, "{\"a\":[1,3]}");
	put("{\"a\":[{\"b\":1}]}", "/a/0/b", "2", "{\"a\":[{\"b\":2}]}");
	put("{\"a\":[1,null]}", "/a/1/b", "2", "{\"a\":[1,{\"b\":2}]}");
	put("{\"a/b\":1}", "/a~1b", "2", "{\"a/b\":2}");
	put("{}", "/x~1y/~0", "2", "{\"x/y\":{\"~\":2}}");
	put("{\"a\":1}", "/a", NULL, "{}");
	put("{\"a\":1}", "/b/c", NULL, "{\"a\":1}");
	put("{\"a\":{\"-\":1}}", "/a/-", "2", "{\"a\":{\"-\":2}}");
	put("{\"a\":1}", "/a/b", "1", NULL);
	put("{\"a\":[1]}", "/a/1", "1", NULL);
	put("{\"a\":[1]}", "/a/x", "1", NULL);
	put("{\"a\":[1]}", "/a/0/x", "1", NULL);
	put("{}", "", "1", NULL);
	put("{}", "a", "1", NULL);
	put("{}", "/~", "1", NULL);
	put("3", "/a", "1", NULL);
}

static void patch(const char *from, const char *to, const char *want)
{
	struct json *f = parse(from);
	struct json *t = parse(to);
	struct json *p = json_diff(&a, f, t);
	char name[256];

	snprintf(name, sizeof(name), "patch from %s to %s", from, to);
	is_str(text_of(p), want, name);
	ok(!json_diff(&a, json_merge(&a, f, p), t), "... and the patch leads there");
}

static void test_patch(void)
{
	patch("{\"a\":1}", "{\"a\":1}", NULL);
	patch("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", NULL);
	patch("{\"a\":1}", "{\"a\":2}", "{\"a\":2}");
	patch("{\"a\":1}", "{}", "{\"a\":null}");
	patch("{}", "{\"a\":{}}", "{\"a\":{}}");
	patch("{\"a\":null}", "{}", NULL);
	patch("{}", "{\"a\":null}", NULL);
	patch("{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1,\"c\":3}}", "{\"a\":{\"c\":3}}");
	patch("{\"a\":{\"b\":1}}", "{\"a\":{}}", "{\"a\":{\"b\":null}}");
	patch("{\"a\":{\"b\":1}}", "{\"a\":[1]}", "{\"a\":[1]}");
	patch("{\"a\":[1]}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}");
	patch("{\"a\":[{\"x\":1,\"y\":2}]}", "{\"a\":[{\"x\":1,\"y\":3}]}",
	      "{\"a\":[{\"x\":1,\"y\":3}]}");
	patch("{\"a\":[{\"x\":1,\"y\":2}]}", "{\"a\":[{\"y\":2,\"x\":1}]}", NULL);
	is_str(text_of(json_merge(&a, parse("[1]"), parse("{\"a\":{\"b\":null,\"c\":1}}"))),
	       "{\"a\":{\"c\":1}}", "merging into a list makes an object");
	is_str(text_of(json_merge(&a, parse("{\"a\":1}"), parse("[2]"))), "[2]",
	       "a patch that is no object replaces");
	ok(!json_equal(parse("[1,2]"), parse("[2,1]")), "element order counts");
	ok(!json_equal(parse("{\"a\":1}"), parse("{\"b\":1}")), "other keys");
	ok(json_equal(NULL, NULL) && !json_equal(NULL, parse("null")), "absent equals absent only");
}

static void test_text(void)
{
	struct json *v = parse(" { \"k\" : [ 1 , \"\\u00e9/\\n\" ] , \"e\" : { } } ");
	struct json *deep = json_new_arr(&a);

	is_str(text_of(v), "{\"k\":[1,\"\xc3\xa9/\\n\"],\"e\":{}}", "compact");
	is_str(json_write_pretty(&a, v).p,
	       "{\n  \"k\": [\n    1,\n    \"\xc3\xa9/\\n\"\n  ],\n  \"e\": {}\n}", "pretty");
	is_str(text_of(json_dup(&a, v)), text_of(v), "a copy");
	ok(json_equal(v, json_dup(&a, v)), "... is equal");
	ok(!json_write(&a, NULL).p, "nothing has no text");
	for (int i = 0; i < 100000; i++) {
		struct json *outer = json_new_arr(&a);

		json_add(&a, outer, deep);
		deep = outer;
	}
	ok(!json_equal(deep, json_elem(deep, 0)), "built too deep: never equal, no crash");
	ok(!json_dup(&a, deep) && arena_failed(&a), "built too deep: no copy, no crash");
}

/* "{"k":[[..."x"..]],"after":2}": the innermost of n containers has the string. */
static mk_str nested(struct buf *b, int n)
{
	buf_clear(b);
	buf_add(b, STR("{\"first\":{\"a\":1},\"k\":"));
	for (int i = 1; i < n; i++) {
		buf_add(b, STR("["));
	}
	buf_add(b, STR("\"x\",{\"y\":[1,{\"z\":2}]},3"));
	for (int i = 1; i < n; i++) {
		buf_add(b, STR("]"));
	}
	buf_add(b, STR(",\"after\":{\"b\":[2]}}"));
	return buf_str(b);
}

/* What is too deep is left out, and the caller can find that out. */
static void test_cut(void)
{
	struct json *v = NULL, *w = NULL, *deep;
	struct buf b;
	int levels = 0;

	buf_init(&b, 1u << 20);
	is_int(json_parse_cut(&a, nested(&b, 5), &v, NULL), ERR_OK, "nothing is too deep");
	ok(!json_is_cut(v) && !json_is_cut(json_get(v, "k")), "so nothing is marked");
	is_str(text_of(v), buf_str(&b).p, "and all is there");
	is_int(json_parse_cut(&a, nested(&b, JSON_MAX_DEPTH - 1), &v, NULL), ERR_OK,
	       "an object below the deepest level");
	is_int(json_parse(&a, buf_str(&b), &w, NULL), ERR_INVALID, "... is no input for others");
	ok(json_is_cut(v) && json_is_cut(json_get(v, "k")), "all around it are marked");
	ok(!json_is_cut(json_get(v, "first")) && !json_is_cut(json_get(v, "after")),
	   "what stands beside is not");
	is_int(json_int(json_at(v, "/after/b/0"), 0), 2, "what follows is read");
	for (deep = json_get(v, "k"); json_type(json_elem(deep, 0)) == JSON_ARR;
	     deep = json_elem(deep, 0)) {
		levels++;
	}
	is_int(levels, JSON_MAX_DEPTH - 3, "as many levels as may be");
	ok(json_len(deep) == 3 && json_len(json_elem(deep, 1)) == 0 &&
		   json_is_cut(json_elem(deep, 1)) && json_int(json_elem(deep, 2), 0) == 3,
	   "what was too deep is empty, and those after it have their places");
	ok(json_is_cut(json_dup(&a, v)) && json_is_cut(json_share(&a, v)), "copies are marked");
	ok(json_is_cut(json_get(json_dup(&a, v), "k")), "... all the way");
	is_int(json_parse(&a, str_of(text_of(v)), &w, NULL), ERR_OK, "what is left can be read");
	is_int(json_parse_cut(&a, nested(&b, 20000), &v, NULL), ERR_OK, "20000 levels");
	ok(json_is_cut(v) && json_at(v, "/after/b/0") != NULL, "are left out alike");
	w = parse("[[],{\"b\":[{}]}]");
	deep = v;
	v = json_new_arr(&a);
	json_add(&a, v, json_dup(&a, deep));
	json_add(&a, v, w);
	json_add(&a, v, json_dup(&a, deep));
	is_int(json_parse_cut(&a, str_of(text_of(v)), &v, NULL), ERR_OK, "two deep branches");
	ok(json_is_cut(v) && json_is_cut(json_at(v, "/0/k")) && json_is_cut(json_at(v, "/2/k/0")),
	   "both are marked up to the root");
	ok(!json_is_cut(json_at(v, "/0/first")) && !json_is_cut(json_at(v, "/1/1/b/0")) &&
		   !json_is_cut(json_at(v, "/2/after/b")),
	   "and nothing else is");
	is_int(json_parse_cut(&a, STR("[[1,]]"), &v, NULL), ERR_INVALID, "no JSON stays none");
	ok(!json_is_cut(parse("true")) && !json_is_cut(parse("-1")) && !json_is_cut(NULL),
	   "scalars are never marked");
	buf_done(&b);
}

static void test_lifetime(void)
{
	char text[] = "{\"key\":\"value\"}";
	struct json *v = NULL;

	arena_clear(&a);
	is_int(json_parse(&a, str_of(text), &v, NULL), ERR_OK, "parsed");
	memset(text, 'x', sizeof(text) - 1);
	is_str(json_str(json_get(v, "key")).p, "value", "nothing borrowed from the text");
}

int main(void)
{
	arena_init(&a, 0);
	test_numbers();
	test_hostile();
	test_size_and_depth();
	test_lookup();
	test_change();
	test_iterate();
	test_put();
	test_patch();
	test_text();
	arena_clear(&a);
	test_cut();
	test_lifetime();
	arena_done(&a);
	return done_testing();
}
