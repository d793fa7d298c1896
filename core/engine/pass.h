/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a workload: what it looks at, and the steps that its rules are made of. */
#ifndef MK_ENGINE_PASS_H
#define MK_ENGINE_PASS_H

#include "core/engine/note.h"
#include "core/engine/state.h"

/* How an object of the workload's name on another cluster stands to the local workload. */
enum twin {
	TWIN_UNKNOWN, /* the cluster cannot be seen now */
	TWIN_ABSENT,
	TWIN_FOREIGN, /* not ours: never touched */
	TWIN_FORMER, /* clone: of the same Workload, made by another manager: this one before it was rebuilt, perhaps */
	TWIN_ALIAS, /* clone: the object that another cluster of the pass shows, under another name */
	TWIN_OTHER, /* job: ours, of another workload, whose pass sees to it */
	TWIN_STALE, /* ours, of an earlier local workload or job of this name */
	TWIN_GO,    /* made by Go MultiKueue: ours while the local workload lives */
	TWIN_OURS,
};

struct clone {
	struct cluster *c;
	struct clone *speaker; /* TWIN_ALIAS: who shows the object in its place */
	struct record *r;      /* of the remote Workload; NULL: never seen */
	enum twin twin;
	bool in_config;
	bool lacks; /* its kind is missing there, where the job would be tried, or may still be */
};

struct pass {
	struct engine *e;
	struct wl *w;
	struct record *local;  /* NULL: gone */
	const struct facts *f; /* of local */
	size_t check;          /* index of our check in f->checks */
	enum check_state state;
	const struct record *config; /* NULL: none */
	uint16_t kind;               /* of the job; 0: no adapter */
	int dispatcher;              /* of plug; -1 none. Known after choose */
	bool is_external;            /* another controller nominates: its list is not written */
	size_t adapter;
	struct record *job;   /* local; NULL: absent, or not known yet */
	mk_str object;        /* the object's name: the owner's, or one member's of a group */
	enum rule removing;   /* of remove_remote, for each object */
	struct pace *pace;    /* the object's */
	bool grouped;         /* several objects share the workload */
	bool over;            /* the check was turned to Retry: what belongs to the round stops */
	unsigned looks;       /* so many members may still be looked at closely in this pass */
	mk_str pinned;        /* the one cluster that may be tried; "": the dispatcher says */
	struct clone *clones; /* clusters of the config in its order, then the others */
	size_t n_clones;
	struct json *wl_json, *job_json; /* parsed on demand, in the scratch arena */
};

/* for (CLONES_EACH(k, p)): in the order of the config, then the others. */
#define CLONES_EACH(k, p)                    \
	struct clone *k = (p)->clones;       \
	k &&k < (p)->clones + (p)->n_clones; \
	k++

static inline bool clone_is(const struct clone *k, uint32_t flags)
{
	return k->r && k->r->present && facts_is(k->r->facts, flags);
}

static inline bool twin_is_ours(enum twin t)
{
	return t == TWIN_GO || t == TWIN_OURS;
}

/* --- workload.c ------------------------------------------------------------------------------------ */
/* The pass comes again then. */
void pass_again(struct pass *p, int64_t at);
/* Is it that late (monotonic ms)? If not, the pass comes again then; INT64_MAX: something else brings it. */
bool pass_is_due(struct pass *p, int64_t at);
/* May a write to the object be sent now? If not, the pass comes again when it may, or a get is sent that brings it. */
static inline bool pass_ready(struct pass *p, struct record *r)
{
	return ops_ready(p->e, r, &p->w->item);
}
/* Asks for the object, when nothing else tells what became of it. */
static inline void pass_ask(struct pass *p, struct record *r)
{
	(void)pass_ready(p, r);
}
/* The clone on that cluster; NULL: none, or 'c' is NULL. */
struct clone *clone_on(const struct pass *p, const struct cluster *c);
/* The record's text, parsed, in the scratch arena. NULL: there is none yet, and it is asked for; or out of memory. */
struct json *pass_text(struct pass *p, struct record *r);

