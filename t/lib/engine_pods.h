/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of Pods in the world of engine_world.h: pods as users and Kueue's webhook
 * leave them, and the Workload of a group, which all its pods own and none controls. A
 * test sets w_more = &mk_entry_pod.
 */
#ifndef MK_T_LIB_ENGINE_PODS_H
#define MK_T_LIB_ENGINE_PODS_H

#include "t/lib/engine_world.h"

enum { POD = JOB + 1 };

/* The plugin for Pods; see w_more. */
extern const struct mk_entry mk_entry_pod;

/* A local pod of 'group' (NULL: of none), gated. */
struct object *a_pod(struct world *w, const char *name, const char *group);

/*
 * The Workload 'name' with quota, owned by the pods 'names' (comma after
 * each), none of which controls it.
 */
struct object *a_pods_workload(struct world *w, const char *name, const char *names);

/* The pod 'name' on a cluster, NULL when there is none. */
struct object *pod_on(struct world *w, cluster_id c, const char *name);

/* The kubelet of the pod's cluster reports this phase. */
void pod_phase(struct world *w, cluster_id c, const char *name, const char *phase);

/* The phase of a pod on a cluster, "" when there is none. */
const char *phase_of(struct world *w, cluster_id c, const char *name);

/* The local pod begins to go, and stays as long as Kueue's finalizer holds it. */
void pod_goes(struct world *w, const char *name);

/* Pods p-0, p-1, p-2 of group "grp" and their Workload. */
struct object *a_group(struct world *w);

/* The same, with all pods running on w2. */
struct object *running_group(struct world *w);

/* Does the Workload have a condition Finished? */
bool is_finished(struct world *w, const struct object *wl);

#endif
