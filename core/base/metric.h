/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters, gauges and histograms for Prometheus. One registry per process: what is counted belongs
 * to the process. A family has a name and label names; each combination of label values is a
 * series, made when first touched. A family has at most METRIC_MAX_SERIES, or what metric_limit
 * allows; those beyond METRIC_MAX_SERIES share METRIC_MAX_BYTES with all families, so that the text
 * that Prometheus scrapes is bounded. Further ones are counted in one series whose label values are
 * all "_other", so that a user who makes many objects cannot fill the memory. Functions accept a
 * NULL family (registration ran out of memory) and then do nothing. Thread-safe.
 *
 *	static struct metric *sent;
 *	sent = metric_counter("multikueue_requests_total", "Requests sent.", "cluster", "code",
 *			      NULL);
 *	metric_add(sent, METRIC_LABELS(cluster, STR("409")), 1);
 */
#ifndef MK_BASE_METRIC_H
#define MK_BASE_METRIC_H

#include <stdint.h>

#include "core/base/str.h"

enum {
	METRIC_MAX_SERIES = 1000,
	METRIC_TOP_SERIES = 50000,           /* whatever metric_limit says */
	METRIC_MAX_BYTES = 10 * 1024 * 1024, /* of the text of all series */
	METRIC_MAX_LABELS = 6,
	METRIC_MAX_BUCKETS = 24,
};

struct metric;
struct metric_view;
struct series;

/*
 * As many views as the family has label names, in their order; METRIC_NONE for a family without
 * labels.
 */
#define METRIC_LABELS(...) ((const mk_str[]){__VA_ARGS__})
#define METRIC_NONE NULL

/*
 * Registers a family, or finds it when it is registered already. 'name' and 'help' are copied.
 * Label names follow, ended by NULL. NULL: out of memory, too many labels, or the name is taken by
 * another kind or other labels. Counters only grow; gauges are set.
 */
struct metric *metric_counter(const char *name, const char *help, ...) __attribute__((sentinel));
struct metric *metric_gauge(const char *name, const char *help, ...) __attribute__((sentinel));

/* 'bounds': upper bounds of the buckets, ascending, n <= METRIC_MAX_BUCKETS; +Inf is added. */
struct metric *metric_histogram(const char *name, const char *help, const double *bounds, size_t n,
				...) __attribute__((sentinel));

/*
 * The family has room for 'n' series, as many as can exist; not fewer than METRIC_MAX_SERIES, nor
 * more than METRIC_TOP_SERIES. Series that are there stay.
 */
void metric_limit(struct metric *m, size_t n);

/* Bounds for durations in seconds: 1 ms to 10 min. */
extern const double metric_seconds[];
extern const size_t metric_n_seconds;

/* Adds to a counter (or a gauge; a counter ignores negative amounts). */
void metric_add(struct metric *m, const mk_str *labels, double amount);
void metric_set(struct metric *m, const mk_str *labels, double value);
/* Counts one observation in a histogram. */
void metric_observe(struct metric *m, const mk_str *labels, double value);

/*
 * A series that was found once: counting in it needs neither labels nor a search. Zero before
 * metric_find. It lasts until its family forgets a series.
 */
struct metric_row {
	struct metric *family;
	struct series *series;
	uint64_t age;
};

/*
 * Finds the series of these labels for the functions below; it is made when there is none. When
 * there is no room or no memory for it, '*ret' is zero.
 */
void metric_find(struct metric *m, const mk_str *labels, struct metric_row *ret);
/*
 * As metric_add and metric_observe. False: the row is zero or lasts no longer, and nothing was
 * counted; the caller finds it again, or counts by the labels.
 */
bool metric_row_add(const struct metric_row *r, double amount);
bool metric_row_observe(const struct metric_row *r, double value);

/* Forgets the series of these labels, if it is there. */
void metric_drop(struct metric *m, const mk_str *labels);

/*
 * Forgets the series whose label 'index' (in the order of registration) is 'value': a cluster that
 * is gone.
 */
void metric_forget(struct metric *m, size_t index, mk_str value);

/*
 * Value of a counter or gauge, number of observations of a histogram; 0 when there is no such
 * series.
 */
double metric_get(struct metric *m, const mk_str *labels);

/*
 * A text of the registry that is written in pieces: where it stands. Zero at the beginning, of one
 * thread, and done before metric_clear.
 */
struct metric_cursor {
	const struct metric *family; /* the last one that was begun */
	struct metric_view *view;    /* owned: what is left of it */
};

/*
 * Appends families in the text format of Prometheus, sorted by name and labels: from the cursor on
 * those whose names come before 'before' (NULL: all), until at least 'piece' bytes are written. So
 * a call takes the time of 'piece' bytes, of the rest of one series, and of copying the numbers of
 * one family. The rows of a family are those of the moment when its text began, whatever happens
 * between two calls; a family that was not begun may still gain and lose some. True: these families
 * are complete, or 'out' has failed: it is full, or memory is out.
 */
bool metric_render(struct metric_cursor *c, const char *before, size_t piece, struct buf *out);
/* Gives back what the cursor holds; it is zero then. */
void metric_cursor_done(struct metric_cursor *c);

/* Forgets everything; all families become invalid. For the end of the process and for tests. */
void metric_clear(void);

#endif
