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
/* The heading of a table: each word a cell, in bold. */
void row_head(struct output_table *t, const char *const *words, size_t n);
/* The kind of a job as users write it: "Job" of "batch/v1, Kind=Job". */
mk_str row_kind(mk_str gvk);

/*
 * All pages of Workloads; 'filter' is a query ("namespace=a&phase=Won"), "" = all. An array in the
 * arena of the cli; NULL: the error was printed.
 */
struct json *rows_of_workloads(struct daemon *d, mk_str filter);

#endif
