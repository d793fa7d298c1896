/* SPDX-License-Identifier: Apache-2.0 */
/* YAML to JSON: scalars as Go reads them, lines, hostile input, writing. */
#include "t/lib/tap.h"

#include "core/base/yaml.h"

static struct arena a;

static const char *json_of_yaml(const char *text)
{
	struct json *v = NULL;
	struct mk_err err;

	if (yaml_parse(&a, str_of(text), NULL, &v, NULL, &err) != ERR_OK) {
		printf("# %s\n", err.msg);
		return NULL;
	}
	return json_write(&a, v).p;
}

static void reads(const char *text, const char *want)
{
	is_str(json_of_yaml(text), want, want);
}

static void refused_n(mk_str text, enum mk_code code, const char *want)
{
	struct json *v = NULL;
	struct mk_err err = {.msg = ""};

	is_int(yaml_parse(&a, text, NULL, &v, NULL, &err), code, want);
	is_str(err.msg, want, "... says so");
	ok(!v, "... touches nothing");
}

static void refused(const char *text, const char *want)
{
	refused_n(str_of(text), ERR_INVALID, want);
}

static void test_scalars(void)
{
	reads("", "null");
	reads("---\n", "null");
	reads("# only a comment\n", "null");
	reads("a", "\"a\"");
	reads("[~, null, Null, NULL, ]", "[null,null,null,null]");
	reads("a:\nb: ''\n", "{\"a\":null,\"b\":\"\"}");
	reads("[true, True, TRUE, yes, on, y, Y]", "[true,true,true,true,true,true,true]");
	reads("[false, no, Off, n, N, tRUE, yEs]",
	      "[false,false,false,false,false,\"tRUE\",\"yEs\"]");
	reads("[\"true\", 'no', \"1\", '~']", "[\"true\",\"no\",\"1\",\"~\"]");
	reads("[1, -1, +1, 0, 017, 0o17, 0x1F, 0b101, 1_000, -0x10]",
	      "[1,-1,1,0,15,15,31,5,1000,-16]");
	reads("[9223372036854775807, -9223372036854775808, 18446744073709551615]",
	      "[9223372036854775807,-9223372036854775808,18446744073709551615]");
	reads("[184467440737095516150]", "[184467440737095516150]");
	reads("[1.5, .5, 1., -.5, 1e3, 1.5E-3, 08, 09.5]", "[1.5,0.5,1,-0.5,1e3,1.5E-3,8,9.5]");
	reads("[1.2.3, 1x, -, --1, 0x, 0xg, 1e, 2001-01-01, 10m, 1:30, v1]",
	      "[\"1.2.3\",\"1x\",\"-\",\"--1\",\"0x\",\"0xg\",\"1e\",\"2001-01-01\",\"10m\",\"1:"
	      "30\",\"v1\"]");
	reads("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}");
	reads("a: \"\\u00e9\\x41\\n\"", "{\"a\":\"\xc3\xa9"
					"A\\n\"}");
	reads("{1: a, true: b, 1.5: c, 0x10: d}",
	      "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"16\":\"d\"}");
	reads("{\"a\": [1, {\"b\": null}]}", "{\"a\":[1,{\"b\":null}]}");
	reads("\xef\xbb\xbf"
	      "a: 1\n",
	      "{\"a\":1}");
	reads("a: 1\n---\n{{{{ not looked at", "{\"a\":1}");
	reads("a: 1\n...\nb: 2\n", "{\"a\":1}");
	reads("\"a\": 1\n\"<<\": 2\n", "{\"a\":1,\"<<\":2}");
}

static void test_hostile(void)
{
	refused("a: &x 1\nb: *x\n", "yaml: line 1: anchors are not allowed");
	refused("b: *x\n", "yaml: line 1: aliases are not allowed");
	refused("a: 1\nb: &x [1]\n", "yaml: line 2: anchors are not allowed");
	refused("b: &x {}\n", "yaml: line 1: anchors are not allowed");
	refused("a: !!str 1\n", "yaml: line 1: tags are not allowed");
	refused("a: !!python/object:os.system [x]\n", "yaml: line 1: tags are not allowed");
	refused("a: !x {}\n", "yaml: line 1: tags are not allowed");
	refused("a: 1\nb: 2\n\na: 3\n", "line 4: key \"a\" already set in map");
	refused("x:\n- {a: 1, a: 1}\n", "line 2: key \"a\" already set in map");
	refused("1: a\n\"1\": b\n", "line 2: key \"1\" already set in map");
	refused("a: {<<: {b: 1}}\n", "yaml: line 1: merge keys are not allowed");
	refused("? [a]\n: 1\n", "yaml: line 1: a list or map is not allowed as a key");
	refused("? {a: b}\n: 1\n", "yaml: line 1: a list or map is not allowed as a key");
	refused("~: 1\n", "yaml: line 1: null is not allowed as a key");
	refused("a: .inf\n", "yaml: line 1: infinity and NaN are not allowed");
	refused("a: .NaN\n", "yaml: line 1: infinity and NaN are not allowed");
	refused("a:\n\tb: 1\n", "yaml: line 2: found character that cannot start any token");
	refused("a: b: c\n", "yaml: line 1: mapping values are not allowed in this context");
	refused("a: [1\n", "yaml: line 2: did not find expected ',' or ']'");
	refused("a: \"x\n", "yaml: line 2: found unexpected end of stream");
	refused("a: \x01\n", "yaml: control characters are not allowed at byte 3");
	refused("a: \xff\n", "yaml: invalid leading UTF-8 octet at byte 3");
	refused("a: \"\\ud800\"\n", "yaml: line 1: found invalid Unicode character escape code");
	refused("%YAML 7.0\n---\na: 1\n", "yaml: line 1: found incompatible YAML document");
}

