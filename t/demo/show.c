/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and lines for the user; see show.h. */
#include "t/demo/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/alloc.h"

enum {
	FEW = 40, /* more jobs than these are not listed one by one */
	REDRAW_MS = 150,
	PROGRESS_MS = 1000,
	ROWS_MAX = 40,
};

static double ms_between(int64_t from_us, int64_t to_us)
{
	return (double)(to_us - from_us) / 1000;
}

/* --- while it runs ---------------------------------------------------------------------------- */

static const char *workload_word(enum track_phase p)
{
	return p < TRACK_QUOTA      ? "Pending"
	       : p < TRACK_WON      ? "QuotaReserved"
	       : p < TRACK_FINISHED ? "Admitted"
				    : "Finished";
}

static const char *state_word(const struct track_job *j)
{
	static const char *const words[TRACK_N_PHASES] = {
		"waiting for quota", "choosing workers", "racing", "won",
		"on its worker",     "running",          "over",   "done",
	};

	return j->is_failed ? "failed" : words[track_phase_of(j)];
}

void show_phase(const struct show *s, const struct track *t, const struct track_job *j,
		enum track_phase phase)
{
	const char *where = phase == TRACK_NOMINATED ? j->nominated : j->winner;

	if (s->is_quiet || s->is_terminal || track_len(t) > FEW || phase == TRACK_SUBMITTED) {
		return;
	}
	printf("%8.3f s  %-24s %-14s %-18s %s\n",
	       ms_between(j->at_us[TRACK_SUBMITTED], j->at_us[phase]) / 1000, j->name,
	       workload_word(phase), state_word(j), where);
	fflush(stdout);
}

static int terminal_rows(void)
{
	struct winsize w = {.ws_row = 0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row < 8) {
		return 20;
	}
	return w.ws_row < ROWS_MAX ? w.ws_row : ROWS_MAX;
}

static void draw_row(const struct track_job *j, int64_t now_us)
{
	enum track_phase p = track_phase_of(j);
	int64_t end_us = j->at_us[TRACK_FINISHED] != 0 ? j->at_us[TRACK_FINISHED] : now_us;

	printf("%-24.24s %-14s %-14.14s %-8.8s %-18s %6.1f s\033[K\n", j->name, workload_word(p),
	       p >= TRACK_NOMINATED && p < TRACK_WON ? j->nominated : "-",
	       j->winner[0] != '\0' ? j->winner : "-", state_word(j),
	       ms_between(j->at_us[TRACK_SUBMITTED], end_us) / 1000);
}

static void print_progress(const struct track *t)
{
	printf("%zu jobs: %zu with quota, %zu nominated, %zu won, %zu created, %zu finished, %zu "
	       "clean",
	       track_len(t), track_count(t, TRACK_QUOTA), track_count(t, TRACK_NOMINATED),
	       track_count(t, TRACK_WON), track_count(t, TRACK_CREATED),
	       track_count(t, TRACK_FINISHED), track_count(t, TRACK_CLEAN));
}

/* All jobs when they fit, else those in the middle of their lives, else the newest. */
static void draw(struct show *s, const struct track *t, int64_t now_us)
{
	size_t n = track_len(t), room = (size_t)terminal_rows() - 4, shown = 0;

	if (s->n_drawn > 0) {
		printf("\033[%dA", s->n_drawn);
	}
	printf("\033[1m%-24s %-14s %-14s %-8s %-18s %8s\033[0m\033[K\n", "JOB", "WORKLOAD",
	       "NOMINATED", "WINNER", "STATE", "AGE");
	for (size_t i = 0; i < n && shown < room; i++) {
		const struct track_job *j = track_get(t, i);

		if (n <= room || track_phase_of(j) != TRACK_CLEAN) {
			draw_row(j, now_us);
			shown++;
		}
	}
	print_progress(t);
	printf("\033[K\n\033[J");
	s->n_drawn = (int)shown + 2;
	fflush(stdout);
}

void show_tick(struct show *s, const struct track *t, int64_t now_us, bool is_last)
{
	int64_t now_ms = now_us / 1000;

	if (s->is_quiet || (!is_last && now_ms < s->next_ms)) {
		return;
	}
	s->next_ms = now_ms + (s->is_terminal ? REDRAW_MS : PROGRESS_MS);
	if (s->is_terminal) {
		draw(s, t, now_us);
	} else if (track_len(t) > FEW) {
		print_progress(t);
		printf("\n");
		fflush(stdout);
	}
}

