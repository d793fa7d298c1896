/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated store: create, read, update, patch; revisions,
 * generations, optimistic locks, defaults.
 */
#include "t/lib/kubesim_store.h"

static void test_create(void)
{
	uint64_t before = ks_rv(st_store);
	const char *uid;

	is_int(st_post(WORKLOADS, st_workload("a", "")), 201, "create answers 201");
	is_str(st_at("/metadata/namespace"), "default", "the namespace comes from the URL");
	is_int(st_num("/metadata/generation"), 1, "generation starts at 1");
	is_str(st_at("/metadata/creationTimestamp"), "2026-01-01T00:00:00Z",
	       "created at the given time");
	is_str(st_at("/metadata/resourceVersion"), st_fmt("%d", (int)before + 1),
	       "one revision later");
	ok(json_bool(json_at(st_body, "/spec/active")), "spec.active defaults to true");
	ok(!st_has("/status"), "a custom resource has no status before one is set");
	uid = st_at("/metadata/uid");
	is_int((int)strlen(uid), 36, "it has a uid");
	is_int(st_get(WORKLOADS "/a"), 200, "it can be read");
	is_str(st_at("/metadata/uid"), uid, "with the same uid");

	is_int(st_post(WORKLOADS, st_workload("a", "")), 409, "the name is taken");
	is_str(st_at("/reason"), "AlreadyExists", "reason AlreadyExists");
	is_str(st_at("/details/kind"), "workloads", "details name the plural");
	is_int(st_post(WORKLOADS, st_workload("b", ",\"resourceVersion\":\"5\"")), 500,
	       "resourceVersion on create is 500");
	ok(!st_has("/reason"), "without a reason");
	is_int(st_post("/apis/kueue.x-k8s.io/v1beta2/namespaces/nowhere/workloads",
		       st_workload("a", "")),
	       404, "an unknown namespace is 404");
	is_str(st_at("/details/kind"), "namespaces", "that says so in details.kind");
	is_int(st_get(WORKLOADS "/none"), 404, "an unknown object is 404");
	is_str(st_at("/message"), "workloads.kueue.x-k8s.io \"none\" not found",
	       "with the known words");
	is_str(st_at("/details/name"), "none", "details name it");
	is_int(st_get("/apis/kueue.x-k8s.io/v1beta2/gizmos"), 404, "an unknown kind is 404");
	ok(!st_body && str_is(st_answer.body, "404 page not found\n"), "in plain text");
	is_int(st_post(WORKLOADS, "{\"apiVersion\":"), 400, "broken JSON is 400");
	is_int(st_post(WORKLOADS, st_job("x", "")), 400, "another kind is 400");
	is_int(st_call("POST", WORKLOADS, "text/xml", "x"), 415, "another media type is 415");
}

static void test_generate_name(void)
{
	const char *first;

	is_int(st_post(CONFIGMAPS, "{\"metadata\":{\"generateName\":\"gen-\"}}"), 201,
	       "generateName");
	first = st_at("/metadata/name");
	ok(strncmp(first, "gen-", 4) == 0 && strlen(first) == 9, "base and five characters");
	st_post(CONFIGMAPS, "{\"metadata\":{\"generateName\":\"gen-\"}}");
	ok(strcmp(first, st_at("/metadata/name")) != 0, "the next one differs");
}

