/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scan of an object's bytes: what it finds, what it does not understand, that it agrees with
 * the parser, and that it never reads behind the text.
 */
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/json.h"
#include "core/base/rng.h"
#include "core/kube/scan.h"
#include "core/kube/scan_block.h"
#include "t/lib/tap.h"

static struct arena a;

#define ENTRY(manager, fields)                                                          \
	"{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{" fields "}," \
	"\"manager\":\"" manager "\",\"operation\":\"Update\"}"
#define OWNED "\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"Q]\\\"}\":{\".\":{}}}}"
#define NOMINATED "\"f:status\":{\"f:nominatedClusterNames\":{}}"
#define FIELDS                                                                           \
	"[" ENTRY("kubectl", OWNED) "," ENTRY("kueue-admission", OWNED) "," ENTRY("ext", \
										  NOMINATED) "]"
#define OBJECT                                                                                \
	"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"     \
	"\"annotations\":{\"name\":\"no\",\"t\":\"\\\\\\\"}\"},\"managedFields\":" FIELDS "," \
	"\"name\":\"w\",\"namespace\":\"ns\",\"resourceVersion\":\"77\",\"uid\":\"u-1\"},"    \
	"\"spec\":{\"active\":true,\"podSets\":[{\"count\":3,\"name\":\"m{\"}]},"             \
	"\"status\":{\"x\":[1,-2.5e+3,null,\"\\u003c\"]}}"
#define LINE "{\"type\":\"MODIFIED\",\"object\":" OBJECT "}"

static void test_finds(void)
{
	struct scan s;

	ok(scan_line(STR(LINE), &s), "a line");
	ok(str_is(s.type, "MODIFIED") && str_is(s.kind, "Workload"), "type and kind");
	ok(str_is(s.api_version, "kueue.x-k8s.io/v1beta2"), "apiVersion");
	ok(str_is(s.ns, "ns") && str_is(s.name, "w") && str_is(s.uid, "u-1"), "whose it is");
	ok(s.rv == 77 && s.deletion.n == 0, "version, not being deleted");
	ok(str_is(s.object, OBJECT), "where the object stands");
	ok(str_is(s.managed_fields, FIELDS), "where managedFields stands");
	ok(str_starts(s.spec, STR("{\"active\"")) && str_ends(s.spec, STR("\"m{\"}]}")),
	   "where spec stands");
	ok(scan_object(STR(OBJECT), &s) && s.rv == 77, "an object alone");
}

#define HEAD "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{"

static void test_not_understood(void)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[]",
		HEAD "\"name\":\"n\"}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"0\"}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"x\"}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":7}}",
		HEAD "\"resourceVersion\":\"7\"}}",
		HEAD "\"name\":\"\",\"resourceVersion\":\"7\"}}",
		HEAD "\"name\": \"n\",\"resourceVersion\":\"7\"}}",
		HEAD "\"name\":\"n\", \"resourceVersion\":\"7\"}}",
		HEAD "\"name\":\"\\u006e\",\"resourceVersion\":\"7\"}}",
		HEAD "\"name\":\"\xc3\xa4\",\"resourceVersion\":\"7\"}}",
		HEAD "\"n\\u0061me\":\"n\",\"name\":\"m\",\"resourceVersion\":\"7\"}}",
		HEAD "\"name\":\"n\",\"name\":\"m\",\"resourceVersion\":\"7\"}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"7\"},\"metadata\":{\"uid\":\"u\"}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"7\"},\"kind\":\"L\"}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"7\",\"deletionTimestamp\":null}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"7\"}} ",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"7\"}}}",
		HEAD "\"name\":\"n\",\"resourceVersion\":\"7\"},}",
	};
	struct scan s;

	ok(scan_object(STR(HEAD "\"name\":\"n\",\"resourceVersion\":\"7\"}}"), &s),
	   "what the others are made from");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		ok(!scan_object(str_of(texts[i]), &s), texts[i]);
	}
	ok(!scan_line(STR("{\"type\":\"ADDED\",\"object\":{}}"), &s), "a line without an object");
	ok(!scan_line(STR(OBJECT), &s), "no line");
	ok(!scan_line(STR(LINE " "), &s), "blanks behind a line");
}

