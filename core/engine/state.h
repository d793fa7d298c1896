/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's insides, shared by its files only. Who does what:
 *   engine.c    life, the step loop, timers            observe.c   events into the store, and whom they concern
 *   store.c     records          facts.c  what they say  queue.c    what is to be worked off, when
 *   ops.c       operations under way                    state.c     lookups, the workloads' index
 *   workload.c  the step table                          race.c      nominate, clone, win
 *   won.c       after the win, evictions, finish        remove.c    taking remote objects away, ownership
 *   job.c       the adapter pass                        ssa.c       bodies of status writes
 *   clone.c     bodies of what is created               note.c      events for people
 *   abandon.c   evicted, and its job nowhere            inplace.c   a workload that shrinks
 *   group.c     one object, several workloads           slices.c    one job, several workloads in turn
 *   members.c   several objects, one workload
 *   gates.c     preemption in turns                      keep.c      which texts are kept
 *   clusters.c  MultiKueueClusters  source.c  kubeconfigs  check.c     AdmissionChecks
 *   watches.c   the watches on workers                  cond.c      their conditions
 *   gc.c        garbage without a local Workload        breaker.c   a halt when clones are made again and again
 *   tally.c     what people count                       fault.c     plugins that are missing or faulty
 *   rest.c      clusters that are of no use to a workload for a while
 *   autoquota.c quotas of the manager's ClusterQueues   facts_queue.c  how queues stand, for dispatchers
 */
#ifndef MK_ENGINE_STATE_H
#define MK_ENGINE_STATE_H

#include "core/api/names.h"
#include "core/engine/engine.h"
#include "core/engine/store/queue.h"
#include "core/engine/store/store.h"

/* The rules of the step table; the text forms are operation causes and counter names. */
#define RULES(X)                              \
	X(R_GONE, "2.gone")                   \
	X(R_DELETED, "2.deleted")             \
	X(R_RELEASE, "2.release")             \
	X(R_STALE, "2.stale")                 \
	X(R_UNCHECKED, "2.unchecked")         \
	X(R_REJECTED_ADAPTER, "a6.rejected")  \
	X(R_REJECTED_OWNER, "a7.rejected")    \
	X(R_FROZEN, "a6.frozen")              \
	X(R_OUT_OF_SYNC, "3.out_of_sync")     \
	X(R_LAST_STATUS, "3.status")          \
	X(R_FINISHED, "3.finished")           \
	X(R_WINDING_STATUS, "4.status")       \
	X(R_ABANDONED, "4.abandoned")         \
	X(R_EVICTED, "4.evicted")             \
	X(R_SPEC, "5.spec")                   \
	X(R_SHRINK, "5.shrink")               \
	X(R_STRIP, "2.finalizer")             \
	X(R_LOSER, "6.loser")                 \
	X(R_DEACTIVATE, "6.deactivate")       \
	X(R_JOB_CREATE, "6.create")           \
	X(R_JOB_STATUS, "6.status")           \
	X(R_JOB_FORWARD, "6.forward")         \
	X(R_PRIORITY, "5.priority")           \
	X(R_TOPOLOGY, "6.topology")           \
	X(R_MEMBER, "6.member")               \
	X(R_JOB_OTHER, "6.other_incarnation") \
	X(R_READY, "6.ready")                 \
	X(R_LOST, "6.lost")                   \
	X(R_UNSERVED, "6.unserved")           \
	X(R_REMOTE_GONE, "6.gone")            \
	X(R_NO_CLUSTER, "6.no_cluster")       \
	X(R_REFUSED, "6.refused")             \
	X(R_WIN, "7.win")                     \
	X(R_DISQUALIFIED, "8.disqualified")   \
	X(R_NOMINATE, "9.nominate")           \
	X(R_CREATE, "9.create")               \
	X(R_GATE, "7.gate")                   \
	X(R_UNNOMINATED, "9.unnominated")     \
	X(R_FOREIGN, "9.foreign")             \
	X(R_FORMER, "9.former")               \
	X(R_ADOPT, "2.adopt")                 \
	X(R_ALONE, "9.alone")                 \
	X(R_STRANGER, "9.stranger")           \
	X(R_NO_DISPATCHER, "9.no_dispatcher") \
	X(R_TUG, "9.tug")                     \
	X(R_LEFT_OUT, "9.left_out")           \
	X(R_PLUGIN, "plugin.fault")           \
	X(R_GC, "gc.orphan")                  \
	X(R_GC_HELD, "gc.held")               \
	X(R_BREAKER, "breaker.held")          \
	X(R_GET, "get")                       \
	X(R_CONNECT, "cluster.connect")       \
	X(R_DISCONNECT, "cluster.disconnect") \
	X(R_CLUSTER, "cluster.condition")     \
	X(R_CHECK, "check.condition")         \
	X(R_QUOTA, "quota.write")             \
	X(R_QUOTA_COND, "quota.condition")    \
	X(R_WATCH, "watch.open")              \
	X(R_UNWATCH, "watch.close")

