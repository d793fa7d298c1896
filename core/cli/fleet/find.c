/* SPDX-License-Identifier: Apache-2.0 */
/* Which Workload the user means; see rows.h. */
#include "core/cli/fleet/rows.h"

/* The only Workload of the job; "": none, or several, and the error was printed. */
static mk_str of_job(struct daemon *d, const char *ns, const struct wanted *w, bool *ret_missing)
{
	struct cli *c = d->c;
	struct json *rows = rows_of_workloads(
		d, arena_printf(&c->a, "namespace=%.*s", STR_ARG(daemon_encode(c, str_of(ns)))));
	struct json_iter it = json_iter(rows);
	mk_str found = STR(""), all = STR("");
	size_t n = 0;

	while (json_next(&it)) {
		if (wanted_is(w, json_get(it.val, "job"))) {
			found = row_text(it.val, "name");
			all = arena_printf(&c->a, "%.*s\n  workload/%.*s", STR_ARG(all),
					   STR_ARG(found));
			n++;
		}
	}
	if (n == 0 && rows) {
		cli_error(c,
			  "no Workload or job \"%.*s\" in namespace %s is known to the daemon; "
			  "`kubectl multikueue get workloads -n %s` lists them",
			  STR_ARG(w->name), ns, ns);
	} else if (n > 1) {
		cli_error(c, "\"%.*s\" has %zu Workloads; name one:%.*s", STR_ARG(w->name), n,
			  STR_ARG(all));
	}
	*ret_missing = rows && n != 1;
	return n == 1 ? found : STR("");
}

struct json *wanted_find(struct daemon *d, const char *ns, const struct wanted *w,
			 bool *ret_missing)
{
	struct cli *c = d->c;
	bool missing = false;
	struct json *v = NULL;
	mk_str name = w->name;
	int status = 404;

	for (int tries = 0; tries < 2 && status == 404; tries++) {
		if (tries == 1 || wanted_job(w)) {
			name = of_job(d, ns, w, &missing);
			tries = 1;
		}
		if (name.n == 0) {
			break;
		}
		v = daemon_get(d,
			       arena_printf(&c->a, "/v1/workloads/%.*s/%.*s",
					    STR_ARG(daemon_encode(c, str_of(ns))),
					    STR_ARG(daemon_encode(c, name))),
			       &status);
	}
	if (ret_missing) {
		*ret_missing = missing;
	}
	return status == 200 ? v : NULL;
}
