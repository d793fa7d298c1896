/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a Workload stands where it stands: one reason for each cluster, and one for the Workload as a
 * whole. It reads what the rules decide by, and changes, queues and sends nothing. The check's
 * message (message.c) and the visibility API (answers.h) say what is found here.
 *
 * Reasons and words hold no figure that changes by itself (no "for 3 s"): equal facts give equal
 * text.
 */
#ifndef MK_ENGINE_ANSWERS_WHY_H
#define MK_ENGINE_ANSWERS_WHY_H

#include "core/engine/rules/pass.h"

/* How a cluster stands towards a Workload; the texts are part of the visibility API. */
#define WHY_CLUSTER(X)                             \
	X(WHY_CONNECTING, "Connecting")            \
	X(WHY_NOT_CONNECTED, "NotConnected")       \
	X(WHY_NOT_LISTED, "NotListed")             \
	X(WHY_KIND_NOT_SERVED, "KindNotServed")    \
	X(WHY_KIND_REFUSED, "KindRefused")         \
	X(WHY_FOREIGN, "ForeignObject")            \
	X(WHY_FORMER, "FormerManager")             \
	X(WHY_SAME_SERVER, "SameServer")           \
	X(WHY_CORDONED, "Cordoned")                \
	X(WHY_ID_SHARED, "ManagerIdShared")        \
	X(WHY_RESTS, "Resting")                    \
	X(WHY_NOT_NOMINATED, "NotNominated")       \
	X(WHY_NOT_CHOSEN, "NotChosen")             \
	X(WHY_NO_CLONE, "CloneAwaited")            \
	X(WHY_STALE, "StaleClone")                 \
	X(WHY_CHANGED, "CloneChanged")             \
	X(WHY_LEAVING, "Leaving")                  \
	X(WHY_NO_QUOTA, "WaitsForQuota")           \
	X(WHY_AT_GATE, "WaitsAtGate")              \
	X(WHY_QUOTA, "QuotaReserved")              \
	X(WHY_ADMITTED, "Admitted")                \
	X(WHY_EVICTED, "Evicted")                  \
	X(WHY_WINDING, "WindingDown")              \
	X(WHY_FINISHED, "Finished")                \
	X(WHY_CLONE_GONE, "CloneGone")             \
	X(WHY_WINNER_HIDDEN, "WinnerNotConnected") \
	X(WHY_JOB_AWAITED, "JobAwaited")           \
	X(WHY_JOB_REFUSED, "JobRefused")           \
	X(WHY_JOB_SUSPENDED, "JobSuspended")       \
	X(WHY_JOB_RUNS, "JobRuns")                 \
	X(WHY_JOB_ENDED, "JobEnded")

#define WHY_ENUM(id, text) id,
enum why { WHY_CLUSTER(WHY_ENUM) WHY_N };
#undef WHY_ENUM
extern const char *const why_names[WHY_N];

struct why_cluster {
	enum why why;
	mk_str words;     /* one clause without the cluster's name, in the scratch arena */
	mk_str detail;    /* the server's or the network's text about it, or "": it may vary */
	int64_t since_ms; /* wall time since when, where it is known; else -1 */
	int64_t until_ms; /* wall time when something happens by itself; else -1 */
	const char *then; /* ... namely this: "the cluster is tried again"; NULL: nothing */
};

struct why_whole {
	enum why_phase phase;
	mk_str words;     /* one clause, in the scratch arena */
	int64_t until_ms; /* as above */
	const char *then;
};

/* How the cluster of this clone stands. Needs a pass that has looked (pass_look). */
void why_cluster(struct pass *p, struct clone *k, struct why_cluster *ret);
/* Its lists or watches of the job's kind fail: in the server's words. "": they do not. */
mk_str why_unshown(struct pass *p, const struct clone *k);
/* Where the Workload stands, while the breaker is not open. Needs a pass that is open. */
enum why_phase why_phase(const struct pass *p);
/* The same, and the breaker counts. */
enum why_phase why_phase_now(const struct engine *e, enum why_phase phase);
/* Where the Workload stands, in words. Needs a pass that is open. */
void why_whole(struct pass *p, struct why_whole *ret);

#endif