/* Each truncation lies at the very end of its memory, so that a sanitizer sees a read behind it. */
static void test_truncated(void)
{
	const mk_str whole = STR(LINE);
	size_t n = 0;

	for (size_t i = 0; i < whole.n; i++) {
		char *p = malloc(i > 0 ? i : 1);
		struct scan s;

		memcpy(p, whole.p, i);
		n += scan_line((mk_str){p, i}, &s);
		n += scan_object((mk_str){p + (i > 28 ? 28 : 0), i - (i > 28 ? 28 : 0)}, &s) &&
		     i != whole.n - 1;
		free(p);
	}
	is_int((int64_t)n, 0, "no truncated text is understood");
}

static void is_stripped(const char *from, bool owners, const char *want, const char *bare)
{
	struct scan s;
	struct scan_text t = {.text = {NULL, 0}};
	mk_str rest;

	if (scan_object(str_of(from), &s)) {
		t = scan_strip(&a, &s, owners);
	}
	is_str(t.text.p, want, "stripped");
	if (!t.spec.p) {
		is_str("", bare, "it has no spec");
		return;
	}
	rest = str_sub(t.text, (size_t)(t.spec.p - t.text.p) + t.spec.n, t.text.n);
	is_str(arena_printf(&a, "%.*s%.*s", (int)(t.spec.p - t.text.p), t.text.p, STR_ARG(rest)).p,
	       bare, "and without spec");
}

static void test_strip(void)
{
#define META(more) "\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"7\"" more "}"
#define MF ",\"managedFields\":[" ENTRY("a", OWNED) "]"
#define FOUR "{\"a\":1},{\"b\":2},{\"c\":3},{\"d\":{}}"
#define OBJ(rest) "{\"apiVersion\":\"v1\",\"kind\":\"K\"," rest "}"
	is_stripped(OBJ(META(MF) ",\"spec\":{\"a\":1},\"status\":{}"), true,
		    OBJ(META("") ",\"spec\":{\"a\":1},\"status\":{}"),
		    OBJ(META("") ",\"status\":{}"));
	is_stripped(OBJ(META(MF ",\"uid\":\"u\"") ",\"spec\":{\"a\":1}"), true,
		    OBJ(META(",\"uid\":\"u\"") ",\"spec\":{\"a\":1}"), OBJ(META(",\"uid\":\"u\"")));
	is_stripped(OBJ("\"spec\":{\"a\":1}," META(MF)), true, OBJ("\"spec\":{\"a\":1}," META("")),
		    OBJ(META("")));
	is_stripped(OBJ(META(",\"managedFields\":1") ",\"spec\":2"), true,
		    OBJ(META("") ",\"spec\":2"), OBJ(META("")));
	is_stripped(OBJ(META("")), true, OBJ(META("")), "");
	is_stripped(OBJ(META(",\"managedFields\":" FIELDS)), true,
		    OBJ(META(",\"managedFields\":[" ENTRY("kueue-admission",
							  OWNED) "," ENTRY("ext", NOMINATED) "]")),
		    "");
	is_stripped(OBJ(META(",\"managedFields\":" FIELDS)), false, OBJ(META("")), "");
	/* Entries that it does not understand, or too many of them, stay. */
	is_stripped(OBJ(META(",\"managedFields\":[{}," ENTRY("a", OWNED) "]")), true,
		    OBJ(META(",\"managedFields\":[{}," ENTRY("a", OWNED) "]")), "");
	is_stripped(OBJ(META(",\"managedFields\":[" FOUR "," FOUR "," FOUR "]")), true,
		    OBJ(META("")), "");
	is_stripped(OBJ(META(",\"managedFields\":[" FOUR "," FOUR "," FOUR ",{\"a\":1}]")), true,
		    OBJ(META(",\"managedFields\":[" FOUR "," FOUR "," FOUR ",{\"a\":1}]")), "");
	is_stripped(OBJ(META(",\"managedFields\":[{}]")), false, OBJ(META("")), "");
}

/* --- against the parser ---------------------------------------------------------------------- */

static bool same(const struct json *v, const char *pointer, mk_str s)
{
	return str_eq(json_str_at(v, pointer), s);
}

