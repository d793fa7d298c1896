/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-level queues (KEP-1093) as a library: one tree of queues, the workloads below it, and every
 * decision about them: who fits, who is next, who is preempted. Both plans of the KEP become a
 * struct quota_desc (api_build.h).
 *
 *   1. quota_new; 2. quota_apply with a tree; 3. quota_put for each workload;
 *   4. quota_cycle, then quota_step until QUOTA_END;
 *   5. quota_evict, quota_gone, quota_del as work ends; back to 4.
 *
 * No I/O, no clock, no threads, no globals. Time is given by the caller in milliseconds of any
 * origin. Amounts are int64: cpu in thousandths, all else in units. Weights of nodes and
 * LocalQueues are in thousandths. Nothing here uses floating point. The same calls in the same
 * order give the same answers. What the library keeps it copies. Check, admit and giving back
 * allocate nothing.
 */
#ifndef MK_QUOTA_QUOTA_H
#define MK_QUOTA_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

#define QUOTA_NONE SIZE_MAX
#define QUOTA_UNLIMITED INT64_MAX
/* Largest amount of a quota or request besides QUOTA_UNLIMITED, so that sums cannot overflow. */
#define QUOTA_MAX_AMOUNT ((int64_t)1 << 60)

enum {
	QUOTA_MAX_FLAVORS = 64,
	QUOTA_MAX_RESOURCES = 64,
	QUOTA_MAX_FR = 4096,
	QUOTA_MAX_LEVELS = 16, /* root is level 1 */
	QUOTA_MAX_PODS = 64,   /* pod sets of a workload */
	QUOTA_MAX_ASKS = 128,  /* (pod set, resource) pairs of a workload */
	QUOTA_MAX_UID = 255,
	QUOTA_MAX_LQS = 65535, /* LocalQueues of a leaf */
};

enum quota_policy { QUOTA_FIFO, QUOTA_FAIR, QUOTA_CAPACITY };
enum quota_strategy { QUOTA_BEST_EFFORT, QUOTA_STRICT, QUOTA_LQ_FAIR, QUOTA_LQ_CAPACITY };
/* Which workloads a leaf may preempt; the fields say which words they take. */
enum quota_reclaim { QUOTA_NEVER, QUOTA_LOWER, QUOTA_LOWER_OR_NEWER, QUOTA_ANY };

/* --- the tree --------------------------------------------------------------------------------- */

/*
 * One (flavor, resource) pair of the tree. Flavors keep the order of their first mention, which is
 * their order of use.
 */
struct quota_fr {
	mk_str flavor, resource;
	size_t group;  /* resource group: 0, 1, ...; a flavor and a resource belong to one */
	int64_t total; /* T: 0 to QUOTA_MAX_AMOUNT, or QUOTA_UNLIMITED */
};

/* An absolute amount of a node: MinResources or MaxResources. */
struct quota_amount {
	size_t fr; /* index in quota_desc.frs */
	int64_t nominal;
	int64_t lending; /* minimum only: what may be lent of it; -1: all */
};

/*
 * What a leaf's queue says about its own order, flavors and preemption. All zero is Kueue's default
 * but for 'reclaim'.
 */
struct quota_behaviour {
	enum quota_strategy strategy;
	enum quota_reclaim within;  /* withinClusterQueue: NEVER, LOWER, LOWER_OR_NEWER */
	enum quota_reclaim reclaim; /* reclaimWithinCohort: NEVER, LOWER, ANY */
	bool borrow_within;         /* borrowWithinCohort: LowerPriority */
	bool has_threshold;         /* maxPriorityThreshold */
	int64_t threshold;
	bool borrow_next_flavor;  /* whenCanBorrow: TryNextFlavor */
	bool preempt_may_stop;    /* whenCanPreempt: MayStopSearch */
	bool preempt_over_borrow; /* preference: PreemptionOverBorrowing */
	int64_t delay_ms;         /* no preemption before it was blocked so long */
};

struct quota_node {
	mk_str name;
	/* index in quota_desc.nodes, in any order; QUOTA_NONE: the root, exactly one */
	size_t parent;
	enum quota_policy
		/* orders its children; a child's minimum is a guarantee under CAPACITY only */
		policy;
	bool fence_open; /* may its children preempt each other? */
	int64_t weight;  /* thousandths, 0 to 10^9; 1000 is the usual */
	/*
	 * Weights (percent of the parent) or, when 'absolute', amounts. Siblings are alike. The
	 * root has neither.
	 */
	bool absolute;
	int32_t min_weight;             /* 0 to 100, or -1: unset */
	int32_t max_weight;             /* 0 to 100, or -1: 100 */
	const struct quota_amount *min; /* missing: 0 */
	size_t n_min;
	const struct quota_amount *max; /* missing: the parent's maximum */
	size_t n_max;
	struct quota_behaviour behaviour; /* heeded at leaves */
};

