/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: lists, their revisions, pages, selectors and forms. */
#include "kubesim_store.h"

static const char *names(void)
{
	struct json_iter it = json_iter(json_at(body, "/items"));
	const char *all = "";

	while (json_next(&it)) {
		all = fmt("%s%s%s", all, all[0] ? " " : "",
			  json_str_at(it.val, "/metadata/name").p);
	}
	return all;
}

static const char *list(const char *query)
{
	return get(fmt(CONFIGMAPS "?%s", query)) == 200 ? names() : fmt("%d", answer.status);
}

static void test_order_and_shape(void)
{
	post(CONFIGMAPS, map_text("b", "\"app\":\"x\",\"tier\":\"1\""));
	post(CONFIGMAPS, map_text("d", "\"app\":\"y\""));
	post(CONFIGMAPS, map_text("a", "\"app\":\"x\""));
	post(CONFIGMAPS, map_text("c", ""));
	post("/api/v1/namespaces/kube-system/configmaps", map_text("a", ""));
	is_str(list(""), "a b c d", "in key order");
	is_str(at("/kind"), "ConfigMapList", "of the list kind");
	is_str(at("/metadata/resourceVersion"), fmt("%llu", (unsigned long long)ks_rv(store)),
	       "at the store's revision");
	ok(!has("/items/0/kind") && !has("/items/0/apiVersion"),
	   "typed items do not repeat their kind");
	get("/api/v1/configmaps");
	is_str(names(), "a b c d a", "all namespaces, by namespace first");
	post(WORKLOADS, workload_text("w", ""));
	get(WORKLOADS);
	is_str(at("/items/0/kind"), "Workload", "custom resources do");
	del(CONFIGMAPS "/b", "");
	is_str(list(""), "a c d", "a hole closes");
	post(CONFIGMAPS, map_text("b", "\"app\":\"x\",\"tier\":\"1\""));
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
	unsigned long long rv = ks_rv(store);

	is_str(list("resourceVersion=0"), "a b c d", "any version");
	is_str(list(fmt("resourceVersion=%llu", rv)), "a b c d", "not older");
	is_str(list(fmt("resourceVersion=%llu", rv + 1)), "504", "the future is too large");
	is_str(at("/details/causes/0/reason"), "ResourceVersionTooLarge", "with its cause");
	is_int(num("/details/retryAfterSeconds"), 1, "to be retried");
	merge(CONFIGMAPS "/a", "{\"data\":{\"k\":\"new\"}}");
	del(CONFIGMAPS "/b", "");
	post(CONFIGMAPS, map_text("e", ""));
	is_str(list(fmt("resourceVersion=%llu&resourceVersionMatch=Exact", rv)), "a b c d",
	       "exactly then");
	is_str(at("/items/0/data/k"), "v", "with the content of then");
	is_str(at("/metadata/resourceVersion"), fmt("%llu", rv), "and the revision");
	is_str(list(fmt("resourceVersion=%llu&resourceVersionMatch=NotOlderThan", rv)), "a c d e",
	       "not older than then");
	is_str(list("resourceVersionMatch=Exact"), "422", "a match needs a revision");
	is_str(list("resourceVersion=0&resourceVersionMatch=Exact"), "422", "0 cannot be exact");
	is_str(list("resourceVersion=abc"), "400", "a malformed revision");
	ks_compact(store);
	is_str(list(fmt("resourceVersion=%llu&resourceVersionMatch=Exact", rv)), "410",
	       "a compacted revision is gone");
	is_str(at("/reason"), "Expired", "Expired");
}

static void test_pages(void)
{
	const char *token, *rv;

	is_str(list("limit=2"), "a c", "a page");
	is_int(num("/metadata/remainingItemCount"), 2, "says what remains");
	token = at("/metadata/continue");
	rv = at("/metadata/resourceVersion");
	del(CONFIGMAPS "/d", "");
	post(CONFIGMAPS, map_text("f", ""));
	is_str(list(fmt("limit=2&continue=%s", token)), "d e",
	       "the next page is of the same state");
	is_str(at("/metadata/resourceVersion"), rv, "at the same revision");
	is_str(at("/metadata/continue"), "", "and the last");
	is_str(list("limit=2&resourceVersion=0"), "a c e f", "revision 0 ignores the limit");
	is_str(list("limit=1&labelSelector=!none"), "a", "a page by selector");
	ok(!has("/metadata/remainingItemCount"), "does not count the rest");
	is_str(list("limit=1&continue=garbage"), "400", "a bad token");
	list("limit=2");
	token = at("/metadata/continue");
	post(CONFIGMAPS, map_text("g", ""));
	ks_compact(store);
	is_str(list(fmt("limit=2&continue=%s", token)), "410", "an expired token");
	token = at("/metadata/continue");
	is_str(list(fmt("limit=9&continue=%s", token)), "e f g", "brings a fresh one");
}

static void test_forms(void)
{
	accept_header = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
	get(CONFIGMAPS);
	is_str(at("/kind"), "PartialObjectMetadataList", "metadata only");
	is_str(at("/items/0/metadata/name"), "a", "with names");
	ok(!has("/items/0/data"), "without data");
	accept_header = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	is_int(get(CONFIGMAPS), 406, "the single form is not for lists");
	is_int(get(CONFIGMAPS "/a"), 200, "but for objects");
	is_str(at("/kind"), "PartialObjectMetadata", "of that kind");
	accept_header = "application/vnd.kubernetes.protobuf";
	is_int(get(CONFIGMAPS), 406, "no protobuf");
	accept_header = "application/vnd.kubernetes.protobuf,application/json";
	is_int(get(CONFIGMAPS), 200, "the next choice");
	accept_header = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
	get(WORKLOADS);
	is_str(at("/kind"), "Table", "a table");
	is_str(at("/columnDefinitions/1/name"), "Queue", "has columns");
	is_str(at("/rows/0/cells/0"), "w", "and rows");
	is_str(at("/rows/0/cells/1"), "lq", "with cells");
	accept_header = "";
}

int main(void)
{
	start(NULL);
	test_order_and_shape();
	test_selectors();
	test_revisions();
	test_pages();
	test_forms();
	stop();
	return done_testing();
}