/* Whenever both understand the text, do they say the same? */
static bool agree(mk_str line, size_t *ret_both)
{
	struct json *doc = NULL, *part = NULL;
	const struct json *obj, *spec;
	struct scan_text t;
	struct scan s;

	if (!scan_line(line, &s) || json_parse(&a, line, &doc, NULL) != ERR_OK) {
		return true;
	}
	(*ret_both)++;
	obj = json_get(doc, "object");
	spec = json_get(obj, "spec");
	t = scan_strip(&a, &s, false);
	if (json_parse(&a, t.text, &part, NULL) != ERR_OK ||
	    json_at(part, "/metadata/managedFields") || !json_equal(json_get(part, "spec"), spec) ||
	    (t.spec.n > 0) != (spec != NULL)) {
		return false;
	}
	return same(doc, "/type", s.type) && same(obj, "/kind", s.kind) &&
	       same(obj, "/apiVersion", s.api_version) && same(obj, "/metadata/name", s.name) &&
	       same(obj, "/metadata/namespace", s.ns) && same(obj, "/metadata/uid", s.uid) &&
	       same(obj, "/metadata/resourceVersion", s.version) &&
	       same(obj, "/metadata/deletionTimestamp", s.deletion) &&
	       (s.managed_fields.n > 0) == (json_at(obj, "/metadata/managedFields") != NULL);
}

static void test_agrees(void)
{
	static const char *const pieces[] = {
		"\"",      "\\",          "{",
		"}",       "[",           "]",
		",",       ":",           " ",
		"name",    "\"name\":1",  "\"uid\":\"x\",",
		"\\\"",    "\"spec\":{}", "0",
		"null",    "metadata",    "\"deletionTimestamp\":\"t\",",
		"\\u0061", "\xc3\xa4",    "\\\\",
		"kind"};
	struct rng rng;
	size_t both = 0, bad = 0;

	rng_init(&rng, 23);
	for (int i = 0; i < 60000; i++) {
		char text[2 * sizeof(LINE)];
		size_t n = sizeof(LINE) - 1;

		memcpy(text, LINE, n);
		for (int64_t k = rng_range(&rng, 0, 3); k > 0; k--) {
			const char *piece = pieces[rng_range(&rng, 0, 21)];
			size_t add = strlen(piece);
			size_t at = (size_t)rng_range(&rng, 0, (int64_t)n - 1);
			size_t cut = (size_t)rng_range(&rng, 0, 12);

			cut = cut < n - at ? cut : n - at;
			memmove(text + at + add, text + at + cut, n - at - cut);
			memcpy(text + at, piece, add);
			n += add - cut;
		}
		bad += !agree((mk_str){text, n}, &both);
		arena_clear(&a);
	}
	is_int((int64_t)bad, 0, "the parser says the same");
	ok(both > 1000, "and both understand many");
}

static void test_blocks(void)
{
	static const char chars[] = "\"\\{}[];:|]z<\x02\x80\xdb\xfb\x7b\xfd\x5c\x22 a";
	struct rng rng;
	size_t bad = 0;

	rng_init(&rng, 7);
	for (int i = 0; i < 20000; i++) {
		char text[BLOCK_BYTES];
		struct block x, y = {.quote = 0};

		for (size_t k = 0; k < sizeof(text); k++) {
			text[k] = i % 2 ? (char)rng_range(&rng, 0, 255)
					: chars[rng_range(&rng, 0, (int64_t)sizeof(chars) - 1)];
			y.quote |= (uint64_t)(text[k] == '"') << k;
			y.slash |= (uint64_t)(text[k] == '\\') << k;
			y.open |= (uint64_t)(text[k] == '{' || text[k] == '[') << k;
			y.close |= (uint64_t)(text[k] == '}' || text[k] == ']') << k;
		}
		x = block_plain(text);
		bad += memcmp(&x, &y, sizeof(x)) != 0;
		x = block_of(text);
		bad += memcmp(&x, &y, sizeof(x)) != 0;
#ifdef __x86_64__
		x = __builtin_cpu_supports("avx2") ? block_avx2(text) : y;
		bad += memcmp(&x, &y, sizeof(x)) != 0;
#endif
	}
	is_int((int64_t)bad, 0, "all ways to look at a block give the same masks");
}

int main(void)
{
	arena_init(&a, 0);
	test_finds();
	test_not_understood();
	test_truncated();
	test_strip();
	test_agrees();
	test_blocks();
	arena_done(&a);
	return tap_done();
}
