/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: what it refuses, and with which words. */
#include "kubesim_store.h"

#define STATUS WORKLOADS "/a/status?fieldManager=kueue-admission&force=true"
#define COND(type, status)                            \
	"{\"type\":\"" type "\",\"status\":\"" status \
	"\",\"reason\":\"R\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define ADMISSION                                                                           \
	"\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\"," \
	"\"count\":2}]}"

static int apply_status(const char *status)
{
	return apply(STATUS, fmt("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
				 "\"status\":%s}",
				 status));
}

static const char *times(const char *text, size_t n)
{
	size_t len = strlen(text);
	char *all = arena_alloc(&arena, n * len + 1);

	for (size_t i = 0; all != NULL && i < n; i++) {
		memcpy(all + i * len, text, len);
	}
	return all;
}

static const char *clusters(int n)
{
	const char *all = "";

	for (int i = 0; i < n; i++) {
		all = fmt("%s%s\"w%d\"", all, i ? "," : "", i);
	}
	return all;
}

static void is_invalid(const char *reason, const char *field, const char *name)
{
	is_str(fmt("%d %s %s %s", answer.status, at("/reason"), at("/details/causes/0/reason"),
		   at("/details/causes/0/field")),
	       fmt("422 Invalid %s %s", reason, field), name);
}

static void test_cluster_names(void)
{
	post(WORKLOADS, workload_text("a", ""));
	apply_status("{\"clusterName\":\"w1\"}");
	is_int(answer.status, 403, "Kueue's webhook wants the name nominated before");
	ok(strstr(at("/message"), "denied the request") != NULL, "and says that it was it");
	is_int(apply_status("{\"nominatedClusterNames\":[\"w1\",\"w2\"]}"), 200, "nominate");
	is_int(apply_status("{\"clusterName\":\"w3\"}"), 403, "another name");
	is_int(apply_status("{\"clusterName\":\"w1\",\"nominatedClusterNames\":[\"w1\"]}"), 422,
	       "not both");
	is_str(at("/details/causes/0/message"),
	       "Invalid value: clusterName and nominatedClusterNames are mutually exclusive",
	       "exclusive");
	is_int(apply_status("{\"clusterName\":\"w1\"}"), 200, "the nominated one");
	merge(WORKLOADS "/a/status", "{\"status\":{\"clusterName\":\"w2\"}}");
	is_invalid("FieldValueInvalid", "status", "set is set");
	is_str(at("/details/causes/0/message"), "Invalid value: clusterName is immutable once set",
	       "in the known words");
	is_str(at("/details/kind"), "Workload", "a 422 names the kind");
	is_int(apply_status("{}"), 200, "but it may be cleared");
	apply_status(fmt("{\"nominatedClusterNames\":[%s]}", clusters(21)));
	is_invalid("FieldValueTooMany", "status.nominatedClusterNames", "21 names");
	is_int(apply_status(fmt("{\"nominatedClusterNames\":[%s]}", clusters(20))), 200,
	       "20 are fine");
}

static void test_quota(void)
{
	apply_status("{\"conditions\":[" COND("QuotaReserved", "True") "]}");
	is_int(answer.status, 403, "QuotaReserved needs an admission");
	is_int(apply_status("{\"conditions\":[" COND("QuotaReserved", "True") "]," ADMISSION "}"),
	       200, "with it fine");
	is_int(apply_status("{\"conditions\":[" COND("QuotaReserved", "True") "]}"), 403,
	       "which may not be dropped");
	is_int(apply_status("{\"conditions\":[" COND(
		       "QuotaReserved", "True") "],\"admission\":{\"clusterQueue\":\"other\"}}"),
	       403, "nor changed");
	is_int(merge(WORKLOADS "/a", "{\"spec\":{\"queueName\":\"other\"}}"), 422,
	       "the queue is fixed");
	is_str(at("/details/causes/0/field"), "<nil>", "field <nil>");
	is_int(call("PATCH", WORKLOADS "/a", json_patch,
		    "[{\"op\":\"replace\",\"path\":\"/spec/podSets/0/count\",\"value\":5}]"),
	       403, "podSets are fixed");
	is_int(merge(WORKLOADS "/a", "{\"spec\":{\"active\":false}}"), 200, "active is not");
}

