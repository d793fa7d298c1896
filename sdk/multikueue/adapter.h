/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters: what a kind of job is. Factory id MK_FACTORY_ADAPTER, items are mk_adapter.
 *
 * The engine does every request, checks ownership of every object, stamps what it creates (origin
 * label, origin uid annotation, prebuilt workload name) and compares drafts with what it read, so
 * that a draft without a change costs nothing. An adapter is constant data plus at most two pure
 * functions that edit a draft. For the plain pattern {group, version, kind, managed_by} suffices
 * and both hooks are NULL.
 *
 * One pass over an item (the job, or each member of a group):
 *   remote absent:   draft = local apiVersion, kind, name, namespace, labels, annotations and
 *                    spec, without managed_by and strip -> hook 'remote' -> stamp -> create
 *   remote present:  draft = remote status, or {} -> hook 'status' -> patch of the local status
 *                    when it differs; then draft = remote object -> hook 'remote' -> stamp (when
 *                    it said MK_SET) -> forward -> patch of the remote when it differs
 *
 * What a draft must keep: apiVersion, kind, name, namespace. What it must not get: ownerReferences,
 * finalizers, uid, resourceVersion, deletion fields, a changed status. Labels and annotations may
 * be edited only at creation. A status draft stays an object. A breach is a plugin fault; nothing
 * is sent.
 *
 * Hooks may be called any number of times for the same input, or not at all for a state in between;
 * nothing promises that the last verdict was carried out. Same view, same verdict and draft: no
 * state, clock, environment, files, threads. Passes of one Workload never overlap; between
 * Workloads there is no order.
 */
#ifndef MULTIKUEUE_ADAPTER_H
#define MULTIKUEUE_ADAPTER_H

#include <multikueue/abi.h>
#include <multikueue/host.h>
#include <multikueue/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mk_view.flags. MK_ELASTIC: the local object has the annotation kueue.x-k8s.io/elastic-job =
 * "true" and the feature gate ElasticJobsViaWorkloadSlices is on. Source: KEP-77. Since abi 1.0
 */
enum { MK_ELASTIC = 1u };

/*
 * mk_adapter.flags; a host refuses bits that it does not know. Since abi 1.0
 *   MK_STATUS_NONE        the local status is never written, 'status' never called
 *   MK_STATUS_IF_PRESENT  a remote without a status object leaves the local status alone
 *                         (else absent counts as {})
 */
enum { MK_STATUS_NONE = 1u, MK_STATUS_IF_PRESENT = 2u };

/*
 * Inputs of a hook: raw JSON as served, unknown fields kept, without metadata.managedFields.
 *   local     apiVersion, kind, metadata.{name,namespace,uid,resourceVersion} are always there;
 *             labels, annotations, generation (treat as 0), deletionTimestamp, spec and status
 *             may be absent
 *   remote    absent = about to be created. Else the same, plus our origin label, same name and
 *             namespace; the defaults of its API server and the edits of its webhooks are in it
 *   workload  kueue.x-k8s.io/v1beta2 Workload of the manager: metadata.{name,namespace,uid},
 *             spec.podSets, QuotaReserved = True; status.clusterName may be absent in the first
 *             pass
 * The three may be of slightly different moments, but none is older than what an earlier call saw.
 * Since abi 1.0
 */
typedef struct mk_view {
	uint32_t struct_size, flags;
	mk_val local, remote, workload;
	mk_str now; /* RFC 3339 UTC, whole seconds, "2026-01-02T03:04:05Z": the only clock */
} mk_view;

/*
 * One way in which a job says that it has ended. Either a condition of /status/conditions, by its
 * type, whose status is one of 'values' (NULL: "True"); or a string below the object, at 'pointer',
 * that is one of 'values' (NULL: any but ""). Since abi 1.0
 */
typedef struct mk_end {
	const char *condition;     /* or NULL */
	const char *pointer;       /* read when 'condition' is NULL */
	const char *const *values; /* NULL-terminated, or NULL */
} mk_end;

