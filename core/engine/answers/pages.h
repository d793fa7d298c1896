/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of answers, for those who look at a large fleet again and again: a bounded number of rows,
 * chosen and ordered here, with counts of what is not shown. Called as answers.h says. A page of
 * clusters or queues begins at a place, a number: rows that come or go meanwhile move the others.
 */
#ifndef MK_ENGINE_ANSWERS_PAGES_H
#define MK_ENGINE_ANSWERS_PAGES_H

#include "core/engine/answers/answers.h"

enum {
	ANSWER_NAMES_MAX = 5,           /* workers that a reason names */
	ANSWER_NEXT_MAX = 20,           /* of what happens by itself, the soonest */
	ANSWER_QUEUE_LOOKS_MAX = 10000, /* queues that a page looks at */
};

/* How clusters stand; the texts are part of the visibility API. */
extern const char *const answer_states[];
/* Orders of clusters, likewise; both end with NULL. */
extern const char *const answer_orders[];

/* Which clusters a page has, and in which order; zero: all, by number. */
struct answer_clusters_filter {
	mk_str state, match; /* state; a part of name or message, in any case; "" all */
	mk_str order;        /* one of answer_orders, '-' before it turns it round; "" by number */
	bool problem;        /* only those that are not connected, cordoned, or have a remark */
	size_t limit, from;  /* rows; 0 all. The place of the first */
};

/*
 * As answer_clusters, with "total": how many fit, "counts": of all workers, {STATE: n, ...,
 * "problem": n}, and "continue" when more fit. The order "problem" has those first that an operator
 * should look at. NULL: out of memory.
 */
struct json *answer_clusters_page(const struct answer_env *env,
				  const struct answer_clusters_filter *f);

/* ClusterQueues of the manager, its Cohorts, ClusterQueues of workers. */
enum answer_queues { QUEUES_ALL, QUEUES_MANAGER, QUEUES_COHORTS, QUEUES_WORKERS };

/* Which queues a page has. */
struct answer_queues_filter {
	enum answer_queues of;
	mk_str match;       /* a part of name, Cohort or cluster, in any case; "" all */
	size_t limit, from; /* rows; 0 all. The place to look from */
};

/*
 * As answer_queues; with 'of' not QUEUES_ALL only the rows of that kind (of QUEUES_COHORTS in
 * "cohorts"), "total": how many there are without 'match', and "continue". At most
 * ANSWER_QUEUE_LOOKS_MAX are looked at: a page may have fewer rows than asked for, and yet
 * "continue". NULL: out of memory.
 */
struct json *answer_queues_page(const struct answer_env *env, const struct answer_queues_filter *f);

/* Which clusters the answer about a Workload has. */
struct answer_part {
	mk_str reason;      /* "" all */
	size_t limit, from; /* rows, not 0; the place of the first */
};

/*
 * As answer_workload, with a page of "clusters", those first where most has happened; "total": how
 * many have the reason; "reasons": [{reason, workers, names}], of all clusters; "continue" when
 * more follow; and of "next" the ANSWER_NEXT_MAX soonest, with "nextTotal".
 */
struct json *answer_workload_part(const struct answer_env *env, mk_str ns, mk_str name,
				  const struct answer_part *part);

/*
 * As answer_workloads, those alone whose name, or job's name, has 'match' in it, in any case; ""
 * all.
 */
struct json *answer_workloads_matching(const struct answer_env *env, const struct answer_filter *f,
				       mk_str match);

/* Does 's' contain 'part', upper and lower case of ASCII alike? "" is in every text. */
bool answer_contains(mk_str s, mk_str part);

#endif