#define RULE_ENUM(id, text) id,
enum rule { RULES(RULE_ENUM) R_N };
#undef RULE_ENUM
extern const char *const rule_names[R_N];

enum item_type { ITEM_WORKLOAD, ITEM_CLUSTER, ITEM_CHECK, ITEM_GC, ITEM_SWEEP, ITEM_QUOTA };

/* What is known of a cluster, whichever number it has; see source_replace. */
struct lasting {
	char *secret; /* what it was sent with: a Secret's name, or FILE_KEY and a path */
	uint64_t secret_hash;
	char *file;        /* path that is watched for it; NULL or "" none */
	int64_t path_said; /* generation whose path people were warned of */
	char *identity;    /* what was found at the end of the link; NULL not known */
	char *server; /* the same, or where it is hidden what else tells servers apart; see alias.c */
	bool shared;        /* another cluster has the same */
	bool moved;         /* its credentials are new: it may lead to another server */
	bool itself;        /* that was the manager's own cluster: 'secret' is not used */
	int64_t lost_at;    /* monotonic ms of the first loss; INT64_MAX = not lost */
	int64_t over_at;    /* ... of which the first is the loss */
	unsigned rests;     /* ... so often in a row */
	int64_t rest_until; /* it was, and is not connected before; 0 = was not */
};

struct cluster {
	struct queue_item item;
	cluster_id id;
	char *name; /* NULL: the manager */
	char *uid;  /* of the MultiKueueCluster */
	struct lasting own;
	uint32_t epoch;
	uint32_t turns; /* epochs that began because of what we saw: kube does not count those */
	enum link_state link;
	bool decided; /* the link was up or down since the start, or since new credentials */
	bool failed;  /* it was down since it was up last: lost_at says since when */
	bool was_up;
	bool wanted; /* OP_CONNECT was sent */
	enum mk_code code;
	char *text, *reason; /* of the loss */
	int64_t up_at;       /* when the link came up last */
	size_t bytes;        /* memory of what is known of it */
	bool over;        /* ... which is more than its share: what it shows counts for nothing */
	size_t gc_spent;  /* deletes of unconfirmed garbage in this interval */
	size_t gc_most;   /* objects there in this interval */
	bool gc_said;     /* ... and people were told that some wait */
	int64_t clash_at; /* an object of another manager was seen there last; INT64_MIN never */
	char *clash;      /* that manager */
	bool by_profile;  /* counted in the users of the manager's ClusterProfiles */
	bool glance;      /* jobs without clones are to be looked for, see watch_glance */
	struct table *tables[KIND_MAX];
};

struct check {
	struct queue_item item;
	char *name;
};

/* The workloads of one job. */
struct owner {
	struct list_node workloads;
	char *key;
	uint16_t kind;
	mk_str ns, name; /* views into 'key' */
};

/* What is known of a cluster in a round. */
struct bout {
	bool refused;            /* won.c: the job was refused for good, see 'why' */
	bool job_made;           /* won.c: we created the job */
	bool there;              /* rest.c: our clone was seen, and we did not take it away */
	bool made;               /* breaker.c: our clone was seen */
	unsigned again;          /* ... and made again so often */
	int64_t made_generation; /* ... of the local spec that it was made from; 0 not by this process */
};

/* What a workload remembers of a cluster; none of it must survive a restart. */
struct wl_cluster {
	cluster_id id;
	struct bout bout;
	bool uses; /* counted in the users of the cluster's job table: a clone is there, or waits for the kind */
	bool reported; /* a foreign object was */
	bool rested;   /* it was left alone for a while */
	bool asked;    /* a create of the clone was sent, and it was not seen yet */
	unsigned fails;
	int64_t priority_generation; /* of the local spec whose priority was sent */
	unsigned priority_tries;     /* ... so often */
	bool leaving;                /* we removed it, or its job, for a good reason */
	int64_t again_since;         /* the first time of bout.again */
	int64_t blocked_at;  /* the clone waits at its preemption gate since then; 0 = not */
	int64_t skip_until;  /* do not try this cluster before */
	int64_t hidden_said; /* people were told that its jobs cannot be seen since then */
	char *why;

