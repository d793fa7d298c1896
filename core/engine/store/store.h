/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All observed objects: a table per (cluster, kind), a record per object. A record holds identity,
 * resourceVersion, facts, perhaps the object's text, and the operation under way (ops.h). A record
 * outlives its object for a while as a tombstone, so that an older view cannot bring the object
 * back.
 *
 * In a table that is not synced, "not present" means unknown, not absent.
 */
#ifndef MK_ENGINE_STORE_STORE_H
#define MK_ENGINE_STORE_STORE_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/engine/store/facts.h"
#include "core/model/event.h"
#include "core/model/kind.h"

struct claim;
struct ending;
struct inflight;
struct kept;
struct models;
struct refusal;

/* When a job's status is written, and how its end was looked for. A restart may lose all of it. */
struct pace {
	int64_t status_at;  /* last write; INT64_MIN never */
	int64_t quiet_at;   /* a deferred write is due; INT64_MAX none */
	int64_t sizes_at;   /* last write of its sizes; INT64_MIN never */
	int64_t finish_at;  /* the clone is Finished, wait for the last status until */
	uint32_t finish_of; /* hash of that copy's uid: each round has another copy */
	bool finish_asked;  /* a get for it was sent */
	uint32_t unfit_of;  /* hash of the uid of the copy whose status is too large; 0 none */
};

static inline struct pace pace_new(void)
{
	return (struct pace){.status_at = INT64_MIN,
			     .quiet_at = INT64_MAX,
			     .sizes_at = INT64_MIN,
			     .finish_at = INT64_MAX};
}

/* The records of a table that have the same group value, present or not; see rules/members.c. */
struct group {
	struct list_node members;
	struct list_node peers; /* groups of the same kind and key on other workers */
	struct table *table;
	char *key; /* "ns/value" */
};

/* The versions of a Workload, its object and the copy that a decision was based on. */
struct view_key {
	uint64_t rv[3];
	uint32_t epoch[3];
	uint32_t pad; /* 0: keys are compared as bytes */
};

/* A record's membership in a group. Only the manager's objects use the members after 'record'. */
struct member {
	struct list_node node; /* of the group's list */
	struct group *group;
	struct record *record;
	struct pace pace;
	bool copied;          /* its copy was seen in this round, and we did not delete it */
	bool ended;           /* the copy had ended */
	struct view_key told; /* with these versions the status was up to date */
	uint64_t walled;      /* rules/wall.c: as in struct wl */
};

struct record {
	struct list_node node;  /* in its table's list, in order of first sight */
	struct list_node peers; /* records of the same kind and name on other workers */
	struct list_node tomb;  /* in the store's list while it is not present */
	struct member *member;  /* NULL: of no group */
	struct table *table;
	mk_str key, ns, name; /* views into 'text' */
	char *uid;            /* of the object, or of the last one of this name; NULL unknown */
	uint64_t rv;          /* of the state in 'facts', or of the deletion */
	uint32_t epoch;
	uint32_t seen;   /* number of the list that named it last */
	uint64_t listed; /* the version in that list */
	bool present;
	bool ended;          /* not present, and 'rv' is the deletion's, which no state can have */
	struct facts *facts; /* while present */
	struct kept *kept;   /* without managedFields; may be NULL */
	uint64_t admitted_step; /* clone: the step that first saw this uid Admitted; 0 = not */
	int64_t uid_at;         /* monotonic ms: this uid was seen first */
	int64_t gone_at;        /* monotonic ms since it is not present */
	int64_t asked_at;       /* monotonic ms of the last get's answer; 0 never */
	struct claim *claim;    /* clone: rules/assume.c; NULL none */
	bool is_shown;          /* ... its queue's status shows it; store.c frees the claim */