static void test_size(void)
{
	struct buf b;
	struct json *v = NULL;

	buf_init(&b, 4 << 20);
	for (int i = 0; i < YAML_MAX_DEPTH; i++) {
		buf_add(&b, STR("["));
	}
	for (int i = 0; i < YAML_MAX_DEPTH; i++) {
		buf_add(&b, STR("]"));
	}
	ok(json_of_yaml(b.p) != NULL, "64 levels are fine");
	buf_clear(&b);
	for (int i = 0; i < 500000; i++) {
		buf_add(&b, STR("["));
	}
	refused_n(buf_str(&b), ERR_INVALID, "yaml: line 1: nested too deep");
	buf_clear(&b);
	for (int i = 0; i < 200000; i++) {
		buf_add(&b, STR("- "));
	}
	refused_n(buf_str(&b), ERR_INVALID, "yaml: line 1: nested too deep");
	buf_clear(&b);
	while (b.n <= YAML_MAX_SIZE) {
		buf_add(&b, STR("# comment\n"));
	}
	refused_n(buf_str(&b), ERR_TOO_BIG, "longer than 1048576 bytes");
	buf_clear(&b);
	for (int i = 0; i < 60000; i++) {
		buf_printf(&b, "k%d: %d\n", i, i);
	}
	is_int(yaml_parse(&a, buf_str(&b), NULL, &v, NULL, NULL), ERR_OK, "sixty thousand keys");
	is_int(json_len(v), 60000, "... all there");
	buf_add(&b, STR("k7: 1\n"));
	refused_n(buf_str(&b), ERR_INVALID, "line 60001: key \"k7\" already set in map");
	is_int(yaml_parse(&a, buf_str(&b), &(struct yaml_options){.allow_duplicates = true}, &v,
			  NULL, NULL),
	       ERR_OK, "duplicates allowed");
	is_int(json_int(json_get(v, "k7"), 0), 1, "... the last wins");
	buf_done(&b);
}

static void test_options(void)
{
	struct yaml_options dup = {.allow_duplicates = true};
	struct json *v = NULL;

	is_int(yaml_parse(&a, STR("a: 1\nb: {x: 1}\na: {z: [1, 2]}\nb: 5\n"), &dup, &v, NULL, NULL),
	       ERR_OK, "duplicates allowed");
	is_str(json_write(&a, v).p, "{\"a\":{\"z\":[1,2]},\"b\":5}",
	       "... the last wins, of any type");
	is_int(yaml_documents(&a, STR("a: 1\n---\n---\n# x\n---\n[b]\n...\n---\nc\n"), NULL, &v,
			      NULL),
	       ERR_OK, "several documents");
	is_str(json_write(&a, v).p, "[{\"a\":1},[\"b\"],\"c\"]", "... without the empty ones");
	is_int(yaml_documents(&a, STR(""), NULL, &v, NULL), ERR_OK, "none");
	is_int(json_len(v), 0, "... is an empty list");
	is_int(yaml_documents(&a, STR("a: 1\n---\nb: [\n"), NULL, &v, NULL), ERR_INVALID,
	       "an error in the second");
}

static void test_lines(void)
{
	struct yaml_lines lines;
	struct json *v = NULL;

	is_int(yaml_parse(&a, STR("# head\na: 1\nb:\n  c: x\n  d:\n  - 1\n  - e: 2\n    f/g: 3\n"),
			  NULL, &v, &lines, NULL),
	       ERR_OK, "read with lines");
	is_int(yaml_line(&lines, STR("/a")), 2, "a scalar");
	is_int(yaml_line(&lines, STR("/b")), 3, "a map counts from its key");
	is_int(yaml_line(&lines, STR("/b/c")), 4, "deeper");
	is_int(yaml_line(&lines, STR("/b/d/0")), 6, "an element");
	is_int(yaml_line(&lines, STR("/b/d/1")), 7, "an element that is a map");
	is_int(yaml_line(&lines, STR("/b/d/1/f~1g")), 8, "an escaped key");
	is_int(yaml_line(&lines, STR("/b/missing/x")), 3, "what is missing is in its parent");
	is_int(yaml_line(&lines, STR("")), 2, "the document");
	is_int(yaml_line(NULL, STR("/a")), 0, "no lines");
}

