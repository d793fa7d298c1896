/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: what it refuses, and with which words. */
#include "t/lib/kubesim_store.h"

#define STATUS WORKLOADS "/a/status?fieldManager=kueue-admission&force=true"
#define COND(type, status)                            \
	"{\"type\":\"" type "\",\"status\":\"" status \
	"\",\"reason\":\"R\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define ADMISSION                                                                           \
	"\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\"," \
	"\"count\":2}]}"

static int apply_status(const char *status)
{
	return st_apply(STATUS,
			st_fmt("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","
			       "\"status\":%s}",
			       status));
}

static const char *times(const char *text, size_t n)
{
	size_t len = strlen(text);
	char *all = arena_alloc(&st_arena, n * len + 1);

	for (size_t i = 0; all != NULL && i < n; i++) {
		memcpy(all + i * len, text, len);
	}
	return all;
}

static const char *clusters(int n)
{
	const char *all = "";

	for (int i = 0; i < n; i++) {
		all = st_fmt("%s%s\"w%d\"", all, i ? "," : "", i);
	}
	return all;
}

static void is_invalid(const char *reason, const char *field, const char *name)
{
	is_str(st_fmt("%d %s %s %s", st_answer.status, st_at("/reason"),
		      st_at("/details/causes/0/reason"), st_at("/details/causes/0/field")),
	       st_fmt("422 Invalid %s %s", reason, field), name);
}

static void test_cluster_names(void)
{
	st_post(WORKLOADS, st_workload("a", ""));
	apply_status("{\"clusterName\":\"w1\"}");
	is_int(st_answer.status, 403, "Kueue's webhook wants the name nominated before");
	ok(strstr(st_at("/message"), "denied the request") != NULL, "and says that it was it");
	is_int(apply_status("{\"nominatedClusterNames\":[\"w1\",\"w2\"]}"), 200, "nominate");
	is_int(apply_status("{\"clusterName\":\"w3\"}"), 403, "another name");
	is_int(apply_status("{\"clusterName\":\"w1\",\"nominatedClusterNames\":[\"w1\"]}"), 422,
	       "not both");
	is_str(st_at("/details/causes/0/message"),
	       "Invalid value: clusterName and nominatedClusterNames are mutually exclusive",
	       "exclusive");
	is_int(apply_status("{\"clusterName\":\"w1\"}"), 200, "the nominated one");
	st_merge(WORKLOADS "/a/status", "{\"status\":{\"clusterName\":\"w2\"}}");
	is_invalid("FieldValueInvalid", "status", "set is set");
	is_str(st_at("/details/causes/0/message"),
	       "Invalid value: clusterName is immutable once set", "in the known words");
	is_str(st_at("/details/kind"), "Workload", "a 422 names the kind");
	is_int(apply_status("{}"), 200, "but it may be cleared");
	apply_status(st_fmt("{\"nominatedClusterNames\":[%s]}", clusters(21)));
	is_invalid("FieldValueTooMany", "status.nominatedClusterNames", "21 names");
	is_int(apply_status(st_fmt("{\"nominatedClusterNames\":[%s]}", clusters(20))), 200,
	       "20 are fine");
}

static void test_quota(void)
{
	apply_status("{\"conditions\":[" COND("QuotaReserved", "True") "]}");
	is_int(st_answer.status, 403, "QuotaReserved needs an admission");
	is_int(apply_status("{\"conditions\":[" COND("QuotaReserved", "True") "]," ADMISSION "}"),
	       200, "with it fine");
	is_int(apply_status("{\"conditions\":[" COND("QuotaReserved", "True") "]}"), 403,
	       "which may not be dropped");
	is_int(apply_status("{\"conditions\":[" COND(
		       "QuotaReserved", "True") "],\"admission\":{\"clusterQueue\":\"other\"}}"),
	       403, "nor changed");
	is_int(st_merge(WORKLOADS "/a", "{\"spec\":{\"queueName\":\"other\"}}"), 422,
	       "the queue is fixed");
	is_str(st_at("/details/causes/0/field"), "<nil>", "field <nil>");
	is_int(st_call("PATCH", WORKLOADS "/a", json_patch,
		       "[{\"op\":\"replace\",\"path\":\"/spec/podSets/0/count\",\"value\":5}]"),
	       403, "podSets are fixed");
	is_int(st_merge(WORKLOADS "/a", "{\"spec\":{\"active\":false}}"), 200, "active is not");
}

