/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated store: deletion with preconditions, finalizers,
 * propagation; namespaces and collections.
 */
#include "t/lib/kubesim_store.h"

static void make(const char *name, const char *finalizers)
{
	st_post(CONFIGMAPS,
		st_fmt("{\"metadata\":{\"name\":\"%s\",\"finalizers\":[%s]}}", name, finalizers));
}

static void test_plain(void)
{
	const char *uid, *rv;

	make("a", "");
	uid = st_at("/metadata/uid");
	rv = st_at("/metadata/resourceVersion");
	is_int(st_del(CONFIGMAPS "/a", "{\"preconditions\":{\"uid\":\"other\"}}"), 409,
	       "another uid");
	is_str(st_at("/reason"), "Conflict", "conflicts");
	ok(strstr(st_at("/message"),
		  "the UID in the precondition (other) does not match the UID in record (") != NULL,
	   "in the known words");
	is_int(st_del(CONFIGMAPS "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"), 409,
	       "another revision too");
	is_int(st_del(CONFIGMAPS "/a",
		      st_fmt("{\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}", uid,
			     rv)),
	       200, "the right ones do not");
	is_str(st_at("/status"), "Success", "a Status says so");
	is_str(st_at("/details/uid"), uid, "and what is gone");
	is_int(st_del(CONFIGMAPS "/a", "{\"preconditions\":{\"uid\":\"other\"}}"), 404,
	       "what is absent is 404 in any case");
	make("a", "");
	ok(strcmp(st_at("/metadata/uid"), uid) != 0, "the same name has a new uid");
	is_int(st_del(CONFIGMAPS "/a?dryRun=All", ""), 200, "dry run");
	is_int(st_get(CONFIGMAPS "/a"), 200, "deletes nothing");
	is_int(st_del(CONFIGMAPS "/a", "{\"propagationPolicy\":\"Never\"}"), 422,
	       "an unknown policy");
}

static void test_finalizers(void)
{
	uint64_t w = st_watch(st_fmt(WORKLOADS "?watch=1&resourceVersion=%llu",
				     (unsigned long long)ks_rv(st_store)));
	const char *rv;

	st_post(WORKLOADS, st_workload("f", ",\"finalizers\":[\"x.io/a\",\"x.io/b\"]"));
	is_int(st_del(WORKLOADS "/f", ""), 200, "a delete with finalizers");
	is_str(st_at("/kind"), "Workload", "answers with the object");
	ok(st_has("/metadata/deletionTimestamp"), "that is marked");
	is_int(st_num("/metadata/generation"), 2, "with a new generation");
	rv = st_at("/metadata/resourceVersion");
	is_int(st_del(WORKLOADS "/f", ""), 200, "again");
	is_str(st_at("/metadata/resourceVersion"), rv, "changes nothing");
	is_int(st_post(WORKLOADS, st_workload("f", "")), 409, "the name is taken");
	ok(strncmp(st_at("/message"), "object is being deleted: ", 25) == 0,
	   "by one that is going");
	is_int(st_merge(WORKLOADS "/f",
			"{\"metadata\":{\"finalizers\":[\"x.io/a\",\"x.io/b\",\"x.io/c\"]}}"),
	       422, "no new finalizers");
	is_str(st_at("/details/causes/0/reason"), "FieldValueForbidden", "Forbidden");
	is_int(st_merge(WORKLOADS "/f/status", "{\"status\":{\"nominatedClusterNames\":[\"w\"]}}"),
	       200, "status goes on");
	is_int(st_merge(WORKLOADS "/f", "{\"metadata\":{\"finalizers\":[\"x.io/b\"]}}"), 200,
	       "one gone");
	is_int(st_merge(WORKLOADS "/f", "{\"metadata\":{\"finalizers\":null}}"), 200,
	       "the last gone");
	is_str(st_at("/kind"), "Workload", "answers with the object");
	is_int(st_get(WORKLOADS "/f"), 404, "which is no more");
	is_str(st_drain(w), "ADDED f, MODIFIED f, MODIFIED f, MODIFIED f, DELETED f",
	       "as a watch sees it");
}