/* A LocalQueue. A leaf without any has one of its own, named "", of weight 1000. */
struct quota_lq {
	mk_str name;    /* "namespace/name" */
	size_t node;    /* index of its leaf */
	int64_t weight; /* thousandths, 0 to 10^9 */
};

struct quota_desc {
	const struct quota_fr *frs;
	size_t n_frs;
	const struct quota_node *nodes;
	size_t n_nodes;
	const struct quota_lq *lqs;
	size_t n_lqs;
	bool fair_lookahead; /* shares count the candidate's own request */
	bool hdrf;           /* shares by the hierarchical-DRF rule, at fair nodes */
	int64_t reserve_ms;  /* life of a reservation (quota_cycle); 0: five minutes */
};

struct quota;

/* An empty library without a tree; NULL when out of memory. Give it to quota_free. */
struct quota *quota_new(void);
/* Frees everything; NULL is fine. */
void quota_free(struct quota *q);

/*
 * Makes the tree as 'd' says, all or nothing, and ends the cycle. Nodes and LocalQueues are
 * recognised by name: a node that moved takes its usage along; work of a node that is gone, or that
 * became inner, is charged to the nearest node left of its old path as orphan usage until it ends,
 * and its pending workloads wait for a quota_put. A pair that is gone keeps its usage and has
 * maximum 0. No workload is evicted. O(nodes x pairs). ERR_INVALID: no tree (parents, names,
 * ranges); ERR_TOO_BIG: a cap; ERR_NO_MEMORY. The old tree is then untouched.
 */
enum mk_code quota_apply(struct quota *q, const struct quota_desc *d, struct mk_err *err);

/* --- reading ---------------------------------------------------------------------------------- */

struct quota_node_info {
	mk_str name;   /* borrowed until the next quota_apply, as all texts here */
	size_t parent; /* index of quota_node_at; QUOTA_NONE at the root */
	size_t first_child, n_children;
	size_t level; /* root 1 */
	enum quota_policy policy;
	bool fence_open;
	int64_t weight;
	size_t n_admitted,
		/* of a leaf: workloads, evicting and reserving ones among the admitted */
		n_pending;
	size_t n_lqs; /* of a leaf: its LocalQueues, or the one that it has without any */
	const struct quota_behaviour *behaviour; /* of a leaf, else NULL */
};

/* One LocalQueue of a leaf. */
struct quota_lq_info {
	mk_str name; /* empty: the one of a leaf without any */
	int64_t weight;
};

/* The amounts of one node for one pair. */
struct quota_cell_info {
	int64_t nominal, max, reserved, guarantee, hard;
	int64_t use, hold;
	int64_t orphan; /* part of 'use' that belongs to no child or workload of this leaf */
};

/* Number of nodes, breadth first, names in order within a parent: 0 is the root. */
size_t quota_n_nodes(const struct quota *q);
/* Index of that name or QUOTA_NONE. */
size_t quota_node_find(const struct quota *q, mk_str name);
/* 'i' below quota_n_nodes. */
struct quota_node_info quota_node_at(const struct quota *q, size_t i);
/* LocalQueue 'k' (below n_lqs) of leaf 'i'. */
struct quota_lq_info quota_lq_at(const struct quota *q, size_t i, size_t k);
/*
 * Number of pairs: those of the tree, and gone ones which are still used. The order is that of the
 * last quota_apply.
 */
size_t quota_n_frs(const struct quota *q);
/* 'f' below quota_n_frs; total 0 for gone ones. */
struct quota_fr quota_fr_at(const struct quota *q, size_t f);
/* Index of a pair, or QUOTA_NONE. */
size_t quota_fr_find(const struct quota *q, mk_str flavor, mk_str resource);
/* Node 'i', pair 'f'. */
struct quota_cell_info quota_cell_at(const struct quota *q, size_t i, size_t f);
/* Has node 'i' a pair in which hold is above max (condition OverLimit)? */
bool quota_over_limit(const struct quota *q, size_t i);
/*
 * Condition Degraded: had minima to be scaled down, because they sum up to more than their parent
 * has? Or is there a quota_unweighted?
 */
bool quota_degraded(const struct quota *q);
/*
 * A node of policy capacity whose children have neither minima nor amounts, so that each has an
 * equal part (condition Degraded, too); QUOTA_NONE when there is none.
 */