static void test_conditions(void)
{
	apply_status(st_fmt(
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
	st_post(CONFIGMAPS, st_map("Upper", ""));
	is_invalid("FieldValueInvalid", "metadata.name", "upper case");
	st_post(CONFIGMAPS, st_map(times("a", 254), ""));
	is_invalid("FieldValueInvalid", "metadata.name", "254 characters");
	is_int(st_post(CONFIGMAPS, st_map(times("a", 253), "")), 201, "253 are fine");
	st_post(CONFIGMAPS, st_map("l", st_fmt("\"k\":\"%s\"", times("a", 64))));
	is_invalid("FieldValueInvalid", "metadata.labels", "a label of 64 characters");
	ok(strstr(st_at("/message"), "must be no more than 63 bytes") != NULL, "says so");
	is_int(st_post(CONFIGMAPS,
		       st_map("l", st_fmt("\"x.io/%s\":\"%s\"", times("k", 63), times("a", 63)))),
	       201, "63 are fine");
	st_post(CONFIGMAPS, st_map("m", "\"a b\":\"c\""));
	is_invalid("FieldValueInvalid", "metadata.labels", "a blank in a key");
	st_post(CONFIGMAPS, st_map("m", "\"a\":\"-c\""));
	is_invalid("FieldValueInvalid", "metadata.labels", "a dash at the start");
	st_post(CONFIGMAPS, "{\"metadata\":{}}");
	is_invalid("FieldValueRequired", "metadata.name", "no name");
	is_int(st_post(CONFIGMAPS,
		       st_fmt("{\"metadata\":{\"name\":\"big\"},\"data\":{\"x\":\"%s\"}}",
			      times(times("0123456789abcdef", 256), 800))),
	       413, "over 3 MiB");
}

static void test_job_spec(void)
{
	st_post(JOBS, st_job("j", "\"suspend\":true,\"managedBy\":\"kueue.x-k8s.io/multikueue\""));
	is_int(st_answer.status, 201, "a managed Job");
	st_merge(JOBS "/j", "{\"spec\":{\"managedBy\":null}}");
	is_invalid("FieldValueInvalid", "spec.managedBy", "managedBy is fixed");
	st_merge(JOBS "/j", "{\"spec\":{\"completions\":7}}");
	is_invalid("FieldValueInvalid", "spec.completions", "so are completions");
	st_merge(JOBS "/j", "{\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}");
	is_invalid("FieldValueInvalid", "spec.selector", "and the selector");
	is_int(st_merge(JOBS "/j", "{\"spec\":{\"parallelism\":3}}"), 200, "parallelism is free");
	is_int(st_merge(JOBS "/j",
			"{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
	       200, "scheduling directives while suspended");
	st_merge(JOBS "/j", "{\"spec\":{\"template\":{\"spec\":{\"dnsPolicy\":\"None\"}}}}");
	is_invalid("FieldValueInvalid", "spec.template", "but nothing else of the template");
	is_int(st_merge(JOBS "/j",
			"{\"spec\":{\"suspend\":false,\"template\":{\"metadata\":{\"labels\":"
			"{\"q\":\"r\"}}}}}"),
	       200, "labels in the write that resumes it");
	st_merge(JOBS "/j",
		 "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"c\"}}}}}");
	is_invalid("FieldValueInvalid", "spec.template", "not while it runs");
	st_post(JOBS,
		st_job("foreign", "\"selector\":{\"matchLabels\":{\"controller-uid\":\"x\"}}"));
	is_invalid("FieldValueInvalid", "spec.selector", "a selector of another Job's uid");
	st_post(JOBS, st_job(times("n", 64), ""));
	is_int(st_answer.status, 422, "a name that is no label value");
	st_post(JOBS, st_job("m", "\"managedBy\":\"nodomain\""));
	is_invalid("FieldValueInvalid", "spec.managedBy", "managedBy needs a domain");
}

static void test_job_status(void)
{
	st_post(JOBS, st_job("s", ""));
	is_int(st_merge(JOBS "/s/status",
			"{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\",\"active\":1}}"),
	       200, "a Job starts");
	st_merge(JOBS "/s/status", "{\"status\":{\"startTime\":\"2026-01-01T00:00:09Z\"}}");
	is_invalid("FieldValueRequired", "status.startTime", "startTime stays while it runs");
	st_merge(JOBS "/s/status", "{\"status\":{\"startTime\":null}}");
	is_invalid("FieldValueRequired", "status.startTime", "nor may it go");
	st_merge(JOBS "/s/status", "{\"status\":{\"ready\":2}}");
	is_invalid("FieldValueInvalid", "status.ready", "more ready than active");
	st_merge(JOBS "/s/status",
		 "{\"status\":{\"active\":0,\"conditions\":[" COND(
			 "Complete", "True") "],"
					     "\"completionTime\":\"2026-01-01T00:01:00Z\"}}");
	is_invalid("FieldValueInvalid", "status.conditions", "Complete needs SuccessCriteriaMet");
	st_merge(JOBS "/s/status",
		 "{\"status\":{\"active\":0,\"conditions\":[" COND(
			 "SuccessCriteriaMet", "True") "," COND("Complete", "True") "]}}");
	is_invalid("FieldValueRequired", "status.completionTime", "and a completionTime");
	is_int(st_merge(JOBS "/s/status",
			"{\"status\":{\"active\":0,\"conditions\":[" COND(
				"SuccessCriteriaMet",
				"True") "," COND("Complete",
						 "True") "],\"completionTime\":\"2026-01-"
							 "01T00:01:00Z\"}}"),
	       200, "with both it is fine");
	st_merge(JOBS "/s/status", "{\"status\":{\"conditions\":[]}}");
	is_invalid("FieldValueInvalid", "status.conditions", "what is complete stays so");
}

static void test_strict_suspend(void)
{
	struct ks_store_options o = {.name = "strict", .strict_suspend = true};

	st_stop();
	st_start(&o);
	st_post(JOBS, st_job("j", "\"suspend\":true"));
	is_int(st_merge(JOBS "/j",
			"{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
	       422, "early 1.36: fixed before the Suspended condition");
	st_merge(JOBS "/j/status", "{\"status\":{\"conditions\":[" COND("Suspended", "True") "]}}");
	is_int(st_merge(JOBS "/j",
			"{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
	       200, "free after it");
}

static const char *config(const char *list)
{
	return st_fmt("{\"apiVersion\":\"kueue.x-k8s.io/"
		      "v1beta2\",\"kind\":\"MultiKueueConfig\",\"metadata\":"
		      "{\"name\":\"c\"},\"spec\":{\"clusters\":[%s]}}",
		      list);
}

static void test_kueue_config(void)
{
	st_post(KUEUE "/multikueueconfigs", config(""));
	is_invalid("FieldValueInvalid", "spec.clusters", "no clusters");
	st_post(KUEUE "/multikueueconfigs", config("\"a\",\"a\""));
	is_invalid("FieldValueDuplicate", "spec.clusters", "one twice");
	st_post(KUEUE "/multikueueconfigs", config(clusters(21)));
	is_invalid("FieldValueTooMany", "spec.clusters", "21");
	is_int(st_post(KUEUE "/multikueueconfigs", config(clusters(20))), 201, "20");
	st_post(KUEUE "/multikueueclusters",
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
		"\"MultiKueueCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{}}");
	is_invalid("FieldValueInvalid", "spec.clusterSource", "a cluster without a source");
}

#define LEASES "/apis/coordination.k8s.io/v1" NS "/leases"
#define EVENTS "/apis/events.k8s.io/v1" NS "/events"

static const char *lease(const char *duration, const char *time)
{
	return st_fmt("{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"x\","
		      "\"leaseDurationSeconds\":%s,\"renewTime\":\"%s\"}}",
		      duration, time);
}

static void test_lease_and_event(void)
{
	is_int(st_post(LEASES, lease("0", "2026-01-01T00:00:00.000000Z")), 422,
	       "a lease of no time");
	is_int(st_post(LEASES, lease("15", "2026-01-01T00:00:00Z")), 400, "no fraction");
	is_int(st_post(LEASES, lease("15", "2026-01-01T00:00:00.000000Z")), 201, "six digits");
	is_int(st_merge(LEASES "/l",
			"{\"spec\":{\"renewTime\":\"2026-01-01T00:00:00.000000001Z\"}}"),
	       422, "nine digits");
	is_int(st_merge(LEASES "/l", "{\"spec\":{\"holderIdentity\":\"\"}}"), 200, "release");
	ok(!st_has("/metadata/generation"), "a Lease has no generation");
	is_int(st_put(LEASES "/l", lease("15", "2026-01-01T00:00:00.000000Z")), 422,
	       "a PUT needs a resourceVersion");
	st_post(EVENTS, "{\"metadata\":{\"name\":\"e\"},\"type\":\"Normal\"}");
	is_int(st_answer.status, 422, "an event without its fields");
	is_int((int)json_len(json_at(st_body, "/details/causes")), 5, "lists all that are missing");
	is_int(st_post(EVENTS, "{\"metadata\":{\"name\":\"e\"},\"type\":\"Normal\",\"eventTime\":"
			       "\"2026-01-01T00:00:00.000000Z\",\"reportingController\":\"x.io/c\","
			       "\"reportingInstance\":\"i\",\"action\":\"A\",\"reason\":\"R\"}"),
	       201, "a whole one");
	is_int(st_merge(EVENTS "/e", "{\"series\":{\"count\":1,\"lastObservedTime\":"
				     "\"2026-01-01T00:00:01.000000Z\"}}"),
	       422, "a series of one");
	is_int(st_merge(EVENTS "/e", "{\"series\":{\"count\":2,\"lastObservedTime\":"
				     "\"2026-01-01T00:00:01.000000Z\"}}"),
	       200, "of two");
	is_int(st_merge(EVENTS "/e", "{\"note\":\"new\"}"), 422, "nothing else changes");
	is_int(st_post(EVENTS,
		       st_fmt("{\"metadata\":{\"name\":\"f\"},\"type\":\"Normal\",\"eventTime\":"
			      "\"2026-01-01T00:00:00.000000Z\",\"reportingController\":\"x.io/c\","
			      "\"reportingInstance\":\"i\",\"action\":\"A\",\"reason\":\"R\","
			      "\"note\":\"%"
			      "s\"}",
			      times("0123456789abcdef0", 61))),
	       422, "a note over 1024 bytes");
}

int main(void)
{
	st_start(NULL);
	test_cluster_names();
	test_quota();
	test_conditions();
	test_names();
	test_job_spec();
	test_job_status();
	test_kueue_config();
	test_lease_and_event();
	test_strict_suspend();
	st_stop();
	return done_testing();
}
