/* SPDX-License-Identifier: Apache-2.0 */
/* Gates that mean nothing to us are here so that a file of Kueue's is accepted as it is. */
#include "core/config/gate_table.h"

enum { FIRST = 19, LAST = 20 }; /* minor versions that are told apart; before FIRST as FIRST */

/* Kueue 0.19. */
static const struct gate base[] = {
	{"AdmissionFairSharing", true, GATE_BETA, false, GATE_NOT_OURS},
	{"AdmissionGatedBy", true, GATE_BETA, false, GATE_NOT_OURS},
	{"AssignQueueLabelsForPods", true, GATE_BETA, false, GATE_NOT_OURS},
	{"CleanupProvisioningRequestsOnEviction", true, GATE_BETA, false, GATE_NOT_OURS},
	{"ConcurrentAdmission", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"CustomMetricLabels", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"DeferRayServiceFinalizationForRedisCleanup", true, GATE_BETA, false, GATE_NOT_OURS},
	{"DisableWaitForPodsReady", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"ElasticJobsViaWorkloadSlices", true, GATE_BETA, false, CONFIG_GATE_ELASTIC_JOBS},
	{"ElasticJobsViaWorkloadSlicesWithTAS", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"FailureRecoveryPolicy", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"FairSharingPreemptWithinNominal", true, GATE_BETA, false, GATE_NOT_OURS},
	{"FairSharingPrioritizeNonBorrowing", true, GATE_BETA, false, GATE_NOT_OURS},
	{"FastQuotaReleaseInPodIntegration", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"FinishOrphanedWorkloads", true, GATE_BETA, false, GATE_NOT_OURS},
	{"FlavorFungibility", true, GATE_BETA, false, GATE_NOT_OURS},
	{"FlavorFungibilityPreserveScanProgress", true, GATE_BETA, false, GATE_NOT_OURS},
	{"HierarchicalCohorts", true, GATE_GA, true, GATE_NOT_OURS},
	{"KueueDRAIntegration", true, GATE_BETA, false, GATE_NOT_OURS},
	{"KueueDRAIntegrationConsumableCapacity", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"KueueDRAIntegrationExtendedResource", true, GATE_BETA, false, GATE_NOT_OURS},
	{"KueueDRAIntegrationPartitionableDevices", true, GATE_BETA, false, GATE_NOT_OURS},
	{"KueueDRARejectWorkloadsWhenDRADisabled", true, GATE_BETA, false, GATE_NOT_OURS},
	{"LWSImmutableGroupSize", true, GATE_BETA, false, GATE_NOT_OURS},
	{"LocalQueueMetrics", true, GATE_BETA, false, GATE_NOT_OURS},
	{"ManagedJobsNamespaceSelectorAlwaysRespected", true, GATE_GA, true, GATE_NOT_OURS},
	{"MetricForWorkloadCreationLatency", true, GATE_BETA, false, GATE_NOT_OURS},
	{"MetricsForCohorts", true, GATE_BETA, false, GATE_NOT_OURS},
	{"MultiKueue", true, GATE_BETA, false, CONFIG_GATE_MULTIKUEUE},
	{"MultiKueueAdaptersForCustomJobs", true, GATE_BETA, false,
	 CONFIG_GATE_ADAPTERS_FOR_CUSTOM_JOBS},
	{"MultiKueueAllowInsecureKubeconfigs", false, GATE_DEPRECATED, true, GATE_NOT_OURS},
	{"MultiKueueClusterProfile", false, GATE_ALPHA, false, CONFIG_GATE_CLUSTER_PROFILE},
	{"MultiKueueIncrementalDispatcherConfig", true, GATE_BETA, false,
	 CONFIG_GATE_INCREMENTAL_CONFIG},
	{"MultiKueueIncrementalDispatcherRespectConfigOrder", true, GATE_BETA, false,
	 CONFIG_GATE_INCREMENTAL_CONFIG_ORDER},
	{"MultiKueueKubeConfigPathValidation", false, GATE_ALPHA, false,
	 CONFIG_GATE_KUBECONFIG_PATH_VALIDATION},
	{"MultiKueueManagerQuotaAutomation", false, GATE_ALPHA, false,
	 CONFIG_GATE_MANAGER_QUOTA_AUTOMATION},
	{"MultiKueueOrchestratedPreemption", false, GATE_ALPHA, false,
	 CONFIG_GATE_ORCHESTRATED_PREEMPTION},
	{"MultiKueueRedoAdmissionOnEvictionInWorker", true, GATE_GA, true, GATE_NOT_OURS},
	{"MultiKueueRemoteSpecSync", true, GATE_BETA, false, CONFIG_GATE_REMOTE_SPEC_SYNC},
	{"MultiKueueWaitForWorkloadAdmitted", true, GATE_GA, true, GATE_NOT_OURS},
	{"ObjectRetentionPolicies", true, GATE_GA, true, GATE_NOT_OURS},
	{"PartialAdmission", true, GATE_BETA, false, GATE_NOT_OURS},
	{"PodIntegrationValidateGroupOwner", true, GATE_BETA, false, GATE_NOT_OURS},
	{"PrioritizePreemptorWorkloads", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"PriorityBoost", false, GATE_ALPHA, false, CONFIG_GATE_PRIORITY_BOOST},
	{"PrioritySortingWithinCohort", true, GATE_BETA, false, GATE_NOT_OURS},
	{"PropagateBatchJobLabelsToWorkload", true, GATE_GA, true, GATE_NOT_OURS},
	{"QuotaCheckStrategy", true, GATE_BETA, false, GATE_NOT_OURS},
	{"ReclaimablePods", true, GATE_BETA, false, GATE_NOT_OURS},
	{"RecomputeAssignmentUponPreemptionTargetsOverlap", false, GATE_ALPHA, false,
	 GATE_NOT_OURS},
	{"RejectUpdatesToCQWithInvalidOnFlavors", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"RemoveFinalizersWithStrictPatch", true, GATE_BETA, false, GATE_NOT_OURS},
	{"SchedulerLibraryIntegration", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"SchedulerLongRequeueInterval", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"SchedulerTimestampPreemptionBuffer", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"SchedulingEquivalenceHashing", true, GATE_BETA, false, GATE_NOT_OURS},
	{"ShortWorkloadNames", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"SkipAncestorCheckForDeletedWorkloads", true, GATE_BETA, false, GATE_NOT_OURS},
	{"SkipFinalizersForPodsSuspendedByParent", true, GATE_GA, true, GATE_NOT_OURS},
	{"SkipReassignmentForPodOwnedWorkloads", true, GATE_BETA, false, GATE_NOT_OURS},
	{"SparkApplicationIntegration", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASAssignmentsEncodingByHostnamePrefix", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASBalancedPlacement", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASCacheNodeMatchResults", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASCacheTopologyTree", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASCachingRemainingResources", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASFailedNodeReplacement", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASFailedNodeReplacementFailFast", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASHandleOverlappingFlavors", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASMultiLayerTopology", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASProfileMixed", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASRecomputeAssignmentWithinSchedulingCycle", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASReplaceNodeDueToNotReadyOverFixedTime", false, GATE_DEPRECATED, false, GATE_NOT_OURS},
	{"TASReplaceNodeOnNodeTaints", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASReplaceNodeOnPodTermination", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASRespectNodeAffinityPreferred", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASValidateWorkloadSliceSize", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TLSOptions", true, GATE_BETA, false, CONFIG_GATE_TLS_OPTIONS},
	{"TopologyAwareScheduling", true, GATE_BETA, false, GATE_NOT_OURS},
	{"UnadmittedWorkloadsExplicitStatus", false, GATE_BETA, false, GATE_NOT_OURS},
	{"UnadmittedWorkloadsObservability", false, GATE_BETA, false, GATE_NOT_OURS},
	{"ValidateRayAndSparkJobUpdates", true, GATE_BETA, false, GATE_NOT_OURS},
	{"VectorizedResourceRequests", true, GATE_BETA, false, GATE_NOT_OURS},
	{"VisibilityOnDemand", true, GATE_BETA, false, GATE_NOT_OURS},
	{"WorkloadIdentifierAnnotations", true, GATE_BETA, false,
	 CONFIG_GATE_WORKLOAD_IDENTIFIER_ANNOTATIONS},
	{"WorkloadPriorityClassDefaulting", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"WorkloadRequestUseMergePatch", false, GATE_ALPHA, false,
	 CONFIG_GATE_WORKLOAD_REQUEST_USE_MERGE_PATCH},
	{"WorkloadValidateResourcesAreNonNegative", true, GATE_BETA, false, GATE_NOT_OURS},
	{"WorkloadValidationForPodSetMetadata", true, GATE_BETA, false, GATE_NOT_OURS},
};

