/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of core/cli/fleet share: texts of rows, times, finding a Workload. */
#ifndef MK_CLI_FLEET_ROWS_H
#define MK_CLI_FLEET_ROWS_H

#include "core/cli/fleet/daemon.h"
#include "core/cli/output.h"

/* The string at a key, "" when it is missing. */
mk_str row_text(const struct json *row, const char *key);
/* The number at a key, as text. */
mk_str row_number(struct cli *c, const struct json *row, const char *key);
/* How long ago an RFC 3339 time is, or how far ahead, as kubectl writes it: "3m10s", "5d". "" */
mk_str row_age(struct cli *c, mk_str time);
/* A duration, not negative: "0.1s", "42s", "3m10s". */
mk_str row_span(struct cli *c, int64_t ms);
/* The heading of a table: each word a cell, in bold. */
void row_head(struct output_table *t, const char *const *words, size_t n);
/* The kind of a job as users write it: "Job" of "batch/v1, Kind=Job". */
mk_str row_kind(mk_str gvk);

/* What the user names: "job/train" is a name and what it is of; a bare name is either. */
struct wanted {
	mk_str kind, name; /* kind: "" either, "workload", or a kind of jobs in any case */
};
/* Borrows 'text'. */
struct wanted wanted_of(const char *text);
/* May it be a Workload, and has 'row' its name? */
bool wanted_is_workload(const struct wanted *w, const struct json *row);
/* May a job of that kind ("Job") be meant? */
bool wanted_kind(const struct wanted *w, mk_str kind);
/* Is it a job ({kind, name}) that is meant? */
bool wanted_is(const struct wanted *w, const struct json *job);
/* May only a job be meant? */
bool wanted_job(const struct wanted *w);
/*
 * What the daemon says of the Workload that is meant, or of that of the job that is meant
 * (docs/visibility.md, a Workload); in the arena of the cli. NULL: the error was printed;
 * *ret_missing (may be NULL): there is none, or there are several, as the daemon says.
 */
struct json *wanted_find(struct daemon *d, const char *ns, const struct wanted *w,
			 bool *ret_missing);

/* Is -o name given, as kubectl has it? cli_get_format does not know it. */
bool rows_wants_names(const struct cli_args *args);
/* {"kind": "List", "items": items}; NULL: out of memory. */
struct json *rows_list(struct cli *c, struct json *items);
/* Prints 'v' as JSON on a line of its own. */
void rows_stream(struct cli *c, const struct json *v);

/*
 * All pages of Workloads, on a terminal with progress; 'filter' is a query
 * ("namespace=a&phase=Won"), "" = all. An array in the arena of the cli; NULL: the error was
 * printed.
 */
struct json *rows_of_workloads(struct daemon *d, mk_str filter);

#endif
