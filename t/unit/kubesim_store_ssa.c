/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated store: server-side apply, field ownership, managedFields
 * in the shape of the real ones.
 */
#include <stdlib.h>

#include "t/lib/kubesim_store.h"

#define STATUS WORKLOADS "/a/status?fieldManager=kueue-admission&force=true"

#define COND(type, status)                            \
	"{\"type\":\"" type "\",\"status\":\"" status \
	"\",\"reason\":\"R\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define CHECK(name, state)                          \
	"{\"name\":\"" name "\",\"state\":\"" state \
	"\",\"message\":\"m\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"
#define COND_FIELDS                                                                     \
	"{\".\":{},\"f:type\":{},\"f:status\":{},\"f:reason\":{},\"f:message\":{},\"f:" \
	"lastTransitionTime\":{}}"
#define CHECK_FIELDS \
	"{\".\":{},\"f:name\":{},\"f:state\":{},\"f:message\":{},\"f:lastTransitionTime\":{}}"

static const char *applied(const char *status)
{
	return st_fmt(
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":"
		"{\"name\":\"a\",\"namespace\":\"default\"},\"status\":%s}",
		status);
}

/* The fields of a manager in the last answer. */
static const struct json *fields_of(const char *manager, const char *operation)
{
	struct json_iter it = json_iter(json_at(st_body, "/metadata/managedFields"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "manager")), manager) &&
		    str_is(json_str(json_get(it.val, "operation")), operation)) {
			return json_get(it.val, "fieldsV1");
		}
	}
	return NULL;
}

static bool owns(const char *manager, const char *operation, const char *text)
{
	struct json *want = NULL;
	const struct json *found = fields_of(manager, operation);

	if (json_parse(&st_arena, str_of(text), &want, NULL) != ERR_OK) {
		return false;
	}
	if (!json_equal(found, want)) {
		printf("# %s owns %s\n", manager,
		       found ? json_write(&st_arena, found).p : "nothing");
		return false;
	}
	return true;
}

static void test_first_apply(void)
{
	st_post(WORKLOADS, st_workload("a", ",\"labels\":{\"x\":\"y\"}"));
	ok(owns("tester", "Update",
		"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}},\"f:spec\":{\".\":{},\"f:"
		"active\":{},"
		"\"f:podSets\":{\".\":{},\"k:{\\\"name\\\":\\\"main\\\"}\":{\".\":{},\"f:count\":{}"
		",\"f:name\":{},"
		"\"f:template\":{\".\":{},\"f:spec\":{\".\":{},\"f:containers\":{\".\":{},"
		"\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:image\":{},\"f:name\":{}}},"
		"\"f:restartPolicy\":{}}}}},\"f:queueName\":{}}}"),
	   "a create owns everything it sets, containers too");
	is_int(st_apply(STATUS,
			applied("{\"conditions\":[" COND(
				"QuotaReserved",
				"True") "],\"admission\":"
					"{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{"
					"\"name\":\"main\","
					"\"flavors\":{\"cpu\":\"default\"},\"count\":2}]},"
					"\"admissionChecks\":[" CHECK("mk", "Pending") "]}")),
	       200, "apply to status");
	ok(owns("kueue-admission", "Apply",
		"{\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"QuotaReserved\\\"}"
		"\":" COND_FIELDS "},\"f:admission\":{\"f:clusterQueue\":{},\"f:"
		"podSetAssignments\":{\"k:{\\\"name\\\":"
		"\\\"main\\\"}\":{\".\":{},\"f:name\":{},\"f:flavors\":{\"f:cpu\":{}},\"f:count\":{"
		"}}}},"
		"\"f:admissionChecks\":{\"k:{\\\"name\\\":\\\"mk\\\"}\":" CHECK_FIELDS "}}}"),
	   "an apply owns leaves and list elements");
	is_str(st_at("/metadata/managedFields/0/manager"), "kueue-admission", "applies come first");
	is_str(st_at("/metadata/managedFields/0/subresource"), "status", "with their subresource");
	is_str(st_at("/metadata/managedFields/0/fieldsType"), "FieldsV1", "and type");
	is_int(st_num("/metadata/generation"), 1, "no generation");
}

