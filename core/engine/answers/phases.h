/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Workload stands as a whole; the texts are part of the visibility API. */
#ifndef MK_ENGINE_ANSWERS_PHASES_H
#define MK_ENGINE_ANSWERS_PHASES_H

#define WHY_PHASE(X)                                \
	X(PHASE_UNKNOWN, "Unknown")                 \
	X(PHASE_NOT_OURS, "NotOurs")                \
	X(PHASE_DELETING, "Deleting")               \
	X(PHASE_FINISHED, "Finished")               \
	X(PHASE_NO_ADAPTER, "NoAdapter")            \
	X(PHASE_REJECTED, "Rejected")               \
	X(PHASE_INACTIVE, "Inactive")               \
	X(PHASE_EVICTED, "Evicted")                 \
	X(PHASE_NO_QUOTA, "WaitsForQuota")          \
	X(PHASE_RETRY, "Retry")                     \
	X(PHASE_WON, "Won")                         \
	X(PHASE_NO_JOB, "JobMissing")               \
	X(PHASE_NOT_MANAGED, "JobNotManaged")       \
	X(PHASE_CHECKS, "WaitsForOtherChecks")      \
	X(PHASE_NO_CONFIG, "ConfigMissing")         \
	X(PHASE_NO_DISPATCHER, "DispatcherMissing") \
	X(PHASE_FAULT, "PluginFault")               \
	X(PHASE_BREAKER, "BreakerOpen")             \
	X(PHASE_UNPLACEABLE, "Unplaceable")         \
	X(PHASE_NOT_NOMINATED, "NotNominated")      \
	X(PHASE_RACING, "Racing")

#define PHASE_ENUM(id, text) id,
enum why_phase { WHY_PHASE(PHASE_ENUM) PHASE_N };
#undef PHASE_ENUM
extern const char *const why_phases[PHASE_N];

#endif