static void test_locks(void)
{
	const char *rv, *uid;

	st_get(WORKLOADS "/a");
	rv = st_at("/metadata/resourceVersion");
	uid = st_at("/metadata/uid");
	is_int(st_merge(WORKLOADS "/a",
			"{\"metadata\":{\"resourceVersion\":\"1\",\"labels\":{\"x\":\"y\"}}}"),
	       409, "a stale resourceVersion conflicts");
	is_str(st_at("/reason"), "Conflict", "reason Conflict");
	ok(!st_has("/details/causes"), "without causes");
	is_int(st_merge(WORKLOADS "/a", st_fmt("{\"metadata\":{\"resourceVersion\":\"%s\","
					       "\"labels\":{\"x\":\"y\"}}}",
					       rv)),
	       200, "the current one is fine");
	is_int(st_num("/metadata/generation"), 1, "metadata does not bump the generation");
	is_int(st_merge(WORKLOADS "/a", "{\"spec\":{\"active\":false}}"), 200, "a spec change");
	is_int(st_num("/metadata/generation"), 2, "bumps the generation");
	rv = st_at("/metadata/resourceVersion");
	is_int(st_merge(WORKLOADS "/a", "{\"spec\":{\"active\":false}}"), 200, "the same again");
	is_str(st_at("/metadata/resourceVersion"), rv, "keeps the revision");
	is_int(st_put(WORKLOADS "/a", st_workload("a", "")), 422,
	       "PUT of a custom resource needs a resourceVersion");
	is_int(st_put(WORKLOADS "/a", st_workload("a", ",\"resourceVersion\":\"1\"")), 409,
	       "a stale one conflicts");
	is_int(st_put(WORKLOADS "/a",
		      st_workload("a", st_fmt(",\"resourceVersion\":\"%s\",\"uid\":\"x\"", rv))),
	       409, "so does another uid");
	is_int(st_put(WORKLOADS "/a", st_workload("a", st_fmt(",\"resourceVersion\":\"%s\"", rv))),
	       200, "a good PUT replaces");
	ok(!st_has("/metadata/labels"), "labels that are not sent are gone");
	is_str(st_at("/metadata/uid"), uid, "the uid stays");
	is_int(st_put(WORKLOADS "/b", st_workload("a", ",\"resourceVersion\":\"1\"")), 400,
	       "the name must fit the URL");
	is_int(st_merge(WORKLOADS "/a", "{\"metadata\":{\"uid\":\"other\"}}"), 422,
	       "a merge patch with another uid is immutable");
}

static void test_status(void)
{
	const char *rv;

	is_int(st_merge(WORKLOADS "/a/status",
			"{\"spec\":{\"active\":false},\"metadata\":{\"labels\":{\"q\":\"r\"},"
			"\"uid\":\"not-mine\"},\"status\":{\"nominatedClusterNames\":[\"w1\"]}}"),
	       200, "status of a custom resource with a wrong uid is written");
	ok(json_bool(json_at(st_body, "/spec/active")), "the status door leaves the spec alone");
	ok(!st_has("/metadata/labels"), "and labels");
	ok(st_same("/status/nominatedClusterNames", "[\"w1\"]"), "status is set");
	rv = st_at("/metadata/resourceVersion");
	is_int(st_merge(WORKLOADS "/a", "{\"status\":{\"nominatedClusterNames\":null}}"), 200,
	       "the main door takes no status");
	is_str(st_at("/metadata/resourceVersion"), rv, "which makes it a no-op");
	st_post(JOBS, st_job("s", ""));
	is_int(st_merge(JOBS "/s/status",
			"{\"metadata\":{\"uid\":\"other\"},\"status\":{\"active\":1}}"),
	       422, "status of a Job with a wrong uid is refused");
	is_int(st_merge(JOBS "/none/status", "{\"status\":{}}"), 404, "status of nothing is 404");
}

static void test_job_defaults(void)
{
	is_int(st_post(JOBS, st_job("j", "\"parallelism\":2,\"completions\":2")), 201, "a Job");
	is_int(st_num("/spec/backoffLimit"), 6, "backoffLimit");
	is_str(st_at("/spec/completionMode"), "NonIndexed", "completionMode");
	is_str(st_at("/spec/podReplacementPolicy"), "TerminatingOrFailed", "podReplacementPolicy");
	ok(json_type(json_at(st_body, "/spec/suspend")) == JSON_BOOL, "suspend");
	is_str(st_at("/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid"),
	       st_at("/metadata/uid"), "a selector by uid");
	is_str(st_at("/spec/template/metadata/labels/job-name"), "j", "labels of the template");
	is_str(st_at("/spec/template/spec/dnsPolicy"), "ClusterFirst", "pod defaults");
	is_str(st_at("/spec/template/spec/containers/0/imagePullPolicy"), "Always",
	       "container defaults");
	ok(st_same("/status", "{}"), "an empty status");
	is_int(st_post(JOBS, st_job("one", "")), 201, "a Job without counts");
	is_int(st_num("/spec/completions"), 1, "completes once");
	st_post("/apis/kueue.x-k8s.io/v1beta2/multikueueclusters",
		"{\"apiVersion\":\"kueue.x-k8s.io/"
		"v1beta2\",\"kind\":\"MultiKueueCluster\",\"metadata\":"
		"{\"name\":\"w1\"},\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"s\"}"
		"}}"
		"}");
	is_str(st_at("/spec/clusterSource/kubeConfig/locationType"), "Secret", "locationType");
	st_post("/api/v1" NS "/secrets",
		"{\"metadata\":{\"name\":\"s\"},\"stringData\":{\"a\":\"hello\"}}");
	is_str(st_at("/data/a"), "aGVsbG8=", "stringData becomes data");
}

