/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's state, shared by its files only, and lookups in it (state.c).
 *
 *   engine.c    life, the step loop          state.c     lookups
 *
 *   store/      objects as observed
 *     observe   takes events                 store       tables and records
 *     facts     what objects say             keep        which texts are kept
 *     kept      ... and how
 *     touch     which passes a change needs  queue       passes that are due
 *     bind      whose a workload is
 *
 *   act/        what is sent
 *     ops       operations under way         ssa         bodies of status writes
 *     cond      our conditions               note        Events
 *
 *   clusters/   MultiKueueClusters and checks
 *     clusters  numbers, memory, conditions  source      kubeconfigs and links
 *     profile   ClusterProfiles              watches     watches that depend on use
 *     check     AdmissionChecks              autoquota   quotas of the manager
 *     overlay   sections of dispatchers      roster      clusters of configs
 *     workers   what sums of quota need
 *
 *   answers/    what operators are told
 *     why       reasons of clusters          whole      ... and of a workload
 *     answers   about workloads              message    the Pending check's message
 *     fleet     about clusters and queues
 *
 *   rules/      passes over a workload
 *     workload  which rule applies           pass        what rules share
 *     race      nominate, clone, win         won         after the win
 *     winding   evicted on the manager       abandon     ... and the job is nowhere
 *     finish    the clone is Finished        verdict     what the check says
 *     nominate  asks the dispatcher          facts_queue facts for dispatchers
 *     job       create, status, forward      clone       bodies of clones
 *     scale     sizes that workers decide   places     clusters as places
 *     assume    claims on workers' queues   asked     when dispatchers are asked
 *     twin      whose is a remote object     alias       one server, two names
 *     former    marks of a former manager    remove      deletes
 *     members   several objects together     group       several workloads together
 *     slices    a workload that grows        inplace     a workload that shrinks
 *     gates     preemption in turns          priority    changed priorities
 *     cordon    clusters taken out           wall       what may leave
 *     topology  delayed topology requests    lost        when to stop waiting
 *     patience  quota given back             vacancy     room as jobs end
 *     rest      clusters left out            fault       plugins that fail
 *     field     a part of a large fleet      unplaceable what fits nowhere
 *     card      parts of questions     authority  nothing new is begun
 *     submitted copies without Kueue's start hidden    winners out of sight
 *     gc        garbage                      breaker     a halt of deletes
 *     tally     counters for metrics    stages     how far a round has come
 *     shared    another manager has our id
 */
#ifndef MK_ENGINE_STATE_H
#define MK_ENGINE_STATE_H

#include "core/api/names.h"
#include "core/engine/act/waiters.h"
#include "core/engine/answers/phases.h"
#include "core/engine/engine.h"
#include "core/engine/rule_list.h"
#include "core/engine/rules/breaker_notes.h"
#include "core/engine/rules/copied_notes.h"
#include "core/engine/rules/patience_notes.h"
#include "core/engine/rules/placed.h"
#include "core/engine/rules/shared_notes.h"
#include "core/engine/store/queue.h"
#include "core/engine/store/store.h"

enum item_type {
	ITEM_WORKLOAD,
	ITEM_CLUSTER,
	ITEM_CHECK,
	ITEM_GC,
	ITEM_SWEEP,
	ITEM_QUOTA,
	ITEM_ROSTER
};

/* The part of a cluster that stays when it gets another number; see source_replace. */
struct lasting {
	/* clusters/source.c */
	char *secret; /* what the link was opened with: see struct source, 'key' */
	uint64_t secret_hash;
	char *file;        /* path that is watched for it; NULL or "" none */
	int64_t path_said; /* generation whose path an Event has warned of */
	bool moved;        /* its credentials are new: it may lead to another server */
	bool itself;       /* it led to the manager's own cluster: 'secret' is not used again */

