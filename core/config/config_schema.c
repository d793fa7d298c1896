/* SPDX-License-Identifier: Apache-2.0 */
/* Kueue's Configuration v1beta2 and v1beta1 as of v0.19.2, and our keys under multiKueue. */
#include "core/config/config_schema.h"

#define SCHEMA(var, go_name, fields_)                        \
	static const struct config_schema var = {            \
		.go_type = (go_name),                        \
		.fields = (fields_),                         \
		.n = sizeof(fields_) / sizeof((fields_)[0]), \
	}

#define PLAIN(key, t)                                     \
	{                                                 \
		.name = (key), .type = (t), .in = CV_BOTH \
	}
#define PLAIN_IN(key, t, v)                           \
	{                                             \
		.name = (key), .type = (t), .in = (v) \
	}
#define SUB(key, s)                                                       \
	{                                                                 \
		.name = (key), .type = CT_OBJ, .sub = &(s), .in = CV_BOTH \
	}
#define SUB_IN(key, s, v)                                             \
	{                                                             \
		.name = (key), .type = CT_OBJ, .sub = &(s), .in = (v) \
	}
#define EMBEDDED(key, t, s)                                                             \
	{                                                                               \
		.name = (key), .type = (t), .sub = (s), .in = CV_BOTH, .embedded = true \
	}
#define LIST(key, t, v)                                                \
	{                                                              \
		.name = (key), .type = CT_LIST, .elem = (t), .in = (v) \
	}
#define LIST_OF(key, s, v)                                                             \
	{                                                                              \
		.name = (key), .type = CT_LIST, .elem = CT_OBJ, .sub = &(s), .in = (v) \
	}
#define MAP(key, t, v)                                                \
	{                                                             \
		.name = (key), .type = CT_MAP, .elem = (t), .in = (v) \
	}

static const struct config_field requirement_fields[] = {
	PLAIN("key", CT_STR),
	PLAIN("operator", CT_STR),
	LIST("values", CT_STR, CV_BOTH),
};
SCHEMA(requirement, "LabelSelectorRequirement", requirement_fields);

static const struct config_field selector_fields[] = {
	MAP("matchLabels", CT_STR, CV_BOTH),
	LIST_OF("matchExpressions", requirement, CV_BOTH),
};
SCHEMA(selector, "LabelSelector", selector_fields);

static const struct config_field webhook_fields[] = {
	PLAIN("port", CT_INT),
	PLAIN("host", CT_STR),
	PLAIN("certDir", CT_STR),
};
SCHEMA(webhook, "ControllerWebhook", webhook_fields);

static const struct config_field leader_fields[] = {
	PLAIN("leaderElect", CT_BOOL),       PLAIN("leaseDuration", CT_DURATION),
	PLAIN("renewDeadline", CT_DURATION), PLAIN("retryPeriod", CT_DURATION),
	PLAIN("resourceLock", CT_STR),       PLAIN("resourceName", CT_STR),
	PLAIN("resourceNamespace", CT_STR),
};
SCHEMA(leader, "LeaderElectionConfiguration", leader_fields);

static const struct config_field custom_label_fields[] = {
	PLAIN("name", CT_STR),
	PLAIN("sourceLabelKey", CT_STR),
	PLAIN("sourceAnnotationKey", CT_STR),
	PLAIN_IN("sourceKind", CT_STR, CV_V1BETA2),
	LIST("trackedValues", CT_STR, CV_V1BETA2),
};
SCHEMA(custom_label, "ControllerMetricsCustomLabel", custom_label_fields);

static const struct config_field local_queue_fields[] = {
	PLAIN("enable", CT_BOOL),
	SUB("localQueueSelector", selector),
};
SCHEMA(local_queue, "LocalQueueMetrics", local_queue_fields);

static const struct config_field metrics_fields[] = {
	PLAIN("bindAddress", CT_STR),
	PLAIN("enableClusterQueueResources", CT_BOOL),
	LIST_OF("customLabels", custom_label, CV_BOTH),
	SUB("localQueueMetrics", local_queue),
};
SCHEMA(metrics, "ControllerMetrics", metrics_fields);

static const struct config_field health_fields[] = {
	PLAIN("healthProbeBindAddress", CT_STR),
	PLAIN("readinessEndpointName", CT_STR),
	PLAIN("livenessEndpointName", CT_STR),
};
SCHEMA(health, "ControllerHealth", health_fields);

static const struct config_field controller_fields[] = {
	MAP("groupKindConcurrency", CT_INT, CV_BOTH),
	PLAIN("cacheSyncTimeout", CT_NANOS),
};
SCHEMA(controller, "ControllerConfigurationSpec", controller_fields);