	/* rest.c; it outlives the round */
	unsigned removed;     /* copies in a row that somebody removed there */
	unsigned turned_down; /* clones in a row that were refused */
	int64_t forget_at;    /* removals count from the first again then */
	char *hurdle;         /* why it rests, or did, for people; NULL never */
	uint64_t told;        /* hash of the words of the last Event */
	int64_t told_at;      /* ... and when */
};

/* What is known of a round: from a reservation of quota to its release. */
struct round {
	int64_t core_until; /* finish.c: Kueue may write Finished itself until then; INT64_MAX none */
	int64_t lost_at; /* won.c: when the winner's cluster was found missing; INT64_MAX = not */
	int64_t alone_since; /* nominate.c: no external dispatcher nominated; INT64_MAX = one did, or none is needed */
	bool alone_said;    /* ... and an Event told it */
	bool stranger_said; /* ... that a nominated cluster is not in the config */
	bool tug_said;      /* ... that somebody undoes our nominations */
	bool former_said;   /* adopt.c: that a former manager's copy is in the way */
	uint64_t wanted;    /* nominate.c: hash of the nominations that we wrote last */
	int64_t wanted_at;  /* ... for the first time */
	unsigned wanted_n;  /* ... so often */
};

static inline struct round round_new(void)
{
	return (struct round){
		.core_until = INT64_MAX, .lost_at = INT64_MAX, .alone_since = INT64_MAX};
}

struct wl {
	struct queue_item item;
	struct list_node node;       /* of engine.workloads, in order of first sight */
	struct list_node owner_node; /* of owner->workloads */
	struct owner *owner;         /* NULL: no known kind */
	struct wl_cluster *cl;
	size_t n_cl;
	mk_str key, ns, name;
	char hash[48]; /* of the local spec at hash_generation */
	char hash_uid[48];
	int64_t hash_generation;
	struct pace pace; /* of the job, when it is one object */
	struct round round;
	bool counted; /* in the users of the manager's job table */
	bool frozen;
	bool live;             /* seen not Finished: what people count, see tally.c */
	bool pending;          /* seen before its check turned Ready */
	int64_t fault_said_at; /* a plugin's fault was told; INT64_MIN never */
	int64_t explained_at;  /* the check's message was written, see rest.c; INT64_MIN never */
	bool gc;               /* objects without our annotations may go too */
	bool gc_held;          /* people count it as held in this interval */
	bool sure_gone;        /* the local Workload's deletion was seen */
	uint8_t absent_rounds; /* GC intervals in a row that did not find it */
	char text[];
};

struct note;

/* An operation under way. */
struct inflight {
	struct list_node node;
	uint64_t id;
	struct record *record; /* NULL: its cluster is forgotten */
	enum op_type type;
	enum rule rule;
	uint64_t rv;           /* of the record when it was sent */
	const char *note_type; /* event to send when it is done; NULL none */
	char *note, *note_reason;
};

enum { BREAKER_MINUTES = 10 };

/* See breaker.c. */
struct breaker {
	int64_t minute; /* of the newest count */
	unsigned count[BREAKER_MINUTES], sum;
	int64_t last_at;
	bool open;
};

struct engine {
	struct engine_options o;
	struct store store;
	struct queue queue;
	struct cluster **clusters; /* ascending by id, the manager first */
	size_t n_clusters;
	cluster_id last_number; /* that was given to one */
	struct map cluster_by_name, check_by_name, wl_by_key, owner_by_key, inflight_by_id;
	struct list_node inflight;
	struct list_node workloads;
	struct queue_item gc_item, sweep_item, quota_item;
	char manager_id[64]; /* "": not known yet */
	bool may_write;
	bool facts_wanted; /* a dispatcher asks for facts: queues of workers are watched */
	bool started;
	int64_t start_ms; /* or when the wall clock was set last: a grace begins there */
	int64_t skew_ms;  /* wall clock less monotonic */
	uint64_t op_seq;
	struct engine_stats stats;
	uint64_t rules[R_N];

