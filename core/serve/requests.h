/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests each cluster was asked, and how long they took: nearly all rows of /metrics in
 * a large fleet. So they are no families of core/base/metric, which finds a series by its text and
 * copies a family before it writes it: these have limits of their own, and are written cluster by
 * cluster, in as many calls as their caller likes. Part of the telemetry; one thread.
 */
#ifndef MK_SERVE_REQUESTS_H
#define MK_SERVE_REQUESTS_H

#include "core/base/map.h"
#include "core/base/str.h"

enum {
	REQUESTS_CLUSTERS = 20000, /* above any fleet; some KiB each */
	REQUESTS_ROWS = 64,        /* of a cluster: verbs and codes */
	REQUESTS_VERBS = 8,        /* of a cluster: those whose durations are told apart */
	REQUESTS_LABEL = 129,      /* bytes of a cluster's label, with its end */
};

/* In the order of their names. */
enum requests_family { REQUESTS_SECONDS, REQUESTS_TOTAL, REQUESTS_FAMILIES };

struct requests_cluster;

struct requests {
	struct map by_label;
	struct requests_cluster **sorted; /* owned; by label */
	size_t n, size;
};

/* Empty; frees all. */
void requests_init(struct requests *r);
void requests_done(struct requests *r);

/*
 * Counts a request of the cluster 'label' (below REQUESTS_LABEL bytes). 'code': the status of the
 * answer, or the negative enum mk_code of why there was none; 'seconds' below 0: its duration is
 * not told. What finds no room is counted in rows that say "_other"; without memory it is not
 * counted.
 */
void requests_count(struct requests *r, mk_str label, const char *verb, int code, double seconds);

/* Forgets the rows of a cluster. */
void requests_forget(struct requests *r, mk_str label);

/* The name of a family in the text. */
const char *requests_name(enum requests_family f);

/*
 * Writes a family in the text format of Prometheus, from the cluster behind 'after' on ("": from
 * the beginning, with the head), until at least 'piece' bytes are written. 'after' becomes the
 * last cluster that was written; clusters may come and go between two calls. True: that was the
 * end of the family.
 */
bool requests_write(const struct requests *r, enum requests_family f, char after[REQUESTS_LABEL],
		    size_t piece, struct buf *out);

#endif
