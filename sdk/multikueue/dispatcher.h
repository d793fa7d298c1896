/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatchers: which clusters to try for a Workload. Factory id MK_FACTORY_DISPATCHER, items are
 * mk_dispatcher.
 *
 * The engine calls nominate only while the check is Pending, quota is reserved, the Workload is not
 * finished, all its other checks are Ready and no cluster has won. It writes the list to
 * status.nominatedClusterNames, creates a clone on each connected one (on the others when they
 * connect) and removes the clones of names that left the list. A dispatcher keeps no state: what it
 * needs to remember is in its arguments. Source: KEP-5141 and the Workload API,
 * status.nominatedClusterNames.
 */
#ifndef MULTIKUEUE_DISPATCHER_H
#define MULTIKUEUE_DISPATCHER_H

#include <multikueue/abi.h>
#include <multikueue/host.h>
#include <multikueue/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mk_dispatcher.flags: asks for facts about the clusters. The host then watches the ClusterQueues
 * and LocalQueues of workers, which costs a watch each, but only while such a dispatcher is in use.
 * Since abi 1.0
 */
enum { MK_WANTS_FACTS = 1u };

/*
 * mk_dispatcher.flags: asks what each cluster is as a place, and for the job. It costs no watch.
 * Since abi 1.3
 */
enum { MK_WANTS_PLACES = 2u };

/*
 * Inputs of nominate. Since abi 1.0
 *
 * With MK_WANTS_PLACES a cluster has these members (since abi 1.3); lists are in the order of
 * names:
 *
 *     "labels": [{"name": "region", "value": "eu"}],      of the MultiKueueCluster
 *     "annotations": [{"name": "cost", "value": "3"}],    of it, those of multikueued.io/, without
 *                                  that prefix
 *     "clone": {                   only while a clone of the Workload is there
 *       "sinceMs": 1200,           how long it has been there, as far as this process knows
 *       "quota": false,            Kueue there has reserved quota for it
 *       "says": "couldn't assign flavors to pod set main: ..."},   why not, in Kueue's words, or ""
 *     "ranMs": 60000,              only when this Workload's last run was there: so long ago
 *     "group": 2,                  jobs of this job's group (its annotation or label
 *                                  multikueued.io/group) that are placed there; while none is
 *                                  anywhere, 1 where the last one was
 *     "running": 12,               our clones there that have quota
 *     "failures": 1                how often a run there ended badly in the last ten minutes: the
 *                                  worker was lost, evicted the Workload or refused the job
 *
 * With MK_WANTS_FACTS a cluster has one more member, when the queue that the Workload would wait in
 * there is known:
 *
 *     "facts": {
 *       "ageMs": 0,                  how old the rest may be; 0 while the cluster is watched
 *       "waiting": 2,                our clones there without quota, in all queues together
 *       "queue": {
 *         "name": "cq",              the ClusterQueue behind the Workload's LocalQueue
 *         "active": true,            it admits Workloads
 *         "pending": 3,              Workloads that wait in it, as its status says
 *         "preempts": true,          it may evict others for a Workload (since abi 1.3)
 *         "elderMs": 0,              for how long the Workload of ours has had quota on the manager
 *                                    that waits in it without, was given it before this one, for
 *                                    longest, and has no lower priority; 0: there is none (since
 *                                    abi 1.3)
 *         "assumed": [               what other Workloads of ours ask for that were placed there
 *                                    and that "free" does not show yet, those that wait there
 *                                    and could start among them (since abi 1.3)
 *           {"name": "cpu", "amount": 1500}],
 *         "flavors": [               in its order; flavors of one group share their resources
 *           {"name": "spot", "group": 0,
 *            "free": [{"name": "cpu", "amount": 3500},
 *                     {"name": "memory", "amount": 12884901888}],
 *            "borrow": [...],        what it could have beyond "free" now, of its cohort; negative
 *                                    where others have borrowed of what is free
 *            "most": [...]}]}}       what it could have with its cohort empty: nominal quota and
 *                                    what may be borrowed (both since abi 1.3)
 *
 * Amounts are integers: cpu in thousandths, everything else in whole units, as in 'requests'.
 * "free" is nominal quota less what is reserved and is negative when the queue borrows; what it
 * could borrow does not count there. More members may follow in any minor.
 */