/* --- remove.c -------------------------------------------------------------------------------------- */
enum twin clone_twin(struct pass *p, const struct cluster *c, const struct record *r);
enum twin job_twin(const struct pass *p, const struct record *r);
/* The remote job's record, present or not; NULL: never seen. */
struct record *remote_job(const struct pass *p, const struct clone *k);
/* How the remote job stands to us, by what was seen of it last; of a group's, how any of them does. */
enum twin job_recorded(const struct pass *p, const struct clone *k);
/* The same as far as it can be seen now. */
enum twin job_there(const struct pass *p, const struct clone *k);
/* The same of one that is not on its way out. */
enum twin job_left(const struct pass *p, const struct clone *k);
/* Takes job and clone of ours away, the job first. True when nothing of ours is left there. */
bool remove_remote(struct pass *p, struct clone *k, enum rule rule);
void remove_all(struct pass *p, enum rule rule);
/* All clones but 'keep' (NULL: all), with their jobs. */
void remove_losers(struct pass *p, const struct clone *keep);
/* Where absence decides about a job, it is asked for, not only believed: a watch may lag. False: the answer comes. */
bool surely_absent(struct pass *p, struct table *t, mk_str ns, mk_str name);
/* Do not use this cluster for a while, each time longer. */
void skip_cluster(struct pass *p, struct wl_cluster *wc);

/* --- adopt.c --------------------------------------------------------------------------------------- */
/* Is this clone of another manager one of the local Workload as it is now? */
bool former_is_same(struct pass *p, const struct facts *clone);
/* Tells people of the copy in the way. */
void former_tell(struct pass *p, const struct clone *k);
/* Must the Workload not be sent out, because a copy of another manager is there that may be its own? Says so. */
bool former_holds(struct pass *p);
/* Gives what is ours, or becomes ours, the marks of this manager and this origin. */
void adopt(struct pass *p);

/* --- gc.c ------------------------------------------------------------------------------------------ */
/* May the object go now? Without a local Workload its absence must be certain, or the interval's share not used up. */
bool gc_may(struct pass *p, const struct record *r);
/* Its delete was sent. */
void gc_spend(struct pass *p, const struct record *r);

/* --- breaker.c ------------------------------------------------------------------------------------- */
/* May a clone be created? Not one that was there already, while the breaker is open. */
bool breaker_may_create(struct pass *p, const struct wl_cluster *wc);
/* Its create was sent. */
void breaker_created(struct pass *p, const struct cluster *c, struct wl_cluster *wc);
/* It is there. */
void breaker_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* A winner is given up because of its spec. */
void breaker_gave_up(struct pass *p, const struct cluster *c);

/* --- rest.c ----------------------------------------------------------------------------------------- */
/* The clone is there. */
void rest_saw(struct pass *p, const struct clone *k, struct wl_cluster *wc);
/* Before the win, and it is not: did somebody else remove it? */
void rest_if_vanished(struct pass *p, const struct clone *k);
/* Retry, because somebody removed the winner's copy, "job" or "Workload". */
void copy_gone(struct pass *p, const struct clone *k, const char *what);
/* Has the Pending check say which clusters are left out, and why. */
void rest_explain(struct pass *p);

/* --- tally.c --------------------------------------------------------------------------------------- */
/* Notices what people count about the local workload. */
void tally_local(struct pass *p);
/* Counts a clone that we asked for, once it is seen. */
void tally_clone(struct pass *p, const struct clone *k, struct wl_cluster *wc);

/* --- fault.c --------------------------------------------------------------------------------------- */
/* A hook failed with 'code' or 'verdict': tells people (at most every ten minutes a workload) and waits a while. */
void fault_tell(struct pass *p, enum mk_code code, const struct mk_err *err, int verdict,
		mk_str said);
/* True while the adapter rests for the workload, after faults; the pass comes again then. */
bool fault_resting(struct pass *p);
/* The same for the dispatcher. */
bool fault_dispatcher_resting(struct pass *p);
/* The workload is frozen: tells people once for each kind. */
void fault_frozen(struct pass *p);

/* --- nominate.c ------------------------------------------------------------------------------------ */
enum { MAX_PICK = 20 };

/* The wanted nominations: names, and which clones they mean. */
struct pick {
	bool valid; /* false: leave everything as it is */
	mk_str names[MAX_PICK];
	size_t n;
};

/* Asks the dispatcher. */
void choose(struct pass *p, struct pick *pick);
/* Writes the nominations, unless they stand there already or are another controller's. */
void nominate(struct pass *p, const struct pick *pick);
/* Is the cluster nominated in the Workload as we last read it? */
bool is_nominated(const struct pass *p, mk_str name);
/* Can the job's kind run there, as far as we know? */
bool is_served(const struct pass *p, const struct cluster *c);
/* May a clone be made there now? */
bool is_connected(struct pass *p, struct clone *k);

/* --- group.c --------------------------------------------------------------------------------------- */
/* Does one object have several Workloads? */
bool has_replicas(const struct pass *p);
enum hold { HOLD_NONE, HOLD_WAIT, HOLD_PINNED };
/* May this one of them be tried, and where? HOLD_PINNED: only on *ret_pinned. */
enum hold group_hold(struct pass *p, mk_str *ret_pinned);
/* Does another one of them need the object's copy there? */
bool group_needs(const struct pass *p, const struct cluster *c);