/*
 * A value of the remote status and where it goes in the local one; pointers below /status. Since
 * abi 1.0
 */
typedef struct mk_move {
	const char *from, *to;
} mk_move;

/*
 * A place in a job's status that says that pods run: either a condition of /status/conditions, by
 * its type; or the values at 'pointer', which begins with "/status/". In it a token "*" stands for
 * each member of an object and each element of an array; nothing else leads into an array.
 *
 * The sign is there when the condition's status is one of 'values' (NULL: "True"); when the value
 * is a string that is one of 'values' (NULL: any but "") and none of 'except'; and, when both lists
 * are NULL, also when the value is true, a number other than 0, or an array or object that is not
 * empty.
 *
 * The host takes a sign back only where it is there: it removes the condition; it sets the value to
 * 'without', which is JSON text, or removes it when that is NULL. A status that shows an end
 * (mk_adapter.ends) and would not show it any more is left as it is. Since abi 1.1
 */
typedef struct mk_sign {
	const char *condition;     /* or NULL */
	const char *pointer;       /* read when 'condition' is NULL, as what follows 'values' */
	const char *const *values; /* NULL-terminated, or NULL */
	const char *const *except; /* NULL-terminated, or NULL */
	const char *without;       /* must not say so itself; or NULL */
} mk_sign;

/*
 * A job whose size its worker decides: an autoscaler there changes the numbers of pods in its
 * groups. They never change the local spec. The host writes them into two annotations of the local
 * object, from which Kueue on the manager makes the pod sets of the Workload; the copy then only
 * learns which Workload it belongs to. 'remote' is not called for a copy of such a job, 'forward'
 * applies. All members but 'child' and 'times' are needed. Source: KEP-13243. Since abi 1.2
 */
typedef struct mk_scale {
	/* Pointer of the boolean of the local object that gives its worker the say. */
	const char *enabled;

	/*
	 * Pointer of the array of groups in the local object: what it does not name, by 'name', is
	 * not told, and more than 64 groups make the object unusable.
	 */
	const char *declared;

	/*
	 * NULL: the copy itself has the groups. Else a pointer of the name of the object that has
	 * them, a string in the copy, such as "/status/childName". It is of the kind below, in the
	 * copy's namespace, with the copy as its controller and with the copy's labels; before it
	 * is there nothing is told. An adapter for its kind must be loaded. Its controller's kind
	 * makes it no copy of ours, whatever its labels and annotations say.
	 */
	const char *child;
	const char *group, *version, *kind; /* of the child; NULL without one */

	const char *groups; /* pointer of the array of groups, in the child or else in the copy */

	/*
	 * Pointers in a group: its name, a string, which in lower case is that of the pod set; its
	 * number of units, absent counts as 1; NULL or the pods in a unit, absent counts as 1.
	 */
	const char *name, *count, *times;

	/*
	 * Keys of the local annotations: [{"name":"<pod set>","count":<pods>}], by name; and
	 * "<uid>-<generation>" of what has the groups. Both are written when the former is to
	 * change, and no copy gets them.
	 */
	const char *sizes, *revision;
} mk_scale;

/*
 * A kind. Constant data; strings live as long as the plugin. Pointers are RFC 6901 and begin with
 * "/". Since abi 1.0
 */
