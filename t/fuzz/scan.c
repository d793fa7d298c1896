/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the scan of a watch's line. Whenever it and the parser understand the same text,
 * they say the same, and the text without managedFields is an object, too.
 */
#include "core/base/json.h"
#include "core/kube/scan.h"
#include "t/fuzz/fuzz.h"

static void same(const struct json *obj, const char *pointer, mk_str s)
{
	FUZZ_MUST(str_eq(json_str_at(obj, pointer), s));
}

static void compare(struct arena *a, const struct json *doc, const struct scan *s)
{
	const struct json *obj = json_get(doc, "object");
	struct scan_text t = scan_strip(a, s, true);
	struct json *part = NULL;

	same(doc, "/type", s->type);
	same(obj, "/apiVersion", s->api_version);
	same(obj, "/kind", s->kind);
	same(obj, "/metadata/name", s->name);
	same(obj, "/metadata/namespace", s->ns);
	same(obj, "/metadata/uid", s->uid);
	same(obj, "/metadata/resourceVersion", s->version);
	same(obj, "/metadata/deletionTimestamp", s->deletion);
	FUZZ_MUST(json_parse(a, t.text, &part, NULL) == ERR_OK);
	FUZZ_MUST(json_equal(json_get(part, "spec"), json_get(obj, "spec")));
	FUZZ_MUST(json_equal(json_get(part, "status"), json_get(obj, "status")));
	FUZZ_MUST((t.spec.n > 0) == (json_get(obj, "spec") != NULL));
}

int fuzz_one(const uint8_t *data, size_t size)
{
	mk_str line = {(const char *)data, size};
	struct json *doc = NULL;
	struct arena a;
	struct scan s;

	arena_init(&a, 0);
	if (scan_line(line, &s)) {
		FUZZ_MUST(s.rv > 0 && s.name.n > 0 && s.object.n < size);
		if (json_parse(&a, line, &doc, NULL) == ERR_OK) {
			compare(&a, doc, &s);
		} else {
			(void)scan_strip(&a, &s, true);
		}
	}
	arena_done(&a);
	return 0;
}
