/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas are found, and whether those of a ClusterQueue grew; what that costs is counted in
 * comparisons.
 */
#include "core/base/str.h"

static size_t compared;

static int counted_cmp(mk_str a, mk_str b)
{
	compared++;
	return str_cmp(a, b);
}

static bool counted_eq(mk_str a, mk_str b)
{
	compared++;
	return str_eq(a, b);
}

#define str_cmp counted_cmp
#define str_eq counted_eq
#include "core/api/queue_find.c"
#undef str_cmp
#undef str_eq
#include "t/lib/tap.h"

enum { N = API_QUOTAS_MAX };

static struct api_quota_list list(const struct api_quota *v, size_t n)
{
	return (struct api_quota_list){.v = v, .n = n};
}

static struct api_quota quota(const char *flavor, const char *resource, int64_t nominal)
{
	return (struct api_quota){
		.flavor = str_of(flavor), .resource = str_of(resource), .nominal = nominal};
}

static void grows(void)
{
	const struct api_quota old[] = {quota("a", "cpu", 4), quota("a", "memory", 4),
					quota("b", "cpu", 0)};
	struct api_quota now[] = {quota("a", "cpu", 4), quota("a", "memory", 4),
				  quota("b", "cpu", 0)};
	const struct api_quota turned[] = {quota("b", "cpu", 0), quota("a", "memory", 4),
					   quota("a", "cpu", 4)};
	const struct api_quota other[] = {quota("a", "cpu", 4), quota("c", "cpu", 1)};
	const struct api_quota none[] = {quota("c", "cpu", 0)};

	ok(!api_quotas_grew(list(old, 3), list(now, 3)), "the same quotas");
	ok(!api_quotas_grew(list(old, 3), list(turned, 3)), "... in another order");
	ok(!api_quotas_grew(list(old, 3), list(now, 1)), "... and fewer");
	ok(!api_quotas_grew(list(old, 3), list(NULL, 0)), "... none");
	now[1].nominal = 3;
	ok(!api_quotas_grew(list(old, 3), list(now, 3)), "less of one");
	now[2].nominal = 1;
	ok(api_quotas_grew(list(old, 3), list(now, 3)), "... and more of another");
	ok(api_quotas_grew(list(old, 3), list(other, 2)), "a flavor that is new");
	ok(!api_quotas_grew(list(old, 3), list(none, 1)), "... without quota is no growth");
	ok(api_quotas_grew(list(NULL, 0), list(old, 3)), "the first quotas");
	ok(!api_quotas_grew(list(old, 1), list(turned, 1)),
	   "a flavor without quota in place of one");
}

static void frees(void)
{
	struct api_quota old[] = {quota("a", "cpu", 4), quota("b", "cpu", 4)};
	struct api_quota now[] = {quota("a", "cpu", 4), quota("b", "cpu", 4)};

	old[1].used = now[1].used = 3;
	ok(!api_quotas_freed(list(old, 2), list(now, 2)), "the same use");
	now[0].used = 1;
	ok(!api_quotas_freed(list(old, 2), list(now, 2)), "more use of one");
	now[1].used = 2;
	ok(api_quotas_freed(list(old, 2), list(now, 2)), "... and less of another");
	now[1].nominal = 3;
	ok(!api_quotas_freed(list(old, 2), list(now, 2)), "... whose quota fell as much");
	now[1].used = INT64_MIN + 1;
	ok(api_quotas_freed(list(old, 2), list(now, 2)), "use that no queue has overflows nothing");
}

/* As many quotas as are read, of which the last is asked for first. */
static void costs(void)
{
	static struct api_quota old[N], now[N];
	static char names[N][32];

	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "f%04zu", i);
		old[i] = quota(names[i], "cpu", 1);
		now[N - 1 - i] = old[i];
	}
	compared = 0;
	ok(!api_quotas_grew(list(old, N), list(old, N)), "1,024 quotas in their order");
	is_int((long)compared, 2 * N, "... are compared once each, by flavor and resource");
	compared = 0;
	ok(!api_quotas_grew(list(old, N), list(now, N)), "1,024 quotas turned round");
	ok(compared <= (size_t)N * 30, "... cost a sort and a search, not each with each");
	printf("# %zu comparisons\n", compared);
	now[N - 1].nominal = 2;
	ok(api_quotas_grew(list(old, N), list(now, N)), "... and one that grew is found");
}

int main(void)
{
	grows();
	frees();
	costs();
	return done_testing();
}