/* --- gates.c --------------------------------------------------------------------------------------- */
/* The preemption gates of a clone's spec, if they are to be orchestrated. */
void gate_clone(struct pass *p, struct json *spec);
/* Opens the next clone's gate, when it is its turn. */
void gates_turn(struct pass *p);

/* --- members.c ------------------------------------------------------------------------------------- */
enum { LOOKS_MAX = 64 };

/* An object of a group here, and its copy on a worker; either may be missing. */
struct twins {
	mk_str name;
	struct record *local, *remote;
};
/* Do several objects share the workload? Then one of them stands for all as p->job, until another one is picked. */
void members_look(struct pass *p);
/* What is there of the group's copies: the best that can be said of any. 'going' counts those that are deleted, too. */
enum twin members_there(const struct pass *p, const struct clone *k, bool going);
/* The clone is admitted: sees to each member's copy. */
void members_run(struct pass *p, struct clone *k, struct wl_cluster *wc);
/* Calls 'done' with the object, or with each member here or there as the pass's object; true when it says so of all. */
bool each_object(struct pass *p, struct clone *k, bool (*done)(struct pass *p, struct clone *k));
/* What was seen of the members' copies so far is of an earlier round. */
void members_new_round(struct pass *p);
/* We take the copy of the picked member away: its absence is no news. Nothing, when there is no group. */
void member_taken(struct pass *p);
/* No text of a member is needed any more. */
void members_drop_texts(struct pass *p);
/* Was nothing left to be told when these states of the object and its copy were looked at? */
bool member_is_told(const struct pass *p, const struct record *remote);
void member_told(struct pass *p, const struct record *remote);
/* May one more member be looked at closely? If not, the pass comes again. */
bool member_may_look(struct pass *p);

/* --- slices.c -------------------------------------------------------------------------------------- */
/* Does Finished with this reason, of the local workload or its clone, mean that a newer slice goes on? */
bool slice_is_replaced(const struct pass *p, mk_str reason);
/* A remote job of our owner is another slice's: has it become this one's? */
bool slice_inherits(const struct pass *p, const struct facts *job);
/* Is a newer slice there that has to take over what this one has? */
bool slice_is_inherited(const struct pass *p);
/* A slice with a cluster, whose clone is not admitted there yet. */
bool slice_waits(const struct pass *p);
/* ... sees to that clone; the job's status comes over meanwhile. */
void slice_wait(struct pass *p, struct clone *k);

/* --- race.c ---------------------------------------------------------------------------------------- */
void race(struct pass *p);
/* Was the clone made from the local spec as it is? */
bool in_sync(struct pass *p, const struct clone *k);
/* Makes the one clone of a workload whose cluster is decided already, when it may be made. */
void clone_pinned(struct pass *p, struct clone *k);

/* --- abandon.c -------------------------------------------------------------------------------------- */
/* Were its objects of the kind hidden for so long that nobody waits for them any more? If not, the pass comes again then. */
bool given_up(struct pass *p, const struct cluster *c, uint16_t kind);
/* The workload is evicted and no remote job of ours can be found: sees to it that its quota can go. */
void abandon(struct pass *p);

/* --- verdict.c ------------------------------------------------------------------------------------- */
/* Writes our check's state and message; an event of type 'note_type' with it, NULL = none. */
void check_write(struct pass *p, enum check_state state, enum rule rule, mk_str message,
		 const char *note_type);
/* Check to Retry: `<text>, Previously: "<state>"`; an event of type 'note_type' with it, NULL = none. */
void retry(struct pass *p, enum rule rule, mk_str text, const char *note_type);
void reject(struct pass *p, enum rule rule, mk_str text);
/* What the check says of a winner. In 'a'. */
mk_str admitted_on(struct arena *a, const struct clone *k);
/* The cluster of which a check says that; empty when it says something else. */
mk_str admitted_name(mk_str message);
/* Retry, because the winner's clone or job is there no more. */
void remote_gone(struct pass *p);

/* --- finish.c -------------------------------------------------------------------------------------- */
/* The clone is Finished: the job's last status first, then the Workload's; everything remote goes after that. */
void finish_local(struct pass *p, struct clone *k);
/* What a Finished clone means: the end, or a new try. */
void finished_remotely(struct pass *p, struct clone *k);
/* Is the clone Finished with what became of the job? Not because somebody removed the job there, or changed it. */
bool tells_the_end(const struct clone *k);