	/* clusters/source.c, store/observe.c: the loss */
	int64_t lost_at;      /* monotonic ms when the link went down first; INT64_MAX = it is up */
	int64_t lost_wall_ms; /* the same as Active tells it: wall ms, a whole second */

	/* rules/cordon.c: what its annotation says */
	bool cordoned;
	bool drained;         /* ... and jobs that run there are queued again */
	uint64_t cordon_said; /* hash of a word that an Event has warned of */

	/* rules/patience.c */
	int64_t grew_at; /* wall ms when it could take more than before; 0 not yet */
	/* rules/vacancy.c */
	int64_t freed_at; /* wall ms when a queue there got room; 0 not yet */
	int64_t offer_at; /* monotonic ms since when ... */
	unsigned offered; /* ... so many pauses ended for its room */

	/* clusters/server.c */
	int64_t moved_ms; /* wall ms, a whole second, since when it leads to this server; 0 always */
	int64_t moved_at; /* ... as this process has noticed (monotonic ms) */
	bool moved_now;   /* ... and the record has the server before */
	bool unrecorded;  /* ... or none: until it has this one, nothing wins there */
	bool unclear;     /* ... because an object is missing, and its identity is hidden */
	bool gone_now, gone_before; /* an operator declared that server, the former one lost */

	/* rules/alias.c */
	bool shared;      /* another cluster leads to the same server */
	int64_t shown_at; /* monotonic ms until when another one showed it */
	char *server;     /* its identity, or the uid of an object where that is hidden */
	uint64_t place;   /* of 'server', as server_place() */
	/* clusters/clusters.c */
	char *identity; /* uid of the kube-system there, "" hidden; NULL not known */
	struct failures failures;
	struct shared_id shared_id; /* rules/shared.c */

	/* clusters/clusters.c: it exceeded its memory */
	int64_t over_at;    /* lost_at of the first time in a row */
	unsigned rests;     /* times in a row */
	int64_t rest_until; /* it rests until then; 0 = it does not */
};

struct cluster {
	/* clusters/clusters.c */
	struct queue_item item;
	struct list_node left; /* of engine.left: it is forgotten, and its tables are being freed */
	cluster_id id;
	char *name; /* NULL: the manager */
	char *uid;  /* of the MultiKueueCluster */
	struct lasting own;
	struct table *tables[KIND_MAX];
	struct list_node waits;         /* workloads whose winner it is: struct wl, 'waits' */
	uint64_t seen_by;               /* rules/pass.c: number of the look that saw it last */
	size_t place;                   /* ... and its index among the clones of that look */
	const struct record *ranked_in; /* ... the config in which it was looked for last, */
	uint64_t ranked_at;             /* ... value of engine.seen then, */
	size_t rank;                    /* ... and its place in it */
	size_t bytes;                   /* memory of its tables: store/store.c */
	bool over;                      /* ... exceeds worker_memory: its events do not count */
	int64_t clash_at; /* an object of another manager was seen last; INT64_MIN never */
	char *clash;      /* id of that manager */

	/* clusters/source.c */
	bool wanted;     /* OP_CONNECT was sent */
	bool by_profile; /* counted in the users of the manager's ClusterProfiles */

	struct card *card;               /* rules/card.c; NULL: none yet */
	struct waiters waiters[WAITERS]; /* act/waiters.c */

	/* clusters/watches.c */
	bool glance; /* jobs without clones are to be looked for, see watches_glance */

	/* store/observe.c; clusters/source.c when there is no link to open */
	uint32_t epoch;
	uint32_t turns; /* epochs that observe_turn_back began: kube does not count those */
	enum link_state link;
	bool decided; /* the link was up or down since the start, or since new credentials */
	bool failed;  /* the link is down, since lost_at */
	bool was_up;  /* the link was up since the cluster has this number */
	enum mk_code code;
	char *text, *reason; /* of the loss, for the condition */
	int http;            /* the status that told of it, or 0 */
	int64_t up_at;       /* when the link came up last */

