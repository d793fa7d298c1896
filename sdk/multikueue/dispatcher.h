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

/* Inputs of nominate. Since abi 1.0 */
typedef struct mk_dispatch {
	uint32_t struct_size, flags; /* flags 0 in minor 0 */
	mk_val workload;             /* as mk_view.workload */
	/* [{"name":"east","connected":true,"nominated":false}, ...] in config order */
	mk_val clusters;
	mk_val config;  /* the dispatcher's section of the configuration, or {} */
	int64_t now_ms; /* Unix time */
	/* Unix time of the last list that was committed in this round; -1 = none */
	int64_t last_set_ms;
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
	uint32_t struct_size, flags; /* sizeof(mk_dispatcher) as compiled; 0 */

	/*
	 * Domain-prefixed, "ex.io/cheapest", at most 63 bytes: what multiKueue.dispatcherName says.
	 * Since abi 1.0
	 */
	const char *name;

	/*
	 * MK_SET nominate the list, MK_KEEP leave it, MK_KEEP | MK_EXHAUSTED nothing is left to try
	 * (a state shown to users, not an error loop), or MK_E_INPUT, MK_E_RETRY. Required. Since
	 * abi 1.0
	 */
	int (*nominate)(mk_call *, const mk_dispatch *, mk_pick *);
} mk_dispatcher;

#ifdef __cplusplus
}
#endif

#endif
