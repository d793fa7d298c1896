/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deterministic simulation: daemons (the shipping manager: engine, apply, kube) and API
 * servers (kubesim's store and controllers) on one virtual clock, cut at HTTP messages. Everything
 * that can vary comes from the seed.
 *   clockwork.c  the heap of what happens next    wire.c        a struct transport made of messages
 *   plane.c      API servers                      proc.c        daemon processes and their lease
 *   users.c      who submits and deletes jobs     faults.c      draws faults, begins and ends them
 *   faults/      what each fault is and does      upkeep.c      what operators keep as it is
 *   churn.c      what users change meanwhile      plugins.c     adapter and dispatchers of a seed
 *   worlds.c     what happens to a cluster        bounds.c      what must end, how often, how long
 *   check.c      invariants after every commit    rest.c        and once all is quiet
 *   judge*.c     I1 to I9, from the servers' objects
 *   world.c      what a seed consists of          coverage.c    what was ever hit
 *   scenario.c   scripted stories                 features.c    of features behind gates
 *   story.c      what stories are made of         copies.c      of one winner
 *   pods.c       of groups of Pods                hour.c        of an hour, for the memory
 *   groups.c     who plays a part in those         leads.c      which server a name leads to
 *   front.c      limits, refusals and webhooks    excuse.c      what is no fault of a daemon
 *   kinds.c      jobs of other kinds              stuck.c       of more quota than workers have
 *   placing.c    of the dispatcher placement      sections.c    its sections
 *   main.c       seeds, processes, options         known.c      the list of known failures
 */
#ifndef MK_T_SIM_H
#define MK_T_SIM_H

#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "core/kube/lease.h"
#include "core/manager/manager.h"
#include "t/kubesim/actors.h"
#include "t/kubesim/store.h"
#include "t/sim/fault.h"
#include "t/sim/users.h"

enum {
	MAX_PROCS = 3,
	MAX_SITES = 2,
	MAX_ORIGINS = 4,
	MAX_USERS = 6000,
	MAX_RULES = 80,
	KNOWN_MAX = 64,
	CODES = 600,
	STEPS_MIN = 2000,
	FAULTS_END_MS = 120 * 1000, /* faults begin and end before */
	REST_MS = 10 * 60 * 1000,   /* how long nothing may be written at rest */
	SETTLE_MAX_MS = 60 * 60 * 1000,
};
enum { SECOND = 1000, MINUTE = 60 * SECOND };
#define WALL0 1800000000000 /* 2027-01-15T08:00:00Z */

/* Resources as stores name them, the paths of requests, and what says that an object is ours. */
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"
#define WORKLOADS "kueue.x-k8s.io/v1beta2/workloads"
#define CLUSTER_QUEUES "kueue.x-k8s.io/v1beta2/clusterqueues"
#define CLUSTERS "kueue.x-k8s.io/v1beta2/multikueueclusters"
#define CHECKS "kueue.x-k8s.io/v1beta2/admissionchecks"
#define JOBS "batch/v1/jobs"
#define WORKLOADS_PATH KUEUE "namespaces/default/workloads"
#define WORKLOAD_PATH WORKLOADS_PATH "/"
#define JOBS_PATH "/apis/batch/v1/namespaces/default/jobs"
#define JOB_PATH JOBS_PATH "/"
#define ORIGIN "/metadata/labels/kueue.x-k8s.io~1multikueue-origin"

struct proc;

/* Dispatchers that a seed may draw. */
enum dispatching {
	DISPATCH_ALL,
	DISPATCH_INCREMENTAL,
	DISPATCH_EXTERNAL,
	DISPATCH_DRAWN, /* one of those above; what follows belongs to worlds */
	DISPATCH_PLACEMENT = DISPATCH_DRAWN,
	DISPATCH_N
};
extern const char *const dispatching_names[DISPATCH_N];

/* A manager cluster; two of one seed have the same origin and the same workers. */
struct site {
	struct sim *sim;
	size_t home; /* its plane */
	const char *agent;
	char manager_id[64];
	size_t last_leader; /* index + 1 */
	const char *origin;
	mk_str former_origins[MAX_ORIGINS]; /* what it was before */
	size_t n_former_origins;
	char former_manager[64];          /* before it was rebuilt; "" never */
	mk_str former_managers;           /* the same, for the configuration */
	bool tells_origin, tells_manager; /* the configuration names the former ones */
};

/* A second MultiKueueCluster for a worker. */
enum alias_place { ALIAS_NONE, ALIAS_FIRST, ALIAS_LAST, ALIAS_OTHER_CONFIG, ALIAS_NO_CONFIG };
#define ALIAS "alias"

struct alias {
	enum alias_place place; /* ALIAS_NONE: this seed has none */
	bool on;
	size_t plane; /* where it leads to */
};

/* An API server with its controllers. */
struct plane {
	struct sim *sim;
	struct site *site; /* NULL: a worker */
	size_t index;
	char name[8];
	struct ks_store *store;
	struct ks_actors *actors;
	struct list_node streams;
	bool slow, lost_reply, lost_send, duplicate, cut, refuse, blackhole, limit, error;
	int64_t run_at;       /* when M_ACTORS is due; INT64_MAX none */
	int64_t watch_at;     /* when M_WATCHES is due */
	int64_t restored_at;  /* when it went back to a snapshot last; 0 never */
	uint64_t restored_rv; /* of what was newest in it */
	int64_t bad_since;    /* the last disturbance of it began */
	int64_t bad_until;    /* ... and ended then, or lasts (INT64_MAX) */
	struct ks_store *lag; /* what a server that lags would show; NULL: it does not */
	bool shape, rewrite;  /* webhooks */
	bool limit_jobs;      /* each write to a job is one too many */
	bool forbid_jobs;     /* daemons may not see jobs */
	bool forbid_status;   /* ... nor write their status */
	bool refuse_clones;   /* ... nor make Workloads */
	bool hides_identity;  /* ... nor read kube-system */
	bool declared_lost;   /* an operator did so; see leads.c */
	int64_t named_at;     /* a name was made to lead here last; 0 never */
};

struct stream {
	struct list_node node;
	struct plane *plane;
	struct ks_store *store; /* the plane's, or one that lags */
	struct proc *proc;
	unsigned gen;
	uint64_t token, watch;
	int64_t last_at; /* frames keep their order */
};

/* A request that the daemon waits for. */
struct call {
	uint64_t token;
	uint32_t cluster;
	struct stream *stream;
	bool watch;  /* a stream was opened; 'stream' is NULL once the server is done with it */
	bool broken; /* a frame was lost: none may follow */
	bool head;   /* on_head was told */
};

struct conn {
	bool open;
	unsigned gen;
	size_t plane;
	size_t named;  /* of which worker's Secret its credentials are; 0 none's */
	int64_t up_at; /* the link has been up since then; INT64_MAX: it is not */
};

/*
 * What a daemon decided last of a Workload: to which plane the cluster led that it names. The write
 * may leave much later.
 */
struct sent_win {
	uint64_t hash;
	size_t plane;
};

/* A daemon process; 'gen' tells its incarnations apart. */
struct proc {
	struct sim *sim;
	struct site *site;
	size_t index;
	unsigned gen;
	bool alive;
	int64_t frozen_until; /* 0 = not */
	struct manager *m;
	struct transport transport;
	struct map calls;
	struct conn conn[MAX_PLANES * 4];
	struct sent_win wins[256]; /* leads.c: by the Workload's name, hashed */
	struct lease lease;
	int64_t fence_until, run_at, lease_at;
	int64_t wall_step;
	int64_t minute;  /* passes are counted from then on, */
	uint64_t passes; /* ... when there had been so many */
	bool leads;
	int64_t began;       /* this process */
	uint64_t saw_lease;  /* the newest version that it read while it did not lead; 0 none */
	int64_t heard_lease; /* when a request left that the Lease answered; see excuse_forgotten */
};

/* Situations that the invariants are about, each must have come up. */
enum situation {
	SIT_TAKEOVER, /* a daemon leads where another one did */
	SIT_FENCED,   /* a write did not leave: the lease was over */
	SIT_AWAY,     /* a job was deleted while a worker could not be reached */
	SIT_AGAIN,    /* a name was used again */
	SIT_PLANTED,  /* a Workload of another user was there before the clone */
	SIT_ROUND,    /* a job was evicted after its win, and went on */
	SIT_TWICE,    /* a job ran twice for a while, one copy out of reach */
	SIT_CLASH,    /* two managers with one origin */
	SIT_N
};
extern const char *const situation_names[SIT_N];

/*
 * What was run, which decides what must have been met. COVER_NOT_YET: worlds that are tried only
 * when they are asked for.
 */
enum coverage_kind { COVER_NARROW, COVER_WIDE, COVER_STORIES, COVER_NOT_YET };

struct coverage {
	uint64_t situations[SIT_N];
	uint64_t faults[MAX_FAULT_KINDS]; /* as faults_at() counts */
	uint64_t codes[CODES];
	uint64_t dispatchers[DISPATCH_N];
	uint64_t rules[MAX_RULES];
	char rule_names[MAX_RULES][24];
	size_t n_rules;
	uint64_t steps, seeds, workloads;
	uint64_t most_requests;    /* about one Workload within a minute */
	uint64_t streams;          /* sum over the seeds of what each sent, hashed */
	uint64_t known[KNOWN_MAX]; /* failures by line of known-failures */
	enum coverage_kind kind;
};

struct sim {
	uint64_t seed;
	struct rng rng;
	struct heap heap;
	int64_t now;
	int64_t sent_at;   /* when the request left that is being carried out */
	size_t sent_place; /* ... and what its sender took for the winner's plane; 0 none */
	uint64_t steps;
	struct plane plane[MAX_PLANES];
	size_t n_planes;
	size_t n_workers; /* planes 1 to this */
	size_t n_spares;  /* ... the last ones of which no MultiKueueCluster leads to at first */
	size_t leads_to[MAX_PLANES];   /* the plane of w1, w2, ...; 0: its own */
	int64_t led_at;                /* when the last of these changed; 0 never */
	bool off[MAX_PLANES];          /* w1, w2, ... lead nowhere; see leads_off */
	bool has_moved[MAX_PLANES];    /* they have ever led elsewhere */
	int64_t off_since[MAX_PLANES]; /* they lead nowhere since then */
	bool flips;                    /* the fuzzer changes what operators keep: */
	struct wanted flipped;         /* ... so, for good */
	struct site site[MAX_SITES];
	size_t n_sites;
	struct rng wide; /* of what only some seeds have */
	bool wants_wide, is_wide;
	uint64_t wants_worlds; /* bit per world: these, in each wide seed; 0 = as faults.c draws */
	struct alias alias;
	enum dispatching dispatching;
	int64_t silent_until; /* the external dispatcher begins then */
	int64_t lost_timeout_ms;
	int64_t placement_timeout_ms; /* 0: off */
	int64_t stuck_until;          /* workers have little quota until then; 0: not */
	struct places *places;        /* placing.h; NULL: not that world */
	struct judge *judge;
	unsigned each_pods;        /* pods of each job that is submitted now; 0: drawn */
	const char *notes;         /* ... its annotations; see struct user */
	bool scripted;             /* a scenario: nothing is drawn */
	bool classed;              /* jobs name a priority class */
	bool elsewhere;            /* who submits now takes the other queue */
	enum user_of of;           /* ... submits this */
	bool kinds;                /* adapters of other kinds are there */
	struct engine_gates gates; /* besides those that every seed has */
	unsigned quota;            /* of each worker, in jobs; 0 = drawn */
	int64_t admit_ms;          /* delay of each admission on workers; 0 = drawn */
	bool cordons;              /* workers are taken out at times */
	bool selects;              /* the config takes workers but w1 by a label */
	struct proc proc[MAX_PROCS];
	size_t n_procs;
	struct user *user; /* MAX_USERS */
	size_t n_users;
	struct fault fault[MAX_FAULTS];
	size_t n_faults;
	struct plug *plug, *plug_without; /* all plugins; without the adapter */
	bool pods;                        /* ... with that of Pods too */
	bool no_plugin;
	const struct json *walls; /* multiKueue.walls of daemons that begin; NULL none */
	struct arena arena;       /* of one step */
	uint64_t kill_countdown;  /* requests until a daemon is killed; 0 = it is not */
	size_t kill_proc;
	uint64_t writes;   /* mutating requests by daemons that arrived, Lease and Events apart */
	uint64_t requests; /* all but watches, lists, Events and the Lease */
	uint64_t stream_hash; /* of all requests, in order */
	unsigned secret_version;
	bool story, failed, no_faults;
	bool lease_rests;     /* see procs_lease_rests */
	uint64_t skip_faults; /* bit per fault, for shrinking */
	char failure[512];
	struct coverage *cov;
};

/* --- clockwork.c ------------------------------------------------------------------------------ */
enum msg_type {
	M_LEAVE,
	M_ARRIVE,
	M_REPLY,
	M_TIMEOUT,
	M_FRAME,
	M_STREAM_END,
	M_RUN,
	M_ACTORS,
	M_WATCHES,
	M_USER,
	M_FAULT,
	M_FAULT_OVER,
	M_START,
	M_LEASE,
	M_LEASE_ARRIVE,
	M_LEASE_REPLY,
	M_FAULT_TURN,
	M_DISPATCH, /* the external dispatcher */
	M_KINDS,    /* sim_kinds_turn */
	M_QUOTA,    /* has an evicted Workload given its quota back? */
	M_FILE,     /* a kubeconfig is looked for in a file */
};

struct msg {
	struct heap_node node;
	enum msg_type type;
	struct proc *proc;
	unsigned gen;
	struct plane *plane;
	struct stream *stream;
	uint64_t token;
	size_t index; /* user, fault */
	/* a request */
	struct ks_request req;
	enum transport_class cls;
	int64_t timeout_ms;
	uint64_t commit_rv;
	int64_t sent_at;
	size_t place; /* see sent_place */
	/* an answer */
	enum transport_end end;
	enum mk_code code;
	int status;
	int64_t retry_after_ms;
	const char *content_type;
	mk_str body;
	char *owned; /* what 'req' or 'body' points to */
};

/* A message, to be scheduled; aborts the program when memory is out (a test may). */
struct msg *msg_new(struct sim *s, enum msg_type type);
void msg_free(struct msg *m);
void schedule(struct sim *s, struct msg *m, int64_t at);
/* Runs until 'until' (virtual ms) or failure. */
void run_until(struct sim *s, int64_t until);
int64_t wall_of(const struct sim *s);
void say(struct sim *s, const char *who, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void fail(struct sim *s, const char *invariant, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- wire.c ----------------------------------------------------------------------------------- */
void wire_init(struct proc *p);
void wire_drop(struct proc *p); /* the process died */
void wire_leave(struct sim *s, struct msg *m);
void wire_arrive(struct sim *s, struct msg *m);
void wire_reply(struct sim *s, struct msg *m);
void wire_timeout(struct sim *s, struct msg *m);
void wire_frame(struct sim *s, struct msg *m);
void wire_stream_end(struct sim *s, struct msg *m);
void stream_free(struct stream *st);
/* Ends a stream: what is on the way arrives, then the end. */
void stream_end(struct sim *s, struct stream *st, enum transport_end end);
int64_t wire_delay(struct sim *s, const struct plane *p);

/* --- front.c ---------------------------------------------------------------------------------- */
/* The HTTP status with which the server refuses the request; 0 = it carries it out. */
int front_refusal(struct sim *s, const struct msg *m);
/* The body of that refusal, a Status. */
mk_str front_text(struct sim *s, const struct plane *p, int status);
/* What the webhooks make of the object that was sent. */
mk_str front_rewritten(struct sim *s, const struct plane *p, const struct ks_request *r);

/* --- plane.c ---------------------------------------------------------------------------------- */
void plane_init(struct sim *s, size_t index, struct site *site);
static inline bool is_worker(const struct plane *p)
{
	return !p->site;
}
void plane_done(struct plane *p);
/*
 * The Secret of worker 'i' gets another token, or one with which no connection is possible; what
 * the fuzzer made of it stays.
 */
void plane_secret(struct sim *s, size_t i, bool broken);
/* The name of a second Secret for the worker of that number, in worlds of the fuzzer. */
#define OTHER_SECRET "w%zu-b"
void plane_setup(struct sim *s); /* queues, check, config, clusters, Secrets */
/* What every manager's plane has, made where it is missing: clusters, config, check. */
void plane_manager_objects(struct sim *s, struct site *site);
/* Merge patch of an object, by a client that is no daemon; returns the HTTP status. */
int plane_merge(struct plane *p, const char *target, mk_str body);
/* "resourceGroups" of a ClusterQueue with so many pods; 'more' members of its only quota. */
mk_str plane_groups(struct sim *s, unsigned pods, const char *more);
/* The nominal quota of the ClusterQueue there, in pods. */
void plane_set_quota(struct plane *p, unsigned pods);
/* Quota of the ClusterQueue there in pods, with all that others of its cohort may lend. */
struct quota {
	int64_t nominal, most, free;
};
struct quota plane_quota(const struct plane *p);
const char *queue_name(const struct plane *p); /* of its ClusterQueue: workers have another one */
/* The plane that the MultiKueueCluster leads to; NULL: none. */
struct plane *plane_of_cluster(struct sim *s, mk_str cluster);
/* Makes or removes the alias as s->alias says, on a manager's plane. */
void plane_alias(struct sim *s, struct site *site);
/* The queue of the other config (ALIAS_OTHER_CONFIG), on every plane. */
void plane_other_queue(struct sim *s);
/* The names (without brackets) with the alias where it stands in the config of all clusters. */
mk_str plane_with_alias(struct sim *s, mk_str names);
/* Returns to the snapshot, as after an etcd restore. */
void plane_restore(struct plane *p, const struct json *snapshot);
/* Begins and ends the server that lags. */
void plane_lag(struct plane *p, bool on);
/* ... and what it shows is this snapshot. */
void plane_lag_from(struct plane *p, const struct json *snapshot);
/* All streams end now. */
void plane_end_streams(struct plane *p, enum transport_end end);
/* Something changed: controllers and watchers get their turn. */
void plane_kick(struct plane *p);
void plane_actors(struct plane *p);
void plane_watches(struct plane *p);
/* One request by a client that is no daemon; returns the HTTP status. */
int plane_request(struct plane *p, const char *method, const char *target, const char *type,
		  mk_str body);

/* --- leads.c ---------------------------------------------------------------------------------- */
/* Its MultiKueueClusters are w1 to this. */
static inline size_t leads_named(const struct sim *s)
{
	return s->n_workers - s->n_spares;
}
/* The plane to which the name of that worker leads. */
size_t leads_to(const struct sim *s, size_t name);
/* Does any name lead to the worker? What runs on one without a name is out of reach. */
bool leads_any(const struct sim *s, const struct plane *p);
/*
 * A client deleted the Workload of that copy by force while no name leads to its server: of the one
 * that is made anew nothing on the manager tells where its job was.
 */
bool leads_forgotten(struct sim *s, const struct plane *p, const struct json *copy);
/* An operator lets the name lead to the plane 'to', and takes back that this one is lost. */
void leads_move(struct sim *s, size_t name, size_t to);
/* Has the worker's name no kubeconfig or no MultiKueueCluster, and so leads nowhere? Or again? */
void leads_off(struct sim *s, size_t name, bool off);
/* Operators declare a server lost to which no name leads, at each name that may have led there. */
void leads_declare_lost(struct sim *s, struct plane *p);
struct op;
/* The daemon decides to write that: a win, perhaps. */
void leads_decided(struct proc *p, const struct op *op);
/* A daemon is to send a request on that connection: the plane that it takes for the winner's. */
size_t leads_place(struct proc *p, const struct transport_request *r);
/* Does the winner's name lead to another server than when it won? */
bool leads_renamed(struct sim *s, const struct json *wl);
/* Since when the winner's name leads nowhere; INT64_MAX: it does not. */
int64_t leads_winner_off_since(const struct sim *s, const struct json *wl);
/* Is that the name by which the job won last? */
bool leads_won_by(const struct sim *s, const struct user *u, mk_str cluster);
/* The server that the Workload's winner was when it won; NULL: it names none. */
struct plane *leads_winner(struct sim *s, const struct json *wl);
/* A daemon's write made the cluster the winner. */
void leads_won(struct sim *s, const struct json *wl);
struct judged;
/* Takes over what is known of wins. */
void leads_keep(struct judged *to, const struct judged *from);

/* --- proc.c ----------------------------------------------------------------------------------- */
void proc_start(struct proc *p);
void proc_kill(struct proc *p);
/* The same, and it starts after so long. */
void proc_restart(struct proc *p, int64_t after_ms);
void proc_run(struct proc *p);
void proc_kick(struct proc *p, int64_t at);
void proc_lease(struct proc *p);
/*
 * From now on the leader stays the leader, and no daemon renews its lease:
 * the run has seen enough renewals.
 */
void procs_lease_rests(struct sim *s);
void proc_lease_arrive(struct sim *s, struct msg *m);
void proc_lease_reply(struct sim *s, struct msg *m);

/* --- churn.c; what faults use of it is in churn.h --------------------------------------------- */
/* Draws what a wide seed has: dispatcher, timeout, faults of its own. */
void churn_init(struct sim *s);
/* The external dispatcher's turn; schedules the next one. */
void churn_dispatch(struct sim *s);
/* After a restore of the server. */
void churn_restored(struct sim *s, const struct plane *p);

/* --- plugins.c -------------------------------------------------------------------------------- */
/* The plugins of a seed; aborts the program when they do not load. */
void plugins_load(struct sim *s);
void plugins_mood(bool bad);

/* --- check.c, rest.c -------------------------------------------------------------------------- */
void check_commit(struct sim *s, struct plane *p, const struct ks_commit *c);
/* A mutating request leaves process 'p'. */
void check_send(struct proc *p, const struct msg *m);
void check_status(struct sim *s, const struct msg *m, int status, mk_str body);
bool job_over(const struct json *job);
/* Is all done that the users wanted? 'why' gets the first thing that is not. */
bool rest_reached(struct sim *s, char *why, size_t n);
bool rest_inactive(const struct json *wl); /* its user or Kueue says that it is not to run */
/* Tells the story what every server has of a user's job. */
void rest_say(struct sim *s, const struct user *u, const struct json *wl);
void rest_check(struct sim *s);

/* --- bounds.c --------------------------------------------------------------------------------- */
/* Process 'p' decides on a write, which may wait behind others: notes what it knows then. */
void bound_decided(struct proc *p, const struct op *op);
/* It sends a request: fails when that is one too many, or gives up a job that has ended. */
void bound_send(struct proc *p, const struct msg *m);
/* A Workload was evicted: its quota must come back. */
/* After each run of a daemon. */
void bound_passes(struct proc *p);
void bound_evicted(struct sim *s, struct user *u);
void bound_quota(struct sim *s, size_t user);
/* May what must be written on the manager be late? */
bool bound_is_busy(const struct sim *s, const struct plane *home);

/* --- excuse.c: decision 0056 ------------------------------------------------------------------ */
/* A disturbance of the plane begins, or ends. */
void excuse_disturbed(struct plane *p, bool on);
/* May what happens there be late? The manager cannot stop a copy that is out of reach. */
bool excuse_late(const struct sim *s, const struct plane *p);
/* Was it out of sight for so long that a job which runs there may run elsewhere too? */
bool excuse_unseen(const struct sim *s, const struct plane *p);
/*
 * Did the manager go back to before the copy on 'p' was made, or did a client take the winner from
 * the record of a job that does not say that it runs, and has each process of its daemons begun
 * while 'p' was out of reach? Then nothing that they see says that the copy is there.
 */
bool excuse_taken_back(struct sim *s, const struct plane *p, const struct json *copy);
/* Did the request that is carried out leave before it was known that the manager was restored? */
bool excuse_outdated(const struct sim *s, const struct site *site);
/*
 * Did the manager go back to before its first Lease, 'p' begin with that, and
 * 'q', who leads, not look since?
 */
bool excuse_forgotten(const struct sim *s, const struct proc *p, const struct proc *q);
/* A create on its way to 'p', which had won: was it overtaken by an eviction, or p's loss? */
bool excuse_overtaken(struct sim *s, const struct json *local, const struct plane *p,
		      const struct ks_commit *c);
/* Was the job submitted while the queue had no check of ours? Then it is never ours to run. */
bool excuse_not_managed(const struct sim *s, const struct user *u);
/* May the clone on 'p', which has won, go: nothing asks for its job, and there is no copy? */
bool excuse_unasked(struct sim *s, const struct plane *p, const struct json *local);
/* May what an orphan has on 'p', which has won, go: its clone without a copy, or the reverse? */
bool excuse_orphaned(struct sim *s, const struct plane *p, const struct json *local,
		     const struct ks_commit *c);
/* Has the manager's Kueue started a Pod of the group? Then no copy of any may run. */
bool excuse_started(const struct plane *home, const struct json *local);
/* Has the manager begun to run the job itself, while its queue had no check of ours? */
bool excuse_runs_here(const struct sim *s, const struct user *u);
/* A daemon without the adapter sends 'm', perhaps late: notes whose Workload it rejects. */
void excuse_rejecting(struct sim *s, const struct msg *m);
/* Was a Workload rejected when Kueue looked at its checks no more? */
bool excuse_rejected_in_vain(const struct user *u, const struct json *wl);
/* Has the job no Workload (NULL) because a client deleted it when the job was over? */
bool excuse_dropped(const struct sim *s, const struct json *wl);

/* --- coverage.c ------------------------------------------------------------------------------- */
void coverage_take(struct sim *s, const struct proc *p);
void coverage_add(struct coverage *to, const struct coverage *from);
/* Prints the table; the number of rows that were never hit and should have been. */
size_t coverage_print(const struct coverage *c);

/* --- scenario.c ------------------------------------------------------------------------------- */
/*
 * Runs the story of that name ("" all of them) with 'size' jobs (0 = few)
 * and prints TAP; the exit code.
 */
int scenario_run(const char *name, size_t size);
void scenario_list(void);

/* --- world.c ---------------------------------------------------------------------------------- */
/* Runs one seed; false: s->failure says why. */
bool sim_run(struct sim *s);
/* The parts of it, for scenarios. */
void world_start(struct sim *s);
void world_end(struct sim *s);
/* One more daemon of the first manager. */
void world_add_daemon(struct sim *s);

#include "t/sim/judge.h"
#include "t/sim/groups.h"
#include "t/sim/placing.h"
#include "t/sim/worlds.h"

#endif