	/* rules/gc.c: this interval */
	size_t gc_spent;       /* deletes of unconfirmed garbage */
	size_t gc_most;        /* most objects that were there */
	bool gc_said;          /* an Event has told that some wait */
	int64_t unmarked_said; /* day (wall ms) of the last Event about what has no manager's id */

	/* store/observe.c: how often it was tried to connect, for the condition */
	unsigned tries;      /* failures in a row; 0 when no attempt follows by itself */
	unsigned tries_told; /* ... the largest power of two in it */
	int64_t next_told;   /* ... with the wall time of the attempt that followed then */
};

struct check {
	struct queue_item item;
	struct list_node waits; /* workloads that any cluster of its config may concern */
	struct list_node rests; /* ... and that rest: rules/vacancy.c */
	uint64_t wrong_said;    /* hash of what an Event has told of its annotations */
	char *name;
	struct overlay *overlay; /* clusters/overlay.c; NULL none yet */
};

/* The workloads of one job. */
struct owner {
	struct list_node workloads;
	char *key;
	uint16_t kind;
	mk_str ns, name; /* views into 'key' */
};

/* Notes of a workload about a cluster in one round. */
struct bout {
	/* rules/won.c */
	bool refused;          /* the job was refused for good, see 'why'; act/ops.c sets it, too */
	bool wanted, job_made; /* the job was to be created; ... and was */

	/* rules/rest.c */
	bool there;          /* our clone was seen, and we did not delete it */
	bool respec;         /* ... or we did, for its spec, which the local one no longer has */
	bool changed;        /* ... which a webhook or client of the worker had changed */
	bool retried, rests; /* this round's Retry was counted; ... and is on the manager */
	int64_t ran_at;      /* a copy that is not stopped was seen then; 0 none yet */

	/* rules/race.c, rules/won.c */
	int64_t evicted_at; /* the clone was seen evicted then, and is waited for; 0 it is not */

	int64_t won_at; /* rules/copied.c: it was the winner, at this server, then; 0 it was not */

	/* rules/breaker.c */
	bool made;               /* our clone was seen */
	unsigned again;          /* times that it was created again */
	int64_t made_generation; /* of the local spec behind it; 0 not by this process */
};

/*
 * Notes of a workload about a cluster. Each group of members belongs to the file named above it,
 * which decides by them; other files at most set or clear them. A restart may lose all of them.
 */
struct wl_cluster {
	cluster_id id;
	struct bout bout;

	/* rules/workload.c */
	bool uses; /* counted in the users of the cluster's job table, see watches_use */

	/* rules/copied.c */
	bool nameless;      /* 'copy' was noted before the link said which server that is */
	struct copied copy; /* it outlives the round */

	/* rules/race.c: a Workload of this name that is not ours */
	bool reported; /* an Event has told of it */
	bool rested;   /* the cluster was left out for it, and is tried again; rules/won.c: a job */

	/* rules/scale.c */
	bool child_uses;     /* counted in the users of the table there of its job's child, */
	uint16_t child_kind; /* ... of this kind */

	/* rules/won.c */
	char *why;           /* why the job was refused; act/ops.c */
	int64_t hidden_said; /* date of a loss that an Event has told of */

	/* rules/rest.c: it outlives the round */
	int64_t skip_until;   /* the cluster is left out until then */
	unsigned fails;       /* Retries and skips in a row: the length of the rest */
	unsigned removed;     /* copies in a row that another client removed there */
	unsigned turned_down; /* clones in a row that were refused */
	int64_t forget_at;    /* then fails and removals count from the first again */
	int64_t room_after;   /* room there that comes free later ends it (wall ms); 0 none does */
	char *hurdle;         /* why it rests, or did, for users; NULL never */
	bool quiet;           /* ... is no news: the check's message has it after a while only */
	uint64_t told;        /* hash of the text of the last Event */
	int64_t told_at;      /* ... and its time */

