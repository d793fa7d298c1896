/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feature gates: Kueue v0.19.2's table, and the switches from --feature-gates or featureGates
 * applied to it. Gates that mean nothing to us are known so that a file of Kueue's is accepted, and
 * a misspelled one is not.
 */
#include "core/config/config_impl.h"

enum stage { ALPHA, BETA, GA, DEPRECATED };

enum { NOT_OURS = CONFIG_N_GATES };

struct gate {
	const char *name;
	bool on; /* by default */
	enum stage stage;
	bool locked;
	int ours; /* enum config_gate, or NOT_OURS */
};

static const struct gate gates[] = {
	{"AdmissionFairSharing", true, BETA, false, NOT_OURS},
	{"AdmissionGatedBy", true, BETA, false, NOT_OURS},
	{"AssignQueueLabelsForPods", true, BETA, false, NOT_OURS},
	{"CleanupProvisioningRequestsOnEviction", true, BETA, false, NOT_OURS},
	{"ConcurrentAdmission", false, ALPHA, false, NOT_OURS},
	{"CustomMetricLabels", false, ALPHA, false, NOT_OURS},
	{"DeferRayServiceFinalizationForRedisCleanup", true, BETA, false, NOT_OURS},
	{"DisableWaitForPodsReady", false, ALPHA, false, NOT_OURS},
	{"ElasticJobsViaWorkloadSlices", true, BETA, false, CONFIG_GATE_ELASTIC_JOBS},
	{"ElasticJobsViaWorkloadSlicesWithTAS", false, ALPHA, false, NOT_OURS},
	{"FailureRecoveryPolicy", false, ALPHA, false, NOT_OURS},
	{"FairSharingPreemptWithinNominal", true, BETA, false, NOT_OURS},
	{"FairSharingPrioritizeNonBorrowing", true, BETA, false, NOT_OURS},
	{"FastQuotaReleaseInPodIntegration", false, ALPHA, false, NOT_OURS},
	{"FinishOrphanedWorkloads", true, BETA, false, NOT_OURS},
	{"FlavorFungibility", true, BETA, false, NOT_OURS},
	{"FlavorFungibilityPreserveScanProgress", true, BETA, false, NOT_OURS},
	{"HierarchicalCohorts", true, GA, true, NOT_OURS},
	{"KueueDRAIntegration", true, BETA, false, NOT_OURS},
	{"KueueDRAIntegrationConsumableCapacity", false, ALPHA, false, NOT_OURS},
	{"KueueDRAIntegrationExtendedResource", true, BETA, false, NOT_OURS},
	{"KueueDRAIntegrationPartitionableDevices", true, BETA, false, NOT_OURS},
	{"KueueDRARejectWorkloadsWhenDRADisabled", true, BETA, false, NOT_OURS},
	{"LWSImmutableGroupSize", true, BETA, false, NOT_OURS},
	{"LocalQueueMetrics", true, BETA, false, NOT_OURS},
	{"ManagedJobsNamespaceSelectorAlwaysRespected", true, GA, true, NOT_OURS},
	{"MetricForWorkloadCreationLatency", true, BETA, false, NOT_OURS},
	{"MetricsForCohorts", true, BETA, false, NOT_OURS},
	{"MultiKueue", true, BETA, false, CONFIG_GATE_MULTIKUEUE},
	{"MultiKueueAdaptersForCustomJobs", true, BETA, false,
	 CONFIG_GATE_ADAPTERS_FOR_CUSTOM_JOBS},
	{"MultiKueueAllowInsecureKubeconfigs", false, DEPRECATED, true, NOT_OURS},
	{"MultiKueueClusterProfile", false, ALPHA, false, CONFIG_GATE_CLUSTER_PROFILE},
	{"MultiKueueIncrementalDispatcherConfig", true, BETA, false,
	 CONFIG_GATE_INCREMENTAL_CONFIG},
	{"MultiKueueIncrementalDispatcherRespectConfigOrder", true, BETA, false,
	 CONFIG_GATE_INCREMENTAL_CONFIG_ORDER},
	{"MultiKueueKubeConfigPathValidation", false, ALPHA, false,
	 CONFIG_GATE_KUBECONFIG_PATH_VALIDATION},
	{"MultiKueueManagerQuotaAutomation", false, ALPHA, false,
	 CONFIG_GATE_MANAGER_QUOTA_AUTOMATION},
	{"MultiKueueOrchestratedPreemption", false, ALPHA, false,
	 CONFIG_GATE_ORCHESTRATED_PREEMPTION},
	{"MultiKueueRedoAdmissionOnEvictionInWorker", true, GA, true, NOT_OURS},
	{"MultiKueueRemoteSpecSync", true, BETA, false, CONFIG_GATE_REMOTE_SPEC_SYNC},
	{"MultiKueueWaitForWorkloadAdmitted", true, GA, true, NOT_OURS},
	{"ObjectRetentionPolicies", true, GA, true, NOT_OURS},
	{"PartialAdmission", true, BETA, false, NOT_OURS},
	{"PodIntegrationValidateGroupOwner", true, BETA, false, NOT_OURS},
	{"PrioritizePreemptorWorkloads", false, ALPHA, false, NOT_OURS},
	{"PriorityBoost", false, ALPHA, false, CONFIG_GATE_PRIORITY_BOOST},
	{"PrioritySortingWithinCohort", true, BETA, false, NOT_OURS},
	{"PropagateBatchJobLabelsToWorkload", true, GA, true, NOT_OURS},
	{"QuotaCheckStrategy", true, BETA, false, NOT_OURS},
	{"ReclaimablePods", true, BETA, false, NOT_OURS},
	{"RecomputeAssignmentUponPreemptionTargetsOverlap", false, ALPHA, false, NOT_OURS},
	{"RejectUpdatesToCQWithInvalidOnFlavors", false, ALPHA, false, NOT_OURS},
	{"RemoveFinalizersWithStrictPatch", true, BETA, false, NOT_OURS},
	{"SchedulerLibraryIntegration", false, ALPHA, false, NOT_OURS},
	{"SchedulerLongRequeueInterval", false, ALPHA, false, NOT_OURS},
	{"SchedulerTimestampPreemptionBuffer", false, ALPHA, false, NOT_OURS},
	{"SchedulingEquivalenceHashing", true, BETA, false, NOT_OURS},
	{"ShortWorkloadNames", false, ALPHA, false, NOT_OURS},
	{"SkipAncestorCheckForDeletedWorkloads", true, BETA, false, NOT_OURS},
	{"SkipFinalizersForPodsSuspendedByParent", true, GA, true, NOT_OURS},
	{"SkipReassignmentForPodOwnedWorkloads", true, BETA, false, NOT_OURS},
	{"SparkApplicationIntegration", false, ALPHA, false, NOT_OURS},
	{"TASAssignmentsEncodingByHostnamePrefix", true, BETA, false, NOT_OURS},
	{"TASBalancedPlacement", false, ALPHA, false, NOT_OURS},
	{"TASCacheNodeMatchResults", true, BETA, false, NOT_OURS},
	{"TASCacheTopologyTree", false, ALPHA, false, NOT_OURS},
	{"TASCachingRemainingResources", true, BETA, false, NOT_OURS},
	{"TASFailedNodeReplacement", true, BETA, false, NOT_OURS},
	{"TASFailedNodeReplacementFailFast", true, BETA, false, NOT_OURS},
	{"TASHandleOverlappingFlavors", true, BETA, false, NOT_OURS},
	{"TASMultiLayerTopology", true, BETA, false, NOT_OURS},
	{"TASProfileMixed", true, BETA, false, NOT_OURS},
	{"TASRecomputeAssignmentWithinSchedulingCycle", true, BETA, false, NOT_OURS},
	{"TASReplaceNodeDueToNotReadyOverFixedTime", false, DEPRECATED, false, NOT_OURS},
	{"TASReplaceNodeOnNodeTaints", true, BETA, false, NOT_OURS},
	{"TASReplaceNodeOnPodTermination", true, BETA, false, NOT_OURS},
	{"TASRespectNodeAffinityPreferred", false, ALPHA, false, NOT_OURS},
	{"TASValidateWorkloadSliceSize", true, BETA, false, NOT_OURS},
	{"TLSOptions", true, BETA, false, CONFIG_GATE_TLS_OPTIONS},
	{"TopologyAwareScheduling", true, BETA, false, NOT_OURS},
	{"UnadmittedWorkloadsExplicitStatus", false, BETA, false, NOT_OURS},
	{"UnadmittedWorkloadsObservability", false, BETA, false, NOT_OURS},
	{"ValidateRayAndSparkJobUpdates", true, BETA, false, NOT_OURS},
	{"VectorizedResourceRequests", true, BETA, false, NOT_OURS},
	{"VisibilityOnDemand", true, BETA, false, NOT_OURS},
	{"WorkloadIdentifierAnnotations", true, BETA, false,
	 CONFIG_GATE_WORKLOAD_IDENTIFIER_ANNOTATIONS},
	{"WorkloadPriorityClassDefaulting", false, ALPHA, false, NOT_OURS},
	{"WorkloadRequestUseMergePatch", false, ALPHA, false,
	 CONFIG_GATE_WORKLOAD_REQUEST_USE_MERGE_PATCH},
	{"WorkloadValidateResourcesAreNonNegative", true, BETA, false, NOT_OURS},
	{"WorkloadValidationForPodSetMetadata", true, BETA, false, NOT_OURS},
};

