/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: what must hold whatever happens, read from the servers' objects and their histories
 * alone. A failure begins with the number of the invariant. Time counts only while the judge can
 * know that a daemon was able to act: it leads, and the servers that it needs are in reach.
 *   I1 one run     at most one run of a job at any time; the next begins when the last is surely
 *                  over, or was out of sight for workerLostTimeout        judge_runs.c
 *   I2 reason      a remote object that nothing stands for goes           judge_left.c
 *   I3 end         an end that was seen comes home, and nothing of the
 *                  job is deleted before                                  judge_ends.c
 *   I4 duties      what was begun is finished: quota comes back (bounds.c), and in the end all is
 *                  done (world.c)
 *   I5 tries       what is refused is tried as long as the refusal lasts  judge_waits.c
 *   I6 words       what waits for longer than a minute says why,
 *                  in the words of the server that refuses it          judge_waits.c, judge_words.c
 *   I7 rest        Retry rests the place                                  judge_runs.c
 *   I8 server      a job is made on the server that won                   judge_runs.c
 *   I9 marks       daemons change nothing on workers but what is theirs   judge_marks.c, check.c;
 *                  another manager with their id is reported              judge_shared.c
 * A part of sim.h.
 */
#ifndef MK_T_SIM_JUDGE_H
#define MK_T_SIM_JUDGE_H

#include "t/sim/sim.h"

/* What a copy was made of: its job, and that job's Workload; and what a slice replaces. */
#define ORIGIN_UID "/metadata/annotations/kueue.x-k8s.io~1multikueue-origin-uid"
#define WORKLOAD_UID "/metadata/annotations/multikueued.io~1workload-uid"
#define SLICE_BEFORE "/metadata/annotations/kueue.x-k8s.io~1workload-slice-replacement-for"

enum {
	JUDGE_LOOK_MS = 5000,
	JUDGE_LEFT_MAX = 512,
	JUDGE_DISOWNED = 256,
};

/* A daemon's process that led; what it knows beyond the servers' objects is its own. */
struct led {
	const struct proc *by; /* NULL: none */
	unsigned gen;
};

/* A win: the name on record and the date of Ready, hashed, and the server that it led to. */
struct sent {
	uint64_t key;
	size_t name, plane;
};

/* What the judge remembers of a user's job, or of a member of a group. */
struct judged {
	bool is_doubled;            /* it runs twice, one copy out of sight */
	bool taken;                 /* another client, or a restore, deleted its ended remote job */
	unsigned over_round;        /* in that round it ended on its winner; 0 none */
	int64_t ran_at[MAX_PLANES]; /* a copy there runs since then; 0 none does */
	int64_t ended_at[MAX_PLANES]; /* ... ended then; 0 it has not */
	unsigned retries[MAX_PLANES]; /* of late, with that place as the winner */
	int64_t retried_at[MAX_PLANES];
	int64_t rests_since[MAX_PLANES]; /* ... the last Retry; 0 none */
	struct led retried_by;           /* ... and in that process, */
	uint64_t retried_uid; /* ... of that Workload, hashed: one made anew has no rest */
	struct led ended_by;  /* a member whose copy is gone: it saw the end before, perhaps */
	struct led won_by;    /* it has seen the winner of this round on record */
	int64_t collected_at; /* another manager's Kueue deleted its winner's clone; 0 no, or told */
	size_t collected_on;  /* ... on that plane */
	int64_t waits_since;  /* 0: it does not wait */
	uint64_t waits_round; /* of the Workload that waits, hashed; see round_of */
	uint64_t said;        /* its check's message then, hashed */
	struct sent sent[8];  /* the last wins, see leads.c; */
	unsigned n_sent;      /* ... of so many */
};

/* A remote object that nothing stands for. */
struct leftover {
	char uid[40];
	int64_t since;
	bool is_there; /* ... still, at this look */
};

/* A write that a server refused. */
struct refusal {
	size_t plane;
	char method[8], target[200];
	char name[64]; /* what was to be created */
	int64_t last_at;
	unsigned n;
	uint64_t round; /* as waits_round, of what waits for it, */
	int64_t since;  /* ... which was refused it then */
};