size_t quota_unweighted(const struct quota *q);
/* Were minima scaled down? */
bool quota_scaled(const struct quota *q);
/*
 * Gives a weight above 0 somewhere 0 units of something its parent has (condition RoundedToZero)?
 * The first node and pair of which that is so are in *ret_node and *ret_fr then; both may be NULL.
 */
bool quota_rounded_to_zero(const struct quota *q, size_t *ret_node, size_t *ret_fr);

/* --- workloads -------------------------------------------------------------------------------- */

/* What one pod set asks of one resource, all pods together. */
struct quota_ask {
	uint32_t pod; /* index of the pod set */
	mk_str resource;
	int64_t amount; /* 0 to QUOTA_MAX_AMOUNT */
	mk_str flavor;  /* of an admitted workload: what it runs on; else empty */
};

struct quota_work_desc {
	mk_str uid; /* 1 to QUOTA_MAX_UID bytes; unique */
	mk_str leaf;
	mk_str lq; /* "namespace/name", or empty for the leaf's first */
	int32_t priority;
	int64_t time_ms; /* place in the queue: creation, or eviction after a pods-ready timeout */
	const struct quota_ask *asks;
	size_t n_asks;
	size_t n_pods;
	const uint64_t *
		/*
		 * per pod set: bits of quota_flavor_bit that taints and affinity allow; NULL: all
		 */
		flavors;
	uint64_t clusters; /* where it may run, or runs; 0: anywhere */
	bool admitted;     /* it runs already: charged as it is, whatever the limits say */
	int64_t admitted_ms;
};

enum quota_state {
	QUOTA_PENDING,  /* waits for its turn */
	QUOTA_BLOCKED,  /* waits for a change on its path */
	QUOTA_RESERVED, /* charged; waits until what it preempts is gone */
	QUOTA_ADMITTED,
	QUOTA_EVICTING, /* charged until quota_gone */
	QUOTA_PARKED,   /* pending, and its leaf is gone */
};

struct quota_work;

/*
 * Bit of a flavor in quota_work_desc.flavors; 0 when the tree does not have it. Bits stay while the
 * flavor does.
 */
uint64_t quota_flavor_bit(const struct quota *q, mk_str flavor);

/*
 * Adds a workload or updates that of the same uid: an admitted or evicting one only takes over
 * priority and time; of others everything changes, and a reservation is lost. Ends the cycle. Asks
 * for resources the tree does not have never fit; put such workloads again when the tree gains the
 * resource. ERR_INVALID (ranges), ERR_NOT_FOUND (leaf, LocalQueue, or flavor of an admitted one),
 * ERR_TOO_BIG, ERR_NO_MEMORY.
 */
enum mk_code quota_put(struct quota *q, const struct quota_work_desc *w, struct mk_err *err);
/*
 * Takes a workload away, whatever its state: it finished or was deleted. No effect when unknown.
 * Ends the cycle.
 */
void quota_del(struct quota *q, mk_str uid);
/* The workload of that uid or NULL; borrowed until quota_del, or quota_put of that uid. */
struct quota_work *quota_work_find(const struct quota *q, mk_str uid);

struct quota_work_info {
	mk_str leaf; /* empty when parked */
	mk_str lq;
	enum quota_state state;
	int32_t priority;
	int64_t time_ms, admitted_ms;
	size_t n_asks;
};

/* Its uid, written into 'buf' with a NUL. */
mk_str quota_work_uid(const struct quota_work *w, char buf[QUOTA_MAX_UID + 1]);
/* What is known of a workload. */
struct quota_work_info quota_work_at(const struct quota *q, const struct quota_work *w);
/*
 * Its i-th ask (below n_asks; those of 0 were dropped); the flavor is empty while none is assigned.
 */
struct quota_ask quota_work_ask(const struct quota *q, const struct quota_work *w, size_t i);

/* --- decisions -------------------------------------------------------------------------------- */

enum quota_verdict { QUOTA_NO_FIT, QUOTA_PREEMPT, QUOTA_FIT };

/* Why a workload does not fit, or one level of the way to the root. */
struct quota_row {
	size_t node, level,
		n_levels; /* node: QUOTA_NONE when the tree does not have the resource */
	size_t fr;
	int64_t used;      /* by workloads that are admitted, leaving, or reserve */
	int64_t reserved;  /* kept unused for queues that are not on its path */
	int64_t requested; /* by the workload */
	int64_t min, max;
	bool fits; /* used + reserved + requested <= max */
};