enum { N_GATES = sizeof(gates) / sizeof(gates[0]) };

/*
 * Gates of the API server library that Kueue is built with: it takes them, and they mean nothing to
 * us.
 */
static const char *const library_gates[] = {
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

const char *config_gate_name(enum config_gate gate)
{
	for (size_t i = 0; i < N_GATES; i++) {
		if (gates[i].ours == (int)gate) {
			return gates[i].name;
		}
	}
	return "";
}

static const struct gate *find_gate(mk_str name)
{
	for (size_t i = 0; i < N_GATES; i++) {
		if (str_is(name, gates[i].name)) {
			return &gates[i];
		}
	}
	return NULL;
}

static bool is_library_gate(mk_str name)
{
	for (size_t i = 0; i < sizeof(library_gates) / sizeof(library_gates[0]); i++) {
		if (str_is(name, library_gates[i])) {
			return true;
		}
	}
	return false;
}

/* Go's strconv.ParseBool. */
static bool parse_bool(mk_str s, bool *ret)
{
	static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
	static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (str_is(s, yes[i]) || str_is(s, no[i])) {
			*ret = str_is(s, yes[i]);
			return true;
		}
	}
	return false;
}

/* --feature-gates=A=true,B=false as an object; NULL with the reason in *ret_why. */
static struct json *parse_flag(struct arena *a, mk_str flag, const char **ret_why)
{
	struct json *map = json_new_obj(a);
	mk_str part;

