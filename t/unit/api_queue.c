/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas of ClusterQueues and what is used of them, few and many, as Kueue writes them and as
 * it never would: a worker's objects are what its admin makes of them.
 */
#include <time.h>

#include "core/api/queue.h"
#include "core/base/alloc.h"
#include "t/lib/tap.h"

enum { MANY = 30000, MANY_MS = 100 };

static struct arena a;

static struct json *parsed(mk_str text)
{
	struct json *v = NULL;

	if (json_parse_cut(&a, text, &v, NULL) != ERR_OK) {
		printf("# no JSON: %.*s\n", STR_ARG(str_sub(text, 0, 200)));
	}
	return v;
}

static const struct api_quota *find(const struct api_quota *v, uint32_t n, const char *flavor,
				    const char *resource)
{
	for (uint32_t i = 0; v && i < n; i++) {
		if (str_is(v[i].flavor, flavor) && str_is(v[i].resource, resource)) {
			return &v[i];
		}
	}
	return NULL;
}

static void test_few(void)
{
	struct json *o = parsed(
		STR("{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":["
		    "{\"name\":\"cpu\",\"nominalQuota\":\"1500m\",\"borrowingLimit\":\"2\"},"
		    "{\"name\":\"gpu\",\"nominalQuota\":3,\"lendingLimit\":null}]}]},"
		    "{\"flavors\":[{\"name\":\"g\",\"resources\":[{\"name\":\"cpu\","
		    "\"nominalQuota\":7}]}]}]},"
		    "\"status\":{\"flavorsReservation\":[{\"name\":\"g\",\"resources\":[{\"name\":"
		    "\"cpu\",\"total\":\"500m\"}]},{\"name\":\"f\",\"resources\":[{\"name\":"
		    "\"gpu\",\"total\":2},{\"name\":\"odd\",\"total\":9}]}]}}"));
	uint32_t n;
	const struct api_quota *v = api_quotas(&a, o, &n);
	const struct api_quota *q = find(v, n, "f", "cpu");

	is_int(n, 3, "a quota for each pair");
	ok(q && q->nominal == 1500 && q->borrowing == 2000 && q->lending == -1 && q->used == 0,
	   "cpu in thousandths, a limit, none, and no use");
	q = find(v, n, "f", "gpu");
	ok(q && q->nominal == 3 && q->used == 2 && q->lending == -1 && q->group == 0,
	   "all else in units, with its use");
	q = find(v, n, "g", "cpu");
	ok(q && q->used == 500 && q->group == 1, "the use of the same resource in another flavor");
}

static void test_older(void)
{
	struct json *o = parsed(
		STR("{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\":["
		    "{\"name\":\"cpu\",\"nominalQuota\":1}]}]}]},"
		    "\"status\":{\"flavorsUsage\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\""
		    ",\"total\":1}]}]}}"));
	uint32_t n;
	const struct api_quota *v = api_quotas(&a, o, &n);

	ok(n == 1 && v[0].used == 1000, "a status without reservations: the usage");
}

static void test_wrong(void)
{
	static const char *const quotas[] = {
		"\"1e999\"", "\"-5\"", "-1e400", "\"NaN\"", "[]",
		"{\"a\":1}", "true",   "\"\"",   "null",    "\"9999999999999999999999999999999\"",
		"\"5Zi\""};
	static const char *const groups[] = {
		"7",
		"{}",
		"[7]",
		"[{\"flavors\":7}]",
		"[{\"flavors\":[7]}]",
		"[[]]",
		"[{\"flavors\":[{\"name\":7,\"resources\":[{\"name\":\"cpu\"}]}]}]",
		"[{\"flavors\":[{\"name\":\"f\",\"resources\":7}]}]",
		"[{\"flavors\":[{\"name\":\"f\",\"resources\":[7,{},{\"name\":\"\"}]}]}]"};
	uint32_t n;
	bool good = true;

	for (size_t i = 0; i < sizeof(quotas) / sizeof(*quotas); i++) {
		struct json *o = parsed(arena_printf(
			&a,
			"{\"spec\":{\"resourceGroups\":[{\"flavors\":[{\"name\":\"f\",\"resources\""
			":[{\"name\":\"cpu\",\"nominalQuota\":%s,\"borrowingLimit\":%s}]}]}]},"
			"\"status\":{\"flavorsReservation\":[{\"name\":\"f\",\"resources\":["
			"{\"name\":\"cpu\",\"total\":%s}]}]}}",
			quotas[i], quotas[i], quotas[i]));
		const struct api_quota *v = api_quotas(&a, o, &n);

		if (!v || n != 1 || v[0].borrowing < -1 ||
		    (v[0].nominal > 0 && v[0].nominal < INT64_MAX / 2)) {
			printf("# %s: %lld\n", quotas[i], v ? (long long)v[0].nominal : -1);
			good = false;
		}
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct json *o =
			parsed(arena_printf(&a, "{\"spec\":{\"resourceGroups\":%s}}", groups[i]));

		if (!api_quotas(&a, o, &n) || n > 0) {
			printf("# %s\n", groups[i]);
			good = false;
		}
	}
	ok(good, "what cannot be read is no quota, what is too much the most there is");
	ok(api_quotas(&a, NULL, &n) && n == 0, "nor has no object");
}

/* 'what' of MANY flavors, the resources of each with 'field'; 'back': the last first. */
static void put_many(struct buf *b, const char *what, const char *field, bool back)
{
	buf_printf(b, "\"%s\":[", what);
	for (int i = 0; i < MANY; i++) {
		int k = back ? MANY - 1 - i : i;

		buf_printf(b, "%s{\"name\":\"f%d\",\"resources\":[{\"name\":\"cpu\",\"%s\":%d}]}",
			   i > 0 ? "," : "", k, field, k);
	}
	buf_add(b, STR("]"));
}

/* What is read of it is bounded, and each part of it is read once. */
static void test_many(void)
{
	struct json *o;
	const struct api_quota *v;
	struct buf b;
	clock_t began;
	uint32_t n;
	long ms;

	buf_init(&b, 16 * 1024 * 1024);
	buf_add(&b, STR("{\"spec\":{\"resourceGroups\":[{"));
	put_many(&b, "flavors", "nominalQuota", false);
	buf_add(&b, STR("}]},\"status\":{"));
	put_many(&b, "flavorsReservation", "total", true);
	buf_add(&b, STR("}}"));
	o = parsed(buf_str(&b));
	began = clock();
	v = api_quotas(&a, o, &n);
	ms = (long)((clock() - began) * 1000 / CLOCKS_PER_SEC);
	ok(v && n == API_QUOTAS_MAX, "of 30,000 flavors the first 1,024 are read");
	ok(v && v[1000].used == 1000000 && v[1000].nominal == 1000000, "... with their use");
	printf("# %ld ms of the processor\n", ms);
	ok(tap_valgrind() || tap_emulated() || ms < MANY_MS, "in a short time");
	buf_done(&b);
	alloc_fail_after(1);
	ok(!api_quotas(&a, o, &n), "without memory there are none");
	alloc_fail_after(0);
}

int main(void)
{
	arena_init(&a, 0);
	test_few();
	test_older();
	test_wrong();
	test_many();
	arena_done(&a);
	return done_testing();
}
