/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: JSON. What is read, written and read again is the same; so is what is made
 * canonical twice; and a patch made from two documents (apart in the input by a zero
 * byte) turns the one into the other.
 */
#include "core/base/canon.h"
#include "t/fuzz/fuzz.h"

/* A merge patch cannot say null. */
static bool has_null(const struct json *v)
{
	struct json_iter it = json_iter(v);
	bool found = json_type(v) == JSON_NULL;

	while (json_next(&it) && !found) {
		found = has_null(it.val);
	}
	return found;
}

static struct json *read_back(struct arena *a, mk_str text)
{
	struct json *v = NULL;

	FUZZ_MUST(json_parse(a, text, &v, NULL) == ERR_OK);
	return v;
}

static void write_and_read(struct arena *a, const struct json *v)
{
	mk_str canon = canon_text(a, v);

	FUZZ_MUST(json_equal(v, read_back(a, json_write(a, v))));
	FUZZ_MUST(json_equal(v, read_back(a, json_write_pretty(a, v))));
	FUZZ_MUST(json_equal(v, json_dup(a, v)));
	FUZZ_MUST(str_eq(canon, canon_text(a, read_back(a, canon))));
}

static void diff_and_merge(struct arena *a, const struct json *from, const struct json *to)
{
	struct json *diff;

	if (json_type(from) != JSON_OBJ || json_type(to) != JSON_OBJ || has_null(from) ||
	    has_null(to)) {
		return;
	}
	diff = json_diff(a, from, to);
	FUZZ_MUST((!diff) == json_equal(from, to));
	if (diff != NULL) {
		FUZZ_MUST(json_equal(json_merge(a, json_dup(a, from), diff), to));
	}
}

/*
 * What is too deep is left out, and else nothing: what is left is as deep as it may be,
 * and is read as it was written.
 */
static void cut_and_read(struct arena *a, mk_str text)
{
	struct json *whole = NULL, *v = NULL;
	enum mk_code strict = json_parse(a, text, &whole, NULL);

	if (json_parse_cut(a, text, &v, NULL) != ERR_OK) {
		FUZZ_MUST(strict != ERR_OK);
		return;
	}
	FUZZ_MUST((strict == ERR_OK) == !json_is_cut(v));
	FUZZ_MUST(strict != ERR_OK || json_equal(v, whole));
	FUZZ_MUST(json_equal(v, read_back(a, json_write(a, v))));
	FUZZ_MUST(json_is_cut(json_dup(a, v)) == json_is_cut(v));
}

int fuzz_one(const uint8_t *data, size_t size)
{
	mk_str rest = {(const char *)data, size}, first;
	struct json *from = NULL, *to = NULL;
	struct arena a;

	arena_init(&a, 0);
	if (size < 65536 && str_split(&rest, '\0', &first) &&
	    json_parse(&a, first, &from, NULL) == ERR_OK) {
		write_and_read(&a, from);
		if (json_parse(&a, rest, &to, NULL) == ERR_OK) {
			diff_and_merge(&a, from, to);
		}
	}
	if (size < 65536) {
		cut_and_read(&a, (mk_str){(const char *)data, size});
	}
	arena_done(&a);
	return 0;
}