static void test_json_patch(void)
{
	st_post(CONFIGMAPS, "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"x/a\",\"x/b\"]},"
			    "\"data\":{\"a\":\"1\"}}");
	is_int(st_call("PATCH", CONFIGMAPS "/p", json_patch,
		       "[{\"op\":\"test\",\"path\":\"/metadata/finalizers/0\",\"value\":\"x/a\"},"
		       "{\"op\":\"remove\",\"path\":\"/metadata/finalizers/0\"},"
		       "{\"op\":\"add\",\"path\":\"/metadata/finalizers/0\",\"value\":\"x/c\"},"
		       "{\"op\":\"replace\",\"path\":\"/data/a\",\"value\":\"2\"},"
		       "{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"3\"}]"),
	       200, "a JSON patch");
	ok(st_same("/metadata/finalizers", "[\"x/c\",\"x/b\"]"), "edits lists");
	ok(st_same("/data", "{\"a\":\"2\",\"b\":\"3\"}"), "and members");
	is_int(st_call("PATCH", CONFIGMAPS "/p", json_patch,
		       "[{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"9\"}]"),
	       422, "a failed test is 422");
	is_str(st_at("/message"), "the server rejected our request due to an error in our request",
	       "with the words of the real one");
	is_int(st_call("PATCH", WORKLOADS "/a", "application/strategic-merge-patch+json", "{}"),
	       415, "no strategic merge for custom resources");
	is_int(st_call("PATCH", CONFIGMAPS "/p", "application/strategic-merge-patch+json",
		       "{\"metadata\":{\"finalizers\":null},\"data\":{\"b\":null}}"),
	       200, "but for typed ones");
	ok(st_same("/data", "{\"a\":\"2\"}"), "it works");
}

static void test_dry_run(void)
{
	uint64_t rv = ks_rv(st_store);

	is_int(st_post(CONFIGMAPS "?dryRun=All", st_map("dry", "")), 201, "dry run of a create");
	ok(st_has("/metadata/uid") && !st_has("/metadata/resourceVersion"), "uid but no revision");
	is_int(st_get(CONFIGMAPS "/dry"), 404, "nothing was stored");
	is_int((int64_t)ks_rv(st_store), (int64_t)rv, "no revision was used");
	is_int(st_merge(CONFIGMAPS "/p?dryRun=All", "{\"data\":{\"z\":\"1\"}}"), 200,
	       "dry run of a patch");
	st_get(CONFIGMAPS "/p");
	ok(!st_has("/data/z"), "nothing changed");
}

static size_t commits;
static char last_commit[256];

static void on_commit(void *ctx, const struct ks_commit *c)
{
	(void)ctx;
	commits++;
	snprintf(last_commit, sizeof(last_commit), "%.*s %.*s %.*s/%.*s %.*s by %.*s %d%d",
		 STR_ARG(c->verb), STR_ARG(c->resource), STR_ARG(c->ns), STR_ARG(c->name),
		 STR_ARG(c->subresource), STR_ARG(c->user), c->before != NULL, c->after != NULL);
}