	/* operations: act/ops.c */
	struct inflight *inflight; /* at most one operation */
	bool unknown;              /* the outcome of a write is unknown: only a get may follow */
	bool absent;               /* a get found nothing, and no event has come since */
	bool taken;            /* a create found another object of the name; a get must show it */
	bool missed;           /* a write found nothing; a get shows whether that is so */
	bool doomed;           /* a delete of this uid, or a deactivation, may still arrive */
	bool settling;         /* our view is old: wait for an event until settle_at, then get */
	bool deleted;          /* ... by a delete that was applied: see outlives in observe.c */
	uint8_t forward_tries; /* copy of a job: number of applied patches with hash 'forward' */
	uint32_t forward;      /* hash of the patch that was sent last */
	int64_t forward_at;    /* ... the last of them was applied */
	int64_t settle_at;
	int64_t retry_at;        /* no write before; 0 = none */
	int64_t deleted_at;      /* act/ops.c: a delete of ours that was seen before its answer */
	unsigned fails;          /* gets in a row that failed, or brought nothing that is of use */
	struct ending *ending;   /* store/ending.h; NULL none */
	bool ended_first;        /* ... present: it had ended before its deletion began */
	bool let_go;             /* ... deleted by us after it was seen to have ended */
	struct refusal *refusal; /* rules/refusal.h: the last write was refused; NULL none */
	unsigned unanswered;     /* writes with unknown outcome since one was applied */
	char text[];             /* "ns/name" */
};

/* Does the server have the table's kind? Its last answer. */
enum service {
	SERVICE_YES,
	SERVICE_MISSING, /* it has no such kind */
	SERVICE_REFUSED, /* it does not let us see it */
	SERVICE_UNCLEAR, /* it could not say */
};

struct table {
	struct list_node records;
	struct map by_key;
	struct map groups;   /* by "ns/value" */
	struct map cohorts;  /* of ClusterQueues: cohort.c, */
	uint64_t cohort_no;  /* ... counts their changes */
	struct map accounts; /* of a worker's Workloads, by ClusterQueue: rules/assume.c */
	cluster_id cluster;
	uint16_t kind;
	uint32_t list_no; /* of the list under way, or the last one */
	size_t *share;    /* sum of bytes of the cluster's tables (cluster.bytes); NULL none */
	size_t n_present;
	size_t n_waiting;  /* our clones that are present and have no quota */
	size_t n_running;  /* ... that are present and have quota */
	size_t n_creating; /* creates under way */
	bool synced, listing;
	bool stale;   /* manager: its watch broke, absence proves nothing */
	bool failing; /* its lists and watches are refused, or get no answer; see 'why' */
	enum service service;
	int64_t hidden_at; /* not served, or not listed, since then; see table_view */
	bool untold;       /* not served, or failing, and no Event has said so */
	int64_t told_at;   /* time of the last such Event; 0 never */
	char *why;         /* the reason why it is not served, or fails; NULL none */
	bool watched;      /* OP_WATCH_OPEN was sent */
	bool sought;       /* opened to find out when the kind appears */
	bool broken;       /* memory ran out and an event was lost: must be listed anew */
	bool mending;      /* waits for that list; what it names counts as changed */
	size_t users;      /* workloads that need the watch */
	bool awaited;      /* a pass asked for the list before it was complete */
	int64_t idle_at;
};

struct store {
	struct list_node tombs; /* oldest first */
	size_t n_records, bytes;
	struct list_node endings; /* store/ending.h: the oldest first */
	size_t n_endings, ending_bytes;
	/* Workloads and jobs of workers: one of the nodes 'peers' of that kind and key */
	struct map names[KIND_MAX], groups[KIND_MAX];
	/* How texts are kept: those of the manager, and of workers; NULL none yet */
	struct models *models[KIND_MAX][2];
};

/* "ns/name" on the stack: namespaces are at most 63, object names 253 bytes. */
struct store_key {
	char text[336];
	mk_str s;
};
/*
 * Fills 'k'; k->s points into it. False: the name is longer than any API server allows, or empty.
 */
