/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manager cluster has of queue trees (KEP-1093): ClusterQuotaTrees, ClusterQueueTrees,
 * ClusterQueues, Cohorts, LocalQueues, ResourceFlavors and ElasticQuotas as text, kept up to date
 * by the caller, who watches them. Texts do not change once they are in: a snapshot shares them, so
 * that a pass (pass.h) and reviews (review.h) work on threads of their own while the store goes on.
 * Thread-safe.
 */
#ifndef MK_TREES_STORE_H
#define MK_TREES_STORE_H

#include "core/quota/api.h"

struct trees_store;
struct trees_snapshot;

/* What became of something new. */
enum trees_kept {
	TREES_KEPT,
	TREES_SAME, /* it changes nothing that a pass looks at, or is older than what is known */
	/*
	 * Out of memory, no JSON object, or more than 200,000 of a kind: the store is not whole
	 * until the kind is listed anew. What was known of the object stays.
	 */
	TREES_NO_ROOM,
};

/* NULL: out of memory. */
struct trees_store *trees_store_new(void);
/* Snapshots stay valid. NULL is fine. */
void trees_store_free(struct trees_store *s);

/*
 * The state 'rv' of an object, as JSON text (copied, without what no pass reads). 'ns' is empty for
 * kinds without. A state that differs in its resourceVersion alone is TREES_SAME, and snapshots
 * have it from then on. While the kind is listed, what is put counts even if it is older: the API
 * server may have been restored from a backup. Other kinds than the seven are TREES_SAME.
 */
enum trees_kept trees_store_put(struct trees_store *s, enum api_kind kind, mk_str ns, mk_str name,
				uint64_t rv, mk_str text);
/* It is gone. False: it was not there. */
bool trees_store_drop(struct trees_store *s, enum api_kind kind, mk_str ns, mk_str name);

/* A list of the kind begins, and ends: what it did not name is dropped then. */
void trees_store_list(struct trees_store *s, enum api_kind kind);
void trees_store_listed(struct trees_store *s, enum api_kind kind);
/* The API server does not serve the kind, or refuses it: it counts as listed, and empty. */
void trees_store_unserved(struct trees_store *s, enum api_kind kind);

/*
 * Is everything known: each kind but ElasticQuotas was listed or is not served, and nothing was
 * lost since? Otherwise *ret_kind (may be NULL) is one that is not.
 */
bool trees_store_whole(const struct trees_store *s, enum api_kind *ret_kind);

/* What is known of a kind as a whole. */
enum trees_service {
	TREES_AWAITED,  /* neither listed nor said not to be served; or something of it was lost */
	TREES_UNSERVED, /* the API server does not serve it, or not to us */
	TREES_SERVED,   /* what is not in the store is not there */
};
enum trees_service trees_store_service(const struct trees_store *s, enum api_kind kind);

/* What the objects say of a ClusterQueue, be it there or not. */
enum trees_place {
	TREES_OUTSIDE, /* no ClusterQuotaTree, parent or list of children names it */
	TREES_LEAF,    /* one does, as a child only */
	TREES_INNER,   /* one says that it has children */
};
/* Reads no JSON: a microsecond for a hundred queues in trees. */
enum trees_place trees_store_place(const struct trees_store *s, mk_str queue);
/*
 * Is that ClusterQueue written for a tree, when the configuration says Compile: is a tree its that
 * does not say another enforcement? Without the memory to tell them apart, each in a tree is.
 */
bool trees_store_owns(struct trees_store *s, mk_str queue);

/* Grows with each change. */
uint64_t trees_store_version(const struct trees_store *s);

/* What is known now; NULL: out of memory. Shares the texts, O(objects). */
struct trees_snapshot *trees_store_snapshot(struct trees_store *s);
/* The last one frees the texts. NULL is fine. */
void trees_snapshot_free(struct trees_snapshot *n);
/*
 * The objects in 'a', by kind, namespace and name, in the order of enum api_kind; *ret in 'a'. They
 * may borrow from the snapshot. ERR_NO_MEMORY.
 */
enum mk_code trees_snapshot_objects(const struct trees_snapshot *n, struct arena *a,
				    struct json ***ret, size_t *ret_n, struct mk_err *err);

#endif