static const struct config_field tls_fields[] = {
	PLAIN("minVersion", CT_STR),
	LIST("cipherSuites", CT_STR, CV_BOTH),
	LIST("curvePreferences", CT_INT32, CV_BOTH),
};
SCHEMA(tls, "TLSOptions", tls_fields);

static const struct config_field certs_fields[] = {
	PLAIN("enable", CT_BOOL),
	PLAIN("webhookServiceName", CT_STR),
	PLAIN("webhookSecretName", CT_STR),
};
SCHEMA(certs, "InternalCertManagement", certs_fields);

static const struct config_field requeuing_fields[] = {
	PLAIN("timestamp", CT_STR),
	PLAIN("backoffLimitCount", CT_INT32),
	PLAIN("backoffBaseSeconds", CT_INT32),
	PLAIN("backoffMaxSeconds", CT_INT32),
};
SCHEMA(requeuing, "RequeuingStrategy", requeuing_fields);

static const struct config_field pods_ready_fields[] = {
	PLAIN_IN("enable", CT_BOOL, CV_V1BETA1),    PLAIN("timeout", CT_DURATION),
	PLAIN("blockAdmission", CT_BOOL),           SUB("requeuingStrategy", requeuing),
	PLAIN("recoveryTimeout", CT_DURATION),      PLAIN("unscheduledTimeout", CT_DURATION),
	PLAIN("maxTimeoutOnWorkload", CT_DURATION),
};
SCHEMA(pods_ready, "WaitForPodsReady", pods_ready_fields);

static const struct config_field client_fields[] = {
	PLAIN("qps", CT_FLOAT32),
	PLAIN("burst", CT_INT32),
};
SCHEMA(client, "ClientConnection", client_fields);

static const struct config_field pod_options_fields[] = {
	SUB("namespaceSelector", selector),
	SUB("podSelector", selector),
};
SCHEMA(pod_options, "PodIntegrationOptions", pod_options_fields);

static const struct config_field integrations_fields[] = {
	LIST("frameworks", CT_STR, CV_BOTH),
	LIST("externalFrameworks", CT_STR, CV_BOTH),
	SUB_IN("podOptions", pod_options, CV_V1BETA1),
	LIST("labelKeysToCopy", CT_STR, CV_BOTH),
};
SCHEMA(integrations, "Integrations", integrations_fields);

static const struct config_field external_framework_fields[] = {PLAIN("name", CT_STR)};
SCHEMA(external_framework, "MultiKueueExternalFramework", external_framework_fields);

static const struct config_field env_fields[] = {
	PLAIN("name", CT_STR),
	PLAIN("value", CT_STR),
};
SCHEMA(env, "ExecEnvVar", env_fields);

static const struct config_field exec_fields[] = {
	PLAIN("command", CT_STR),         LIST("args", CT_STR, CV_BOTH),
	LIST_OF("env", env, CV_BOTH),     PLAIN("apiVersion", CT_STR),
	PLAIN("installHint", CT_STR),     PLAIN("provideClusterInfo", CT_BOOL),
	PLAIN("interactiveMode", CT_STR),
};
SCHEMA(exec, "ExecConfig", exec_fields);

static const struct config_field provider_fields[] = {
	PLAIN("name", CT_STR),
	SUB("execConfig", exec),
};
SCHEMA(provider, "ClusterProfileAccessProvider", provider_fields);

static const struct config_field cluster_profile_fields[] = {
	LIST_OF("accessProviders", provider, CV_BOTH),
	LIST_OF("credentialsProviders", provider, CV_BOTH),
};
SCHEMA(cluster_profile, "ClusterProfile", cluster_profile_fields);

static const struct config_field incremental_fields[] = {PLAIN("stepSize", CT_INT32)};
SCHEMA(incremental, "IncrementalDispatcherConfig", incremental_fields);

static const struct config_field budgets_fields[] = {
	PLAIN("softTime", CT_DURATION),   PLAIN("hardTime", CT_DURATION),
	PLAIN("softMemory", CT_QUANTITY), PLAIN("hardMemory", CT_QUANTITY),
	PLAIN("softCalls", CT_INT),       PLAIN("hardCalls", CT_INT),
};
SCHEMA(budgets, "PluginBudgets", budgets_fields);

static const struct config_field plugins_fields[] = {
	PLAIN("directory", CT_STR),
	LIST("allow", CT_STR, CV_BOTH),
	SUB("budgets", budgets),
};
SCHEMA(plugins, "Plugins", plugins_fields);