static void test_job_trap(void)
{
	st_post(JOBS, st_job("j", ""));
	is_int(st_del(JOBS "/j", ""), 200, "a bare delete of a Job");
	ok(st_same("/metadata/finalizers", "[\"orphan\"]"),
	   "leaves its pods and waits for the collector");
	is_int(st_del(JOBS "/j", "{\"propagationPolicy\":\"Background\"}"), 200, "background");
	is_int(st_get(JOBS "/j"), 404, "deletes at once");
	st_post(JOBS, st_job("k", ""));
	is_int(st_del(JOBS "/k?propagationPolicy=Foreground", ""), 200, "foreground");
	ok(st_same("/metadata/finalizers", "[\"foregroundDeletion\"]"), "waits for the dependents");
	st_post(JOBS, st_job("l", ""));
	st_del(JOBS "/l", "{\"propagationPolicy\":\"Background\"}");
	is_str(st_at("/status"), "Success", "background with nothing to wait for");
	st_post(WORKLOADS, st_workload("w", ""));
	st_del(WORKLOADS "/w", "");
	is_int(st_get(WORKLOADS "/w"), 404, "a bare delete of a Workload is background");
}

static void test_namespace(void)
{
	st_post("/api/v1/namespaces", "{\"metadata\":{\"name\":\"team\"}}");
	is_str(st_at("/status/phase"), "Active", "a namespace");
	is_str(st_at("/metadata/labels/kubernetes.io~1metadata.name"), "team", "with its label");
	st_post("/api/v1/namespaces/team/configmaps", st_map("x", ""));
	st_post("/api/v1/namespaces/team/configmaps",
		"{\"metadata\":{\"name\":\"y\",\"finalizers\":[\"x.io/a\"]}}");
	is_int(st_del("/api/v1/namespaces/team", ""), 200, "goes");
	is_int(st_get("/api/v1/namespaces/team/configmaps/x"), 404, "with what is in it");
	is_int(st_get("/api/v1/namespaces/team"), 200, "but waits for finalizers");
	is_str(st_at("/status/phase"), "Terminating", "Terminating");
	is_int(st_post("/api/v1/namespaces/team/configmaps", st_map("z", "")), 403,
	       "nothing new there");
	st_merge("/api/v1/namespaces/team/configmaps/y", "{\"metadata\":{\"finalizers\":null}}");
	st_del("/api/v1/namespaces/team", "");
	is_int(st_get("/api/v1/namespaces/team"), 404, "and is gone in the end");
}

static void test_collection(void)
{
	st_post(CONFIGMAPS, st_map("c1", "\"app\":\"x\""));
	st_post(CONFIGMAPS, st_map("c2", "\"app\":\"x\""));
	st_post(CONFIGMAPS, st_map("c3", "\"app\":\"y\""));
	is_int(st_del(CONFIGMAPS "?labelSelector=app%3Dx", ""), 200, "a collection");
	is_int(st_get(CONFIGMAPS "/c1"), 404, "by selector");
	is_int(st_get(CONFIGMAPS "/c3"), 200, "and no more");
}

/* Deletes by walking, as actors do. */
static void test_walk(void)
{
	size_t pos = 0, seen = 0;
	const struct json *o;

	for (int i = 0; i < 20; i++) {
		st_post(KUEUE NS "/localqueues",
			st_fmt("{\"apiVersion\":\"kueue.x-k8s.io/"
			       "v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
			       "{\"name\":\"q%02d\"},\"spec\":{\"clusterQueue\":\"cq\"}}",
			       i * 7 % 20));
	}
	for (o = ks_each(st_store, "kueue.x-k8s.io/v1beta2/localqueues", &pos); o != NULL;
	     o = ks_each(st_store, "kueue.x-k8s.io/v1beta2/localqueues", &pos)) {
		const char *name = st_fmt("%s", json_str_at(o, "/metadata/name").p);

		if (strcmp(name, st_fmt("q%02d", (int)seen)) == 0) {
			seen++;
		}
		st_del(st_fmt(KUEUE NS "/localqueues/%s", name), "");
	}
	is_int((int64_t)seen, 20, "a walk in key order may delete");
	is_int((int64_t)ks_n_objects(st_store, "kueue.x-k8s.io/v1beta2/localqueues"), 0,
	       "everything");
}

int main(void)
{
	st_start(NULL);
	test_plain();
	test_finalizers();
	test_job_trap();
	test_namespace();
	test_collection();
	test_walk();
	st_stop();
	return done_testing();
}
