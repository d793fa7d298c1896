/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ClusterQueues of a worker lend to their cohorts, and what is taken of it: one sum per
 * cohort, flavor and resource, kept up to date as ClusterQueues come, change and go, so that a
 * question about one queue looks at no other. The table of ClusterQueues owns the sums.
 */
#ifndef MK_ENGINE_STORE_COHORT_H
#define MK_ENGINE_STORE_COHORT_H

#include "core/engine/store/store.h"

/* Counts what the facts of a ClusterQueue say. False: out of memory, nothing is counted. */
bool cohort_add(struct table *t, const struct facts *f);
/* Takes it out again: 'f' was added. */
void cohort_remove(struct table *t, const struct facts *f);
/* Frees the sums of a table that has no records any more. */
void cohort_done(struct table *t);

/* What a ClusterQueue may have of one resource of a flavor. */
struct cohort_room {
	int64_t borrow; /* beyond nominal less used; negative: others have borrowed of that */
	int64_t most;   /* with the cohort empty */
};
/* 'q' is one of the quotas of 'f', whose record is in 't'. */
struct cohort_room cohort_room(const struct table *t, const struct facts *f,
			       const struct api_quota *q);

#endif
