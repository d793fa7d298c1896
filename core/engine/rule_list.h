/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the engine: the ways in which a pass acts on a Workload or cluster. Their names are
 * causes of operations and labels of metrics (docs/metrics.md), and those of rule_names (state.c).
 */
#ifndef MK_ENGINE_RULE_LIST_H
#define MK_ENGINE_RULE_LIST_H

#define RULES(X)                                     \
	X(R_GONE, "workload_gone")                   \
	X(R_DELETED, "workload_deleted")             \
	X(R_RELEASE, "release")                      \
	X(R_STALE, "stale_clone")                    \
	X(R_UNCHECKED, "check_removed")              \
	X(R_HERE, "runs_on_manager")                 \
	X(R_REJECTED_ADAPTER, "rejected_no_adapter") \
	X(R_REJECTED_OWNER, "rejected_not_managed")  \
	X(R_REJECTED_WALL, "rejected_wall")          \
	X(R_FROZEN, "frozen_no_plugin")              \
	X(R_OUT_OF_SYNC, "out_of_sync")              \
	X(R_LAST_STATUS, "last_status")              \
	X(R_FINISHED, "finished")                    \
	X(R_WINDING_STATUS, "evicted_status")        \
	X(R_ABANDONED, "abandoned")                  \
	X(R_EVICTED, "worker_evicted")               \
	X(R_SPEC, "spec_differs")                    \
	X(R_SHRINK, "clone_shrink")                  \
	X(R_STRIP, "finalizer")                      \
	X(R_LOSER, "loser")                          \
	X(R_DEACTIVATE, "deactivate")                \
	X(R_JOB_CREATE, "job_create")                \
	X(R_JOB_STATUS, "job_status")                \
	X(R_JOB_FORWARD, "job_forward")              \
	X(R_JOB_SIZES, "job_sizes")                  \
	X(R_PRIORITY, "priority")                    \
	X(R_TOPOLOGY, "topology")                    \
	X(R_MEMBER, "member_removed")                \
	X(R_JOB_OTHER, "job_of_other_clone")         \
	X(R_READY, "ready")                          \
	X(R_LOST, "winner_lost")                     \
	X(R_UNSERVED, "kind_unserved")               \
	X(R_REMOTE_GONE, "winner_gone")              \
	X(R_NO_CLUSTER, "no_cluster")                \
	X(R_REFUSED, "job_refused")                  \
	X(R_WIN, "win")                              \
	X(R_DISQUALIFIED, "disqualified")            \
	X(R_PATIENCE, "placement_timeout")           \
	X(R_PAUSE, "requeue_later")                  \
	X(R_RESUME, "requeue_early")                 \
	X(R_UNPLACEABLE, "unplaceable")              \
	X(R_NOMINATE, "nominate")                    \
	X(R_CREATE, "clone_create")                  \
	X(R_GATE, "gate_open")                       \
	X(R_UNNOMINATED, "unnominated")              \
	X(R_CORDON, "cordoned")                      \
	X(R_DRAIN, "drained")                        \
	X(R_FOREIGN, "foreign_object")               \
	X(R_FORMER, "former_manager")                \
	X(R_ADOPT, "adopt")                          \
	X(R_ALONE, "no_nomination")                  \
	X(R_STRANGER, "unknown_nominee")             \
	X(R_NO_DISPATCHER, "no_dispatcher")          \
	X(R_TUG, "tug_of_war")                       \
	X(R_LEFT_OUT, "left_out")                    \
	X(R_WAITING, "waiting")                      \
	X(R_PLUGIN, "plugin_fault")                  \
	X(R_GC, "garbage")                           \
	X(R_GC_HELD, "garbage_held")                 \
	X(R_BREAKER, "breaker_held")                 \
	X(R_GET, "get")                              \
	X(R_CONNECT, "cluster_connect")              \
	X(R_DISCONNECT, "cluster_disconnect")        \
	X(R_CLUSTER, "cluster_condition")            \
	X(R_CHECK, "check_condition")                \
	X(R_QUOTA, "quota_write")                    \
	X(R_QUOTA_COND, "quota_condition")           \
	X(R_WATCH, "watch_open")                     \
	X(R_UNWATCH, "watch_close")

#define RULE_ENUM(id, text) id,
enum rule { RULES(RULE_ENUM) R_N };
#undef RULE_ENUM
extern const char *const rule_names[R_N];

#endif