	/* of this step */
	int64_t now, wall;
	struct op_list *out;
	struct arena scratch;
	bool no_memory;
	bool any_broken;
	struct map frozen_kinds; /* told of; keys owned */
	struct breaker breaker;
	unsigned gc_rounds; /* intervals since jobs without clones were looked for */
	uint32_t gc_epoch;  /* of the manager at the last interval */
};

/* --- state.c: lookups ------------------------------------------------------------------------------ */
struct cluster *cluster_get(const struct engine *e, cluster_id id); /* NULL: forgotten */
/* Index of the first cluster whose number is not below 'id'. */
size_t cluster_place(const struct engine *e, cluster_id id);
struct cluster *cluster_named(const struct engine *e, mk_str name);
/* for (WORKERS_EACH(c, e)): no cluster may be made or forgotten meanwhile. */
#define WORKERS_EACH(c, e)                                                 \
	struct cluster **c##_at = (e)->clusters + 1, *c = NULL;            \
	c##_at < (e)->clusters + (e)->n_clusters && (c = *c##_at) != NULL; \
	c##_at++
static inline bool cluster_up(const struct cluster *c)
{
	return c && c->link == LINK_UP;
}
/* The table, made when there is none; NULL when out of memory. */
struct table *table_of(struct engine *e, struct cluster *c, uint16_t kind);
/* What is to be made of an object that a table does not show? */
enum view {
	VIEW_HIDDEN, /* it may be there: out of reach, not listed (again) yet, or the server could not say */
	VIEW_REFUSED, /* it may be there: the server does not show us the kind */
	VIEW_MISSING, /* it is not there: the server has no such kind */
	VIEW_KNOWN,   /* it is not there: the list is complete */
};
enum view table_view(const struct engine *e, const struct cluster *c, uint16_t kind);
/*
 * Since when objects of the kind cannot be seen there (monotonic ms), whatever the reason; INT64_MAX: they can, or the
 * first try to connect is still under way, whose end brings a pass.
 */
int64_t hidden_since(const struct cluster *c, uint16_t kind);
/* The table's list does not count any more, until it ends anew. */
void table_doubt(struct engine *e, struct table *t);
/* May absence be believed: link up and the list complete. */
bool table_known(const struct engine *e, cluster_id c, uint16_t kind);
static inline bool manager_knows(const struct engine *e, uint16_t kind)
{
	return table_known(e, CLUSTER_MANAGER, kind);
}
/* Has it listed anew: what came of it was lost, or is not to be believed. */
void table_break(struct engine *e, struct table *t);
static inline struct table *manager_table(const struct engine *e, uint16_t kind)
{
	return e->clusters[CLUSTER_MANAGER]->tables[kind];
}
struct record *manager_get(const struct engine *e, uint16_t kind, mk_str ns, mk_str name);
/* The same of a kind without namespaces. */
struct record *manager_named(const struct engine *e, uint16_t kind, mk_str name);
/* The cluster's MultiKueueCluster; NULL: not there. */
struct record *cluster_record(const struct engine *e, const struct cluster *c);
struct wl *wl_find(const struct engine *e, mk_str ns, mk_str name);
struct wl *wl_make(struct engine *e, mk_str ns, mk_str name); /* NULL: out of memory */
void wl_free(struct engine *e, struct wl *w);
/* Says which job the workload belongs to; kind 0 = none. False: out of memory. */
bool wl_bind(struct engine *e, struct wl *w, uint16_t kind, mk_str name);
struct owner *owner_find(const struct engine *e, uint16_t kind, mk_str ns, mk_str name);
/* for (WL_CLUSTERS_EACH(wc, w)): what it remembers of each cluster. */
#define WL_CLUSTERS_EACH(wc, w)          \
	struct wl_cluster *wc = (w)->cl; \
	wc &&wc < (w)->cl + (w)->n_cl;   \
	wc++
void wl_cluster_done(struct wl_cluster *wc);
/* NULL: nothing is remembered of it. */
struct wl_cluster *wl_cluster_known(const struct wl *w, cluster_id id);
/* NULL: out of memory. */
struct wl_cluster *wl_cluster(struct engine *e, struct wl *w, cluster_id id);
void wl_queue_all(struct engine *e);
/* The parsed text of a record in the scratch arena; NULL when it has none, or out of memory (e->no_memory). */
struct json *record_parse(struct engine *e, const struct record *r);
void rule_hit(struct engine *e, enum rule r);
void say_no_memory(struct engine *e);
/* 'owned' replaced by a copy of 's'. False: out of memory. */
bool keep_str(char **owned, mk_str s);

#endif
