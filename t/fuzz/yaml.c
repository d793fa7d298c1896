/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: YAML. What is read, written and read again is the same; lines
 * are found for whatever is there.
 */
#include "core/base/yaml.h"
#include "t/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t size)
{
	static const struct yaml_options lenient = {.allow_duplicates = true};
	mk_str text = {(const char *)data, size};
	struct json *v = NULL, *again = NULL, *all = NULL;
	struct yaml_lines lines = {.n = 0};
	struct arena a;

	arena_init(&a, 0);
	if (size < 65536 && yaml_parse(&a, text, NULL, &v, &lines, NULL) == ERR_OK) {
		mk_str out = yaml_write(&a, v);

		FUZZ_MUST(yaml_parse(&a, out, NULL, &again, NULL, NULL) == ERR_OK);
		FUZZ_MUST(json_equal(v, again));
		FUZZ_MUST(yaml_line(&lines, STR("")) >= 0);
		yaml_line(&lines, STR("/a/0/~1b"));
		FUZZ_MUST(yaml_parse(&a, text, &lenient, &again, NULL, NULL) == ERR_OK &&
			  json_equal(v, again));
	}
	if (size < 65536) {
		yaml_documents(&a, text, &lenient, &all, NULL);
	}
	arena_done(&a);
	return 0;
}
