/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: deletion with preconditions, finalizers, propagation; namespaces and collections. */
#include "kubesim_store.h"

static void make(const char *name, const char *finalizers)
{
	post(CONFIGMAPS,
	     fmt("{\"metadata\":{\"name\":\"%s\",\"finalizers\":[%s]}}", name, finalizers));
}

static void test_plain(void)
{
	const char *uid, *rv;

	make("a", "");
	uid = at("/metadata/uid");
	rv = at("/metadata/resourceVersion");
	is_int(del(CONFIGMAPS "/a", "{\"preconditions\":{\"uid\":\"other\"}}"), 409, "another uid");
	is_str(at("/reason"), "Conflict", "conflicts");
	ok(strstr(at("/message"),
		  "the UID in the precondition (other) does not match the UID in record (") != NULL,
	   "in the known words");
	is_int(del(CONFIGMAPS "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"), 409,
	       "another revision too");
	is_int(del(CONFIGMAPS "/a",
		   fmt("{\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}", uid, rv)),
	       200, "the right ones do not");
	is_str(at("/status"), "Success", "a Status says so");
	is_str(at("/details/uid"), uid, "and what is gone");
	is_int(del(CONFIGMAPS "/a", "{\"preconditions\":{\"uid\":\"other\"}}"), 404,
	       "what is absent is 404 in any case");
	make("a", "");
	ok(strcmp(at("/metadata/uid"), uid) != 0, "the same name has a new uid");
	is_int(del(CONFIGMAPS "/a?dryRun=All", ""), 200, "dry run");
	is_int(get(CONFIGMAPS "/a"), 200, "deletes nothing");
	is_int(del(CONFIGMAPS "/a", "{\"propagationPolicy\":\"Never\"}"), 422, "an unknown policy");
}

static void test_finalizers(void)
{
	uint64_t w = watch(
		fmt(WORKLOADS "?watch=1&resourceVersion=%llu", (unsigned long long)ks_rv(store)));
	const char *rv;

	post(WORKLOADS, workload_text("f", ",\"finalizers\":[\"x.io/a\",\"x.io/b\"]"));
	is_int(del(WORKLOADS "/f", ""), 200, "a delete with finalizers");
	is_str(at("/kind"), "Workload", "answers with the object");
	ok(has("/metadata/deletionTimestamp"), "that is marked");
	is_int(num("/metadata/generation"), 2, "with a new generation");
	rv = at("/metadata/resourceVersion");
	is_int(del(WORKLOADS "/f", ""), 200, "again");
	is_str(at("/metadata/resourceVersion"), rv, "changes nothing");
	is_int(post(WORKLOADS, workload_text("f", "")), 409, "the name is taken");
	ok(strncmp(at("/message"), "object is being deleted: ", 25) == 0, "by one that is going");
	is_int(merge(WORKLOADS "/f",
		     "{\"metadata\":{\"finalizers\":[\"x.io/a\",\"x.io/b\",\"x.io/c\"]}}"),
	       422, "no new finalizers");
	is_str(at("/details/causes/0/reason"), "FieldValueForbidden", "Forbidden");
	is_int(merge(WORKLOADS "/f/status", "{\"status\":{\"nominatedClusterNames\":[\"w\"]}}"),
	       200, "status goes on");
	is_int(merge(WORKLOADS "/f", "{\"metadata\":{\"finalizers\":[\"x.io/b\"]}}"), 200,
	       "one gone");
	is_int(merge(WORKLOADS "/f", "{\"metadata\":{\"finalizers\":null}}"), 200, "the last gone");
	is_str(at("/kind"), "Workload", "answers with the object");
	is_int(get(WORKLOADS "/f"), 404, "which is no more");
	is_str(drain(w), "ADDED f, MODIFIED f, MODIFIED f, MODIFIED f, DELETED f",
	       "as a watch sees it");
}

