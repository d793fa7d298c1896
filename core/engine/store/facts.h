/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine keeps of an object for its decisions: flags, a few numbers and strings, computed
 * once when the object is observed (one function per kind). The rest is in the record's text, or on
 * the server.
 */
#ifndef MK_ENGINE_STORE_FACTS_H
#define MK_ENGINE_STORE_FACTS_H

#include "core/api/queue.h"
#include "core/base/json.h"
#include "core/plug/plug.h"

enum {
	F_TERMINATING = 1u << 0,
	/*
	 * Workload: spec.active is not false; ClusterQueue: its Active is True; job: its status
	 * says that pods run
	 */
	F_ACTIVE = 1u << 1,
	F_QUOTA = 1u << 2, /* conditions that are True */
	F_EVICTED = 1u << 3,
	F_FINISHED = 1u << 4,
	F_ADMITTED = 1u << 5,
	F_DEACTIVATION = 1u << 6, /* DeactivationTarget */
	F_ORIGIN = 1u << 7,       /* our origin label, or a former one */
	F_MANAGED = 1u << 8,      /* job: managed by us */
	F_UNUSABLE = 1u << 9,   /* job: its managing field has the wrong type; any kind: too big */
	F_SUSPENDED = 1u << 10, /* job: suspended, according to its adapter */
	F_OURS = 1u << 11,      /* check: its controllerName is ours */
	F_OWNED = 1u << 12,     /* Workload: S_OWNER_* name its owner */
	F_COND = 1u << 13,      /* has Active; ClusterQueue: has NAME_QUOTA_CONDITION */
	F_COND_TRUE = 1u << 14,
	F_SECRET = 1u << 15,       /* cluster: kubeconfig in the Secret S_LOCATION */
	F_PATH = 1u << 19,         /* cluster: kubeconfig in the file S_LOCATION */
	F_POD_PRIORITY = 1u << 17, /* Workload: spec.priorityClassRef is a PriorityClass */
	F_WORKLOAD_PRIORITY =
		1u << 18, /* Workload: spec.priorityClassRef is a WorkloadPriorityClass */
	F_TOPOLOGY_PENDING = 1u << 20, /* Workload: an assignment awaits its topology */
	F_PROFILE = 1u << 21,          /* cluster: access by the ClusterProfile S_LOCATION */
	F_ENDED = 1u << 16,            /* job: has ended, according to its adapter */
	F_AUTOMATED = 1u << 30,        /* config: spec.quotaManagement is Automated */
	F_HELD = 1u << 25,             /* remote Workload: has the finalizer NAME_IN_USE */
	F_ELASTIC = 1u << 22,          /* Workload, local job: annotation elastic-job */
	F_BLOCKED = 1u << 23,   /* Workload: has our preemption gate, and is blocked on gates */
	F_GATE_OPEN = 1u << 24, /* Workload: our preemption gate is open */
	F_RELABEL = 1u << 29,   /* remote: the origin label is a former one */
	F_SUSPENDS = 1u << 26,  /* job: has the field that suspends it */
	F_CORDONED = 1u << 27,  /* cluster: has the annotation NAME_CORDON */
	F_DRAINED = 1u << 28,   /* cluster: its value is "Evict" */
	/* Bits of clusters, of checks, configs, jobs and clones: */
	F_REJECTS = F_CORDONED, /* check: NAME_UNPLACEABLE is "Reject" */
	F_MAY_WAIT = F_DRAINED, /* check: ... is "Wait" */
	F_SELECTS = F_CORDONED, /* config: has the annotation NAME_SELECTOR */
	/* of clones: Kueue says that the queue there is too small for it, with nothing in it */
	F_NEVER_FITS = F_PROFILE,
	F_LATE = F_SECRET,      /* local Workload: its Ready check says more than who has won */
	F_WAS_EVICTED = F_PATH, /* Workload: it was evicted, and got quota again */
	F_CHILD = F_CORDONED,   /* remote: the controller of the copy S_OWNER_* made it: no copy */
	F_SCALED = F_DRAINED,   /* local: it gives its worker the say in its size */
	F_HERE = F_ADMITTED,    /* local: by its spec it runs on the manager, see facts.c */
	F_PREEMPTS = F_BLOCKED, /* ClusterQueue: it may evict others for a Workload */
	F_ORCHESTRATED = F_AUTOMATED, /* ClusterQueue: see api_is_orchestrated */
	F_MOVED = F_HELD, /* cluster: NAME_SERVER says that it led to another server before */
};

