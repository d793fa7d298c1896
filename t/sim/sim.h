/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deterministic simulation: daemons (the shipping manager: engine, apply, kube) and API servers (kubesim's store and
 * controllers) on one virtual clock, cut at HTTP messages. Everything that can vary comes from the seed.
 *   clockwork.c  the heap of what happens next     wire.c   a struct transport made of messages
 *   plane.c      API servers                       proc.c   daemon processes and their lease
 *   users.c      who submits and deletes jobs      faults.c what goes wrong
 *   check.c      invariants after every commit     rest.c   … and once all is quiet
 *   coverage.c   what was ever hit                 main.c   seeds, processes, options
 */
#ifndef MK_T_SIM_H
#define MK_T_SIM_H

#include "core/base/heap.h"
#include "core/base/list.h"
#include "core/base/map.h"
#include "core/base/rng.h"
#include "core/daemon/manager.h"
#include "core/kube/lease.h"
#include "t/kubesim/actors.h"
#include "t/kubesim/store.h"

enum {
	MAX_PLANES = 6,
	MAX_PROCS = 2,
	MAX_USERS = 40,
	MAX_FAULTS = 12,
	MAX_RULES = 64,
	CODES = 600,
	STEPS_MIN = 2000,
	FAULTS_END_MS = 120 * 1000, /* faults begin and end before */
	REST_MS = 10 * 60 * 1000,   /* how long nothing may be written at rest */
	SETTLE_MAX_MS = 60 * 60 * 1000,
};
#define WALL0 1800000000000 /* 2027-01-15T08:00:00Z */
#define AGENT "multikueued/sim"

enum fault_type {
	FAULT_SLOW,       /* an API server answers late */
	FAULT_LOST_REPLY, /* writes are committed, their answers get lost */
	FAULT_LOST_SEND,  /* requests get lost on the way */
	FAULT_DUPLICATE,  /* watch frames arrive twice */
	FAULT_CUT,        /* a frame is dropped: its stream dies there */
	FAULT_END,        /* the server ends all watches cleanly */
	FAULT_COMPACT,    /* history is forgotten: 410 on resume */
	FAULT_REFUSE,     /* connections are refused */
	FAULT_BLACKHOLE,  /* packets vanish, streams are silent */
	FAULT_RESTART,    /* the API server dies and comes back without history */
	FAULT_KILL,       /* kill -9 of a daemon, then a start */
	FAULT_KILL_AT,    /* the same, at the n-th request from now */
	FAULT_FREEZE,     /* SIGSTOP of a daemon, for longer than its lease */
	FAULT_LIMIT,      /* 429 */
	FAULT_ERROR,      /* 503 */
	FAULT_CLOCK,      /* a daemon's wall clock jumps */
	FAULT_SECRET,     /* a worker's kubeconfig is rewritten */
	FAULT_N
};
extern const char *const fault_names[FAULT_N];

struct fault {
	enum fault_type type;
	int64_t at, until;
	size_t plane, proc;
	bool on;
};

struct sim;
struct proc;

/* An API server with its controllers. */
struct plane {
	struct sim *sim;
	size_t index; /* 0 = manager */
	char name[8];
	struct ks_store *store;
	struct ks_actors *actors;
	struct list_node streams;
	bool slow, lost_reply, lost_send, duplicate, cut, refuse, blackhole, limit, error;
	int64_t run_at;   /* when M_ACTORS is due; INT64_MAX none */
	int64_t watch_at; /* when M_WATCHES is due */
};

struct stream {
	struct list_node node;
	struct plane *plane;
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
};

/* A daemon process; 'gen' tells its incarnations apart. */
struct proc {
	struct sim *sim;
	size_t index;
	unsigned gen;
	bool alive;
	int64_t frozen_until; /* 0 = not */
	struct manager *m;
	struct transport transport;
	struct map calls;
	struct conn conn[MAX_PLANES * 4];
	struct lease lease;
	int64_t fence_until, run_at, lease_at;
	int64_t wall_step;
	bool leads;
};

enum user_kind {
	USER_JOB,
	USER_FAILING,
	USER_DELETED,
	USER_UNMANAGED,
	USER_NO_ADAPTER,
	USER_FOREIGN_JOB,
	USER_FOREIGN_WORKLOAD, /* a Workload of the clone's name is on a worker first */
	USER_AGAIN             /* deletes the job and submits another of the same name */
};

enum user_turn { TURN_SUBMIT, TURN_DELETE, TURN_PLANT };

struct user {
	enum user_kind kind;
	char name[32];
	int64_t create_at, delete_at;
	bool created, deleted, again;
	char uid[64];
	uint64_t ran; /* bit per plane on which a copy of it was ever unsuspended */
	bool finished;
};