/* --- the summary ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct span show_span(const struct track *t, enum track_phase from, enum track_phase to)
{
	double *ms = mk_calloc(track_len(t) + 1, sizeof(*ms));
	struct span s = {.n = 0};

	for (size_t i = 0; ms != NULL && i < track_len(t); i++) {
		const struct track_job *j = track_get(t, i);

		if (j->at_us[from] != 0 && j->at_us[to] != 0) {
			ms[s.n++] = ms_between(j->at_us[from], j->at_us[to]);
		}
	}
	if (s.n != 0) {
		qsort(ms, s.n, sizeof(*ms), by_value);
		s.p50_ms = ms[s.n / 2];
		s.p99_ms = ms[s.n * 99 / 100];
		s.max_ms = ms[s.n - 1];
	}
	mk_free(ms);
	return s;
}

static double phase_ms(const struct track_job *j, enum track_phase from, enum track_phase to)
{
	return j->at_us[from] != 0 && j->at_us[to] != 0 ? ms_between(j->at_us[from], j->at_us[to])
							: -1;
}

static void print_ms(double ms)
{
	if (ms < 0) {
		printf(" %12s", "-");
	} else {
		printf(" %9.1f ms", ms);
	}
}

static void print_jobs(const struct track *t)
{
	printf("\n%-24s %-8s %-9s %12s %12s %12s %12s\n", "JOB", "RAN ON", "STATE", "TO NOMINATED",
	       "TO WON", "TO CREATED", "TO FINISHED");
	for (size_t i = 0; i < track_len(t); i++) {
		const struct track_job *j = track_get(t, i);

		printf("%-24.24s %-8s %-9s", j->name, j->winner[0] != '\0' ? j->winner : "-",
		       j->is_failed                    ? "failed"
		       : j->at_us[TRACK_FINISHED] != 0 ? "finished"
						       : "open");
		print_ms(phase_ms(j, TRACK_QUOTA, TRACK_NOMINATED));
		print_ms(phase_ms(j, TRACK_NOMINATED, TRACK_WON));
		print_ms(phase_ms(j, TRACK_WON, TRACK_CREATED));
		print_ms(phase_ms(j, TRACK_CREATED, TRACK_FINISHED));
		printf("\n");
	}
}

/* One line per worker, in the order of their first job. */
static void print_workers(const struct track *t)
{
	const char *seen[TRACK_CLUSTERS_MAX];
	size_t n[TRACK_CLUSTERS_MAX] = {0}, n_seen = 0, k;

	for (size_t i = 0; i < track_len(t); i++) {
		const struct track_job *j = track_get(t, i);

		for (k = 0; k < n_seen && !str_is(str_of(seen[k]), j->winner); k++) {
		}
		if (k == n_seen && n_seen < TRACK_CLUSTERS_MAX && j->winner[0] != '\0') {
			seen[n_seen++] = j->winner;
		}
		if (k < n_seen) {
			n[k]++;
		}
	}
	printf("\nRAN ON    JOBS\n");
	for (k = 0; k < n_seen; k++) {
		printf("%-8s %5zu\n", seen[k], n[k]);
	}
}

static void print_span(const struct track *t, const char *what, enum track_phase from,
		       enum track_phase to)
{
	struct span s = show_span(t, from, to);

	printf("%-34s %9.1f ms %9.1f ms %9.1f ms\n", what, s.p50_ms, s.p99_ms, s.max_ms);
}

void show_summary(const struct track *t)
{
	if (track_len(t) <= FEW) {
		print_jobs(t);
	}
	print_workers(t);
	printf("\n%-34s %12s %12s %12s\n", "PHASE (as a watch shows it)", "MEDIAN", "99 %",
	       "LONGEST");
	print_span(t, "submitted -> quota reserved", TRACK_SUBMITTED, TRACK_QUOTA);
	print_span(t, "quota reserved -> nominated", TRACK_QUOTA, TRACK_NOMINATED);
	print_span(t, "nominated -> won", TRACK_NOMINATED, TRACK_WON);
	print_span(t, "won -> job created", TRACK_WON, TRACK_CREATED);
	print_span(t, "job created -> finished", TRACK_CREATED, TRACK_FINISHED);
	print_span(t, "finished -> workers clean", TRACK_FINISHED, TRACK_CLEAN);
	print_span(t, "quota reserved -> job created", TRACK_QUOTA, TRACK_CREATED);
}
