/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of objects as they are kept: small, whole again, and with models that follow them. */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/base/str.h"
#include "core/engine/store/kept.h"

enum { N = 200 };

static struct arena a;

/* An early state of the i-th object, or a later one, which has much that the early one lacks. */
static mk_str text_of(int i, bool late)
{
	mk_str more = STR_NONE;

	for (int k = 0; late && k < 30; k++) {
		more = arena_printf(&a, "%.*s,{\"type\":\"Condition%d\",\"reason\":\"R%d\"}",
				    STR_ARG(more), k, k * k);
	}
	return arena_printf(&a,
			    "{\"kind\":\"Workload\",\"metadata\":{\"name\":\"wl-%d\","
			    "\"namespace\":\"default\",\"uid\":\"%08x-aaaa\"},\"spec\":{"
			    "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{}}]},"
			    "\"status\":{\"conditions\":[{}%.*s]}}",
			    i, (unsigned)i * 2654435761u, STR_ARG(more));
}

static bool is_whole(const struct kept *k, int i, bool late)
{
	return k && str_eq(kept_text(k, &a), text_of(i, late));
}

static void test_stages(void)
{
	struct models *m = models_new();
	struct kept *early[N], *late[N];
	bool good = true;
	size_t small = 0;

	for (int i = 0; i < N; i++) {
		early[i] = kept_new(m, text_of(i, false), &a);
		late[i] = kept_new(m, text_of(i, true), &a);
	}
	models_free(m);
	for (int i = 0; i < N; i++) {
		good &= is_whole(early[i], i, false) && is_whole(late[i], i, true);
		small += kept_size(late[i]) < 150 && kept_size(early[i]) < 150;
	}
	ok(good, "each is whole, whatever its model was, and without the struct models");
	ok(small > N - 20, "nearly all take less than 150 bytes");
	for (int i = 0; i < N; i++) {
		kept_free(early[i]);
		kept_free(late[i]);
	}
}

static void test_memory(void)
{
	bool good = true;

	for (uint64_t n = 1; n < 10; n++) {
		struct models *m = models_new();
		struct kept *k;

		alloc_fail_after(n);
		k = kept_new(m, text_of(1, true), &a);
		alloc_fail_after(0);
		good &= !k || is_whole(k, 1, true);
		kept_free(k);
		models_free(m);
	}
	ok(good, "an allocation fails: the whole text, or nothing");
	kept_free(NULL);
	is_int(kept_size(NULL), 0, "no text takes nothing");
}

int main(void)
{
	struct models *m = models_new();
	struct kept *k;

	arena_init(&a, 0);
	k = kept_new(m, STR("{}"), &a);
	is_str(k ? kept_text(k, &a).p : "", "{}", "a text that is too short for a model");
	kept_free(k);
	models_free(m);
	test_stages();
	test_memory();
	arena_done(&a);
	return done_testing();
}
