/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the queue controller share: queues with their quota, and the status to apply.
 */
#ifndef MK_T_KUBESIM_QUEUE_CONTROLLER_H
#define MK_T_KUBESIM_QUEUE_CONTROLLER_H

#include "t/kubesim/actors_priv.h"

enum { CQ_MAX_AMOUNTS = 64, CQ_MAX_CHECKS = 16, CQ_MAX_REFUSED = 8 };

/* Quota of one resource in one flavor. */
struct amount {
	size_t group;
	const char *flavor, *resource; /* interned */
	int64_t nominal, used;         /* thousandths */
	int64_t borrowing, lending;    /* limits; -1 none */
};

struct cq {
	const char *name;   /* interned */
	const char *cohort; /* interned; NULL none */
	bool exists;
	bool active;   /* flavors and checks are there, checks Active, not stopped */
	bool draining; /* stopPolicy HoldAndDrain */
	bool strict;   /* StrictFIFO */
	struct amount amount[CQ_MAX_AMOUNTS];
	size_t n_amounts;
	const char *check[CQ_MAX_CHECKS]; /* interned */
	size_t n_checks;
	struct item **pending; /* sorted: priority, age, first seen */
	size_t n_pending, pending_size;
	/* Since quota was last given back: so many at the head, and these requests, do not fit. */
	size_t n_passed;
	uint64_t refused[CQ_MAX_REFUSED];
	size_t n_refused;
	int64_t published_ms; /* its status was written last */
	struct cq_tree *tree; /* that it is a leaf of, or NULL */
	struct item *item;
};

struct cq_table {
	struct map by_name;     /* struct cq */
	struct cq_trees *trees; /* NULL: no queue has a parent */
};

/* The ClusterQueue of the Workload's LocalQueue. NULL: 'ret_why' says what is missing (in k->a). */
struct cq *queue_of(struct ks_actors *k, mk_str ns, mk_str local_queue, mk_str *ret_why);
struct cq *queue_by_name(struct ks_actors *k, mk_str name);

void pending_add(struct ks_actors *k, struct cq *q, struct item *wl, const struct json *obj);
void pending_del(struct item *wl);

/*
 * Finds flavors for all pod sets. True: *ret_admission is status.admission and ret_use (of
 * QUOTA_MAX_USES) what it takes; false: *ret_why says why not.
 */
bool cq_quota_fits(struct ks_actors *k, const struct cq *q, const struct json *wl,
		   struct json **ret_admission, struct cq_quota_use *ret_use, size_t *ret_n,
		   mk_str *ret_why);
/*
 * What of the amount is free in the queue, and what it could have at most, with the cohort's part:
 * Kueue's arithmetic for a cohort without quota and parent of its own. Thousandths.
 */
int64_t cq_quota_free(const struct ks_actors *k, const struct cq *q, const struct amount *m);
int64_t cq_quota_most(const struct ks_actors *k, const struct cq *q, const struct amount *m);
/* The same for Workloads that ask for the same. */
uint64_t cq_quota_signature(struct ks_actors *k, const struct json *wl);
/* Takes quota for the item, or gives it back (which lets the queue look again). */
void cq_quota_take(struct ks_actors *k, struct cq *q, struct item *wl,
		   const struct cq_quota_use *use, size_t n);
void cq_quota_release(struct ks_actors *k, struct item *wl);
/* What the item holds of the queue does not count, or does again. */
void cq_quota_lend(const struct cq *q, const struct item *wl, bool lent);
/* Takes what status.admission of 'obj' says, when the item does not hold it yet. */
void cq_quota_adopt(struct ks_actors *k, struct item *wl, const struct json *obj);

/*
 * status.admission and use (as cq_quota_fits) with flavors that the caller chose: flavor_of(ctx,
 * pod set, resource), empty for what needs none.
 */
struct json *cq_admission(struct ks_actors *k, const struct cq *q, const struct json *wl,
			  mk_str (*flavor_of)(void *ctx, size_t set, mk_str resource), void *ctx,
			  struct cq_quota_use *ret_use, size_t *ret_n);
/*
 * The status that says that 'wl' holds quota of 'q', and from when on it is admitted; it is to run
 * on that cluster ("": any).
 */
void reserve(struct ks_actors *k, struct cq *q, struct item *wl_item, const struct json *wl,
	     struct json *admission, mk_str cluster);
/* Says why there is no quota, once. */
void write_unreserved(struct ks_actors *k, struct item *it, const struct json *wl, mk_str reason,
		      mk_str why);

