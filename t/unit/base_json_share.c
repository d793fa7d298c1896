/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values that share: edits of one leave the other alone, and copies beside an
 * old value copy what is new only.
 */
#include "t/lib/tap.h"

#include "core/base/json.h"

static const char text[] =
	"{\"meta\":{\"name\":\"x\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"list\":[{\"n\":1},"
	"{\"n\":2.50},[]],\"empty\":{},\"flag\":true}";
static struct arena a;

static struct json *parse(void)
{
	struct json *v = NULL;

	(void)json_parse(&a, STR(text), &v, NULL);
	return v;
}

static const char *text_of(const struct json *v)
{
	return json_write(&a, v).p;
}

static void test_own(void)
{
	struct json *old = parse(), *now = json_share(&a, old);

	is_str(text_of(now), text, "a share reads as what it shares");
	ok(json_equal(old, now), "they are equal");
	json_own(&a, now);
	json_own(&a, json_get(now, "meta"));
	json_own(&a, json_get(now, "list"));
	json_own(&a, json_get(now, "flag"));
	json_own(&a, json_get(now, "empty"));
	json_own(&a, NULL);
	json_set_str(&a, json_get(now, "meta"), "name", STR("y"));
	json_set_str(&a, json_get(now, "meta"), "more", STR("z"));
	json_set(&a, json_get(now, "meta"), STR("labels"), NULL);
	json_remove(json_get(now, "list"), 0);
	json_add(&a, json_get(now, "list"), json_new_int(&a, 7));
	json_set(&a, now, STR("flag"), NULL);
	json_set_int(&a, json_get(now, "empty"), "i", 1);
	is_str(text_of(old), text, "editing what was made one's own leaves the other alone");
	is_str(text_of(now),
	       "{\"meta\":{\"name\":\"y\",\"more\":\"z\"},\"list\":[{\"n\":2.50},[],7],\"empty\":{"
	       "\"i\":1}}",
	       "and takes effect");
	ok(!json_equal(old, now), "they differ");
	ok(!json_share(&a, NULL), "nothing shares nothing");
}

static size_t cost(struct arena *home, const struct json *v, const struct json *old,
		   struct json **ret)
{
	size_t before = home->used;

	*ret = json_dup_beside(home, v, old);
	return home->used - before;
}

static void test_beside(void)
{
	struct arena home, tmp;
	struct json *old, *now, *copy, *again;
	size_t all, little;

	arena_init(&home, 0);
	arena_init(&tmp, 0);
	all = cost(&home, parse(), NULL, &old);
	is_str(text_of(old), text, "beside nothing: a copy");
	now = json_share(&tmp, old);
	json_own(&tmp, now);
	json_own(&tmp, json_get(now, "meta"));
	json_set_str(&tmp, json_get(now, "meta"), "name", STR("other"));
	json_set(&tmp, now, STR("empty"), NULL);
	json_set(&tmp, now, STR("list2"), json_dup(&tmp, json_get(old, "list")));
	little = cost(&home, now, old, &copy);
	json_set(&tmp, now, STR("list2"), NULL);
	ok(cost(&home, now, old, &again) < little && little < 2 * all,
	   "what is shared costs nothing");
	arena_done(&tmp);
	is_str(text_of(copy),
	       "{\"meta\":{\"name\":\"other\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"list\":[{"
	       "\"n\":1},"
	       "{\"n\":2.50},[]],\"flag\":true,\"list2\":[{\"n\":1},{\"n\":2.50},[]]}",
	       "the copy outlives the arena of what was new");
	is_str(text_of(old), text, "the old value is as it was");
	ok(!json_dup_beside(&home, NULL, old), "nothing gives nothing");
	again = json_dup_beside(&home, json_get(old, "list"), old);
	is_str(text_of(again), "[{\"n\":1},{\"n\":2.50},[]]",
	       "beside a value of another type: a copy");
	arena_done(&home);
}

static void test_short_memory(void)
{
	struct arena small;

	arena_init(&small, 256);
	ok(!json_dup_beside(&small, parse(), NULL) && arena_failed(&small),
	   "out of memory: no copy");
	arena_done(&small);
}

int main(void)
{
	arena_init(&a, 0);
	test_own();
	test_beside();
	test_short_memory();
	arena_done(&a);
	return done_testing();
}
