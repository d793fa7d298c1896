/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All observed objects: a table per (cluster, kind), a record per object. A record holds identity, resourceVersion,
 * facts, perhaps the object's text, and what is under way for it (ops.h). A record outlives its object for a while, so
 * that an older view cannot bring the object back.
 *
 * "Not present" in a table that is not synced means unknown, not absent.
 */
#ifndef MK_ENGINE_STORE_STORE_H
#define MK_ENGINE_STORE_STORE_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/engine/store/facts.h"
#include "core/model/event.h"

struct inflight;

/* When a job's status is written, and what was done to learn its end. Nothing of it must survive a restart. */
struct pace {
	int64_t status_at; /* when it was written last; INT64_MIN never */
	int64_t quiet_at;  /* when one that can wait must be written; INT64_MAX none */
	int64_t finish_at; /* the clone is Finished, the last status awaited until; INT64_MAX none */
	uint32_t finish_of; /* ... of the copy whose uid has this hash: each round has another */
	bool finish_asked;  /* ... and asked for */
};

static inline struct pace pace_new(void)
{
	return (struct pace){.status_at = INT64_MIN, .quiet_at = INT64_MAX, .finish_at = INT64_MAX};
}

/* The records of a table that carry the same value, present or not; see members.c. */
struct group {
	struct list_node members;
	char *key; /* "ns/value" */
};

/* Which states of a Workload, its object and the copy something was decided by. */
struct view_key {
	uint64_t rv[3];
	uint32_t epoch[3];
	uint32_t pad; /* 0: keys are compared as bytes */
};

/* A record's membership. What follows the list is remembered of the manager's objects only. */
struct member {
	struct list_node node; /* of the group's list */
	struct group *group;
	struct record *record;
	struct pace pace;
	bool copied;          /* its copy was seen in this round, and nobody here took it away */
	bool ended;           /* ... and had ended */
	struct view_key told; /* nothing was left to be told when it looked so */
};

struct record {
	struct list_node node; /* in its table's list, in order of first sight */
	struct list_node tomb; /* in the store's list while it is not present */
	struct member *member; /* NULL: of no group */
	struct table *table;
	mk_str key, ns, name; /* views into 'text' */
	char *uid;            /* of the object, or of the last one; NULL unknown */
	uint64_t rv;          /* of the state held, or of the deletion */
	uint32_t epoch;
	uint32_t seen;   /* list that named it last */
	uint64_t listed; /* ... as of this version */
	bool present;
	bool ended;          /* not present, and 'rv' is the deletion's: no state ever has it */
	struct facts *facts; /* while present */
	char *blob;          /* text without managedFields; may be NULL */
	size_t blob_n;
	uint64_t admitted_step; /* clone: the step that first saw this uid Admitted; 0 = not */
	int64_t gone_at;        /* monotonic ms since it is not present */
	int64_t asked_at; /* ... when the server said last what it is, or that it is not; 0 never */

	/* what is under way: ops.c */
	struct inflight *inflight; /* at most one operation */
	bool unknown;              /* the outcome of a write is: only a get may follow */
	bool absent;               /* a get said so, and nothing else since */
	bool taken;    /* a create found something in its place, which a get must show */
	bool settling; /* our view is known to be old: wait for news until settle_at, then get */
	uint8_t forward_tries; /* copy of a job: 'forward' was taken so often */
	uint32_t forward;      /* ... hash of the patch that was sent last */
	int64_t settle_at;
	int64_t retry_at; /* no write before; 0 = none */
	unsigned fails;
	unsigned denied;     /* refusals for good in a row */
	unsigned unanswered; /* writes in a row whose outcome nobody told */
	char text[];         /* "ns/name" */
};

/* Does the server have the table's kind, as it said last? */
enum service {
	SERVICE_YES,
	SERVICE_MISSING, /* it has no such kind */
	SERVICE_REFUSED, /* it does not show it to us */
	SERVICE_UNCLEAR, /* it could not say */
};

struct table {
	struct list_node records;
	struct map by_key;
	struct map groups; /* by "ns/value" */
	cluster_id cluster;
	uint16_t kind;
	uint32_t list_no; /* of the list under way, or the last one */
	size_t *share;    /* memory of all tables of the cluster, its owner's; NULL: nobody asks */
	size_t n_present;
	size_t n_waiting;  /* clones of ours without quota: of those that are present */
	size_t n_creating; /* creates under way */
	bool synced, listing;
	bool stale; /* of the manager: its watch broke, nothing is concluded from it */
	enum service service;
	int64_t hidden_at; /* not served, or not listed, since then; what it means: table_view */
	bool untold;       /* it is not served, and people do not know */
	int64_t told_at;   /* when they were told last; 0 never */
	char *why;         /* it is not served, in words; NULL none */
	bool watched;      /* OP_WATCH_OPEN was sent */
	bool sought;       /* ... to look for the kind */
	bool broken;       /* an event was lost to memory: must be listed anew */
	bool mending;      /* that list is awaited: what it names counts as news */
	size_t users;      /* workloads that need the watch */
	int64_t idle_at;
};

struct store {
	struct list_node tombs; /* oldest first */
	size_t n_records, bytes;
};

/* "ns/name" on the stack: namespaces are at most 63, object names 253 bytes. */
struct store_key {
	char text[336];
	mk_str s;
};
/* False: no API server takes such a name. */
bool store_key(struct store_key *k, mk_str ns, mk_str name);

/* An empty store. */
void store_init(struct store *s);

/* NULL when out of memory. */
struct table *table_new(cluster_id cluster, uint16_t kind);
/* Does the server not have the kind, or not for us? */
static inline bool table_is_unserved(const struct table *t)
{
	return t && (t->service == SERVICE_MISSING || t->service == SERVICE_REFUSED);
}
/* Frees it with its records; none may have an operation under way. NULL is fine. */
void table_free(struct store *s, struct table *t);

/* The record, present or not; NULL when there is none (or 't' is NULL). */
struct record *store_find(const struct table *t, mk_str ns, mk_str name);
/* The record if its object is present. */
struct record *store_get(const struct table *t, mk_str ns, mk_str name);
/* The record, made when there is none; NULL when out of memory. A new one is not present and a tombstone. */
struct record *store_touch(struct store *s, struct table *t, mk_str ns, mk_str name, int64_t now);

/* Is a view of (epoch, rv) older than what the record holds? */
bool record_is_newer(const struct record *r, uint32_t epoch, uint64_t rv);
/* Takes over an observed state: 'facts' and 'blob' (NULL = none) become the record's. False: out of memory, unchanged. */
bool record_put(struct store *s, struct record *r, mk_str uid, uint64_t rv, uint32_t epoch,
		struct facts *facts, char *blob, size_t blob_n);
/* The object is no longer there, as of rv. */
void record_gone(struct store *s, struct record *r, uint64_t rv, uint32_t epoch, int64_t now);
/*
 * The record is a member of the group of that value from now on, "" = of none, and outlives its object as one. False: out of
 * memory, unchanged.
 */
bool record_join(struct store *s, struct record *r, mk_str value);
/* The value of its group; "" = none. */
mk_str record_group(const struct record *r);
/* NULL: no record there is a member. */
struct group *store_group(const struct table *t, mk_str ns, mk_str value);
/* Forgets the text. */
void record_drop_blob(struct store *s, struct record *r);
/*
 * Frees records that are gone since before 'before' and have nothing under way; looks at 'max' at most. True: another look
 * at once is worth it, for this one freed some and there are more. Those with something under way are no reason to.
 */
bool store_sweep(struct store *s, int64_t before, size_t max);

#endif
