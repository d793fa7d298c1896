/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of the aggregated API, the rights that they take, and the forms that clients ask for. */
#include "t/lib/tap.h"

#include "core/serve/api_paths.h"

#define V1 "/apis/visibility.multikueued.io/v1alpha1"

static struct arena arena;

/* "list workloads of NAMESPACE: NAME" of a path, or what else it is. */
static const char *meaning(const char *path)
{
	static const char *const words[] = {"nothing", "health", "groups", "group", "resources"};
	struct api_target t = api_target_of(&arena, str_of(path));
	struct json *o;

	if (t.what != API_LIST && t.what != API_ONE) {
		return words[t.what];
	}
	o = api_attributes(&arena, &t);
	return arena_printf(&arena, "%.*s %.*s of '%.*s': '%.*s'",
			    STR_ARG(json_str(json_get(o, "verb"))),
			    STR_ARG(json_str(json_get(o, "resource"))),
			    STR_ARG(json_str(json_get(o, "namespace"))),
			    STR_ARG(json_str(json_get(o, "name"))))
		.p;
}

static void test_paths(void)
{
	static const struct {
		const char *path, *meaning;
	} rows[] = {
		{"/healthz", "health"},
		{"/livez", "health"},
		{"/readyz", "health"},
		{"/healthz/", "nothing"},
		{"/", "nothing"},
		{"//", "nothing"},
		{"/apis", "groups"},
		{"/apis/", "groups"},
		{"/apis//", "groups"},
		{"/apis/visibility.multikueued.io", "group"},
		{"/apis/kueue.x-k8s.io", "nothing"},
		{V1, "resources"},
		{V1 "/", "resources"},
		{"/apis/visibility.multikueued.io/v1", "nothing"},
		{V1 "/workloads", "list workloads of '': ''"},
		{V1 "/namespaces/a/workloads", "list workloads of 'a': ''"},
		{V1 "/namespaces/a/workloads/b", "get workloads of 'a': 'b'"},
		{V1 "/namespaces/%61/workloads/b%2e", "get workloads of 'a': 'b.'"},
		{V1 "/namespaces/a%2fb/workloads", "nothing"},
		{V1 "/namespaces/a/workloads/b%2Fc", "nothing"},
		{V1 "/namespaces/a/workloads/%", "nothing"},
		{V1 "/namespaces//workloads", "nothing"},
		{V1 "/namespaces/a", "nothing"},
		{V1 "/namespaces/a/workloads/b/status", "nothing"},
		{V1 "/namespaces/a/workloads/b/c/d/e/f", "nothing"},
		{V1 "/workloads/b", "nothing"},
		{V1 "/events", "list events of '': ''"},
		{V1 "/namespaces/a/events", "list events of 'a': ''"},
		{V1 "/namespaces/a/events/1", "nothing"},
		{V1 "/clusters", "list clusters of '': ''"},
		{V1 "/clusters/w1", "get clusters of '': 'w1'"},
		{V1 "/namespaces/a/clusters", "nothing"},
		{V1 "/queues", "list queues of '': ''"},
		{V1 "/queues/x", "nothing"},
		{V1 "/daemons", "list daemons of '': ''"},
		{V1 "/secrets", "nothing"},
		{"/openapi/v2", "nothing"},
		{"/v1/workloads", "nothing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_str(meaning(rows[i].path), rows[i].meaning, rows[i].path);
	}
}

static void test_forbidden(void)
{
	struct api_target t = api_target_of(&arena, STR(V1 "/namespaces/a/workloads/b"));

	is_str(api_forbidden(&arena, &t, STR("jane")).p,
	       "workloads.visibility.multikueued.io \"b\" is forbidden: User \"jane\" cannot get "
	       "resource \"workloads\" in API group \"visibility.multikueued.io\" in the namespace "
	       "\"a\"",
	       "one of a namespace");
	t = api_target_of(&arena, STR(V1 "/workloads"));
	is_str(api_forbidden(&arena, &t, STR("jane")).p,
	       "workloads.visibility.multikueued.io is forbidden: User \"jane\" cannot list "
	       "resource \"workloads\" in API group \"visibility.multikueued.io\" at the cluster "
	       "scope",
	       "all of them");
}

static void test_forms(void)
{
	static const struct {
		const char *accept;
		enum api_form form;
	} rows[] = {
		{"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"
		 "g=meta.k8s.io,application/json",
		 API_TABLE},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", API_JSON},
		{"application/json;as=Table;v=v1;g=other", API_UNKNOWN},
		{"application/json", API_JSON},
		{"application/vnd.kubernetes.protobuf, */*", API_JSON},
		{"application/vnd.kubernetes.protobuf", API_UNKNOWN},
		{"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", API_UNKNOWN},
		{"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		 API_UNKNOWN},
		{"application/json; charset=utf-8", API_JSON},
		{"", API_UNKNOWN},
		{";,;=", API_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mk_str headers =
			arena_printf(&arena, "Host: x\r\naccept: %s\r\n\r\n", rows[i].accept);

		is_int(api_form_of(headers), rows[i].form, rows[i].accept);
	}
	is_int(api_form_of(STR("Host: x\r\n\r\n")), API_JSON, "without the header JSON");
	is_int(api_form_of(STR("")), API_JSON, "... also without any");
}

int main(void)
{
	arena_init(&arena, 0);
	test_paths();
	test_forbidden();
	test_forms();
	arena_done(&arena);
	return done_testing();
}
