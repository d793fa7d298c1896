/* SPDX-License-Identifier: Apache-2.0 */
/* Names in objects: Kueue's labels, annotations and conditions, and our own annotations. */
#ifndef MK_ENGINE_NAMES_H
#define MK_ENGINE_NAMES_H

#define NAME_API "kueue.x-k8s.io/v1beta2"
#define NAME_GROUP "kueue.x-k8s.io"
#define NAME_CONTROLLER "kueue.x-k8s.io/multikueue"    /* AdmissionCheck.spec.controllerName */
#define NAME_ORIGIN "kueue.x-k8s.io/multikueue-origin" /* label of each of our remote objects */
#define NAME_ORIGIN_UID "kueue.x-k8s.io/multikueue-origin-uid"
#define NAME_PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"
#define NAME_JOB_UID "kueue.x-k8s.io/job-uid"
#define NAME_OWNER_GVK "kueue.x-k8s.io/job-owner-gvk"
#define NAME_OWNER_NAME "kueue.x-k8s.io/job-owner-name"
#define NAME_ELASTIC "kueue.x-k8s.io/elastic-job"
#define NAME_PRIORITY_BOOST "kueue.x-k8s.io/priority-boost"
#define NAME_QUOTA_CONDITION \
	"MultiKueueManagerQuotaAutomation" /* condition of a ClusterQueue of the manager */
#define NAME_SLICE_OF "kueue.x-k8s.io/workload-slice-replacement-for"
#define NAME_SLICE_NAME "kueue.x-k8s.io/workload-slice-name"
#define NAME_REPLACED "WorkloadSliceReplaced" /* reason of Finished */
#define NAME_COMPONENT "kueue.x-k8s.io/component-workload-index"
#define NAME_IN_USE "kueue.x-k8s.io/resource-in-use" /* Kueue's finalizer */
#define NAME_GATE "kueue.x-k8s.io/multikueue"        /* the preemption gate of our clones */
#define NAME_ADMISSION "kueue-admission"             /* field manager of admission-owned status */

/* Ours; docs/decisions/0001 chose the domain. */
#define NAME_MANAGER_ID "multikueued.io/manager-id"     /* uid of the manager's kube-system */
#define NAME_WORKLOAD_UID "multikueued.io/workload-uid" /* of the local Workload */
#define NAME_SPEC_HASH "multikueued.io/spec-hash" /* of the local spec that a clone was made from */
#define NAME_OUR_OWNER_KIND "multikueued.io/owner-kind" /* "batch/v1, Kind=Job" */
#define NAME_OUR_OWNER_NAME "multikueued.io/owner-name"
#define NAME_ORIGIN_CLASH "multikueued.io/OriginClash" /* condition of a MultiKueueCluster */
#define NAME_SAME_SERVER \
	"multikueued.io/SameServer" /* condition of a MultiKueueCluster, see rules/alias.c */
#define NAME_OVER_SHARE "MemoryShareExceeded"       /* reason of a MultiKueueCluster's Active */
#define NAME_DISPATCHER "multikueued.io/dispatcher" /* on an AdmissionCheck or a MultiKueueConfig */

#endif
