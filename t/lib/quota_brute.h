/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of core/quota once more, as plainly as they can be written: every figure is
 * recomputed from the list of workloads whenever it is asked for. Small trees only. It shares
 * nothing with the library but the description. Flavors f of resources r are pair f * BRUTE_RES
 * + r; one pod set per workload.
 */
#ifndef MK_T_LIB_QUOTA_BRUTE_H
#define MK_T_LIB_QUOTA_BRUTE_H

#include <stdio.h>
#include <string.h>

#include "core/quota/quota.h"

enum { BRUTE_RES = 2, BRUTE_FLAVORS = 2, BRUTE_FR = 4, BRUTE_NODES = 24, BRUTE_WORKS = 64 };

struct brute_work {
	char uid[12];
	size_t leaf, lq;
	int priority;
	int64_t time, since;
	int64_t ask[BRUTE_RES];
	int flavor; /* -1: none */
	uint64_t mask;
	enum quota_state state;
	bool there, again, nominated, tried, limited;
	int claims; /* plans with claims at capacity nodes since the last outside change */
	bool gone;  /* not counted: evicting in the plan view, or a victim of the plan being made */
	bool victim;
};

struct brute {
	const struct quota_desc *d;
	struct brute_work w[BRUTE_WORKS];
	size_t n;
	size_t victims[BRUTE_WORKS];
	size_t victim_lca[BRUTE_WORKS];
	size_t n_victims;
	int64_t now;
};

struct brute_ratio {
	int64_t u, m; /* m 0: infinite */
};

/* Below, at or above 0 as a is smaller, equal or larger than b. */
int brute_ratio_cmp(struct brute_ratio a, struct brute_ratio b);

/* The description of node x. */
const struct quota_node *brute_node(const struct brute *b, size_t x);

/* Is x no leaf? */
bool brute_has_children(const struct brute *b, size_t x);

/* Is x 'top', or somewhere below it? */
bool brute_below(const struct brute *b, size_t x, size_t top);

/* The most that x may use of pair f. */
int64_t brute_max(const struct brute *b, size_t x, size_t f);

/* The minimum that a node's amounts give it of pair f, 0 when there is none. */
int64_t brute_min_of(const struct quota_node *n, size_t f);

/* The nominal quota of x for pair f. */
int64_t brute_nominal(const struct brute *b, size_t x, size_t f);

/* What x keeps from others of pair f, whether it uses it or not. */
int64_t brute_reserved(const struct brute *b, size_t x, size_t f);

/* Does the workload use quota? */
bool brute_counts(const struct brute_work *w);

/* What the workload asks of pair f with its present flavor. */
int64_t brute_want(const struct brute_work *w, size_t f);

/* What the workloads at and below x use of pair f. */
int64_t brute_use(const struct brute *b, size_t x, size_t f);

/*
 * Hold of 'x' as a request of 'extra' at 'leaf' (QUOTA_NONE: none) finds it: with it, and without
 * the reserves of the queues above 'leaf', which are there for it.
 */
int64_t brute_hold(const struct brute *b, size_t x, size_t f, size_t leaf, int64_t extra);

/* Is there room for the workload at its leaf and all nodes above? */
bool brute_fits(const struct brute *b, const struct brute_work *w);

/* How many levels up the highest node is where the workload would borrow; 0: none. */
size_t brute_height(const struct brute *b, const struct brute_work *w);

/* Is a to be served before c? */
bool brute_earlier(const struct brute_work *a, const struct brute_work *c);

/* Is a the better victim than c? */
bool brute_cheaper(const struct brute_work *a, const struct brute_work *c);

/* The larger one. */
struct brute_ratio brute_larger(struct brute_ratio a, struct brute_ratio c);

/* Share of x in its parent, with 'w' more ('sign' 1) or less (-1); NULL: as it is. */
struct brute_ratio brute_share(const struct brute *b, size_t x, const struct brute_work *w,
			       int sign);

/* Class and ratio of child x, which offers w. */
int brute_key(const struct brute *b, size_t x, const struct brute_work *w, struct brute_ratio *ret);

/* Is pair f short at some node above the workload? */
bool brute_contested(const struct brute *b, const struct brute_work *w, size_t f);

/* The highest node that is short of something the workload asks for, QUOTA_NONE: none. */
size_t brute_top(const struct brute *b, const struct brute_work *w);

/* Would node a stay within its nominal quota of all contested pairs? */
bool brute_claim(const struct brute *b, const struct brute_work *w, size_t a,
		 const bool *contested);

/* The child of p that x is, or is below. */
size_t brute_child_to(const struct brute *b, size_t x, size_t p);

/* The victim to take first at and below x for a plan at node p, NULL: none. */
struct brute_work *brute_victim(struct brute *b, const struct brute_work *w, size_t x, size_t p,
				int pass, const bool *contested);

#endif
