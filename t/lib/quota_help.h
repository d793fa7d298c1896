/* SPDX-License-Identifier: Apache-2.0 */
/* Trees and workloads in few words, for the tests of core/quota. */
#ifndef MK_T_LIB_QUOTA_HELP_H
#define MK_T_LIB_QUOTA_HELP_H

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/quota/quota.h"
#include "t/lib/quota_proof.h"
#include "t/lib/tap.h"

enum { HELP_NODES = 64, HELP_FRS = 16, HELP_AMOUNTS = 256 };

/* A description being written. */
struct help {
	struct quota_fr frs[HELP_FRS];
	struct quota_node nodes[HELP_NODES];
	struct quota_lq lqs[HELP_NODES];
	struct quota_amount amounts[HELP_AMOUNTS];
	size_t n_amounts;
	struct quota_desc d;
	struct quota *q;
	char text[4096]; /* what the last cycle did */
};

struct help_ask {
	const char *flavor;
	const char *resource;
	int64_t amount;
};

/* An empty description and a library without a tree. */
void help_init(struct help *h);

/* Checks the library's sums and frees it. */
void help_done(struct help *h);

/* Adds a pair of flavor and resource with its total. */
void help_fr(struct help *h, const char *flavor, const char *resource, int64_t total);

/*
 * A node with weights (-1: unset). 'kind': policy c, f (fair) or i
 * (fifo); then 'o' for an open fence.
 */
struct quota_node *help_node(struct help *h, const char *name, const char *parent, const char *kind,
			     int min, int max);

/*
 * Gives a node absolute amounts: pair, minimum (-1: none), lending limit
 * (-1), maximum (-1: the parent's).
 */
void help_amount(struct help *h, const char *name, size_t fr, int64_t min, int64_t lending,
		 int64_t max);

/* Adds a LocalQueue of a leaf with its weight (1000 is one). */
void help_lq(struct help *h, const char *name, const char *leaf, int64_t weight);

/* Hands the description to the library; a refusal is a failed check. */
void help_apply(struct help *h);

/* The total of a pair from now on. */
void help_total(struct help *h, size_t fr, int64_t total);

/* A root and its children A, B, ... with the given minimum weights. */
void help_flat(struct help *h, const char *kind, int64_t total, const char *names, int min);

/* Puts a workload in, waiting or admitted. Returns what the library says. */
enum mk_code help_work(struct help *h, const char *uid, const char *leaf, const char *lq,
		       int priority, int64_t time, bool admitted, const struct help_ask *v,
		       size_t n);

/* Waits for 'cpu' of flavor "default". */
void help_wait(struct help *h, const char *uid, const char *leaf, int priority, int64_t time,
	       int64_t cpu);

/* Runs already, admitted at 'time'. */
void help_run(struct help *h, const char *uid, const char *leaf, int priority, int64_t time,
	      int64_t cpu);

/* Is 'w' the one of that uid? */
bool help_is(const struct quota_work *w, const char *uid);

/*
 * One cycle; its text names who was admitted, "+w" who reserved and "-v" its victims, "!w"
 * whose reservation expired.
 */
const char *help_cycle(struct help *h, int64_t now);

/* Victims of a plan, in the order chosen; "none" when no plan is possible. */
const char *help_plan(struct help *h, const char *uid);

/* The figures of a node for a pair. */
struct quota_cell_info help_cell(const struct help *h, const char *node, size_t fr);

/* The state of a workload (enum quota_state). */
int help_state(const struct help *h, const char *uid);

/* Why 'uid' is refused; "" when it fits. */
const char *help_why(struct help *h, const char *uid);

#endif