static void writes(const char *json, const char *want)
{
	struct json *v = NULL;
	mk_str text;

	json_parse(&a, str_of(json), &v, NULL);
	text = yaml_write(&a, v);
	is_str(text.p, want, json);
	is_str(json_of_yaml(text.p), json, "... reads back");
}

/* Once without and once with the mark; what is below it, and beside it, stays where it was. */
static void test_write_long_keys(void)
{
	static const size_t sizes[] = {900, 1100};
	char key[1200];
	char json[2048];
	char want[2048];

	for (size_t i = 0; i < 2; i++) {
		const char *mark = i == 0 ? "" : "? ";
		const char *gap = i == 0 ? "" : "\n  ";

		memset(key, 'k', sizes[i]);
		key[sizes[i]] = '\0';
		snprintf(json, sizeof(json), "[{\"%s\":1,\"z\":2},{\"%.3s\":{\"a\":[3]}}]", key,
			 key);
		snprintf(want, sizeof(want), "- %s%s%s: 1\n  z: 2\n- kkk:\n    a:\n    - 3\n", mark,
			 key, gap);
		writes(json, want);
		snprintf(json, sizeof(json), "{\"%s\":{\"a\":[3,[4]]},\"z\":5}", key);
		snprintf(want, sizeof(want), "%s%s%s:\n  a:\n  - 3\n  - - 4\nz: 5\n", mark, key,
			 i == 0 ? "" : "\n");
		writes(json, want);
		snprintf(json, sizeof(json), "{\"%s\":[3,4],\"z\":5}", key);
		snprintf(want, sizeof(want), "%s%s%s:\n- 3\n- 4\nz: 5\n", mark, key,
			 i == 0 ? "" : "\n");
		writes(json, want);
	}
}

static void test_write(void)
{
	writes("{\"a\":1,\"b\":{\"c\":[1,{\"d\":2,\"e\":[]},[3,4]],\"f\":{}},\"g\":null}",
	       "a: 1\nb:\n  c:\n  - 1\n  - d: 2\n    e: []\n  - - 3\n    - 4\n  f: {}\ng: null\n");
	writes("[\"a\",\"yes\",\"1\",\"\",\"a b\",\"0x1\",\"2001-01-01\",\"- x\",\"a: "
	       "b\",\"x\\ny\",\"~\",\"8080\",\"batch/job\"]",
	       "- a\n- \"yes\"\n- \"1\"\n- \"\"\n- \"a b\"\n- \"0x1\"\n- \"2001-01-01\"\n- \"- "
	       "x\"\n- \"a: b\"\n"
	       "- \"x\\ny\"\n- \"~\"\n- \"8080\"\n- batch/job\n");
	writes("{\"true\":1,\"<<\":2,\"a.b/c\":1.50}", "\"true\": 1\n\"<<\": 2\na.b/c: 1.50\n");
	writes("[\"a\x7f\",\"\xc2\x80z\xc2\x85\xc2\x9f\",\"\xc2\xa0\",\"\xe2\x80\xa8\xe2\x80\xa9\","
	       "\"\xe2\x80\xaa\xef\xbb\xbf\",\"\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd\"]",
	       "- \"a\\u007f\"\n- \"\\u0080z\\u0085\\u009f\"\n- \"\xc2\xa0\"\n- "
	       "\"\\u2028\\u2029\"\n"
	       "- \"\xe2\x80\xaa\\ufeff\"\n- \"\\ufffe\\uffff\xef\xbf\xbd\"\n");
	writes("5", "5\n");
	writes("{}", "{}\n");
}

static void test_only_one(void)
{
	const struct yaml_options one = {.only_one = true};
	struct json *doc = NULL;
	struct mk_err err = {0};

	is_int(yaml_parse(&a, STR("a: 1\n---\n# no more\n---\n"), &one, &doc, NULL, &err), ERR_OK,
	       "empty documents may follow the only one");
	is_int(yaml_parse(&a, STR("a: 1\n---\nb: 2\n"), &one, &doc, NULL, &err), ERR_INVALID,
	       "another may not");
	is_str(err.msg,
	       "yaml: line 2: expected one document, found another: give each a file of its own",
	       "... and its line is named");
	arena_clear(&a);
}

int main(void)
{
	arena_init(&a, 0);
	test_scalars();
	test_hostile();
	test_size();
	test_options();
	test_lines();
	test_write();
	test_write_long_keys();
	test_only_one();
	arena_done(&a);
	return done_testing();
}