	while (str_split(&flag, ',', &part)) {
		ptrdiff_t at = str_index(part, '=');
		mk_str name = str_trim(at < 0 ? part : str_sub(part, 0, (size_t)at));
		mk_str value = at < 0 ? part : str_trim(str_sub(part, (size_t)at + 1, SIZE_MAX));
		bool on = false;

		if (part.n == 0) {
			continue;
		}
		if (at < 0) {
			*ret_why = arena_printf(a, "missing bool value for %.*s", STR_ARG(name)).p;
			return NULL;
		}
		if (!parse_bool(value, &on)) {
			*ret_why =
				arena_printf(a,
					     "invalid value of %.*s=%.*s, err: strconv.ParseBool: "
					     "parsing %s: invalid syntax",
					     STR_ARG(name), STR_ARG(value), config_quote(a, value))
					.p;
			return NULL;
		}
		json_set(a, map, name, json_new_bool(a, on));
	}
	return map;
}

/* The first thing wrong with the switches, or NULL. */
static const char *judge(struct arena *a, const struct json *map)
{
	struct json_iter it = json_iter(map);

	while (json_next(&it)) {
		const struct gate *g = find_gate(it.key);
		bool on = json_bool(it.val);

		if (str_is(it.key, "AllAlpha") || str_is(it.key, "AllBeta") ||
		    is_library_gate(it.key) || json_type(it.val) != JSON_BOOL) {
			continue;
		}
		if (!g) {
			return arena_printf(a, "unrecognized feature gate: %.*s", STR_ARG(it.key))
				.p;
		}
		if (g->locked && g->on != on) {
			return arena_printf(
				       a,
				       "cannot set feature gate %s to %s, feature is locked to %s",
				       g->name, on ? "true" : "false", g->on ? "true" : "false")
				.p;
		}
	}
	return NULL;
}