static void test_hook_and_counts(void)
{
	const struct ks_count *counts;
	size_t n, found = 0;

	ks_on_commit(st_store, on_commit, NULL);
	st_merge(WORKLOADS "/a/status", "{\"status\":{\"nominatedClusterNames\":[\"w2\"]}}");
	is_str(last_commit, "patch kueue.x-k8s.io/v1beta2/workloads default/a status by admin 11",
	       "the hook sees the patch");
	st_merge(WORKLOADS "/a/status", "{\"status\":{\"nominatedClusterNames\":[\"w2\"]}}");
	is_int((int64_t)commits, 1, "but no no-op");
	n = ks_counts(st_store, &counts);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(counts[i].key, "PATCH kueue.x-k8s.io/v1beta2/workloads/status") == 0) {
			found = counts[i].n;
		}
	}
	ok(found >= 3, "requests are counted by verb and resource");
	ks_on_commit(st_store, NULL, NULL);
}

static void test_crd(void)
{
	ok(ks_register_crd(st_store, "example.com", "v1", "widgets", "Widget", true, true),
	   "a new kind");
	is_int(st_post("/apis/example.com/v1" NS "/widgets",
		       "{\"apiVersion\":\"example.com/"
		       "v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"w\"},"
		       "\"spec\":{\"any\":[1,2]},\"status\":{\"x\":1}}"),
	       201, "is served");
	ok(!st_has("/status"), "with a status subresource");
	is_int(st_get("/apis/example.com/v1"), 200, "is discovered");
	is_str(st_at("/resources/0/kind"), "Widget", "by kind");
	ok(ks_serve(st_store, "example.com/v1/widgets", false), "it can go away");
	is_int(st_get("/apis/example.com/v1" NS "/widgets/w"), 404, "and is 404 then");
	is_int(st_get("/version"), 200, "/version");
	is_int(st_get("/readyz"), 200, "/readyz");
	is_int(st_get("/apis"), 200, "/apis");
	is_int(st_get("/openapi/v3/apis/batch/v1"), 200, "OpenAPI");
}

/* As kubectl sends it: a message in a message, behind four bytes. */
static void test_binary_namespace(void)
{
	static const char bytes[] = "k8s\0"
				    "\x0a\x0f"
				    "\x0a\x02v1"
				    "\x12\x09Namespace"
				    "\x12\x15"
				    "\x0a\x0f"
				    "\x0a\x03"
				    "foo"
				    "\x5a\x08"
				    "\x0a\x01k"
				    "\x12\x03val"
				    "\x12\x00"
				    "\x1a\x00"
				    "\x1a\x00\x22\x00";
	struct ks_request r = {.method = STR("POST"),
			       .target = STR("/api/v1/namespaces?fieldManager=kubectl-create"),
			       .accept =
				       STR("application/vnd.kubernetes.protobuf,application/json"),
			       .content_type = STR("application/vnd.kubernetes.protobuf"),
			       .body = {bytes, sizeof(bytes) - 1},
			       .user = STR("admin"),
			       .user_agent = STR("kubectl")};

	ks_handle(st_store, &r, st_now, &st_arena, &st_answer);
	is_int(st_answer.status, 201, "kubectl create namespace, which sends no JSON");
	is_int(st_get("/api/v1/namespaces/foo"), 200, "it is there");
	is_str(st_at("/metadata/labels/k"), "val", "with its labels");
	for (size_t n = 0; n < sizeof(bytes) - 5; n++) {
		r.body.n = n;
		ks_handle(st_store, &r, st_now, &st_arena, &st_answer);
		if (st_answer.status != 400 && st_answer.status != 409 && st_answer.status != 422) {
			ok(false, "a cut message");
		}
	}
	ok(true, "cut messages are refused");
	r.target = STR(CONFIGMAPS);
	ks_handle(st_store, &r, st_now, &st_arena, &st_answer);
	is_int(st_answer.status, 415, "of other kinds JSON alone is understood");
	is_int(st_get("/api/v1"), 200, "v1 is discovered");
	ok(!strstr(arena_dup(&st_arena, st_answer.body).p, "\"events\""),
	   "without events: kubectl asks for those of events.k8s.io");
}

int main(void)
{
	st_start(NULL);
	test_create();
	test_generate_name();
	test_locks();
	test_status();
	test_job_defaults();
	test_json_patch();
	test_dry_run();
	test_hook_and_counts();
	test_crd();
	test_binary_namespace();
	st_stop();
	return done_testing();
}