/* What 0.20 has anew or otherwise. Those whose stage its notes do not tell are alpha here. */
static const struct gate since_20[] = {
	{"AdmissionFairSharingAnchorAtQuotaReservation", true, GATE_BETA, false, GATE_NOT_OURS},
	{"ClassicalPreemptionCandidateOrderCache", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"ConfigurablePreemptions", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"DeploymentJobUIDLabel", true, GATE_BETA, false, GATE_NOT_OURS},
	{"DynamicQuotaOrchestration", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"ElasticJobsViaWorkloadSlicesFlavorChangeFromZero", false, GATE_ALPHA, false,
	 GATE_NOT_OURS},
	{"ElasticJobsViaWorkloadSlicesForProvisioningRequests", false, GATE_ALPHA, false,
	 GATE_NOT_OURS},
	{"ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp", false, GATE_ALPHA, false,
	 GATE_NOT_OURS},
	{"EnforceProvisioningPodTemplateContents", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"FairSharingReevaluatePreemptionCandidates", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"FairSharingRefill", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"HighMaxParallelismWithinReconcile", true, GATE_BETA, false, GATE_NOT_OURS},
	{"KueueDRADeviceFeasibility", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"KueueDRAIntegrationDeviceTaints", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"KueueDRAIntegrationPrioritizedList", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"LogLevelForSchedulerMainLoop", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"MultiKueueBatchJobClearingTTLSecondsAfterFinishedOnWorkerCluster", false, GATE_ALPHA,
	 false, GATE_NOT_OURS},
	{"MultiKueueKubeConfigPathValidation", true, GATE_BETA, false,
	 CONFIG_GATE_KUBECONFIG_PATH_VALIDATION},
	{"MultiKueueOrchestratedPreemption", true, GATE_BETA, false,
	 CONFIG_GATE_ORCHESTRATED_PREEMPTION},
	{"MultiKueueRayInTreeAutoscaling", false, GATE_ALPHA, false, CONFIG_GATE_RAY_AUTOSCALING},
	{"MultiKueueReuseClientConnectionConfigForWorkers", true, GATE_BETA, false, GATE_NOT_OURS},
	{"PodGroupSchedulingShapeOrdering", true, GATE_BETA, false, GATE_NOT_OURS},
	{"PodIntegrationCountSucceededPodsAsReady", true, GATE_BETA, false, GATE_NOT_OURS},
	{"RayServiceValidateUpgradeStrategy", true, GATE_BETA, false, GATE_NOT_OURS},
	{"RecomputeAssignmentUponPreemptionTargetsOverlap", true, GATE_BETA, false, GATE_NOT_OURS},
	{"RejectUpdatesToCQWithInvalidOnFlavors", true, GATE_BETA, false, GATE_NOT_OURS},
	{"ReservedResourceNameValidation", true, GATE_BETA, false, GATE_NOT_OURS},
	{"SchedulingEquivalenceHashingIgnorePodSetName", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASCacheTopologyTree", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASGroupedPodSetSlicing", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASLeaderPodSetFeasibility", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASNodeFeasibilityForAllLevels", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASPartialSlices", true, GATE_BETA, false, GATE_NOT_OURS},
	{"TASRejectFalseUnconstrainedTopology", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASReplaceMultipleFailedNodes", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TASTopologySpreading", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"TLSOptions", true, GATE_GA, true, CONFIG_GATE_TLS_OPTIONS},
	{"UnadmittedWorkloadsObservability", true, GATE_BETA, false, GATE_NOT_OURS},
	{"WaitForPodsReadyMaxNotReady", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"WaitForPodsReadyUnscheduledTimeout", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"WorkloadLevelWaitForPodsReady", false, GATE_ALPHA, false, GATE_NOT_OURS},
	{"WorkloadPriorityClassDefaulting", true, GATE_BETA, false, GATE_NOT_OURS},
};

static const char *const gone_in_20[] = {
	"HierarchicalCohorts",
	"MultiKueueAllowInsecureKubeconfigs",
	"MultiKueueRedoAdmissionOnEvictionInWorker",
	"MultiKueueWaitForWorkloadAdmitted",
	"ObjectRetentionPolicies",
	"PropagateBatchJobLabelsToWorkload",
	"SchedulerLongRequeueInterval",
	"SchedulerTimestampPreemptionBuffer",
	"SkipFinalizersForPodsSuspendedByParent",
};

static const char *const library[] = {
	"APIResponseCompression",
	"APIServerIdentity",
	"APIServerTracing",
	"APIServingWithRoutine",
	"AggregatedDiscoveryRemoveBetaType",
	"AllowParsingUserUIDFromCertAuth",
	"AllowUnsafeMalformedObjectDeletion",
	"AnonymousAuthConfigurableEndpoints",
	"AuthorizeWithSelectors",
	"BtreeWatchCache",
	"CBORServingAndStorage",
	"ConcurrentWatchObjectDecode",
	"ConsistentListFromCache",
	"ConstrainedImpersonation",
	"CoordinatedLeaderElection",
	"DeclarativeValidation",
	"DeclarativeValidationBeta",
	"DeclarativeValidationTakeover",
	"DetectCacheInconsistency",
	"ListFromCacheSnapshot",
	"ManifestBasedAdmissionControlConfig",
	"MutatingAdmissionPolicy",
	"OpenAPIEnums",
	"RemoteRequestHeaderUID",
	"ResilientWatchCacheInitialization",
	"RetryGenerateName",
	"SeparateCacheWatchRPC",
	"ShardedListAndWatch",
	"SizeBasedListCostEstimate",
	"StorageVersionAPI",
	"StorageVersionHash",
	"StreamingCollectionEncodingToJSON",
	"StreamingCollectionEncodingToProtobuf",
	"StructuredAuthenticationConfiguration",
	"StructuredAuthenticationConfigurationEgressSelector",
	"StructuredAuthenticationConfigurationJWKSMetrics",
	"TokenRequestServiceAccountUIDValidation",
	"UnknownVersionInteroperabilityProxy",
	"WatchCacheInitializationPostStartHook",
	"WatchList",
};

const struct gate_need gate_needs[] = {
	{"TASProfileMixed", "TopologyAwareScheduling", 19},
	{"TASHandleOverlappingFlavors", "TopologyAwareScheduling", 19},
	{"TASFailedNodeReplacement", "TopologyAwareScheduling", 19},
	{"TASFailedNodeReplacementFailFast", "TASFailedNodeReplacement", 19},
	{"TASReplaceNodeOnPodTermination", "TASFailedNodeReplacement", 19},
	{"TASBalancedPlacement", "TopologyAwareScheduling", 19},
	{"TASReplaceNodeOnNodeTaints", "TopologyAwareScheduling", 19},
	{"TASMultiLayerTopology", "TopologyAwareScheduling", 19},
	{"TASRespectNodeAffinityPreferred", "TopologyAwareScheduling", 19},
	{"UnadmittedWorkloadsExplicitStatus", "UnadmittedWorkloadsObservability", 19},
	{"ElasticJobsViaWorkloadSlicesWithTAS", "ElasticJobsViaWorkloadSlices", 19},
	{"TASRecomputeAssignmentWithinSchedulingCycle", "TopologyAwareScheduling", 19},
	{"TASReplaceNodeDueToNotReadyOverFixedTime", "TopologyAwareScheduling", 19},
	{"ElasticJobsViaWorkloadSlicesWithTAS", "TopologyAwareScheduling", 19},
	{"KueueDRAIntegrationExtendedResource", "KueueDRAIntegration", 19},
	{"KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegration", 19},
	{"KueueDRAIntegrationConsumableCapacity", "KueueDRAIntegration", 19},
	{"FlavorFungibilityPreserveScanProgress", "FlavorFungibility", 20},
	{"SchedulerLibraryIntegration", "TopologyAwareScheduling", 20},
	{"AdmissionFairSharingAnchorAtQuotaReservation", "AdmissionFairSharing", 20},
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

const size_t gate_n_needs = LEN(gate_needs);

static const struct gate *find_in(const struct gate *list, size_t n, mk_str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_is(name, list[i].name)) {
			return &list[i];
		}
	}
	return NULL;
}

static bool is_among(const char *const *list, size_t n, mk_str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_is(name, list[i])) {
			return true;
		}
	}
	return false;
}

const struct gate *gate_find(int minor, mk_str name)
{
	const struct gate *newer = minor >= LAST ? find_in(since_20, LEN(since_20), name) : NULL;

	if (newer != NULL) {
		return newer;
	}
	if (minor >= LAST && is_among(gone_in_20, LEN(gone_in_20), name)) {
		return NULL;
	}
	return find_in(base, LEN(base), name);
}

const struct gate *gate_each(int minor, size_t *pos)
{
	while (*pos < LEN(base) + LEN(since_20)) {
		size_t i = (*pos)++;
		const struct gate *g = i < LEN(base) ? &base[i] : &since_20[i - LEN(base)];

		if (gate_find(minor, str_of(g->name)) == g) {
			return g;
		}
	}
	return NULL;
}

int gate_other_minor(int minor, mk_str name)
{
	int other = minor >= LAST ? FIRST : LAST;

	return gate_find(other, name) != NULL ? other : 0;
}

bool gate_is_library(mk_str name)
{
	return is_among(library, LEN(library), name);
}
