/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names on the wire that more than one file needs: Kueue's, which its controllers and users read
 * too, and our own. Every layer may include this header, so that no name is spelled twice.
 */
#ifndef MK_API_NAMES_H
#define MK_API_NAMES_H

/* Kueue's API group, its version here, and the MultiKueue controller. */
#define NAME_GROUP "kueue.x-k8s.io"
#define NAME_API NAME_GROUP "/v1beta2"
/* AdmissionCheck.spec.controllerName; a job's managedBy when MultiKueue runs it on a worker. */
#define NAME_CONTROLLER NAME_GROUP "/multikueue"

/* Labels and annotations of Kueue. */
#define NAME_ORIGIN NAME_GROUP "/multikueue-origin" /* label of every object made on a worker */
#define NAME_ORIGIN_UID NAME_GROUP "/multikueue-origin-uid"
#define NAME_QUEUE NAME_GROUP "/queue-name" /* label of a job or pod: its LocalQueue */
#define NAME_PREBUILT NAME_GROUP "/prebuilt-workload-name"
#define NAME_JOB_UID NAME_GROUP "/job-uid"
#define NAME_OWNER_GVK NAME_GROUP "/job-owner-gvk"
#define NAME_OWNER_NAME NAME_GROUP "/job-owner-name"
#define NAME_ELASTIC NAME_GROUP "/elastic-job"
#define NAME_PRIORITY_BOOST NAME_GROUP "/priority-boost"
#define NAME_SLICE_OF NAME_GROUP "/workload-slice-replacement-for"
#define NAME_SLICE_NAME NAME_GROUP "/workload-slice-name"
#define NAME_COMPONENT NAME_GROUP "/component-workload-index"

/* Finalizers, gates, conditions, reasons and field managers of Kueue. */
#define NAME_IN_USE NAME_GROUP "/resource-in-use" /* finalizer of a Workload */
#define NAME_POD_GATE NAME_GROUP "/admission"     /* scheduling gate of a pod that waits */
#define NAME_GATE NAME_CONTROLLER                 /* preemption gate of our clones */
#define NAME_ADMISSION "kueue-admission"          /* field manager of status that admission owns */
#define NAME_REPLACED "WorkloadSliceReplaced"     /* reason of the condition Finished */
#define NAME_QUOTA_CONDITION "MultiKueueManagerQuotaAutomation" /* of a manager's ClusterQueue */

/* Before the namespace, a colon and the name of a ServiceAccount: its user, for API servers. */
#define NAME_ACCOUNT "system:serviceaccount:"

/* Ours; docs/decisions/0001 says why this domain. */
#define NAME_OUR_GROUP "multikueued.io"
#define NAME_DAEMON "multikueued" /* field manager, reporting instance, value of managed-by */
#define NAME_MANAGED_BY "app.kubernetes.io/managed-by"   /* label of what the daemon makes here */
#define NAME_MANAGER_ID NAME_OUR_GROUP "/manager-id"     /* uid of the manager's kube-system */
#define NAME_WORKLOAD_UID NAME_OUR_GROUP "/workload-uid" /* of the Workload on the manager */
/* On a copy that several Workloads share: the one of them for which it was made. */
#define NAME_MADE_FOR NAME_OUR_GROUP "/workload"
/* Hash of the Workload's spec from which a clone was made. */
#define NAME_SPEC_HASH NAME_OUR_GROUP "/spec-hash"
#define NAME_OUR_OWNER_KIND NAME_OUR_GROUP "/owner-kind" /* "batch/v1, Kind=Job" */
#define NAME_OUR_OWNER_NAME NAME_OUR_GROUP "/owner-name"
/* On an AdmissionCheck or a MultiKueueConfig: the name of a dispatcher. */
#define NAME_DISPATCHER NAME_OUR_GROUP "/dispatcher"
/* On either: what counts on top of the dispatcher's section of the configuration. */
#define NAME_DISPATCHER_CONFIG NAME_OUR_GROUP "/dispatcher-config"
#define NAME_PLACE_GROUP NAME_OUR_GROUP "/group" /* on a job: annotation, else label */
/* On an AdmissionCheck: in place of the keys of these names below multiKueue. */
#define NAME_PLACEMENT_TIMEOUT NAME_OUR_GROUP "/placement-timeout"
#define NAME_UNPLACEABLE NAME_OUR_GROUP "/unplaceable"
/* On a MultiKueueConfig: takes MultiKueueClusters by their labels. */
#define NAME_SELECTOR NAME_OUR_GROUP "/cluster-selector"
/* On a MultiKueueCluster: "Cordon" or "Evict", and why. */
#define NAME_CORDON NAME_OUR_GROUP "/cordon"
#define NAME_CORDON_REASON NAME_OUR_GROUP "/cordon-reason"
/* Conditions of a MultiKueueCluster; SameServer: not the first name of its API server. */
#define NAME_ORIGIN_CLASH NAME_OUR_GROUP "/OriginClash"
#define NAME_SAME_SERVER NAME_OUR_GROUP "/SameServer"
/* ... Server: which API server it leads to, and since when; the annotation: that one is lost. */
#define NAME_SERVER NAME_OUR_GROUP "/Server"
#define NAME_SERVER_LOST NAME_OUR_GROUP "/server-lost"
/* The visibility API as an API of Kubernetes. */
#define NAME_VISIBILITY_GROUP "visibility." NAME_OUR_GROUP
#define NAME_VISIBILITY_VERSION "v1alpha1"
#define NAME_VISIBILITY_API NAME_VISIBILITY_GROUP "/" NAME_VISIBILITY_VERSION
/* Kinds of references that a wall may allow (multiKueue.walls[].allow[].references). */
#define NAME_REF_SECRET "Secret"
#define NAME_REF_CONFIG_MAP "ConfigMap"
#define NAME_REF_VOLUME_CLAIM "PersistentVolumeClaim"
#define NAME_REF_RESOURCE_CLAIM "ResourceClaim"
#define NAME_REF_HOST_PATH "HostPath"
#define NAME_REF_HOST_NAMESPACE "HostNamespace" /* of network, processes, shared memory */
#define NAME_OVER_SHARE "MemoryShareExceeded"   /* reason of a MultiKueueCluster's Active */

#endif
