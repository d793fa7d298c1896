/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the scripted stories (scenario.c, features.c), and the stories of features.c. */
#ifndef MK_T_SIM_STORY_H
#define MK_T_SIM_STORY_H

#include "t/sim/sim.h"

/* Prints one line of TAP. */
void story_say(bool good, const char *text);
/* ... and why the simulation failed, when it did. */
void story_expect(struct sim *s, bool good, const char *text);
/* Prints the plan; false: a line was "not ok". */
bool story_over(void);

/*
 * A world in which nothing is drawn, after ten seconds; freed by story_end, which
 * expects that every invariant held.
 */
struct sim *story_begin(struct coverage *cov, size_t workers, int64_t lost_timeout_ms,
			size_t daemons);
struct sim *story_begin_with(struct coverage *cov, size_t workers, int64_t lost_timeout_ms,
			     size_t daemons, struct engine_gates gates);
/* The same with the adapter of Pods, and one daemon. */
struct sim *story_begin_pods(struct coverage *cov, size_t workers, int64_t lost_timeout_ms);
/* ... of other kinds of jobs, which are submitted as s->of says. */
struct sim *story_begin_kinds(struct coverage *cov, size_t workers, int64_t lost_timeout_ms);
void story_end(struct sim *s);

/* 'n' jobs over a few seconds, each for so long; then time for their wins. */
void story_submit(struct sim *s, size_t n, int64_t run_ms);
bool story_all_done(struct sim *s, int64_t within_ms);
/* Objects of ours on a worker. */
size_t story_count_ours(const struct plane *p, const char *resource);
/* Workloads that 'cluster' won; NULL = any. */
size_t story_count_won(struct sim *s, const char *cluster);
size_t story_count_retries(const struct sim *s);
/* The condition Active of a MultiKueueCluster; NULL none. */
const struct json *story_active(struct sim *s, const char *cluster);
bool story_is_active(struct sim *s, const char *cluster);
/* Turns until the cluster's condition shows it; how long that took. */
int64_t story_wait_active(struct sim *s, const char *cluster, bool wanted);
/* The manager's ClusterQueue has the check, or has lost it. */
void story_ask_queue(struct sim *s, bool on);
/* Stops the ClusterQueue of a plane, or lets it go on. */
void story_hold_queue(struct sim *s, size_t plane, bool on);
/* Nothing gets to that plane or from it, or does again. */
void story_cut_off(struct sim *s, size_t plane, bool on);

/* --- pods.c ----------------------------------------------------------------------------------- */
void story_pods(struct coverage *cov, size_t size);
void story_pods_here(struct coverage *cov, size_t size);

/* --- hour.c ----------------------------------------------------------------------------------- */
void story_hour(struct coverage *cov, size_t size);

/* --- copies.c --------------------------------------------------------------------------------- */
struct story {
	const char *name, *words;
	void (*run)(struct coverage *cov, size_t size);
	bool told; /* with the others */
};
extern const struct story copies_stories[]; /* ends with a name of NULL */

/* --- features.c: one story each, with 'size' jobs --------------------------------------------- */
void story_adopted(struct coverage *cov, size_t size);
void story_leftovers(struct coverage *cov, size_t size);
void story_unchecked(struct coverage *cov, size_t size);
void story_unasked(struct coverage *cov, size_t size);
void story_forgotten(struct coverage *cov, size_t size);
void story_slow_restart(struct coverage *cov, size_t size);
void story_gates(struct coverage *cov, size_t size);
void story_quotas(struct coverage *cov, size_t size);
void story_walled(struct coverage *cov, size_t size);

/* --- stuck.c ---------------------------------------------------------------------------------- */
void story_stuck(struct coverage *cov, size_t size);
void story_unplaceable(struct coverage *cov, size_t size);

#endif
