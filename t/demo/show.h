/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user sees of a tracked fleet: a live table on a terminal, plain
 * lines elsewhere, and the summary.
 */
#ifndef MK_T_DEMO_SHOW_H
#define MK_T_DEMO_SHOW_H

#include "t/demo/track.h"

struct show {
	bool is_terminal; /* redraw in place */
	bool is_quiet;    /* nothing but the summary */
	int n_drawn;      /* lines of the table on the screen */
	int64_t next_ms;
};

/* A phase was reached: one plain line, when lines are wanted and jobs are few. */
void show_phase(const struct show *s, const struct track *t, const struct track_job *j,
		enum track_phase phase);

/* Draws what is due at 'now_us' (monotonic). 'is_last' draws in any case. */
void show_tick(struct show *s, const struct track *t, int64_t now_us, bool is_last);

struct span {
	size_t n;
	double p50_ms, p99_ms, max_ms;
};

/* How long jobs took from one phase to another, of those that reached both. */
struct span show_span(const struct track *t, enum track_phase from, enum track_phase to);

/* Where each job ran and how long each phase took. */
void show_summary(const struct track *t);

#endif