static const struct config_field network_tls_fields[] = {
	PLAIN("minVersion", CT_STR),
};
SCHEMA(network_tls, "NetworkTLS", network_tls_fields);

static const struct config_field network_fields[] = {
	PLAIN("allowLoopback", CT_BOOL),
	PLAIN("allowLinkLocal", CT_BOOL),
	PLAIN("transport", CT_STR),
	SUB("tls", network_tls),
};
SCHEMA(network, "Network", network_fields);

static const struct config_field aggregated_fields[] = {
	PLAIN("bindAddress", CT_STR),
	PLAIN("serviceName", CT_STR),
	PLAIN("secretName", CT_STR),
};
SCHEMA(aggregated, "Visibility", aggregated_fields);

static const struct config_field quota_trees_fields[] = {
	PLAIN("mode", CT_WORD),
};
SCHEMA(quota_trees, "QuotaTrees", quota_trees_fields);

static const struct config_field wall_rule_fields[] = {
	LIST("namespaces", CT_STR, CV_BOTH),      LIST("kinds", CT_STR, CV_BOTH),
	LIST("serviceAccounts", CT_STR, CV_BOTH), LIST("priorityClasses", CT_STR, CV_BOTH),
	LIST("references", CT_STR, CV_BOTH),
};
SCHEMA(wall_rule, "WallRule", wall_rule_fields);

static const struct config_field impersonate_fields[] = {
	PLAIN("serviceAccount", CT_STR),
};
SCHEMA(impersonate, "Impersonate", impersonate_fields);

static const struct config_field wall_fields[] = {
	PLAIN("config", CT_STR),
	LIST_OF("allow", wall_rule, CV_BOTH),
	SUB_IN("impersonate", impersonate, CV_BOTH | CV_OURS),
};
SCHEMA(wall, "Wall", wall_fields);

static const struct config_field multikueue_fields[] = {
	PLAIN("gcInterval", CT_DURATION),
	PLAIN("origin", CT_STR),
	PLAIN("workerLostTimeout", CT_DURATION),
	PLAIN("dispatcherName", CT_STR),
	LIST_OF("externalFrameworks", external_framework, CV_BOTH),
	SUB_IN("clusterProfile", cluster_profile, CV_V1BETA2),
	SUB_IN("incrementalDispatcherConfig", incremental, CV_V1BETA2),
	SUB_IN("plugins", plugins, CV_BOTH | CV_OURS),
	MAP("dispatchers", CT_ANY_OBJ, CV_BOTH | CV_OURS),
	LIST("externalDispatchers", CT_STR, CV_BOTH | CV_OURS),
	LIST("formerOrigins", CT_STR, CV_BOTH | CV_OURS),
	LIST("formerManagers", CT_STR, CV_BOTH | CV_OURS),
	PLAIN_IN("managerId", CT_STR, CV_BOTH | CV_OURS),
	SUB_IN("network", network, CV_BOTH | CV_OURS),
	SUB_IN("visibility", aggregated, CV_BOTH | CV_OURS),
	PLAIN_IN("lostWorkerPolicy", CT_STR, CV_BOTH | CV_OURS),
	PLAIN_IN("takeOver", CT_STR, CV_BOTH | CV_OURS),
	PLAIN_IN("placementTimeout", CT_DURATION, CV_BOTH | CV_OURS),
	PLAIN_IN("unplaceable", CT_STR, CV_BOTH | CV_OURS),
	PLAIN_IN("leaseName", CT_STR, CV_BOTH | CV_OURS),
	PLAIN_IN("jobStatusSize", CT_QUANTITY, CV_BOTH | CV_OURS),
	PLAIN_IN("workerMemory", CT_QUANTITY, CV_BOTH | CV_OURS),
	PLAIN_IN("kueueVersion", CT_STR, CV_BOTH | CV_OURS),
	LIST_OF("walls", wall, CV_BOTH | CV_OURS),
	SUB_IN("quotaTrees", quota_trees, CV_BOTH | CV_OURS),
};
SCHEMA(multikueue, "MultiKueue", multikueue_fields);

static const struct config_field fair_sharing_fields[] = {
	PLAIN_IN("enable", CT_BOOL, CV_V1BETA1),
	LIST("preemptionStrategies", CT_STR, CV_BOTH),
};
SCHEMA(fair_sharing, "FairSharing", fair_sharing_fields);

static const struct config_field admission_fair_fields[] = {
	PLAIN("usageHalfLifeTime", CT_DURATION),
	PLAIN("usageSamplingInterval", CT_DURATION),
	MAP("resourceWeights", CT_FLOAT64, CV_BOTH),
};
SCHEMA(admission_fair, "AdmissionFairSharing", admission_fair_fields);