/* What a gate is set to: by name, else by its stage, else by default. */
static bool is_on(const struct gate *g, const struct json *map)
{
	const struct json *v = json_get(map, g->name);
	const struct json *all = NULL;

	if (g->stage == ALPHA) {
		all = json_get(map, "AllAlpha");
	} else if (g->stage == BETA) {
		all = json_get(map, "AllBeta");
	}
	if (json_type(v) == JSON_BOOL) {
		return json_bool(v);
	}
	return json_type(all) == JSON_BOOL ? json_bool(all) : g->on;
}

static bool named_is_on(const char *name, const struct json *map)
{
	const struct gate *g = find_gate(str_of(name));

	return g != NULL && is_on(g, map);
}

/* Gates of Kueue's core that need others: nothing to us, but Kueue would not start. */
static void warn_dependencies(struct config_run *r, const struct json *map)
{
	static const struct {
		const char *gate, *needs;
	} pairs[] = {
		{"TASProfileMixed", "TopologyAwareScheduling"},
		{"TASHandleOverlappingFlavors", "TopologyAwareScheduling"},
		{"TASFailedNodeReplacement", "TopologyAwareScheduling"},
		{"TASFailedNodeReplacementFailFast", "TASFailedNodeReplacement"},
		{"TASReplaceNodeOnPodTermination", "TASFailedNodeReplacement"},
		{"TASBalancedPlacement", "TopologyAwareScheduling"},
		{"TASReplaceNodeOnNodeTaints", "TopologyAwareScheduling"},
		{"TASMultiLayerTopology", "TopologyAwareScheduling"},
		{"TASRespectNodeAffinityPreferred", "TopologyAwareScheduling"},
		{"UnadmittedWorkloadsExplicitStatus", "UnadmittedWorkloadsObservability"},
		{"ElasticJobsViaWorkloadSlicesWithTAS", "ElasticJobsViaWorkloadSlices"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (named_is_on(pairs[i].gate, map) && !named_is_on(pairs[i].needs, map)) {
			config_warning(
				r, STR("/featureGates"),
				"featureGates: Invalid value: \"%s\": %s requires %s to be enabled",
				pairs[i].gate, pairs[i].gate, pairs[i].needs);
		}
	}
}

void config_check_gates(struct config_run *r, struct config *c)
{
	const struct json *file = json_get(r->doc, "featureGates");
	bool in_file = json_type(file) == JSON_OBJ;
	mk_str flag = r->in->feature_gates;
	const struct json *map = file;
	const char *shown = in_file ? config_sorted(r->a, file) : "{}";
	const char *why = NULL;

	if (flag.n > 0) {
		shown = config_quote(r->a, flag);
		map = parse_flag(r->a, flag, &why);
	}
	why = why != NULL ? why : judge(r->a, map);
	if (why != NULL) {
		config_error(r, STR("/featureGates"), "featureGates: Invalid value: %s: %s", shown,
			     why);
		return;
	}
	if (flag.n > 0 && in_file) {
		config_error(
			r, STR("/featureGates"),
			"featureGates: Invalid value: %s: feature gates for CLI and configuration "
			"cannot both specified",
			config_sorted(r->a, file));
		return;
	}
	warn_dependencies(r, map);
	for (size_t i = 0; i < N_GATES; i++) {
		if (gates[i].ours != NOT_OURS) {
			c->gates[gates[i].ours] = is_on(&gates[i], map);
		}
	}
	/* Without its gate the section is checked, but does not count. */
	if (!c->gates[CONFIG_GATE_INCREMENTAL_CONFIG]) {
		c->multikueue.step_size = 3;
	}
}
