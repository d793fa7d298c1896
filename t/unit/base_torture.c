/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory at every single allocation: an error each time, no crash,
 * no leak, and success in the end.
 */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/canon.h"
#include "core/base/json.h"
#include "core/base/yaml.h"

static struct buf text, yaml;
static bool only_memory = true; /* no other error was ever reported */

/* What is tried; false: out of memory, and it said so. */
static bool parse_and_change(struct arena *a)
{
	struct json *x = NULL;
	struct json *y;
	struct json *p;
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code = json_parse(a, buf_str(&text), &x, &err);

	if (code != ERR_OK) {
		only_memory = only_memory && code == ERR_NO_MEMORY;
		return false;
	}
	y = json_dup(a, x);
	json_set_str(a, y, "new", STR("value"));
	json_set(a, y, STR("k3"), NULL);
	code = json_put(a, y, "/deep/er/still", json_new_int(a, 5));
	json_set(a, y, STR("k5"), json_new_arr(a));
	p = json_diff(a, x, y);
	x = json_merge(a, x, p);
	if (arena_failed(a)) {
		return false;
	}
	return code == ERR_OK && json_write(a, x).p != NULL && canon_hash(a, y).p != NULL &&
	       json_write_pretty(a, y).p != NULL && !json_diff(a, x, y) && !arena_failed(a);
}

static bool read_yaml(struct arena *a)
{
	struct yaml_lines lines;
	struct json *v = NULL;
	struct json *all = NULL;
	mk_str raw = {NULL, 0};
	enum mk_code code = yaml_parse(a, buf_str(&yaml), NULL, &v, &lines, NULL);

	if (code != ERR_OK) {
		return false;
	}
	return yaml_documents(a, buf_str(&yaml), NULL, &all, NULL) == ERR_OK &&
	       yaml_write(a, v).p != NULL &&
	       base64_decode(a, base64_encode(a, buf_str(&yaml)), &raw, NULL) == ERR_OK;
}

static void torture(bool (*run)(struct arena *a), const char *name)
{
	uint64_t n = 0;
	bool done = false;
	struct arena a;

	while (!done && n < 100000) {
		arena_init(&a, 0);
		alloc_fail_after(++n);
		done = run(&a);
		alloc_fail_after(0);
		arena_done(&a);
	}
	printf("# %s: done at allocation %d\n", name, (int)n);
	ok(done && n > 5, name);
	/* The same with the arena's own cap in place of the heap. */
	done = false;
	for (size_t cap = 1; !done && cap < (size_t)1 << 24; cap += 1 + cap / 20) {
		arena_init(&a, cap);
		done = run(&a);
		arena_done(&a);
	}
	ok(done, "... and with every cap");
}

int main(void)
{
	buf_init(&text, 1 << 20);
	buf_init(&yaml, 1 << 20);
	buf_add(&text, STR("{\"list\":[1,2.5,\"x\",null,{\"a\":[[]]}],\"spec\":{\"x\":{\"y\":1}}"));
	for (int i = 0; i < 100; i++) {
		buf_printf(&text, ",\"k%d\":{\"resources\":{\"requests\":{\"cpu\":\"%dm\"}}}", i,
			   i);
		buf_printf(&yaml, "k%d:\n- a: %d\n  b: \"%d\"\n", i, i, i);
	}
	buf_add(&text, STR("}"));
	torture(parse_and_change, "JSON");
	torture(read_yaml, "YAML");
	ok(only_memory, "no other error was reported");
	buf_done(&text);
	buf_done(&yaml);
	return done_testing();
}