static const struct config_field transformation_fields[] = {
	PLAIN("input", CT_STR),
	PLAIN("strategy", CT_STR),
	PLAIN("multiplyBy", CT_STR),
	MAP("outputs", CT_QUANTITY, CV_BOTH),
};
SCHEMA(transformation, "ResourceTransformation", transformation_fields);

static const struct config_field cel_fields[] = {PLAIN("expression", CT_STR)};
SCHEMA(cel, "CELDeviceSelector", cel_fields);

static const struct config_field device_selector_fields[] = {SUB("cel", cel)};
SCHEMA(device_selector, "DeviceSelector", device_selector_fields);

static const struct config_field device_counter_fields[] = {
	PLAIN("name", CT_STR),
	PLAIN("driver", CT_STR),
	SUB("deviceSelector", device_selector),
};
SCHEMA(device_counter, "DeviceClassCounterSource", device_counter_fields);
SCHEMA(device_capacity, "DeviceClassCapacitySource", device_counter_fields);

static const struct config_field device_source_fields[] = {
	SUB("counter", device_counter),
	SUB("capacity", device_capacity),
};
SCHEMA(device_source, "DeviceClassSourceConfig", device_source_fields);

static const struct config_field device_class_fields[] = {
	PLAIN("name", CT_STR),
	LIST("deviceClassNames", CT_STR, CV_BOTH),
	LIST_OF("sources", device_source, CV_V1BETA2),
};
SCHEMA(device_class, "DeviceClassMapping", device_class_fields);

static const struct config_field resources_fields[] = {
	PLAIN_IN("quotaCheckStrategy", CT_STR, CV_V1BETA2),
	LIST("excludeResourcePrefixes", CT_STR, CV_BOTH),
	LIST_OF("transformations", transformation, CV_BOTH),
	LIST_OF("deviceClassMappings", device_class, CV_BOTH),
};
SCHEMA(resources, "Resources", resources_fields);

static const struct config_field retention_workload_fields[] = {
	PLAIN("afterFinished", CT_DURATION),
	PLAIN("afterDeactivatedByKueue", CT_DURATION),
};
SCHEMA(retention_workload, "WorkloadRetentionPolicy", retention_workload_fields);

static const struct config_field retention_fields[] = {SUB("workloads", retention_workload)};
SCHEMA(retention, "ObjectRetentionPolicies", retention_fields);

static const struct config_field visibility_fields[] = {
	PLAIN("bindAddress", CT_STR),
	PLAIN("bindPort", CT_INT32),
};
SCHEMA(visibility, "VisibilityServerConfiguration", visibility_fields);

static const struct config_field queue_count_fields[] = {PLAIN("maxCount", CT_INT32)};
SCHEMA(queue_count, "ClusterQueueVisibility", queue_count_fields);

static const struct config_field queue_visibility_fields[] = {
	SUB("clusterQueues", queue_count),
	PLAIN("updateIntervalSeconds", CT_INT32),
};
SCHEMA(queue_visibility, "QueueVisibility", queue_visibility_fields);

static const struct config_field root_fields[] = {
	PLAIN("apiVersion", CT_STR),
	PLAIN("kind", CT_STR),
	PLAIN("namespace", CT_STR),
	EMBEDDED("webhook", CT_OBJ, &webhook),
	EMBEDDED("leaderElection", CT_OBJ, &leader),
	EMBEDDED("metrics", CT_OBJ, &metrics),
	EMBEDDED("health", CT_OBJ, &health),
	EMBEDDED("pprofBindAddress", CT_STR, NULL),
	EMBEDDED("controller", CT_OBJ, &controller),
	EMBEDDED("tls", CT_OBJ, &tls),
	PLAIN("manageJobsWithoutQueueName", CT_BOOL),
	SUB("managedJobsNamespaceSelector", selector),
	SUB("internalCertManagement", certs),
	SUB("waitForPodsReady", pods_ready),
	SUB("clientConnection", client),
	SUB("integrations", integrations),
	SUB_IN("queueVisibility", queue_visibility, CV_V1BETA1),
	SUB("multiKueue", multikueue),
	SUB("fairSharing", fair_sharing),
	SUB("admissionFairSharing", admission_fair),
	SUB("resources", resources),
	MAP("featureGates", CT_BOOL, CV_BOTH),
	SUB("objectRetentionPolicies", retention),
	SUB_IN("visibilityServer", visibility, CV_V1BETA2),
};

const struct config_schema config_root_schema = {
	.go_type = "Configuration",
	.fields = root_fields,
	.n = sizeof(root_fields) / sizeof(root_fields[0]),
};