/* A remote object that belongs to no manager since another client wrote; the last ones. */
struct disowned {
	char uid[40];
	int64_t at;
};

/* A worker on which another manager with the id of one of the seed makes objects. */
struct shared {
	const struct site *by; /* whose id it has; NULL: none makes any */
	int64_t made_at;       /* it made something last; 0 never */
	int64_t told_at;       /* it was reported; 0 not */
	struct led told_by;
	int64_t seen_at; /* it made what must be noticed; 0 nothing to look for */
	struct led seen_by;
	char name[64]; /* ... namely this */
};

struct judge {
	struct judged *of; /* by user */
	int64_t look_at;
	int64_t calm_since[MAX_SITES];    /* a daemon leads, its server is in reach; INT64_MAX no */
	int64_t told_since[MAX_SITES];    /* ... and takes reports, whatever else it refuses */
	int64_t unasked_since[MAX_SITES]; /* it has no check of ours; INT64_MAX: it has */
	struct leftover left[JUDGE_LEFT_MAX];
	size_t n_left;
	struct refusal *refused; /* all: what is not tried any more may be the first */
	size_t n_refused, room_refused;
	struct disowned disowned[JUDGE_DISOWNED];
	size_t n_disowned; /* ever */
	struct shared shared[MAX_PLANES];
};

/* --- judge.c ---------------------------------------------------------------------------------- */
void judge_init(struct sim *s);
void judge_done(struct sim *s);
/* After each commit; 'by': whose daemon wrote it, NULL another client. */
void judge_commit(struct sim *s, struct plane *p, const struct ks_commit *c, const struct site *by);
/* Whenever time has gone on. */
void judge_look(struct sim *s);
struct judged *judged_of(const struct sim *s, const struct user *u);
/* The same of the Pod of that uid, if the job is a group. */
struct judged *judged_by_uid(const struct sim *s, const struct user *u, mk_str uid);
/* The daemon of the site that leads and can act. */
struct led judge_leader(const struct sim *s, const struct site *site);
bool judge_is_led(struct led x, struct led y);
/* Does the process that leads know where the job was sent in this round? */
bool judge_knows_winner(const struct sim *s, const struct user *u);
/* Since when a daemon of the site could act; INT64_MAX: it cannot. */
int64_t judge_calm(const struct sim *s, const struct site *site);
/* Since when the manager has no check of ours, which alone asks to begin; INT64_MAX: it has. */
int64_t judge_unasked(const struct sim *s, const struct site *site);
/* ... and report, whatever else the manager's server refuses. */
int64_t judge_can_tell(const struct sim *s, const struct site *site);
/* ... and reach that worker. */
int64_t judge_calm_with(const struct sim *s, const struct site *site, const struct plane *w);

/* --- judge_runs.c ----------------------------------------------------------------------------- */
bool judge_is_copy(mk_str resource);
/* Does the copy run: is it neither ended nor stopped? */
bool judge_runs(const struct sim *s, const struct json *copy);
void judge_run(struct sim *s, const struct plane *p, const struct ks_commit *c);
void judge_doubled(struct sim *s, struct user *u);
void judge_made(struct sim *s, const struct site *by, const struct plane *p,
		const struct ks_commit *c);
void judge_retry(struct sim *s, struct user *u, const struct ks_commit *c);
/* A daemon has written the plane's cluster into the Workload 'wl' as the one that won. */
void judge_won(struct sim *s, const struct user *u, const struct plane *p, const struct json *wl);

/* --- judge_ends.c ----------------------------------------------------------------------------- */
/* The Workload is gone: what ended before may run again. */
void judge_anew(struct sim *s, struct user *u);
void judge_ended(struct sim *s, const struct plane *p, const struct ks_commit *c);
void judge_deleted(struct sim *s, const struct site *by, const struct plane *p,
		   const struct ks_commit *c);
/*
 * Another client has removed the copy of that uid, which had ended: only a process that saw the end
 * can know of it.
 */
