/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of a simulation as SVG: above, how much each queue uses over time; below, a row for
 * each workload with the times when it waited and ran. Works in any browser, needs no script;
 * hovering shows what a part means.
 */
#ifndef MK_CLI_TREE_TIMELINE_H
#define MK_CLI_TREE_TIMELINE_H

#include "core/base/str.h"

enum timeline_kind {
	TIMELINE_WAIT,  /* asked, not admitted */
	TIMELINE_RUN,   /* admitted */
	TIMELINE_EVICT, /* preempted, still holding its quota */
};

struct timeline_span {
	size_t row;
	enum timeline_kind kind;
	int64_t from_ms, to_ms;
	mk_str note; /* shown when hovering; what happened at its end */
	bool cut;    /* it ended by preemption: marked */
};

struct timeline_row {
	mk_str label;
	size_t group;
};

/* One step of what a group uses, from 'at_ms' on. */
struct timeline_use {
	size_t group;
	int64_t at_ms;
	int64_t use;
};

struct timeline {
	mk_str title;
	mk_str unit;          /* what is drawn above: "cpu in flavor default" */
	int64_t total;        /* top of the scale: what the tree has of it */
	int64_t end_ms;       /* of the picture */
	const mk_str *groups; /* queues, in the order of the tree */
	size_t n_groups;
	const struct timeline_row *rows; /* by group */
	size_t n_rows;
	const struct timeline_span *spans;
	size_t n_spans;
	const struct timeline_use *uses; /* by time */
	size_t n_uses;
	mk_str (*amount)(void *ctx, int64_t v); /* how 'total' is written */
	void *ctx;
};

enum { TIMELINE_MAX_ROWS = 400 };

/*
 * Appends the picture to 'b'; rows after TIMELINE_MAX_ROWS are left out, and it says so. False: out
 * of memory or room.
 */
bool timeline_svg(const struct timeline *t, struct buf *b);

#endif