	/* rules/remove.c */
	bool leaving; /* we removed the clone or its job for another reason than its spec */

	/* rules/breaker.c */
	int64_t again_since; /* the first time of bout.again */
	int64_t again_until; /* it is not made again until then */

	/* rules/gates.c */
	int64_t blocked_at; /* the clone waits at its preemption gate since then; 0 = not */
	int64_t turn_until; /* its gate is open, and its turn ends then; 0 = it is not */

	/* rules/priority.c */
	unsigned priority_tries;     /* writes of the priority of ... */
	int64_t priority_generation; /* ... this generation of the local spec, */
	int64_t priority_at;         /* ... the last one */

	/* rules/tally.c */
	bool asked; /* a create of the clone was sent, and it was not seen yet */

	/* rules/places.c */
	int64_t there_at; /* our clone has been seen there since then; 0 = it is not there */
};

/* Notes about a round, from a reservation of quota to its release; grouped as in struct wl. */
struct round {
	/* rules/finish.c */
	int64_t core_until; /* Kueue may write Finished itself until then; INT64_MAX none */

	/* rules/won.c */
	int64_t lost_at;       /* its MultiKueueCluster was found missing then; INT64_MAX = not */
	int64_t lost_reported; /* ... in wall ms, as an Event has reported it */
	struct won_on won_on;  /* rules/copied.c */

	/* rules/nominate.c */
	int64_t asked_again; /* the dispatcher wants to be asked again then */
	uint64_t asked_key;  /* rules/asked.c: its last answer is for this; 0 it must be asked */
	int64_t asked_until; /* ... and until when the answer counts */
	int64_t alone_since; /* an external nomination is awaited since; INT64_MAX = not */
	uint64_t wanted;     /* hash of the nominations that we wrote last */
	int64_t wanted_at;   /* ... for the first time */
	unsigned wanted_n;   /* ... so often */
	bool alone_said; /* an Event has told that no cluster was nominated, or of no dispatcher */
	bool stranger_said; /* ... that nominations cannot be used */
	bool tug_said;      /* ... that another client undoes our nominations */

	/* answers/message.c */
	int64_t waits_since; /* it waits for the same thing since then; INT64_MAX = not */
	uint8_t waits_for;   /* ... namely this, see message.c */
	unsigned explained;  /* writes of the check's message */
	int64_t told_skew; /* value of engine.skew_ms when it said all, as of 'asked_key'; INT64_MIN not */

	struct patience_notes asked; /* rules/patience.c */
	uint8_t unplaceable;         /* rules/unplaceable.c: enum unplaceable */
	bool bare_said;              /* rules/topology.c: an Event has reported ... */
	int64_t bare_since; /* ... a winner's clone admitted without a topology; INT64_MAX = not */

	bool former_said;   /* rules/former.c: an Event has reported a former copy in the way */
	uint64_t passed_on; /* rules/slices.c: what those that wait know of its clones, hashed */
	bool evicted;       /* rules/tally.c: the winner's eviction is counted */
	bool failed;        /* rules/places.c: the bad end of this run is counted */
};

static inline struct round round_new(void)
{
	return (struct round){.core_until = INT64_MAX,
			      .lost_at = INT64_MAX,
			      .alone_since = INT64_MAX,
			      .told_skew = INT64_MIN,
			      .waits_since = INT64_MAX,
			      .bare_since = INT64_MAX};
}

/*
 * When the Workload came to the stages of the last round, see stages_time; for operators and
 * metrics, no decision. There is one for each Workload: it is to stay small.
 */
struct course {
	int64_t since; /* monotonic ms of the first of them; if it was seen, STAGE_QUOTA's */
	uint32_t after[STAGE_N - STAGE_NOMINATED]; /* the others came so many ticks later */
	cluster_id winner;                         /* 0: none yet */
};

/*
 * A Workload of the manager, or one that is gone and of which clones may be left. Each group of
 * members belongs to the file named above it, which decides by them; other files at most set or
 * clear them. A restart may lose all of them: the next pass starts from the objects alone.
 */