enum fact_str {
	S_CLUSTER,         /* Workload: status.clusterName */
	S_FINISHED_REASON, /* Workload */
	S_FINISHED_MESSAGE,
	S_EVICTED_MESSAGE,
	S_DEACTIVATION_MESSAGE,
	/*
	 * Workload: "batch/v1, Kind=Job"; of a clone from our annotation, else its owner reference
	 */
	S_OWNER_KIND,
	S_OWNER_NAME,
	S_OWNER_UID,
	S_MANAGER_ID, /* remote: our annotations */
	S_LOCAL_UID,
	S_SPEC_HASH,
	S_ORIGIN_UID, /* remote job */
	S_PREBUILT,   /* remote job: name of its Workload, or of the first of several */
	/* job: why it is not managed; clone: reason of Evicted; others: that of the condition */
	S_REASON,
	/* check, cluster, ClusterQueue: message of the condition; clone: why it has no quota */
	S_MESSAGE,
	S_CONFIG, /* check: name of its MultiKueueConfig, or "" and S_PROBLEM says why */
	/*
	 * check: why its parameters are wrong; file: why it cannot be read; cluster: what
	 * NAME_CORDON says, quoted, when that is no known word
	 */
	S_PROBLEM,
	/* cluster: see F_SECRET, F_PATH, F_PROFILE; check: what is wrong with our annotations */
	S_LOCATION,
	/*
	 * Workload: status.admission.clusterQueue; LocalQueue: spec.clusterQueue; ClusterQueue:
	 * spec.cohortName; Cohort: spec.parentName; cluster: as S_CORDON_REASON
	 */
	S_QUEUE,
	S_DISPATCHER,     /* check, config: our annotation */
	S_PRIORITY_CLASS, /* Workload: spec.priorityClassRef.name */
	S_NOMINATOR, /* Workload: field manager, not Kueue's, that owns nominatedClusterNames */
	S_COUNTS,    /* Workload: "name=count," of each pod set */
	S_GROUP,     /* job: value of its adapter's group_key */
	S_SLICE_OF,  /* Workload: "ns/name" of the slice that it replaces */
	S_N,
	S_CORDON_REASON = S_QUEUE,      /* cluster: why it is cordoned, its first CORDON_BYTES */
	S_PLACE_GROUP = S_SLICE_OF,     /* local job: value of NAME_PLACE_GROUP */
	S_DISPATCHER_CONFIG = S_COUNTS, /* check, config: our annotation; its hash is in 'hash' */
	S_SELECTOR = S_LOCATION,        /* config: see F_SELECTS; cut when it is too long */
	/* cluster: identity of its server in the condition NAME_SERVER; see facts_next_server() */
	S_SERVER = S_OWNER_UID,
	S_SERVERS_BEFORE = S_OWNER_NAME,
	S_SERVER_LOST = S_SPEC_HASH, /* cluster: annotation NAME_SERVER_LOST */
};
enum { CORDON_BYTES = 256 };

enum check_state { CHECK_PENDING, CHECK_READY, CHECK_RETRY, CHECK_REJECTED, CHECK_OTHER };

struct facts {
	uint32_t flags;
	uint32_t n_checks, n_names, n_quotas;
	int64_t generation;
	union {
		int64_t priority; /* Workload: spec.priority, 0 absent */
		/* check, cluster: observedGeneration of the condition, 0 absent */
		int64_t observed;
	};
	int64_t boost; /* Workload: annotation priority-boost, 0 absent */
	union {
		int64_t pending; /* ClusterQueue: status.pendingWorkloads */
		/* check: NAME_PLACEMENT_TIMEOUT in ms, 0 off; -1 absent or no duration */
		int64_t placement_ms;
		int64_t made_ms; /* other objects: wall time of creation; 0 absent */
	};
	int64_t index; /* Workload: annotation component-workload-index; -1 absent or no number */
	union {
		int64_t gate_ms;  /* Workload: wall time when our gate was opened; -1 never */
		int64_t moved_ms; /* cluster: since when NAME_SERVER is as it is; 0 absent */
	};
	/* wall time since when: a cluster's Active is as it is, a Workload has quota; -1 absent */
	int64_t since_ms;
	/* Secret, file: of its data; check, config: of S_DISPATCHER_CONFIG, 0 none */
	uint64_t hash;
	mk_str s[S_N];
	struct api_quota *quotas; /* ClusterQueue, Cohort: in its order */
	/*
	 * Workload: names of status.admissionChecks, in order; ClusterQueue: of its strategy;
	 * cluster: "name=value" of its annotations below NAME_OUR_GROUP, by name, without that
	 */
	mk_str *checks;
	uint8_t *states; /* their states */
	/*
	 * Workload: nominatedClusterNames; config: clusters; cluster: its labels, "name=value", by
	 * name
	 */
	mk_str *names;
	size_t size; /* of this block */
};

/* Inputs of facts_of besides the object. */
struct facts_env {
	mk_str origin;
	const mk_str *former_origins; /* values of 'origin' before it was changed */
	size_t n_former_origins;
	const struct plug *plug;
	const struct plug_adapter *adapter; /* job kinds */
	bool remote;
	bool annotation_first; /* gate WorkloadIdentifierAnnotations */
};

/*
 * The facts of 'obj', of 'kind', as one heap block that owns its strings (mk_free); NULL when out
 * of memory. 'scratch' holds temporaries.
 */
struct facts *facts_of(uint16_t kind, const struct json *obj, const struct facts_env *env,
		       struct arena *scratch);

/* Are all of 'flags' set? NULL has none. */
static inline bool facts_is(const struct facts *f, uint32_t flags)
{
	return f && (f->flags & flags) == flags;
}

/* The API's name of the state: "Pending", "Ready", ... */
const char *check_state_name(enum check_state s);

#endif