static void test_job_trap(void)
{
	post(JOBS, job_text("j", ""));
	is_int(del(JOBS "/j", ""), 200, "a bare delete of a Job");
	ok(same("/metadata/finalizers", "[\"orphan\"]"),
	   "leaves its pods and waits for the collector");
	is_int(del(JOBS "/j", "{\"propagationPolicy\":\"Background\"}"), 200, "background");
	is_int(get(JOBS "/j"), 404, "deletes at once");
	post(JOBS, job_text("k", ""));
	is_int(del(JOBS "/k?propagationPolicy=Foreground", ""), 200, "foreground");
	ok(same("/metadata/finalizers", "[\"foregroundDeletion\"]"), "waits for the dependents");
	post(JOBS, job_text("l", ""));
	del(JOBS "/l", "{\"propagationPolicy\":\"Background\"}");
	is_str(at("/status"), "Success", "background with nothing to wait for");
	post(WORKLOADS, workload_text("w", ""));
	del(WORKLOADS "/w", "");
	is_int(get(WORKLOADS "/w"), 404, "a bare delete of a Workload is background");
}

static void test_namespace(void)
{
	post("/api/v1/namespaces", "{\"metadata\":{\"name\":\"team\"}}");
	is_str(at("/status/phase"), "Active", "a namespace");
	is_str(at("/metadata/labels/kubernetes.io~1metadata.name"), "team", "with its label");
	post("/api/v1/namespaces/team/configmaps", map_text("x", ""));
	post("/api/v1/namespaces/team/configmaps",
	     "{\"metadata\":{\"name\":\"y\",\"finalizers\":[\"x.io/a\"]}}");
	is_int(del("/api/v1/namespaces/team", ""), 200, "goes");
	is_int(get("/api/v1/namespaces/team/configmaps/x"), 404, "with what is in it");
	is_int(get("/api/v1/namespaces/team"), 200, "but waits for finalizers");
	is_str(at("/status/phase"), "Terminating", "Terminating");
	is_int(post("/api/v1/namespaces/team/configmaps", map_text("z", "")), 403,
	       "nothing new there");
	merge("/api/v1/namespaces/team/configmaps/y", "{\"metadata\":{\"finalizers\":null}}");
	del("/api/v1/namespaces/team", "");
	is_int(get("/api/v1/namespaces/team"), 404, "and is gone in the end");
}

static void test_collection(void)
{
	post(CONFIGMAPS, map_text("c1", "\"app\":\"x\""));
	post(CONFIGMAPS, map_text("c2", "\"app\":\"x\""));
	post(CONFIGMAPS, map_text("c3", "\"app\":\"y\""));
	is_int(del(CONFIGMAPS "?labelSelector=app%3Dx", ""), 200, "a collection");
	is_int(get(CONFIGMAPS "/c1"), 404, "by selector");
	is_int(get(CONFIGMAPS "/c3"), 200, "and no more");
}

/* Deletes by walking, as actors do. */
static void test_walk(void)
{
	size_t pos = 0, seen = 0;
	const struct json *o;

	for (int i = 0; i < 20; i++) {
		post(KUEUE NS "/localqueues",
		     fmt("{\"apiVersion\":\"kueue.x-k8s.io/"
			 "v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
			 "{\"name\":\"q%02d\"},\"spec\":{\"clusterQueue\":\"cq\"}}",
			 i * 7 % 20));
	}
	for (o = ks_each(store, "kueue.x-k8s.io/v1beta2/localqueues", &pos); o != NULL;
	     o = ks_each(store, "kueue.x-k8s.io/v1beta2/localqueues", &pos)) {
		const char *name = fmt("%s", json_str_at(o, "/metadata/name").p);

		if (strcmp(name, fmt("q%02d", (int)seen)) == 0) {
			seen++;
		}
		del(fmt(KUEUE NS "/localqueues/%s", name), "");
	}
	is_int((int64_t)seen, 20, "a walk in key order may delete");
	is_int((int64_t)ks_n_objects(store, "kueue.x-k8s.io/v1beta2/localqueues"), 0, "everything");
}

int main(void)
{
	start(NULL);
	test_plain();
	test_finalizers();
	test_job_trap();
	test_namespace();
	test_collection();
	test_walk();
	stop();
	return done_testing();
}
