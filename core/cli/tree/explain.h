/* SPDX-License-Identifier: Apache-2.0 */
/* What `tree explain` knows of one workload, and how it says it. */
#ifndef MK_CLI_TREE_EXPLAIN_H
#define MK_CLI_TREE_EXPLAIN_H

#include "core/cli/tree/world.h"

enum { EXPLAIN_ROWS = 1024 };

/* What the next cycle makes of a workload. */
struct outlook {
	const struct world_work *ww;
	size_t turn; /* which one it is; 0: not at all */
	enum quota_event next;
};

struct explanation {
	const struct world_work *ww;
	const struct outlook *out;
	const struct map *by_uid; /* struct outlook */
	struct quota *q;
	struct quota_work *work;
	struct quota_decision decision;
	struct quota_row rows[EXPLAIN_ROWS];
	size_t n_rows;
};

/* Prints it: what it asks, level by level what is used and allowed, whom it would preempt. */
void explain_text(struct cli *c, struct explanation *e);
/* The same as JSON, in the arena of the cli. */
struct json *explain_json(struct cli *c, struct explanation *e);

#endif