typedef struct mk_dispatch {
	uint32_t struct_size, flags; /* flags 0 in minor 0 */
	mk_val workload;             /* as mk_view.workload */
	/* [{"name":"east","connected":true,"nominated":false}, ...] in config order */
	mk_val clusters;
	/*
	 * the dispatcher's section of the configuration, or {}; that of a template: see
	 * mk_dispatcher.name
	 */
	mk_val config;
	int64_t now_ms; /* Unix time */
	/* Unix time of the last list that was committed in this round; -1 = none */
	int64_t last_set_ms;
	/*
	 * With MK_WANTS_FACTS: what all pods of the Workload ask for together,
	 * [{"name":"cpu","amount":2000},{"name":"pods","amount":2}]; else absent. Since abi 1.0;
	 * ask MK_HAS
	 */
	mk_val requests;
	/*
	 * With MK_WANTS_PLACES: the job that the Workload is for, {"kind": "batch/v1, Kind=Job",
	 * "name": "a", "labels": [{"name": "team", "value": "x"}], "annotations": [...]}; absent
	 * while it is not known. Since abi 1.3; ask MK_HAS
	 */
	mk_val job;
	/*
	 * Unix time since when the Workload has its quota on the manager, -1 not known. Since abi
	 * 1.3; ask MK_HAS
	 */
	int64_t reserved_ms;
} mk_dispatch;

/* The answer. Since abi 1.0 */
typedef struct mk_pick {
	uint32_t struct_size;
	uint32_t cap; /* slots at 'index' */
	uint32_t n;   /* preset 0; how many the hook filled */
	uint32_t reserved;
	/* positions in 'clusters': the whole wanted list, in order, none twice. Read with MK_SET */
	uint32_t *index;
	/* preset -1 = call again on events only; else call again no later than after this */
	int64_t wait_ms;
} mk_pick;

/* Constant data. Since abi 1.0 */
typedef struct mk_dispatcher {
	uint32_t struct_size; /* sizeof(mk_dispatcher) as compiled */
	uint32_t flags;       /* MK_WANTS_FACTS, MK_WANTS_PLACES, or 0 */

	/*
	 * Domain-prefixed, "ex.io/cheapest", at most 63 bytes: what multiKueue.dispatcherName says.
	 * Since abi 1.0
	 *
	 * NULL makes it the template, of which a host takes one: it answers for every name that
	 * belongs to another controller, which writes status.nominatedClusterNames of the Workload
	 * itself. The list that the template answers says which of those nominations count, and is
	 * not written; what it gives to host->say becomes an Event, once a round. 'config' is
	 * {"name": the name in use, "multiKueueConfig": that of the Workload's check}. A host older
	 * than templates refuses a descriptor without a name
	 */
	const char *name;

	/*
	 * MK_SET nominate the list, MK_KEEP leave it, MK_KEEP | MK_EXHAUSTED nothing is left to try
	 * (a state shown to users, not an error loop), MK_KEEP | MK_UNPLACEABLE no cluster could
	 * ever take the Workload (say why; the host may reject it), or MK_E_INPUT, MK_E_RETRY.
	 * Required. Since abi 1.0; MK_UNPLACEABLE since abi 1.3
	 */
	int (*nominate)(mk_call *, const mk_dispatch *, mk_pick *);

	/*
	 * What the section of the configuration may hold: the text of a JSON Schema of which these
	 * words are known: type, properties, required, additionalProperties (true, false or a
	 * schema), items, enum, minimum, maximum, and for the reader title, description, default.
	 * An unknown word, or more than 16 KiB, and the plugin is refused. A section that does not
	 * fit is an error of the configuration, told with its line. NULL = any section, and for a
	 * template nothing else. Since abi 1.0, optional: a descriptor may end before it
	 */
	const char *config_schema;
} mk_dispatcher;

#ifdef __cplusplus
}
#endif

#endif
