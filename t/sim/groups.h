/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of Pods (groups.c): each is one Workload, which is named after it. Users, kubelets and
 * Kueue's part of starting, stopping and ending them are played. A part of sim.h.
 */
#ifndef MK_T_SIM_GROUPS_H
#define MK_T_SIM_GROUPS_H

#include "t/sim/sim.h"

#define PODS "v1/pods"
#define PODS_PATH "/api/v1/namespaces/default/pods"

enum { GROUP_SIZE = 3, GROUP_MEMBERS = 40 };

/* A Pod that a user ever made; it may be gone, and another one may have its name. */
struct member {
	char uid[40], name[40];
	int64_t run_ms;
	bool fails, is_pruned; /* its copy ends so; ... is removed right after its end */
	bool is_forgotten; /* it had ended before the manager went back, perhaps to before that */
	uint64_t ended_on; /* bit per plane: Kueue there knows that it has ended */
	struct judged judged;
};

struct group {
	uint64_t clone[MAX_PLANES]; /* the one that was there last, hashed */
	size_t size;                /* GROUP_SIZE; 1: a Pod by itself, of no group */
	size_t n_members;
	struct member member[GROUP_MEMBERS];
};

/* A request by a client; true: it was taken. */
bool groups_send(struct plane *p, const char *method, const char *path, mk_str body);
/* A Pod of the group on a manager, as its user and Kueue's webhook leave it. NULL: of none. */
bool groups_make_pod(struct plane *p, const char *group, const char *pod);
/* The Workload of the group, of the Pods of those names; one Pod: that of a Pod by itself. */
bool groups_make_workload(struct plane *p, const char *group, const char *const *pods, size_t n);
/* What a kubelet says of the Pod. */
void groups_set_phase(struct plane *p, mk_str pod, const char *phase);
/* Kueue says how the group ended. */
void groups_finish(struct plane *p, const struct json *wl, const char *reason);

/* The users' jobs that 'r' draws are groups of that size. */
void groups_draw(struct sim *s, size_t size, struct rng *r);
/* The user submits the group, deletes it, or learns which members there are after a restore. */
void groups_submit(struct sim *s, struct user *u);
void groups_delete(struct sim *s, struct user *u);
void groups_restored(struct user *u);
/* The store of the plane went back: ends of copies there may be unknown. */
void groups_forgotten(struct sim *s, const struct plane *p);
/* One turn of all who play a part. */
void groups_turn(struct sim *s, struct rng *r);
void groups_done(struct sim *s);

struct member *member_by_uid(const struct user *u, mk_str uid);
/* The member's Pod on the manager, or its copy on a worker; NULL: none. */
const struct json *member_pod(const struct sim *s, const struct user *u, const struct member *m,
			      size_t plane);
/* Has the manager begun to run its Pod: is Kueue's gate gone, or has it a node? */
bool pod_has_begun(const struct json *pod);
/* Any member's. */
const struct json *groups_any(const struct user *u, const struct plane *p);
/* Has each member the end that its copy has had in this round? */
bool groups_told(const struct sim *s, const struct user *u);

#endif