/* --- queue trees (queue_controller_tree.c) ---------------------------------------------------- */
/* Reads all trees of the store anew, and puts what waits and what holds quota into them. */
void tree_load_all(struct ks_actors *k);
void tree_free_all(struct ks_actors *k);
/* The Workload waits in leaf 'q', or holds quota of it already. */
void tree_put(struct ks_actors *k, struct cq *q, struct item *wl, const struct json *obj,
	      bool held);
/* It waits no more. No effect on one that was admitted. */
void tree_unput(const struct cq *q, const struct item *wl);
/* It holds quota no more. */
void tree_release(const struct cq *q, const struct item *wl);
/* It holds quota and is being evicted, whichever the reason. */
void tree_evict(const struct cq *q, const struct item *wl);
bool tree_holds(const struct cq *q, const struct item *wl);
/* One decision of the tree of 'q', which 'it' belongs to. */
void tree_step(struct ks_actors *k, struct cq *q, struct item *it);

/* Kubernetes quantity to thousandths; false when malformed. Saturates. */
bool quantity_parse(mk_str s, int64_t *ret_milli);
/*
 * Canonical text of a resource's amount: decimal for cpu, binary suffixes for memory and storage.
 */
mk_str quantity_text(struct arena *a, const char *resource, int64_t milli);

/*
 * Other kinds than Job (queue_controller_kinds.c). True: the Workload's job is of one
 * that is known, is suspended (else it is suspended now) and not active any more, so that
 * the quota of an eviction may go.
 */
bool kinds_stopped(struct ks_actors *k, struct item *it, const struct json *wl);
/* A job of such a kind was written: its Workloads are looked at. */
void kinds_commit(struct ks_actors *k, const struct ks_commit *c);

/*
 * Writes the queue's status when it differs, or comes again when it may (queue_controller_usage.c).
 */
void usage_publish(struct ks_actors *k, struct item *it);

/* --- the admission-owned status (queue_controller_status.c) ----------------------------------- */
/* An apply body with every field of the status that the field manager kueue-admission keeps. */
struct json *status_body(struct ks_actors *k, const struct json *wl);
/* Sets a condition in it; the transition time moves only with the status. */
void status_condition(struct ks_actors *k, struct json *body, const char *type, bool value,
		      mk_str reason, mk_str message);
void status_drop_condition(struct json *body, const char *type);
/* Applies it to the Workload of the item. */
bool status_apply(struct ks_actors *k, struct item *it, const struct json *body);
/* Evicted, checks back to Pending, assignment to clusters forgotten, statistics counted. */
void status_evict(struct ks_actors *k, struct json *body, mk_str reason, mk_str message,
		  mk_str stat, mk_str cause);
/* Quota given back after an eviction. */
void status_release(struct ks_actors *k, struct json *body);
bool checks_all_ready(const struct json *wl);
/*
 * True: the Workload is not looked at further before a time that its status has, or one that a
 * check in Retry asks for (queue_controller_backoff.c).
 */
bool row_backoff(struct ks_actors *k, struct item *it, const struct json *wl);

/* --- elastic jobs (queue_controller_slices.c) ------------------------------------------------- */
bool slices_is_elastic(const struct json *o);
/* Was the Workload made to replace another one? */
bool slices_is_one(const struct json *wl);
/* Is it Finished because another one replaces it? */
bool slices_was_replaced(const struct json *wl);
/* The Workload of that metadata, which has annotations, is to replace 'before'. */
void slices_name(struct ks_actors *k, struct json *meta, const struct json *before);
/*
 * The newest unfinished Workload of the job, else one that tells its end, and the one that it is to
 * replace; NULL: none.
 */
const struct json *slices_of(struct ks_actors *k, const struct json *job,
			     const struct json **ret_before);
/* It has quota for fewer pods. */
bool slices_must_grow(const struct json *wl, int64_t pods);
/*
 * The elastic Workload gets so many pods, when it may in place; 'it' is the job's. True: written.
 */
bool slices_resize(struct ks_actors *k, struct item *it, const struct json *wl, int64_t pods);
/* The Workload with quota that this one replaces; NULL: none. */
struct item *slices_replaced(struct ks_actors *k, const struct json *wl);
/* Ends it for the slice that gets its quota; the cluster where it runs, "" none. */
mk_str slices_end(struct ks_actors *k, struct item *old);

/* --- jobs (queue_controller_job.c) ------------------------------------------------------------ */
/* Name of the Workload that belongs to a Job by itself. */
mk_str job_workload_name(struct arena *a, const struct json *job);
/* The Job that controls the Workload or names it, while it exists; else NULL. */
const struct json *workload_job(struct ks_actors *k, const struct json *wl);

#endif