static void test_second_apply(void)
{
	const char *rv = st_at("/metadata/resourceVersion");

	st_now += 5000;
	is_int(st_apply(STATUS,
			applied("{\"conditions\":[" COND(
				"QuotaReserved",
				"True") "],\"admission\":"
					"{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{"
					"\"name\":\"main\","
					"\"flavors\":{\"cpu\":\"default\"},\"count\":2}]},"
					"\"admissionChecks\":[" CHECK("mk", "Pending") "]}")),
	       200, "the same apply later");
	is_str(st_at("/metadata/resourceVersion"), rv, "changes nothing at all");
	is_int(st_apply(STATUS, applied("{\"nominatedClusterNames\":[\"w1\",\"w2\"]}")), 200,
	       "an apply of one field");
	ok(st_same("/status", "{\"nominatedClusterNames\":[\"w1\",\"w2\"]}"),
	   "removes all else that the manager owned");
	is_int(st_apply(STATUS, applied("{\"clusterName\":\"w1\"}")), 200, "nomination to name");
	ok(st_same("/status", "{\"clusterName\":\"w1\"}"), "in one write");
	is_int(st_apply(STATUS, applied("{}")), 200, "an empty status");
	ok(st_same("/status", "{}"), "leaves just that");
	ok(owns("kueue-admission", "Apply", "{\"f:status\":{}}"), "and owns nothing else");
	is_int(st_apply(WORKLOADS "/none/status?fieldManager=x",
			"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","
			"\"kind\":\"Workload\",\"status\":{}}"),
	       404, "apply to the status of nothing is 404");
}

static void test_two_managers(void)
{
	st_apply(STATUS,
		 applied("{\"conditions\":[" COND("A", "True") "],\"admissionChecks\":[" CHECK(
			 "one", "Pending") "]}"));
	is_int(st_apply(WORKLOADS "/a/status?fieldManager=other",
			applied("{\"conditions\":[" COND(
				"B", "True") "],\"admissionChecks\":[" CHECK("two", "Ready") "]}")),
	       200, "another manager adds elements");
	is_int((int)json_len(json_at(st_body, "/status/conditions")), 2, "lists merge by key");
	st_apply(STATUS, applied("{\"conditions\":[" COND("C", "True") "]}"));
	ok(json_len(json_at(st_body, "/status/conditions")) == 2 &&
		   strcmp(st_at("/status/conditions/0/type"), "B") == 0 &&
		   strcmp(st_at("/status/conditions/1/type"), "C") == 0,
	   "each manager removes only its own");
	is_int((int)json_len(json_at(st_body, "/status/admissionChecks")), 1, "in every list");
	is_int(st_apply(WORKLOADS "/a/status?fieldManager=third",
			applied("{\"conditions\":[" COND("B", "False") "]}")),
	       409, "a foreign value without force conflicts");
	is_str(st_at("/reason"), "Conflict", "reason Conflict");
	is_str(st_at("/details/causes/0/reason"), "FieldManagerConflict", "with causes");
	is_str(st_at("/details/causes/0/field"), ".status.conditions[type=\"B\"].status",
	       "that name the field");
	is_str(st_at("/details/causes/0/message"),
	       "conflict with \"other\" with subresource \"status\"", "and the manager");
	is_int(st_apply(WORKLOADS "/a/status?fieldManager=third&force=true",
			applied("{\"conditions\":[" COND("B", "False") "]}")),
	       200, "with force it goes");
	ok(!json_at(fields_of("other", "Apply"),
		    "/f:status/f:conditions/k:{\"type\":\"B\"}/f:status") &&
		   json_at(fields_of("other", "Apply"),
			   "/f:status/f:conditions/k:{\"type\":\"B\"}/f:reason") != NULL,
	   "ownership of just the changed leaf moves");
	st_now += 1000;
	st_get(WORKLOADS "/a");
	is_int(st_apply(WORKLOADS "/a/status?fieldManager=fourth&force=true",
			applied("{\"conditions\":[" COND("B", "False") "]}")),
	       200, "equal values by one more manager");
	ok(fields_of("fourth", "Apply") != NULL && fields_of("third", "Apply") != NULL,
	   "are shared");
}