void judge_taken(struct sim *s, struct user *u, mk_str uid, const struct plane *p);
/* May the end of the job or member of that uid be unknown, since its copy was removed? */
bool judge_is_taken(const struct sim *s, const struct user *u, const struct judged *j);
void judge_home(struct sim *s, const struct user *u);
/* Did the job end on its winner, and is that not known at home? */
bool judge_owes(struct sim *s, const struct user *u);

/* --- judge_marks.c ---------------------------------------------------------------------------- */
/* Is it any manager's of the seed, or of what that was before it was rebuilt? */
bool judge_is_marked(const struct sim *s, const struct json *o);
/* Does it carry the origin of the manager, or a former one: does a watch show it? */
bool judge_has_origin(const struct site *site, const struct json *o);
bool judge_is_ours(const struct site *site, const struct json *o);
/*
 * Did another client make it no manager's? Then it is no run of the job, even if a client takes
 * that back: another one may have begun meanwhile.
 */
bool judge_was_disowned(const struct sim *s, const struct json *o);
/* After a commit of another client: it may have changed whose the object is. */
void judge_disowned(struct sim *s, const struct plane *p, const struct ks_commit *c);
/* Was the object the manager's a moment ago, or when its daemons could see it last? */
bool judge_may_seem_ours(const struct sim *s, const struct site *site, const struct plane *p,
			 const struct json *o);

/* --- judge_shared.c --------------------------------------------------------------------------- */
/* How the names begin of what another manager with the same id makes. */
#define JUDGE_THEIRS "theirs-"
/* It makes a clone there. */
void judge_twin_made(struct sim *s, const struct site *site, const struct plane *p, mk_str name);
/* After each commit; 'by': as judge_commit. */
void judge_shared(struct sim *s, struct plane *p, const struct ks_commit *c, const struct site *by);
void judge_shared_look(struct sim *s);
/*
 * What has no Workload at home is left for ten minutes on a server where another manager with its
 * id has made something (rules/shared.c). Is the object one of these?
 */
bool judge_may_be_anothers(const struct sim *s, const struct plane *w, const struct json *o);

/* --- judge_left.c ----------------------------------------------------------------------------- */
void judge_left(struct sim *s);
/*
 * Where the winner's MultiKueueCluster was made after the win, or in its second, no process can
 * know that it leads to the same server: each clone may be the winner's, until the winner counts as
 * lost.
 */
bool judge_winner_is_anew(const struct sim *s, const struct site *site, const struct json *wl);
/* Is it known that nothing stands for the object of that uid? */
bool judge_is_left(const struct sim *s, mk_str uid);

/* --- judge_waits.c ---------------------------------------------------------------------------- */
void judge_waits(struct sim *s, const struct user *u, const struct json *wl);
/* A server refused the request of a daemon. */
void judge_refused(struct sim *s, const struct msg *m);
/* Is there an Event about the Workload since then, with these words; "": any? */
bool judge_has_event(const struct sim *s, const struct user *u, const struct json *wl,
		     int64_t since, mk_str words);
/* Does a server refuse something that the job may need, or did of late? */
bool judge_is_refused(const struct sim *s, const struct user *u);
void judge_tries(struct sim *s);

/* --- judge_words.c ---------------------------------------------------------------------------- */
/* The Workload waits, where it has won or for a win; do users read the words of who refuses? */
void judge_words(struct sim *s, const struct user *u, const struct json *wl, bool starting);

/* --- known.c ---------------------------------------------------------------------------------- */
/*
 * Reads the list of known failures, "WORLD FIRST COUNT INVARIANT text" a line: in so many seeds of
 * the world ("narrow", "wide", or as --world has it) the invariant may fail with that in its
 * message. False, and the reason on stderr: it cannot be read.
 */
bool known_read(const char *path, bool must_exist);
/* Is the failure of that seed a known one? Counts it. */
bool known_covers(const char *world, uint64_t seed, const char *failure, struct coverage *cov);
/* After these seeds: does each known failure of them still occur? Prints those that do not. */
bool known_still_fail(const char *world, uint64_t first, uint64_t count,
		      const struct coverage *cov);

#endif
