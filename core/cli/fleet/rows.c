/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of answers; see rows.h. */
#include "core/cli/fleet/rows.h"

#include "core/base/clock.h"
#include "core/base/timefmt.h"

enum { PAGES_MAX = 10000 };

mk_str row_text(const struct json *row, const char *key)
{
	mk_str s = json_str(json_get(row, key));

	return s.n > 0 ? s : STR("");
}

mk_str row_number(struct cli *c, const struct json *row, const char *key)
{
	return arena_printf(&c->a, "%lld", (long long)json_int(json_get(row, key), 0));
}

mk_str row_age(struct cli *c, mk_str time)
{
	int64_t at, s;

	if (!time_parse(time, &at)) {
		return STR("");
	}
	s = (at - clock_wall_ms()) / 1000;
	s = s < 0 ? -s : s;
	if (s < 120) {
		return arena_printf(&c->a, "%llds", (long long)s);
	}
	if (s < 600) {
		return arena_printf(&c->a, "%lldm%llds", (long long)s / 60, (long long)s % 60);
	}
	if (s < 3 * 3600) {
		return arena_printf(&c->a, "%lldm", (long long)s / 60);
	}
	return s < 48 * 3600 ? arena_printf(&c->a, "%lldh", (long long)s / 3600)
			     : arena_printf(&c->a, "%lldd", (long long)s / 86400);
}

void row_head(struct output_table *t, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		output_cell(t, output_paint(t->c, OUTPUT_BOLD, str_of(words[i])));
	}
}

mk_str row_kind(mk_str gvk)
{
	int64_t at = str_index(gvk, '=');

	return at < 0 ? gvk : str_sub(gvk, (size_t)at + 1, gvk.n);
}

struct json *rows_of_workloads(struct daemon *d, mk_str filter)
{
	struct arena *a = &d->c->a;
	struct json *all = json_new_arr(a);
	mk_str after = STR("");

	for (int i = 0; i < PAGES_MAX; i++) {
		mk_str path = arena_printf(a, "/v1/workloads?%.*s%s%.*s", STR_ARG(filter),
					   after.n > 0 ? "&continue=" : "",
					   STR_ARG(daemon_encode(d->c, after)));
		int status;
		struct json *page = daemon_get(d, path, &status);
		struct json_iter it = json_iter(json_get(page, "items"));

		if (!page) {
			return NULL;
		}
		while (json_next(&it)) {
			json_add(a, all, json_share(a, it.val));
		}
		after = row_text(page, "continue");
		if (after.n == 0) {
			break;
		}
	}
	return all;
}
