/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of answers; see rows.h. */
#include "core/cli/fleet/rows.h"

#include "core/base/clock.h"
#include "core/base/timefmt.h"

enum { PAGES_MAX = 10000, QUIET_MS = 2000 };

mk_str row_text(const struct json *row, const char *key)
{
	mk_str s = json_str(json_get(row, key));

	return s.n > 0 ? s : STR("");
}

mk_str row_number(struct cli *c, const struct json *row, const char *key)
{
	return arena_printf(&c->a, "%lld", (long long)json_int(json_get(row, key), 0));
}

static mk_str whole_span(struct cli *c, int64_t s)
{
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

mk_str row_age(struct cli *c, mk_str time)
{
	int64_t at, s;

	if (!time_parse(time, &at)) {
		return STR("");
	}
	s = (at - clock_wall_ms()) / 1000;
	return whole_span(c, s < 0 ? -s : s);
}

mk_str row_span(struct cli *c, int64_t ms)
{
	return ms >= 10000 ? whole_span(c, ms / 1000)
			   : arena_printf(&c->a, "%lld.%llds", (long long)ms / 1000,
					  (long long)ms % 1000 / 100);
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

static bool same_word(mk_str x, mk_str y)
{
	return x.n == y.n && str_distance(x, y) == 0;
}

struct wanted wanted_of(const char *text)
{
	mk_str s = str_of(text);
	int64_t slash = str_index(s, '/');

	return slash < 0 ? (struct wanted){.kind = STR(""), .name = s}
			 : (struct wanted){.kind = str_sub(s, 0, (size_t)slash),
					   .name = str_sub(s, (size_t)slash + 1, s.n)};
}

bool wanted_job(const struct wanted *w)
{
	return w->kind.n > 0 && !same_word(w->kind, STR("workload"));
}

bool wanted_is_workload(const struct wanted *w, const struct json *row)
{
	return !wanted_job(w) && str_eq(row_text(row, "name"), w->name);
}

bool wanted_kind(const struct wanted *w, mk_str kind)
{
	return w->kind.n == 0 || same_word(kind, w->kind);
}

bool wanted_is(const struct wanted *w, const struct json *job)
{
	return job && str_eq(row_text(job, "name"), w->name) &&
	       wanted_kind(w, row_kind(row_text(job, "kind")));
}

bool rows_wants_names(const struct cli_args *args)
{
	const char *format = cli_get(args, "output");

	return format && strcmp(format, "name") == 0;
}

struct json *rows_list(struct cli *c, struct json *items)
{
	struct json *o = json_new_obj(&c->a);

	json_set_str(&c->a, o, "kind", STR("List"));
	json_set(&c->a, o, STR("items"), items);
	return o;
}

void rows_stream(struct cli *c, const struct json *v)
{
	c->is_data = true;
	buf_add(&c->out, json_write(&c->a, v));
	buf_add(&c->out, STR("\n"));
}

static struct json *all_pages(struct daemon *d, mk_str filter, bool *ret_told)
{
	struct arena *a = &d->c->a;
	struct json *all = json_new_arr(a);
	int64_t began = clock_mono_ms();
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
		if (clock_mono_ms() - began >= QUIET_MS) {
			output_progress(d->c, arena_printf(a, "%zu Workloads", json_len(all)));
			*ret_told = true;
		}
	}
	return all;
}

struct json *rows_of_workloads(struct daemon *d, mk_str filter)
{
	bool told = false;
	struct json *all = all_pages(d, filter, &told);

	if (told) {
		output_progress(d->c, STR(""));
	}
	return all;
}