/* Situations that the invariants are about, each must have come up. */
enum situation {
	SIT_TAKEOVER, /* a daemon leads where another one did */
	SIT_FENCED,   /* a write did not leave: the lease was over */
	SIT_AWAY,     /* a job was deleted while a worker could not be reached */
	SIT_AGAIN,    /* a name was used again */
	SIT_PLANTED,  /* somebody's Workload was there before the clone */
	SIT_N
};
extern const char *const situation_names[SIT_N];

struct coverage {
	uint64_t situations[SIT_N];
	uint64_t faults[FAULT_N];
	uint64_t codes[CODES];
	uint64_t rules[MAX_RULES];
	char rule_names[MAX_RULES][24];
	size_t n_rules;
	uint64_t steps, seeds, workloads;
};

struct sim {
	uint64_t seed;
	struct rng rng;
	struct heap heap;
	int64_t now;
	uint64_t steps;
	struct plane plane[MAX_PLANES];
	size_t n_planes;
	struct proc proc[MAX_PROCS];
	size_t n_procs;
	struct user user[MAX_USERS];
	size_t n_users;
	struct fault fault[MAX_FAULTS];
	size_t n_faults;
	struct plug *plug;
	struct arena arena; /* of one step */
	char manager_id[64];
	uint64_t kill_countdown; /* FAULT_KILL_AT: requests until it happens; 0 = none */
	size_t kill_proc;
	uint64_t writes;   /* mutating requests by daemons that arrived, Lease and Events apart */
	uint64_t requests; /* all but watches, lists, Events and the Lease */
	uint64_t stream_hash; /* of all requests, in order */
	unsigned secret_version;
	size_t last_leader; /* index + 1 */
	bool story, failed, no_faults;
	bool lease_rests;     /* see procs_lease_rests */
	uint64_t skip_faults; /* bit per fault, for shrinking */
	char failure[512];
	struct coverage *cov;
};

/* --- clockwork.c ----------------------------------------------------------------------------------- */
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

/* --- wire.c ---------------------------------------------------------------------------------------- */
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

/* --- plane.c --------------------------------------------------------------------------------------- */
void plane_init(struct sim *s, size_t index);
void plane_done(struct plane *p);
/* Rewrites the Secret with the kubeconfig of worker 'i': another token, or what nobody can connect with. */
void plane_secret(struct sim *s, size_t i, bool broken);
void plane_setup(struct sim *s); /* queues, check, config, clusters, Secrets */
/* Something changed: controllers and watchers get their turn. */
void plane_kick(struct plane *p);
void plane_actors(struct plane *p);
void plane_watches(struct plane *p);
/* One request by somebody who is no daemon; returns the status. */
int plane_request(struct plane *p, const char *method, const char *target, const char *type,
		  mk_str body);

/* --- proc.c ---------------------------------------------------------------------------------------- */
void proc_start(struct proc *p);
void proc_kill(struct proc *p);
void proc_run(struct proc *p);
void proc_kick(struct proc *p, int64_t at);
void proc_lease(struct proc *p);
/* From now on who leads goes on leading, and nobody renews: what every renewal is like has been seen. */
void procs_lease_rests(struct sim *s);
void proc_lease_arrive(struct sim *s, struct msg *m);
void proc_lease_reply(struct sim *s, struct msg *m);

/* --- users.c, faults.c ----------------------------------------------------------------------------- */
void users_init(struct sim *s);
void user_turn(struct sim *s, size_t index, enum user_turn turn);
/* Somebody deletes a job soon: a worker has just become unreachable. */
void user_deletes_one(struct sim *s);
/* Does the object have a condition of that type, and is it True? */
bool has_condition(const struct json *o, const char *type);
/* The user's Workload on the manager; NULL none. */
const struct json *workload_of(struct sim *s, const struct user *u);
struct user *user_by_name(struct sim *s, mk_str name);
void faults_init(struct sim *s);
void fault_begin(struct sim *s, size_t index);
void fault_over(struct sim *s, size_t index);

/* --- check.c, rest.c ------------------------------------------------------------------------------- */
void check_commit(struct sim *s, struct plane *p, const struct ks_commit *c);
/* A mutating request leaves process 'p'. */
void check_send(struct proc *p, const struct msg *m);
void check_status(struct sim *s, const struct msg *m, int status, mk_str body);
/* Is everything that the users wanted done? 'why' gets the first thing that is not. */
bool rest_reached(struct sim *s, char *why, size_t n);
void rest_check(struct sim *s);

/* --- coverage.c ------------------------------------------------------------------------------------ */
void coverage_take(struct sim *s, const struct proc *p);
void coverage_add(struct coverage *to, const struct coverage *from);
/* Prints the table; the number of rows that were never hit and should have been. */
size_t coverage_print(const struct coverage *c);

/* Runs one seed; false: s->failure says why. */
bool sim_run(struct sim *s);

#endif