struct wl {
	/* state.c */
	struct queue_item item;
	struct list_node node;       /* of engine.workloads, in order of first sight */
	struct list_node owner_node; /* of owner->workloads */
	struct list_node waits;      /* whose change concerns it, objects apart: rules/workload.c */
	struct owner *owner;         /* NULL: no known kind */
	struct wl_cluster *cl;
	size_t n_cl;
	uint32_t forgotten; /* value of engine.forgotten when 'cl' was looked through last */
	uint32_t of; /* rules/workload.c: hash of the local one's uid; 0 no pass has seen it */
	mk_str key, ns, name; /* views into 'text' */
	struct round round;
	struct unnamed unnamed; /* rules/copied.c */

	/* rules/clone.c */
	char hash[48]; /* of the local spec at hash_generation */
	char hash_uid[48];
	int64_t hash_generation;

	/* rules/breaker.c */
	int64_t again_at; /* it was counted last then; 0 never */

	/* rules/wall.c */
	uint64_t walled; /* what was judged last and may leave: see key_of; 0 nothing */

	/* rules/job.c, rules/finish.c */
	struct pace pace; /* of the job, when it is one object */

	/* rules/fault.c */
	int64_t fault_said_at; /* an Event has told of a plugin's fault; INT64_MIN never */
	char *fault;           /* words of the last fault; NULL none */

	/* rules/nominate.c */
	char *said; /* what the dispatcher gave as the reason of its last answer; NULL nothing */

	/* rules/patience.c */
	int64_t paused_for; /* time of the eviction whose pause was written */
	bool was_idle;      /* a pass saw it without quota, or another check not Ready */

	/* answers/message.c */
	int64_t explained_at; /* the check's message was written; INT64_MIN never */

	/* rules/authority.c */
	uint8_t authority_said; /* what an Event has told of */
	uint8_t unserved_said;  /* rules/unserved.c: has an Event reported it? */

	/* rules/workload.c */
	bool counted; /* in the users of the manager's job table, see watches_use */
	bool owes;    /* rules/finish.c: Finished, and the job's end is not on the manager yet */
	bool frozen;  /* no plugin serves the kind of its job */

	/* rules/tally.c */
	bool live;    /* seen not Finished */
	bool pending; /* seen before its check turned Ready */
	bool is_overdue;
	uint8_t phase; /* enum why_phase of the last pass, as engine.phases counts it */

	/* rules/stages.c */
	uint8_t stage; /* enum engine_stage */
	uint8_t timed; /* stages whose time is known: a bit for each */
	struct course course;

	/* rules/tally.c */
	int64_t lined_up_at;
	struct list_node line; /* in engine.lined_up or engine.overdue, or in none */

	/* rules/gc.c */
	bool gc;               /* objects without our annotations may be deleted, too */
	bool gc_held;          /* counted as held in this interval */
	bool sure_gone;        /* store/observe.c saw the deletion of the local Workload */
	uint8_t absent_rounds; /* intervals in a row that did not find it */
	uint8_t gc_round;      /* number of the last of them */

	/* rules/places.c */
	struct placed placed;

	char text[]; /* "ns/name" */
};