struct quota_decision {
	enum quota_verdict verdict;
	size_t height;        /* how high it borrows; 0: not at all */
	struct quota_row row; /* unless FIT: where it fails, from the leaf up */
};

/*
 * Would 'w' be admitted now, and on which flavors? Each pod set takes, in each group, the first
 * flavor that its leaf's rules allow beside what those before it took; no choice is taken back, so
 * NO_FIT does not say that no choice of flavors fits. Changes nothing but the flavors noted at a
 * pending 'w'. Fills at most 'size' of 'rows' (may be NULL), leaf first, in each node by pair;
 * *ret_n counts them. Preemption is considered when 'plans'.
 */
struct quota_decision quota_check(struct quota *q, struct quota_work *w, bool plans,
				  struct quota_row *rows, size_t size, size_t *ret_n);

/*
 * For tests; a program calls quota_step. Charges a pending or blocked 'w' if it fits (ERR_OK);
 * ERR_CONFLICT when it does not fit, or is neither.
 */
enum mk_code quota_admit(struct quota *q, struct quota_work *w, int64_t now_ms);

/*
 * Something evicts an admitted workload: it is still charged, and plans see it gone. ERR_CONFLICT
 * when it is not admitted.
 */
enum mk_code quota_evict(struct quota *q, struct quota_work *w, struct mk_err *err);
/*
 * An evicting workload has left: uncharged, and pending again. Ends the cycle. ERR_CONFLICT when it
 * is not evicting.
 */
enum mk_code quota_gone(struct quota *q, struct quota_work *w);

/*
 * "queue \"A\" (level 2 of 3): cpu in flavor on-demand: used 70, requested 20, max 80" into
 * buf[size], cut to it; with ", reserved for others 5" behind what is used, if there is some.
 */
void quota_row_text(const struct quota *q, const struct quota_row *row, char *buf, size_t size);

/* --- preemption and cycles -------------------------------------------------------------------- */

/* Why a victim was taken; the words of the metric. */
enum quota_reason { QUOTA_BY_PRIORITY, QUOTA_BY_CLAIM, QUOTA_BY_FAIR, QUOTA_BY_BORROW };

struct quota_victim {
	struct quota_work *work;
	enum quota_reason reason;
	size_t node; /* the lowest common ancestor; the leaf itself for its own */
};

/*
 * Whom to evict so that a workload fits. The array is the library's, valid until the next call that
 * plans.
 */
struct quota_plan {
	const struct quota_victim *victims; /* in the order chosen */
	size_t n;
};

/*
 * Plans for pending or blocked 'w' on the flavors assigned anew; changes nothing. ERR_OK (perhaps
 * no victims: evictions that run already make room); ERR_CONFLICT: no plan; ERR_NO_MEMORY.
 */
enum mk_code quota_plan(struct quota *q, struct quota_work *w, int64_t now_ms,
			struct quota_plan *ret);

enum quota_event {
	QUOTA_END,   /* the cycle is over: no leaf offers anything */
	QUOTA_ADMIT, /* 'work' is admitted and charged */
	/* 'work' waits with its room reserved; the victims of 'plan' are to be evicted */
	QUOTA_RESERVE,
	QUOTA_BLOCK, /* 'work' does not fit; 'decision' says where */
	/* the reservation of 'work' is over: nothing was admitted in time, and it waits again */
	QUOTA_EXPIRE,
};

struct quota_step {
	enum quota_event event;
	struct quota_work *work;
	struct quota_plan plan;
	struct quota_decision decision;
};

/*
 * Begins a cycle: drops reservations that are too old (as of the first cycle without any of the
 * evictions that ran when they were made and hold a pair that they ask for), retries the blocked
 * for whom something changed, asks each leaf for its offer. O(leaves that offer, workloads retried,
 * and, while there are reservations, evictions).
 */
void quota_cycle(struct quota *q, int64_t now_ms);
/*
 * For tests; a program calls quota_step. The next workload of the cycle, the same until it is
 * admitted, reserved or blocked. NULL at the end, or without a cycle.
 */
struct quota_work *quota_pick(struct quota *q);
/*
 * For tests; a program calls quota_step. 'w', as picked, may not run now (a dispatcher's veto): it
 * is blocked and not charged.
 */
void quota_block(struct quota *q, struct quota_work *w, int64_t now_ms);
/* Picks the next and does with it what the rules say. ERR_NO_MEMORY: the workload is blocked. */
enum mk_code quota_step(struct quota *q, int64_t now_ms, struct quota_step *ret);

#endif