/* What another manager wrote survives the apply of the owner. */
static void test_foreign_update(void)
{
	is_int(st_apply(STATUS, applied("{\"nominatedClusterNames\":[\"w9\"]}")), 200, "nominate");
	is_int(st_merge(WORKLOADS "/a/status?fieldManager=rogue",
			"{\"status\":{\"clusterName\":\"w9\",\"nominatedClusterNames\":null}}"),
	       200, "a merge patch sets clusterName");
	ok(owns("rogue", "Update", "{\"f:status\":{\"f:clusterName\":{}}}"), "and owns it");
	ok(!fields_of("kueue-admission", "Apply"), "what it removed has no owner");
	is_int(st_apply(STATUS, applied("{\"conditions\":[" COND("Evicted", "True") "]}")), 200,
	       "the admission manager applies without it");
	is_str(st_at("/status/clusterName"), "w9", "and it stays: wedged");
	is_int(st_merge(WORKLOADS "/a/status?fieldManager=rogue",
			"{\"status\":{\"clusterName\":null}}"),
	       200, "its owner clears it");
	ok(!st_has("/status/clusterName"), "gone");
	ok(!fields_of("rogue", "Update"), "and so is the entry");
}

static void test_errors(void)
{
	st_get(WORKLOADS "/a");
	is_int(st_apply(WORKLOADS "/a/status", applied("{}")), 400, "a manager is required");
	is_int(st_apply(STATUS,
			applied("{\"conditions\":[" COND("X", "True") "," COND("X", "True") "]}")),
	       500, "a list key twice is 500");
	ok(!st_has("/reason") &&
		   strstr(st_at("/message"), "failed to create typed patch object") != NULL,
	   "without a reason");
	is_int(st_apply(STATUS, "{\"apiVersion\":\"kueue.x-k8s.io/"
				"v1beta2\",\"kind\":\"Workload\",\"metadata\":"
				"{\"managedFields\":[{}]},\"status\":{}}"),
	       400, "managedFields must be absent");
	is_int(st_apply(STATUS, "{\"apiVersion\":\"kueue.x-k8s.io/"
				"v1beta2\",\"kind\":\"Workload\",\"metadata\":"
				"{\"resourceVersion\":\"3\"},\"status\":{}}"),
	       409, "a stale resourceVersion conflicts");
	is_int(st_apply(STATUS, "{\"apiVersion\":\"kueue.x-k8s.io/"
				"v1beta2\",\"kind\":\"Workload\",\"metadata\":"
				"{\"uid\":\"wrong\"},\"status\":{\"clusterName\":\"\"}}"),
	       200, "a wrong uid at a custom resource's status does not");
	is_int(st_apply(WORKLOADS "/z?fieldManager=m",
			"{\"apiVersion\":\"kueue.x-k8s.io/"
			"v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":"
			"\"z\",\"uid\":\"u\"}}"),
	       409, "apply with uid to nothing is a conflict");
	is_int(st_apply(CONFIGMAPS "/made?fieldManager=m",
			"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			"\"made\"},"
			"\"data\":{\"a\":\"1\"}}"),
	       201, "apply creates on the main resource");
	ok(owns("m", "Apply", "{\"f:data\":{\"f:a\":{}}}"), "and owns it");
	is_int(st_apply(CONFIGMAPS "/made?fieldManager=m",
			"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			"\"made\"},"
			"\"data\":{\"b\":\"2\"}}"),
	       200, "and updates");
	ok(st_same("/data", "{\"b\":\"2\"}"), "with removal");
}

/*
 * A status field that no schema knows survives while its owner applies
 * it, and goes when it does not.
 */
