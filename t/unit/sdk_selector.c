/* SPDX-License-Identifier: Apache-2.0 */
/* Label selectors of the SDK: what they select, and where a mistake is found. */
#include <multikueue/selector.h>

#include <stdio.h>

#include "t/lib/tap.h"

/* region=eu, gpu=h100, tier="", a.b/c=1 */
static int label(void *ctx, mk_str key, mk_str *value)
{
	static const char *const labels[][2] = {
		{"region", "eu"}, {"gpu", "h100"}, {"tier", ""}, {"a.b/c", "1"}};

	(*(int *)ctx)++;
	for (size_t i = 0; i < 4; i++) {
		if (mk_same(key, mk_lit(labels[i][0]))) {
			*value = mk_lit(labels[i][1]);
			return 1;
		}
	}
	return 0;
}

static void selects(const char *selector, int want)
{
	const char *error = "";
	size_t at = 0;
	int asked = 0;

	is_int(mk_selects(mk_lit(selector), label, &asked, &error, &at), want, selector);
}

static void fails(const char *selector, const char *want, size_t want_at)
{
	const char *error = "";
	char name[128];
	size_t at = 99;
	int asked = 0;

	(void)snprintf(name, sizeof(name), "\"%s\" has a mistake", selector);
	is_int(mk_selects(mk_lit(selector), label, &asked, &error, &at), -1, name);
	is_str(error, want, "... which is named");
	is_int((long long)at, (long long)want_at, "... with its place");
	is_int(mk_selects(mk_lit(selector), label, &asked, NULL, NULL), -1, "... or not");
}

int main(void)
{
	selects("", 1);
	selects("  ", 1);
	selects("region=eu", 1);
	selects("region==eu", 1);
	selects("region = us", 0);
	selects("region!=us", 1);
	selects("region != eu", 0);
	selects("zone!=a", 1);
	selects("zone=", 0);
	selects("tier=", 1);
	selects("tier", 1);
	selects("!tier", 0);
	selects("! zone", 1);
	selects("region in (us, eu)", 1);
	selects("region in (us)", 0);
	selects("zone in (a,b)", 0);
	selects("region notin (us, ap)", 1);
	selects("region notin (eu)", 0);
	selects("zone notin (a)", 1);
	selects("in in (a)", 0);
	selects("a.b/c=1,gpu=h100, !spot ,region in (eu)", 1);
	selects("a.b/c=1,gpu=a100", 0);
	fails("region in eu", "\"(\" after in or notin", 10);
	fails("region in (eu", "\",\" or \")\"", 13);
	fails("region eu", "one of =, ==, !=, in, notin, \",\"", 7);
	fails("=eu", "the name of a label", 0);
	fails("gpu,", "a requirement after \",\"", 4);
	fails("gpu,,region", "the name of a label", 4);
	fails("gpu=a b", "\",\" or the end", 6);
	fails("gpu!h100", "\"=\" after \"!\"", 4);
	fails("gpu=h100,region=$", "\",\" or the end", 16);
	return done_testing();
}
