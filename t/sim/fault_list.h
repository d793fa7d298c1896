/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults of the simulation, a line each: its number and its name in tables and stories. A new
 * one goes to the end of its list. Numbers of the first two lists are drawn: a line more there
 * gives every seed another meaning; one of the third does not. A part of sim.h.
 */
#ifndef MK_T_SIM_FAULT_LIST_H
#define MK_T_SIM_FAULT_LIST_H

/* Of the network, the servers and the daemons; any seed. What they do is in faults.c. */
#define FAULTS_OF_MACHINES(X)                                                                   \
	X(FAULT_SLOW, "slow server")            /* an API server answers late */                \
	X(FAULT_LOST_REPLY, "lost replies")     /* of writes that are committed */              \
	X(FAULT_LOST_SEND, "lost requests")     /* on the way to the server */                  \
	X(FAULT_DUPLICATE, "duplicated frames") /* watch frames arrive twice */                 \
	X(FAULT_CUT, "dropped frames")          /* their stream dies there */                   \
	X(FAULT_END, "watches ended")           /* the server ends all watches cleanly */       \
	X(FAULT_COMPACT, "410")                 /* history is forgotten: 410 on resume */       \
	X(FAULT_REFUSE, "connection refused")                                                   \
	X(FAULT_BLACKHOLE, "packets vanish")                                                    \
	X(FAULT_RESTART, "server restart")             /* the API server loses its history */   \
	X(FAULT_KILL, "daemon killed")                 /* kill -9 of a daemon, then a start */  \
	X(FAULT_KILL_AT, "daemon killed at a request") /* the n-th from now */                  \
	X(FAULT_FREEZE, "daemon frozen")               /* SIGSTOP, for longer than its lease */ \
	X(FAULT_LIMIT, "429")                                                                   \
	X(FAULT_ERROR, "503")                                                                   \
	X(FAULT_CLOCK, "wall clock jumps")                                                      \
	X(FAULT_SECRET, "kubeconfig rewritten")

/* What users and other controllers change meanwhile; wide seeds. What they do is in churn.c. */
#define FAULTS_OF_CHURN(X)                                                                 \
	X(FAULT_HOLD, "queue drained") /* and stopped */                                   \
	X(FAULT_CLONE_OFF, "clone deactivated")                                            \
	X(FAULT_CLONES_DROPPED, "clones deleted by others")                                \
	X(FAULT_JOBS_DROPPED, "remote jobs deleted by others")                             \
	X(FAULT_CONFIG, "cluster leaves the config")                                       \
	X(FAULT_CHECK, "check names another config")                                       \
	X(FAULT_UNCHECK, "check deleted")                                                  \
	X(FAULT_CLUSTER, "cluster object deleted") /* a MultiKueueCluster is deleted */    \
	X(FAULT_PRIORITY, "priorities change")                                             \
	X(FAULT_PAUSE, "Workload deactivated")                                             \
	X(FAULT_WORKLOAD_DROPPED, "Workload made anew") /* after a deletion */             \
	X(FAULT_QUEUE_NAME, "spec edited")              /* of Workloads while they race */ \
	X(FAULT_CLEARED, "clusterName cleared")                                            \
	X(FAULT_UNREADY, "check taken back") /* to Pending, by another writer */           \
	X(FAULT_SHAPE, "webhook reshapes jobs")                                            \
	X(FAULT_REWRITE, "webhook rewrites clones")                                        \
	X(FAULT_TOPOLOGY, "topology decided late") /* on workers, after the win */         \
	X(FAULT_NOTE, "forwarded field changes")                                           \
	X(FAULT_NO_DISPATCHER, "unknown dispatcher") /* the check names it */              \
	X(FAULT_TUG, "nominations undone")           /* by another writer */               \
	X(FAULT_MOODY, "plugin fails")                                                     \
	X(FAULT_NO_PLUGIN, "daemons without adapter")                                      \
	X(FAULT_LAG, "lagging server")              /* it answers lists and watches */     \
	X(FAULT_RESTORE, "restore from a snapshot") /* of an API server */

/* Each drawn by itself, for few wide seeds. What they do is in worlds.c. */
#define FAULTS_OF_WORLDS(X)                                                                   \
	X(FAULT_ALIAS, "a server under two names")    /* by a second cluster object */        \
	X(FAULT_ORIGIN, "origin changed")             /* multiKueue.origin */                 \
	X(FAULT_REBUILT, "manager built anew")        /* from a backup: new uids */           \
	X(FAULT_UNSERVED, "kind not served")          /* or not to be read, on a worker */    \
	X(FAULT_RETENTION, "finished clones deleted") /* by a worker's Kueue */               \
	X(FAULT_PRUNED, "copies pruned")      /* a controller deletes what it did not make */ \
	X(FAULT_KINDS, "other kinds of jobs") /* half of the jobs: kinds.c */                 \
	X(FAULT_REFUSED, "clones refused")                                                    \
	X(FAULT_CORDON, "worker cordoned")        /* or drained, by an annotation */          \
	X(FAULT_STUCK, "little quota on workers") /* and a placementTimeout */

#endif
