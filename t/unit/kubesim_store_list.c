/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: lists, their revisions, pages, selectors and forms. */
#include "t/lib/kubesim_store.h"

static const char *names(void)
{
	struct json_iter it = json_iter(json_at(st_body, "/items"));
	const char *all = "";

	while (json_next(&it)) {
		all = st_fmt("%s%s%s", all, all[0] ? " " : "",
			     json_str_at(it.val, "/metadata/name").p);
	}
	return all;
}

static const char *list(const char *query)
{
	return st_get(st_fmt(CONFIGMAPS "?%s", query)) == 200 ? names()
							      : st_fmt("%d", st_answer.status);
}

static void test_order_and_shape(void)
{
	st_post(CONFIGMAPS, st_map("b", "\"app\":\"x\",\"tier\":\"1\""));
	st_post(CONFIGMAPS, st_map("d", "\"app\":\"y\""));
	st_post(CONFIGMAPS, st_map("a", "\"app\":\"x\""));
	st_post(CONFIGMAPS, st_map("c", ""));
	st_post("/api/v1/namespaces/kube-system/configmaps", st_map("a", ""));
	is_str(list(""), "a b c d", "in key order");
	is_str(st_at("/kind"), "ConfigMapList", "of the list kind");
	is_str(st_at("/metadata/resourceVersion"),
	       st_fmt("%llu", (unsigned long long)ks_rv(st_store)), "at the store's revision");
	ok(!st_has("/items/0/kind") && !st_has("/items/0/apiVersion"),
	   "typed items do not repeat their kind");
	st_get("/api/v1/configmaps");
	is_str(names(), "a b c d a", "all namespaces, by namespace first");
	st_post(WORKLOADS, st_workload("w", ""));
	st_get(WORKLOADS);
	is_str(st_at("/items/0/kind"), "Workload", "custom resources do");
	st_del(CONFIGMAPS "/b", "");
	is_str(list(""), "a c d", "a hole closes");
	st_post(CONFIGMAPS, st_map("b", "\"app\":\"x\",\"tier\":\"1\""));
	is_str(list(""), "a b c d", "and fills");
	is_str(list("fieldSelector=metadata.name%3Dc"), "c", "a name");
	is_str(list("fieldSelector=metadata.namespace%3Dkube-system"), "", "another namespace");
	is_str(list("fieldSelector=spec.x%3Dc"), "400", "an unknown field");
}

static void test_selectors(void)
{
	is_str(list("labelSelector=app%3Dx"), "a b", "=");
	is_str(list("labelSelector=app%3D%3Dx"), "a b", "==");
	is_str(list("labelSelector=app!%3Dx"), "c d", "!= takes what has no label too");
	is_str(list("labelSelector=app+in+(x,y)"), "a b d", "in");
	is_str(list("labelSelector=app%20notin%20(x)"), "c d", "notin");
	is_str(list("labelSelector=tier"), "b", "exists");
	is_str(list("labelSelector=!app"), "c", "does not exist");
	is_str(list("labelSelector=app%3Dx,!tier"), "a", "two terms");
	is_str(list("labelSelector=app%3D("), "400", "malformed");
}