static void test_invented_field(void)
{
	st_apply(STATUS, applied("{\"invented\":{\"list\":[1,2],\"deep\":{\"x\":1}}}"));
	ok(owns("kueue-admission", "Apply",
		"{\"f:status\":{\"f:invented\":{\"f:list\":{},\"f:deep\":{\"f:x\":{}}}}}"),
	   "an invented field is owned");
	st_apply(STATUS, applied("{\"clusterName\":\"\"}"));
	ok(!st_has("/status/invented"), "and lost by omission");
}

/* The shape of the real thing: what a Job create and a condition by merge patch leave behind. */
static void test_job_shape(void)
{
	st_post(JOBS "?fieldManager=kubectl-create",
		st_job("finish", "\"parallelism\":2,\"completions\":2,\"suspend\":true"));
	ok(owns("kubectl-create", "Update",
		"{\"f:spec\":{\"f:backoffLimit\":{},\"f:completionMode\":{},\"f:completions\":{},"
		"\"f:manualSelector\":{},\"f:parallelism\":{},\"f:podReplacementPolicy\":{},\"f:"
		"suspend\":{},"
		"\"f:template\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\"."
		"\":{},"
		"\"f:command\":{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:"
		"resources\":"
		"{\".\":{},\"f:requests\":{\".\":{},\"f:cpu\":{}}},\"f:terminationMessagePath\":{},"
		"\"f:terminationMessagePolicy\":{}}},\"f:dnsPolicy\":{},\"f:restartPolicy\":{},"
		"\"f:schedulerName\":{},\"f:securityContext\":{},\"f:"
		"terminationGracePeriodSeconds\":{}}}}}"),
	   "a Job's create");
	st_merge(JOBS "/finish/status?fieldManager=kueue",
		 "{\"status\":{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"}]}}");
	ok(owns("kueue", "Update", "{\"f:status\":{\"f:conditions\":{}}}"),
	   "a Job's conditions are one field");
}

/* Real objects with their real managedFields: the same writes must give the same ownership. */
static void replay(const struct json *c)
{
	bool job = str_is(json_str_at(c, "/kind"), "Job");
	const char *base = job ? JOBS : WORKLOADS, *op = json_str_at(c, "/op").p;
	struct json *object = json_dup(&st_arena, json_get(c, "post"));
	struct json_iter it;
	const struct json *found = NULL;
	int status;

	(void)json_put(&st_arena, object, "/spec/selector", NULL);
	status = st_post(base, json_write(&st_arena, object).p);
	if (strcmp(op, "Apply") == 0) {
		status = st_apply(st_fmt("%s/%s/status?fieldManager=kueue-admission&force=true",
					 base, json_str_at(c, "/name").p),
				  json_write(&st_arena, json_get(c, "apply")).p);
	}
	it = json_iter(json_at(st_body, "/metadata/managedFields"));
	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "operation")), op)) {
			found = json_get(it.val, "fieldsV1");
		}
	}
	ok(status < 300 && json_equal(found, json_get(c, "want")),
	   st_fmt("%s of %s as recorded", op, json_str_at(c, "/file").p));
}

static void test_recorded(void)
{
	struct ks_store_options o = {.name = "recorded", .no_kueue_webhook = true};
	FILE *f = fopen("t/kubesim/fixtures/managed_fields.jsonl", "r");
	char *line = NULL;
	size_t size = 0;

	ok(f != NULL, "recorded objects are there (run from the root)");
	while (f != NULL) {
		struct json *c = NULL;
		ssize_t n = getline(&line, &size, f);

		if (n <= 0) {
			break;
		}
		st_stop();
		st_start(&o);
		if (json_parse(&st_arena, (mk_str){line, (size_t)n}, &c, NULL) == ERR_OK) {
			replay(c);
		}
	}
	free(line);
	if (f != NULL) {
		fclose(f);
	}
}

int main(void)
{
	st_start(NULL);
	test_first_apply();
	test_second_apply();
	test_two_managers();
	test_foreign_update();
	test_errors();
	test_invented_field();
	test_job_shape();
	test_recorded();
	st_stop();
	return done_testing();
}