struct engine {
	struct engine_options o;
	struct store store;
	struct queue queue;
	struct cluster **clusters; /* ascending by id; the first is the manager */
	size_t n_clusters;
	struct list_node left;  /* forgotten ones whose tables are large; in no other list */
	cluster_id last_number; /* the last number that a cluster got */
	uint32_t forgotten;     /* clusters that were forgotten so far */
	size_t held_bytes;      /* the most that was in use since memory was given back */
	struct map cluster_by_name, check_by_name, wl_by_key, owner_by_key, inflight_by_id;
	struct map selections; /* clusters/roster.c: by the config's name */
	struct list_node inflight, workloads;
	struct list_node waits; /* workloads that any cluster may concern */
	struct list_node gone;  /* workloads without a local Workload: their 'waits' */
	/* rules/tally.c: workloads that wait for a worker, the longest first; those for too long */
	struct list_node lined_up, overdue;
	size_t phases[PHASE_N]; /* how many workloads are in each: see why_phase */
	/* wl_queue_all: the next 'walk_left' from 'walk' on, in a ring, are still to get a pass */
	struct wl *walk;
	size_t walk_left;
	size_t turn; /* engine_run: passes of the slice that time cut */
	struct queue_item gc_item, sweep_item, quota_item;
	char manager_uid[64]; /* of its kube-system; "": not known yet */
	char manager_id[64];  /* that, or what the configuration names in its place */
	bool may_write;
	int64_t lead_at;   /* monotonic ms: it may write since then, when it may */
	bool facts_wanted; /* a dispatcher or rules/patience.c needs the queues of workers */
	bool sums_wanted;  /* the same for another part, maybe for a while: engine_want_queues */
	bool started;
	int64_t start_ms;     /* monotonic ms of the first step */
	int64_t clock_set_ms; /* ... of the last that saw the wall clock set; INT64_MIN none */
	int64_t skew_ms;      /* wall clock less monotonic */
	uint64_t op_seq;
	uint64_t looks; /* at the clusters of a workload, so far: rules/pass.c */
	/* rules/asked.c: changes of what dispatchers go by; of queues and of what is placed */
	uint64_t seen, load;
	struct engine_stats stats;
	uint64_t rules[R_N];

	/* rules/places.c */
	struct map place_groups; /* by "ns/value" */
	struct list_node idle_groups;
	size_t n_idle_groups;

	/* rules/fault.c, rules/breaker.c */
	struct map frozen_kinds; /* kinds that an Event has told of; keys owned */
	struct breaker breaker;

	/* rules/gc.c */
	unsigned gc_rounds; /* intervals so far: each glances at one in GC_GLANCE clusters */
	uint32_t gc_epoch;  /* of the manager at the last interval */
	bool gc_counts;     /* this interval confirms absences */
	int64_t gc_next_ms; /* begin of the next one */
	struct list_node
		gc_mark; /* in 'gone', behind what this interval has seen; else in no list */

	/* Of this step. */
	int64_t now, wall;
	struct op_list *out;
	struct arena scratch;
	bool no_memory;  /* memory ran out in this event or pass */
	bool any_broken; /* a table has 'broken' set; it lasts until all are mended */
};

/* Wall ms as a condition tells it: of the whole second. */
static inline int64_t wall_second(int64_t wall_ms)
{
	return wall_ms - wall_ms % 1000;
}

/* --- state.c: lookups ------------------------------------------------------------------------- */
/* The cluster with that number; NULL: it was forgotten. */
struct cluster *cluster_get(const struct engine *e, cluster_id id);
/* Index of the first cluster whose number is not below 'id'. */
size_t cluster_place(const struct engine *e, cluster_id id);
/* The worker of that name; NULL: none. */
struct cluster *cluster_named(const struct engine *e, mk_str name);
/* for (WORKERS_EACH(c, e)): no cluster may be made or forgotten within the loop. */
#define WORKERS_EACH(c, e)                                                 \
	struct cluster **c##_at = (e)->clusters + 1, *c = NULL;            \
	c##_at < (e)->clusters + (e)->n_clusters && (c = *c##_at) != NULL; \
	c##_at++
/* NULL is down. */
static inline bool cluster_up(const struct cluster *c)
{
	return c && c->link == LINK_UP;
}
/* The table, created if missing; NULL when out of memory. */
struct table *table_of(struct engine *e, struct cluster *c, uint16_t kind);
/* What follows when a table has no present record of an object? */
enum view {
	VIEW_HIDDEN,  /* it may exist: out of reach, not listed (again) yet, or unclear */
	VIEW_REFUSED, /* it may exist: the server does not let us see the kind */
	VIEW_MISSING, /* it does not exist: the server has no such kind */
	VIEW_KNOWN,   /* it does not exist: the list is complete */
};
enum view table_view(const struct cluster *c, uint16_t kind);
/*
 * Since when objects of the kind cannot be seen there (monotonic ms), for any reason. INT64_MAX:
 * they can be seen, or the first try to connect is under way, whose end queues the passes.
 */