static void test_revisions(void)
{
	unsigned long long rv = ks_rv(st_store);

	is_str(list("resourceVersion=0"), "a b c d", "any version");
	is_str(list(st_fmt("resourceVersion=%llu", rv)), "a b c d", "not older");
	is_str(list(st_fmt("resourceVersion=%llu", rv + 1)), "504", "the future is too large");
	is_str(st_at("/details/causes/0/reason"), "ResourceVersionTooLarge", "with its cause");
	is_int(st_num("/details/retryAfterSeconds"), 1, "to be retried");
	st_merge(CONFIGMAPS "/a", "{\"data\":{\"k\":\"new\"}}");
	st_del(CONFIGMAPS "/b", "");
	st_post(CONFIGMAPS, st_map("e", ""));
	is_str(list(st_fmt("resourceVersion=%llu&resourceVersionMatch=Exact", rv)), "a b c d",
	       "exactly then");
	is_str(st_at("/items/0/data/k"), "v", "with the content of then");
	is_str(st_at("/metadata/resourceVersion"), st_fmt("%llu", rv), "and the revision");
	is_str(list(st_fmt("resourceVersion=%llu&resourceVersionMatch=NotOlderThan", rv)),
	       "a c d e", "not older than then");
	is_str(list("resourceVersionMatch=Exact"), "422", "a match needs a revision");
	is_str(list("resourceVersion=0&resourceVersionMatch=Exact"), "422", "0 cannot be exact");
	is_str(list("resourceVersion=abc"), "400", "a malformed revision");
	ks_compact(st_store);
	is_str(list(st_fmt("resourceVersion=%llu&resourceVersionMatch=Exact", rv)), "410",
	       "a compacted revision is gone");
	is_str(st_at("/reason"), "Expired", "Expired");
}

static void test_pages(void)
{
	const char *token, *rv;

	is_str(list("limit=2"), "a c", "a page");
	is_int(st_num("/metadata/remainingItemCount"), 2, "says what remains");
	token = st_at("/metadata/continue");
	rv = st_at("/metadata/resourceVersion");
	st_del(CONFIGMAPS "/d", "");
	st_post(CONFIGMAPS, st_map("f", ""));
	is_str(list(st_fmt("limit=2&continue=%s", token)), "d e",
	       "the next page is of the same state");
	is_str(st_at("/metadata/resourceVersion"), rv, "at the same revision");
	is_str(st_at("/metadata/continue"), "", "and the last");
	is_str(list("limit=2&resourceVersion=0"), "a c e f", "revision 0 ignores the limit");
	is_str(list("limit=1&labelSelector=!none"), "a", "a page by selector");
	ok(!st_has("/metadata/remainingItemCount"), "does not count the rest");
	is_str(list("limit=1&continue=garbage"), "400", "a bad token");
	list("limit=2");
	token = st_at("/metadata/continue");
	st_post(CONFIGMAPS, st_map("g", ""));
	ks_compact(st_store);
	is_str(list(st_fmt("limit=2&continue=%s", token)), "410", "an expired token");
	token = st_at("/metadata/continue");
	is_str(list(st_fmt("limit=9&continue=%s", token)), "e f g", "brings a fresh one");
}

static void test_forms(void)
{
	st_accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
	st_get(CONFIGMAPS);
	is_str(st_at("/kind"), "PartialObjectMetadataList", "metadata only");
	is_str(st_at("/items/0/metadata/name"), "a", "with names");
	ok(!st_has("/items/0/data"), "without data");
	st_accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	is_int(st_get(CONFIGMAPS), 406, "the single form is not for lists");
	is_int(st_get(CONFIGMAPS "/a"), 200, "but for objects");
	is_str(st_at("/kind"), "PartialObjectMetadata", "of that kind");
	st_accept = "application/vnd.kubernetes.protobuf";
	is_int(st_get(CONFIGMAPS), 406, "no protobuf");
	st_accept = "application/vnd.kubernetes.protobuf,application/json";
	is_int(st_get(CONFIGMAPS), 200, "the next choice");
	st_accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
	st_get(WORKLOADS);
	is_str(st_at("/kind"), "Table", "a table");
	is_str(st_at("/columnDefinitions/1/name"), "Queue", "has columns");
	is_str(st_at("/rows/0/cells/0"), "w", "and rows");
	is_str(st_at("/rows/0/cells/1"), "lq", "with cells");
	st_accept = "";
}

int main(void)
{
	st_start(NULL);
	test_order_and_shape();
	test_selectors();
	test_revisions();
	test_pages();
	test_forms();
	st_stop();
	return done_testing();
}