typedef struct mk_adapter {
	uint32_t struct_size, flags; /* sizeof(mk_adapter) as compiled; MK_STATUS_* */

	/*
	 * The kind, e.g. "batch", "v1", "Job"; core group "". All three NULL = template: the host
	 * makes one instance per entry of multiKueue.externalFrameworks. One template and one
	 * adapter per kind in a host. Since abi 1.0
	 */
	const char *group, *version, *kind;

	/*
	 * Pointer of the field that must be the string "kueue.x-k8s.io/multikueue", and that a copy
	 * does not get; NULL = always managed. Absent or another string: not managed, the Workload
	 * is Rejected if nothing was dispatched. Another JSON type: reported, waits for a change.
	 * Source: KEP-2349, spec.managedBy. Since abi 1.0
	 */
	const char *managed_by;

	/* NULL-terminated pointers removed at creation; or NULL. Since abi 1.0 */
	const char *const *strip;

	/* NULL-terminated pointers kept equal on an existing remote; or NULL. Since abi 1.0 */
	const char *const *forward;

	/*
	 * Key of an annotation or label whose value makes N objects one Workload, which is named
	 * after that value (pod groups); or NULL. Since abi 1.0
	 */
	const char *group_key;

	/*
	 * Pointer to a count: one object has that many Workloads (LeaderWorkerSet); or NULL. Absent
	 * counts as 1; outside 0..1,000,000 the object is unusable. Such objects get no prebuilt
	 * name. Since abi 1.0
	 */
	const char *replicas;

	/*
	 * Edits the remote object. Remote absent: MK_SET create the draft, MK_KEEP create nothing
	 * now. Remote present: MK_SET make the remote equal the draft, MK_KEEP leave it. Or
	 * MK_E_INPUT, MK_E_RETRY. NULL = MK_SET when absent, MK_KEEP when present. Since abi 1.0
	 */
	int (*remote)(mk_call *, const mk_view *, mk_val draft);

	/*
	 * Edits the local status. MK_SET write the draft, MK_KEEP leave it; either with MK_DEFER to
	 * be called again in 2 s. Or MK_E_INPUT, MK_E_RETRY. NULL = MK_SET. Remote present: the
	 * draft is its status. Remote absent (the Workload is evicted and no copy of the job exists
	 * any more): the draft is the local status, to take back what it says of running pods,
	 * since Kueue holds the quota until the job is inactive. Before the call the host takes
	 * back what 'active' and 'of_run' name (abi 1.1). Since abi 1.0
	 */
	int (*status)(mk_call *, const mk_view *, mk_val draft);

	/* What follows may be missing: a descriptor that ends before it behaves as with NULL. */

	/*
	 * Pointer of the boolean that holds a job back. While it is true on the remote, a changed
	 * status is written a second later than else, as the running one most often follows.
	 * NULL = /spec/suspend or /spec/runPolicy/suspend.
	 * Since abi 1.0; appended
	 */
	const char *suspend;

	/*
	 * How a status shows that the job has ended: any of these; an entry of NULLs closes the
	 * list. The host copies the final status at once, and does not read it again before the
	 * remote job goes. NULL = one of the conditions Complete, Completed, Succeeded, Finished,
	 * Failed is True. Since abi 1.0; appended
	 */
	const mk_end *ends;

	/*
	 * When the local status is not simply the remote one: the draft of 'status' is then the
	 * local status with each 'to' made equal to 'from' of the remote status, absent ones
	 * absent. Closed by an entry of NULLs; NULL = the whole status. Since abi 1.0; appended
	 */
	const mk_move *status_map;

	/*
	 * The signs in the local status that pods run: what IsActive of Kueue's integration of the
	 * kind reads. When a job is evicted and no copy of it exists any more, the host takes them
	 * back, so that Kueue releases the quota. An entry of NULLs closes the list; an empty list
	 * = nothing says so. NULL = the number at /status/active, which only a hook 'status' takes
	 * back, and only once the job is suspended. Since abi 1.1
	 */
	const mk_sign *active;

	/*
	 * What else of the status belongs to one run: the host takes it back together with
	 * 'active'. An entry of NULLs closes the list; NULL = nothing. Since abi 1.1
	 */
	const mk_sign *of_run;

	/*
	 * How the worker's say in the job's size comes home; not with group_key or replicas. Only
	 * where the feature gate MultiKueueRayInTreeAutoscaling is on, for objects that are
	 * MK_ELASTIC. NULL = it does not. Since abi 1.2
	 */
	const mk_scale *scale;
} mk_adapter;

#ifdef __cplusplus
}
#endif

#endif