int64_t hidden_since(const struct cluster *c, uint16_t kind);
/* Absence in the table does not count any more, until its list has ended anew. */
void table_doubt(struct engine *e, struct table *t);
/* Does absence in the table count? The link must be up and the list complete. */
bool table_known(const struct cluster *c, uint16_t kind);
/* The same for a table of the manager. */
static inline bool manager_knows(const struct engine *e, uint16_t kind)
{
	return table_known(e->clusters[CLUSTER_MANAGER], kind);
}
/* Has the table listed anew, because an event was lost or its list is in doubt. */
void table_break(struct engine *e, struct table *t);
/* The manager's table of a kind; NULL: never needed. */
static inline struct table *manager_table(const struct engine *e, uint16_t kind)
{
	return e->clusters[CLUSTER_MANAGER]->tables[kind];
}
/* The record of a present object of the manager; NULL: none. */
struct record *manager_get(const struct engine *e, uint16_t kind, mk_str ns, mk_str name);
/* The same for a kind without namespaces. */
struct record *manager_named(const struct engine *e, uint16_t kind, mk_str name);
/* The cluster's MultiKueueCluster; NULL: it is gone. */
struct record *cluster_record(const struct engine *e, const struct cluster *c);
/* The workload of that name; NULL: none. */
struct wl *wl_find(const struct engine *e, mk_str ns, mk_str name);
/* The same, created if missing; NULL: out of memory, or no valid name. */
struct wl *wl_make(struct engine *e, mk_str ns, mk_str name);
/* Removes the workload from all lists and frees it. */
void wl_free(struct engine *e, struct wl *w);
/*
 * Sets the job that the workload belongs to; kind 0, or a name that no object can have: none.
 * False: out of memory.
 */
bool wl_bind(struct engine *e, struct wl *w, uint16_t kind, mk_str name);
/* The workloads of a job; NULL: none. */
struct owner *owner_find(const struct engine *e, uint16_t kind, mk_str ns, mk_str name);
/* for (WL_CLUSTERS_EACH(wc, w)): its notes about each cluster. */
#define WL_CLUSTERS_EACH(wc, w)          \
	struct wl_cluster *wc = (w)->cl; \
	wc &&wc < (w)->cl + (w)->n_cl;   \
	wc++
/* Frees the notes about clusters that were forgotten since the last call. */
void wl_clusters_tidy(struct engine *e, struct wl *w);
/* The workload's notes about that cluster; NULL: none. */
struct wl_cluster *wl_cluster_known(const struct wl *w, cluster_id id);
/*
 * The same, created if missing; NULL: out of memory. Earlier pointers of this workload are invalid
 * then.
 */
struct wl_cluster *wl_cluster(struct engine *e, struct wl *w, cluster_id id);
/* Sees to a pass of each workload, a few in each step. */
void wl_queue_all(struct engine *e);
/* The next of these; NULL: all had theirs. */
struct queue_item *wl_walk(struct engine *e);
/*
 * The parsed text of a record in the scratch arena; NULL when it has none, or out of memory
 * (e->no_memory).
 */
struct json *record_parse(struct engine *e, const struct record *r);
/* Counts a rule. */
void rule_hit(struct engine *e, enum rule r);
/* Notes that memory ran out: the step ends early, and what was interrupted is queued again. */
void say_no_memory(struct engine *e);
/* Replaces '*owned' by a copy of 's'. False: out of memory, unchanged. */
bool keep_str(char **owned, mk_str s);

#endif
