/* SPDX-License-Identifier: Apache-2.0 */
/* Who submits and deletes jobs (users.c), and what is known of each; a part of sim.h. */
#ifndef MK_T_SIM_USERS_H
#define MK_T_SIM_USERS_H

#include "core/base/json.h"
#include "t/sim/fault.h"

struct plane;
struct sim;
struct site;

/* Of another controller, which may hold what is deleted in the foreground. */
#define USER_FINALIZER "example.com/slow"

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

/* What kind of job; see kinds.c. */
enum user_of {
	USER_OF_JOBS,
	USER_OF_JOBSETS,
	USER_OF_RAYCLUSTERS,
	USER_OF_STATEFULSETS,
	USER_OF_LEADERS,
	USER_OF_GROUPS,
	USER_KINDS
};

enum user_turn { TURN_SUBMIT, TURN_DELETE, TURN_PLANT, TURN_CLEAR };

struct user {
	enum user_kind kind;
	struct site *site;
	char name[32];
	int64_t create_at, delete_at;
	bool created, deleted, again;
	char uid[64];
	char former_uid[64]; /* before the manager was rebuilt */
	bool elsewhere;      /* it is of the other queue */
	uint64_t ran;        /* bit per plane on which a copy was unsuspended in this round */
	unsigned rounds,
		progress_round; /* evictions so far; ... at the last progress of its status */
	int64_t run_ms;         /* 0 = drawn */
	enum user_of of;
	struct group *group;           /* ... USER_OF_GROUPS: its members */
	int64_t started_at;            /* of another kind: INT64_MAX not */
	int64_t reserved_at, ready_at; /* when its Workload got quota, and its check turned Ready */
	unsigned retries;              /* times that we wrote Retry */
	bool rejecting;                /* a daemon without the adapter has told its Workload so */
	bool refused;                  /* rejected, for want of an adapter or by a wall */
	size_t won;       /* plane that its Workload named last as its cluster; 0 none */
	uint64_t had_won; /* bit per plane that it ever named */
	uint64_t verdict[MAX_PLANES]; /* what its clone there said of its end, hashed; 0 nothing */
	uint64_t former_verdict[MAX_PLANES]; /* ... and before that, of the same clone */
	int64_t evicted_at;                  /* ... its Workload, last */
	int64_t calm_since;                  /* stuck.c: no fault has delayed it since then */
	int64_t room_ms[MAX_PLANES]; /* ... it has waited so long where there was room for it */
	int64_t unsized_since;       /* scaling.c: its copy lags behind its size; 0: no */
	const char *notes;           /* annotations of its job, as members in JSON; NULL none */
	int64_t minute;              /* requests are counted from then on, */
	char counted[40];            /* ... about the Workload of this uid */
	bool meddled;     /* another client or a restore may have changed which cluster won */
	unsigned unaware; /* bit per process: it knew of no end at its last write of the Workload */
	int64_t limit_ms; /* its maximum execution time, which Kueue counts; 0 none */
	bool foreground;  /* it is deleted so, by its user */
	unsigned reads, writes;
};

void users_init(struct sim *s);
/*
 * Jobs name a priority class from now on: only where one is named a
 * changed priority is carried over.
 */
void users_classed(struct sim *s);
/*
 * What others have of their own on workers goes when the faults end, where it may be in the
 * way of the only server there is.
 */
void users_clear_later(struct sim *s);
/* A job of the first manager, now, that runs for so long; index of its user. */
size_t user_submits(struct sim *s, int64_t run_ms);
void user_turn(struct sim *s, size_t index, enum user_turn turn);
/* The user deletes the job then, whatever was to become of it. */
void user_deletes_at(struct sim *s, size_t i, int64_t at);
/* A user deletes a job soon: a worker has just become unreachable. */
void user_deletes_one(struct sim *s);
/* Does the object have a condition of that type, and is it True? */
bool has_condition(const struct json *o, const char *type);
/* Does the Workload hold quota of its manager for workers that have not taken it? */
bool is_waiting(const struct json *wl);
int64_t pods_of(const struct json *wl);
/* May what another user or manager has on workers be in the way of the user's job? */
bool is_hindered(const struct sim *s, const struct user *u);
/* The user's Workload on the manager; NULL none. */
const struct json *workload_of(struct sim *s, const struct user *u);
/* Did it end because a newer slice of its job replaced it? */
bool is_replaced(const struct json *wl);
struct user *user_by_uid(struct sim *s, mk_str uid);
/* Is it of a component that follows the first one to its cluster? */
bool is_follower(const struct json *wl);
/* The user whose job owns the Workload, which is the first component's; NULL: none. */
struct user *user_by_workload(struct sim *s, const struct json *wl);
/* The same; that of an orphan names no owner: its name does, "job-NAME-HASH". */
struct user *user_of_workload(struct sim *s, const struct json *wl);
/* Another client changes what the job's Workload says, perhaps which cluster won. */
void user_meddled(struct sim *s, const struct json *wl);
/* After a restore of a manager's plane: the users know of the objects that are there now. */
void users_restored(struct sim *s, const struct site *site);
void user_restored(struct sim *s, struct user *u);

#endif