bool store_key(struct store_key *k, mk_str ns, mk_str name);

/* How texts of the table are kept; NULL when out of memory. */
struct models *store_models(struct store *s, const struct table *t);

/* An empty store. */
void store_init(struct store *s);
/* Frees what the store has besides its tables, which must be freed before. */
void store_done(struct store *s);

/* A table without records; NULL when out of memory. */
struct table *table_new(cluster_id cluster, uint16_t kind);
/* Does the server lack the kind, or not let us see it? */
static inline bool table_is_unserved(const struct table *t)
{
	return t && (t->service == SERVICE_MISSING || t->service == SERVICE_REFUSED);
}
/* Do its lists and watches fail, though it has the kind? 'why' says so in the server's words. */
static inline bool table_is_failing(const struct table *t)
{
	return t && t->failing && t->service == SERVICE_YES;
}
/* Frees the record, which has no operation under way. */
void record_free(struct store *s, struct record *r);
/* Frees the table with its records; none may have an operation under way. NULL is fine. */
void table_free(struct store *s, struct table *t);

/* The record, present or not; NULL when there is none, or 't' is NULL. */
struct record *store_find(const struct table *t, mk_str ns, mk_str name);
/* The record if its object is present, else NULL. */
struct record *store_get(const struct table *t, mk_str ns, mk_str name);
/*
 * The record, created if missing; NULL when out of memory. A new record is not present, so it is a
 * tombstone.
 */
struct record *store_touch(struct store *s, struct table *t, mk_str ns, mk_str name, int64_t now);

/*
 * One of the records of a Workload or job on the workers, present or not, or NULL. From it
 * for (PEERS_EACH(struct record, r, first)) goes to all of them, in no particular order.
 */
struct record *store_peers(const struct store *s, uint16_t kind, mk_str ns, mk_str name);
/* The same for the groups of a value. */
struct group *store_group_peers(const struct store *s, uint16_t kind, mk_str ns, mk_str value);
#define PEERS_EACH(type, x, first) \
	type *x = (first);         \
	x;                         \
	x = x->peers.next == &(first)->peers ? NULL : LIST_ENTRY(x->peers.next, type, peers)

/* Is the record's state newer than a view of (epoch, rv)? */
bool record_is_newer(const struct record *r, uint32_t epoch, uint64_t rv);
/*
 * Takes over an observed state: 'facts' and 'kept' (NULL = none) become the record's. False: out of
 * memory, the record is unchanged and the caller keeps both.
 */
bool record_put(struct store *s, struct record *r, mk_str uid, uint64_t rv, uint32_t epoch,
		struct facts *facts, struct kept *kept);
/* The object is gone as of 'rv' (0: no version known). */
void record_gone(struct store *s, struct record *r, uint64_t rv, uint32_t epoch, int64_t now);
/*
 * Makes the record a member of the group 'value', "" = of none. It stays a member as a tombstone.
 * False: out of memory, unchanged.
 */
bool record_join(struct store *s, struct record *r, mk_str value);
/* The value of the record's group; "" = none. */
mk_str record_group(const struct record *r);
/* The group of that value; NULL when no record is a member. */
struct group *store_group(const struct table *t, mk_str ns, mk_str value);
/*
 * Takes the state out of the record of a worker, which is about to be gone: '*ret_facts' and
 * '*ret_kept' (may be NULL) are the caller's.
 */
void record_take_state(struct store *s, struct record *r, struct facts **ret_facts,
		       struct kept **ret_kept);
/* Frees the record's text; the facts stay. */
void record_drop_text(struct store *s, struct record *r);
/*
 * Frees tombstones from before 'before' without an operation under way; looks at 'max' at most.
 * True: call again at once, because this call freed some and more are left. Tombstones with an
 * operation under way are looked at again later.
 */
bool store_sweep(struct store *s, int64_t before, size_t max);

#endif