static void test_conditions(void)
{
	apply_status(fmt(
		"{\"conditions\":[{\"type\":\"X\",\"status\":\"True\",\"reason\":\"R\",\"message\":"
		"\"%s\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]," ADMISSION "}",
		times("0123456789abcdef", 2049)));
	is_invalid("FieldValueTooLong", "status.conditions[0].message",
		   "a message over 32768 bytes");
	apply_status("{\"conditions\":[{\"type\":\"X\",\"status\":\"True\",\"reason\":\"\","
		     "\"message\":\"\","
		     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}");
	is_invalid("FieldValueInvalid", "status.conditions[0].reason", "an empty reason");
	apply_status("{\"admissionChecks\":[{\"name\":\"mk\",\"state\":\"Maybe\",\"message\":\"\","
		     "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}");
	is_invalid("FieldValueNotSupported", "status.admissionChecks[0].state", "an unknown state");
}

static void test_names(void)
{
	post(CONFIGMAPS, map_text("Upper", ""));
	is_invalid("FieldValueInvalid", "metadata.name", "upper case");
	post(CONFIGMAPS, map_text(times("a", 254), ""));
	is_invalid("FieldValueInvalid", "metadata.name", "254 characters");
	is_int(post(CONFIGMAPS, map_text(times("a", 253), "")), 201, "253 are fine");
	post(CONFIGMAPS, map_text("l", fmt("\"k\":\"%s\"", times("a", 64))));
	is_invalid("FieldValueInvalid", "metadata.labels", "a label of 64 characters");
	ok(strstr(at("/message"), "must be no more than 63 bytes") != NULL, "says so");
	is_int(post(CONFIGMAPS,
		    map_text("l", fmt("\"x.io/%s\":\"%s\"", times("k", 63), times("a", 63)))),
	       201, "63 are fine");
	post(CONFIGMAPS, map_text("m", "\"a b\":\"c\""));
	is_invalid("FieldValueInvalid", "metadata.labels", "a blank in a key");
	post(CONFIGMAPS, map_text("m", "\"a\":\"-c\""));
	is_invalid("FieldValueInvalid", "metadata.labels", "a dash at the start");
	post(CONFIGMAPS, "{\"metadata\":{}}");
	is_invalid("FieldValueRequired", "metadata.name", "no name");
	is_int(post(CONFIGMAPS, fmt("{\"metadata\":{\"name\":\"big\"},\"data\":{\"x\":\"%s\"}}",
				    times(times("0123456789abcdef", 256), 800))),
	       413, "over 3 MiB");
}