/* --- won.c ----------------------------------------------------------------------------------------- */
void won(struct pass *p);
/* The clone is admitted: see to the job. */
void run_job(struct pass *p, struct clone *k);
/* ... and to one object of it. */
void run_object(struct pass *p, struct clone *k, struct wl_cluster *wc);
/* Deletes a remote job that is none of the local one's. */
void job_delete(struct pass *p, struct record *r, enum rule rule);

/* --- winding.c ------------------------------------------------------------------------------------- */
void winding(struct pass *p);
void ready_without_cluster(struct pass *p);

/* --- job.c ----------------------------------------------------------------------------------------- */
enum sync { SYNC_SAME, SYNC_WAIT, SYNC_FAULT };
/* Copies the remote job's status to the local one as the adapter wants it. SYNC_SAME: nothing is left to do. */
enum sync job_status(struct pass *p, struct record *remote, enum rule rule, bool terminal);
/* The remote job is gone for good: lets the adapter take back what the local status says of running pods. */
void job_abandoned_status(struct pass *p);
/* The same, and its clone says how it ended: the local job gets that end, where its kind says how an end looks. */
enum sync job_ended_status(struct pass *p, const struct clone *k);
/* What marks a remote job as ours and as this workload's, into 'draft' (an object or a merge patch). */
void job_stamp(struct pass *p, struct json *draft);
void job_forward(struct pass *p, struct clone *k, struct record *remote);
void job_create(struct pass *p, struct clone *k, struct record *remote);

/* --- clone.c --------------------------------------------------------------------------------------- */
/* The body of a clone, in the step's arena; NULL: out of memory, or the text is not there yet. */
struct json *clone_body(struct pass *p);
/* Hash of the part of the local spec that a clone must agree with; "" when the text is not there yet. */
mk_str clone_hash(struct pass *p);
/* The local Workload (without managedFields), parsed; a get is sent when its text is missing. */
struct json *pass_workload(struct pass *p);
struct json *pass_job(struct pass *p);

/* --- facts_queue.c --------------------------------------------------------------------------------- */
/* Does the dispatcher ask for facts? 'dispatcher' of plug; -1 none. */
bool facts_are_wanted(const struct engine *e, int dispatcher);
/* Sees to the watches that facts come from. True: lists of them are complete soon, and the pass comes again then. */
bool facts_awaited(struct pass *p);
/*
 * How the queues of the clone's cluster stand for a Workload of 'local_queue', as dispatcher.h has it; in the scratch
 * arena. NULL: not known.
 */
struct json *facts_of_cluster(struct pass *p, const struct clone *k, mk_str local_queue);
/* What the pods of 'wl' ask for together; in the scratch arena. NULL: out of memory. */
struct json *facts_requests(struct pass *p, const struct json *wl);

/* --- priority.c ------------------------------------------------------------------------------------ */
/* Sends the local priority to the clone, unless it has it already. */
void priority_sync(struct pass *p, struct clone *k);

/* --- inplace.c ------------------------------------------------------------------------------------- */
/* May the local workload change its size? By annotation and gate. */
bool is_elastic(const struct pass *p);
/* The clone differs because the local workload shrank: sends it the new spec. False: it differs in another way. */
bool shrink(struct pass *p, struct clone *k);

/* --- topology.c ------------------------------------------------------------------------------------ */
/* Takes over into 'body', a status of the local Workload, which topologies clone 'k' has. True: something changed. */
bool topology_ready(struct pass *p, const struct clone *k, struct json *body);
/* Writes that alone, when it came after the win. */
void topology_write(struct pass *p, const struct clone *k);

/* --- ssa.c ----------------------------------------------------------------------------------------- */
/*
 * Apply body for the status of 'r': all that field manager kueue-admission owns there. In the step's arena. NULL: it may not
 * be written now, or its text is not there, and the pass comes again.
 */
struct json *ssa_body(struct pass *p, struct record *r);
/* The list 'key' of the body's status, made when there is none. */
struct json *ssa_list(struct arena *a, struct json *body, const char *key);
/* Our check's entry in 'body': state, message, and the time if the state changes. */
void ssa_check(struct pass *p, struct json *body, enum check_state state, mk_str message);
/* Our check's time becomes now, whatever its state. */
void ssa_check_time(struct pass *p, struct json *body);
/* Adds or replaces a condition. */
void ssa_condition(struct engine *e, struct json *body, const char *type, mk_str reason,
		   mk_str message, int64_t generation);
/* Sends 'body' for the status of 'r', with an event when it is done (note_type NULL: none). */
void ssa_send(struct engine *e, struct record *r, struct json *body, enum rule rule,
	      enum op_prio prio, const char *note_type, mk_str note);

#endif