static void test_job_spec(void)
{
	post(JOBS, job_text("j", "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\""));
	is_int(answer.status, 201, "a managed Job");
	merge(JOBS "/j", "{\"spec\":{\"managedBy\":null}}");
	is_invalid("FieldValueInvalid", "spec.managedBy", "managedBy is fixed");
	merge(JOBS "/j", "{\"spec\":{\"completions\":7}}");
	is_invalid("FieldValueInvalid", "spec.completions", "so are completions");
	merge(JOBS "/j", "{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}");
	is_invalid("FieldValueInvalid", "spec.selector", "and the selector");
	is_int(merge(JOBS "/j", "{\"spec\":{\"parallelism\":3}}"), 200, "parallelism is free");
	is_int(merge(JOBS "/j",
		     "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
	       200, "scheduling directives while suspended");
	merge(JOBS "/j", "{\"spec\":{\"template\":{\"spec\":{\"dnsPolicy\":\"None\"}}}}");
	is_invalid("FieldValueInvalid", "spec.template", "but nothing else of the template");
	is_int(merge(JOBS "/j",
		     "{\"spec\":{\"suspend\":false,\"template\":{\"metadata\":{\"labels\":"
		     "{\"q\":\"r\"}}}}}"),
	       200, "labels in the write that resumes it");
	merge(JOBS "/j", "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"c\"}}}}}");
	is_invalid("FieldValueInvalid", "spec.template", "not while it runs");
	post(JOBS,
	     job_text("foreign", "\"selector\":{\"matchLabels\":{\"controller-uid\":\"x\"}}"));
	is_invalid("FieldValueInvalid", "spec.selector", "a selector of another Job's uid");
	post(JOBS, job_text(times("n", 64), ""));
	is_int(answer.status, 422, "a name that is no label value");
	post(JOBS, job_text("m", "\"managedBy\":\"nodomain\""));
	is_invalid("FieldValueInvalid", "spec.managedBy", "managedBy needs a domain");
}

static void test_job_status(void)
{
	post(JOBS, job_text("s", ""));
	is_int(merge(JOBS "/s/status",
		     "{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\",\"active\":1}}"),
	       200, "a Job starts");
	merge(JOBS "/s/status", "{\"status\":{\"startTime\":\"2026-01-01T00:00:09Z\"}}");
	is_invalid("FieldValueRequired", "status.startTime", "startTime stays while it runs");
	merge(JOBS "/s/status", "{\"status\":{\"startTime\":null}}");
	is_invalid("FieldValueRequired", "status.startTime", "nor may it go");
	merge(JOBS "/s/status", "{\"status\":{\"ready\":2}}");
	is_invalid("FieldValueInvalid", "status.ready", "more ready than active");
	merge(JOBS "/s/status",
	      "{\"status\":{\"active\":0,\"conditions\":[" COND(
		      "Complete", "True") "],"
					  "\"completionTime\":\"2026-01-01T00:01:00Z\"}}");
	is_invalid("FieldValueInvalid", "status.conditions", "Complete needs SuccessCriteriaMet");
	merge(JOBS "/s/status",
	      "{\"status\":{\"active\":0,\"conditions\":[" COND(
		      "SuccessCriteriaMet", "True") "," COND("Complete", "True") "]}}");
	is_invalid("FieldValueRequired", "status.completionTime", "and a completionTime");
	is_int(merge(JOBS "/s/status",
		     "{\"status\":{\"active\":0,\"conditions\":[" COND(
			     "SuccessCriteriaMet",
			     "True") "," COND("Complete", "True") "],\"completionTime\":\"2026-01-"
								  "01T00:01:00Z\"}}"),
	       200, "with both it is fine");
	merge(JOBS "/s/status", "{\"status\":{\"conditions\":[]}}");
	is_invalid("FieldValueInvalid", "status.conditions", "what is complete stays so");
}

static void test_strict_suspend(void)
{
	struct ks_store_options o = {.name = "strict", .strict_suspend = true};

	stop();
	start(&o);
	post(JOBS, job_text("j", "\"suspend\":true"));
	is_int(merge(JOBS "/j",
		     "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
	       422, "early 1.36: fixed before the Suspended condition");
	merge(JOBS "/j/status", "{\"status\":{\"conditions\":[" COND("Suspended", "True") "]}}");
	is_int(merge(JOBS "/j",
		     "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
	       200, "free after it");
}

static const char *config(const char *list)
{
	return fmt("{\"apiVersion\":\"kueue.x-k8s.io/"
		   "v1beta2\",\"kind\":\"MultiKueueConfig\",\"metadata\":"
		   "{\"name\":\"c\"},\"spec\":{\"clusters\":[%s]}}",
		   list);
}

static void test_kueue_config(void)
{
	post(KUEUE "/multikueueconfigs", config(""));
	is_invalid("FieldValueInvalid", "spec.clusters", "no clusters");
	post(KUEUE "/multikueueconfigs", config("\"a\",\"a\""));
	is_invalid("FieldValueDuplicate", "spec.clusters", "one twice");
	post(KUEUE "/multikueueconfigs", config(clusters(21)));
	is_invalid("FieldValueTooMany", "spec.clusters", "21");
	is_int(post(KUEUE "/multikueueconfigs", config(clusters(20))), 201, "20");
	post(KUEUE "/multikueueclusters",
	     "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
	     "\"MultiKueueCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{}}");
	is_invalid("FieldValueInvalid", "spec.clusterSource", "a cluster without a source");
}

#define LEASES "/apis/coordination.k8s.io/v1" NS "/leases"
#define EVENTS "/apis/events.k8s.io/v1" NS "/events"

static const char *lease(const char *duration, const char *time)
{
	return fmt("{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"x\","
		   "\"leaseDurationSeconds\":%s,\"renewTime\":\"%s\"}}",
		   duration, time);
}

static void test_lease_and_event(void)
{
	is_int(post(LEASES, lease("0", "2026-01-01T00:00:00.000000Z")), 422, "a lease of no time");
	is_int(post(LEASES, lease("15", "2026-01-01T00:00:00Z")), 400, "no fraction");
	is_int(post(LEASES, lease("15", "2026-01-01T00:00:00.000000Z")), 201, "six digits");
	is_int(merge(LEASES "/l", "{\"spec\":{\"renewTime\":\"2026-01-01T00:00:00.000000001Z\"}}"),
	       422, "nine digits");
	is_int(merge(LEASES "/l", "{\"spec\":{\"holderIdentity\":\"\"}}"), 200, "release");
	ok(!has("/metadata/generation"), "a Lease has no generation");
	is_int(put(LEASES "/l", lease("15", "2026-01-01T00:00:00.000000Z")), 422,
	       "a PUT needs a resourceVersion");
	post(EVENTS, "{\"metadata\":{\"name\":\"e\"},\"type\":\"Normal\"}");
	is_int(answer.status, 422, "an event without its fields");
	is_int((int)json_len(json_at(body, "/details/causes")), 5, "lists all that are missing");
	is_int(post(EVENTS, "{\"metadata\":{\"name\":\"e\"},\"type\":\"Normal\",\"eventTime\":"
			    "\"2026-01-01T00:00:00.000000Z\",\"reportingController\":\"x.io/c\","
			    "\"reportingInstance\":\"i\",\"action\":\"A\",\"reason\":\"R\"}"),
	       201, "a whole one");
	is_int(merge(EVENTS "/e", "{\"series\":{\"count\":1,\"lastObservedTime\":"
				  "\"2026-01-01T00:00:01.000000Z\"}}"),
	       422, "a series of one");
	is_int(merge(EVENTS "/e", "{\"series\":{\"count\":2,\"lastObservedTime\":"
				  "\"2026-01-01T00:00:01.000000Z\"}}"),
	       200, "of two");
	is_int(merge(EVENTS "/e", "{\"note\":\"new\"}"), 422, "nothing else changes");
	is_int(post(EVENTS,
		    fmt("{\"metadata\":{\"name\":\"f\"},\"type\":\"Normal\",\"eventTime\":"
			"\"2026-01-01T00:00:00.000000Z\",\"reportingController\":\"x.io/c\","
			"\"reportingInstance\":\"i\",\"action\":\"A\",\"reason\":\"R\",\"note\":\"%"
			"s\"}",
			times("0123456789abcdef0", 61))),
	       422, "a note over 1024 bytes");
}

int main(void)
{
	start(NULL);
	test_cluster_names();
	test_quota();
	test_conditions();
	test_names();
	test_job_spec();
	test_job_status();
	test_kueue_config();
	test_lease_and_event();
	test_strict_suspend();
	stop();
	return done_testing();
}
