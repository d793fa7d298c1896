/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload names against vectors made by Kueue's own function; skeletons, managed tests and
 * forwarded fields.
 */
#include "core/plug/plug.h"
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

static void name_is(struct arena *a, const char *kind, const char *group, const char *owner,
		    const char *uid, const char *extra, const char *want)
{
	is_str(plug_workload_name(a, str_of(kind), str_of(group), str_of(owner), str_of(uid),
				  str_of(extra))
		       .p,
	       want, want);
}

static void names(struct arena *a)
{
	static const char ray[] = "ray.io", lws[] = "leaderworkerset.x-k8s.io";
	char owner[300];

	name_is(a, "Job", "batch", "test", "", "0", "job-test-f53b2");
	name_is(a, "Job", "batch", "train", "u-job-1", "1", "job-train-26c39");
	name_is(a, "Job", "batch", "train", "u-job-1", "2", "job-train-bd472");
	name_is(a, "Job", "batch", "train", "u-job-1", "3", "job-train-76ed7");
	name_is(a, "RayCluster", ray, "rc", "u-rc-1", "1", "raycluster-rc-82876");
	name_is(a, "RayCluster", ray, "rc", "u-rc-1", "2", "raycluster-rc-fd10c");
	name_is(a, "RayCluster", ray, "rc", "u-rc-1", "3", "raycluster-rc-a6062");
	name_is(a, "RayCluster", ray, "rc", "u-rc-1", "2_7", "raycluster-rc-a6df1");
	name_is(a, "LeaderWorkerSet", lws, "serve-0", "u-lws-1", "",
		"leaderworkerset-serve-0-41738");
	name_is(a, "LeaderWorkerSet", lws, "serve-1", "u-lws-1", "",
		"leaderworkerset-serve-1-0f686");
	name_is(a, "StatefulSet", "apps", "db", "u-sts-1", "", "statefulset-db-ff646");
	memset(owner, 'x', sizeof(owner) - 1);
	owner[sizeof(owner) - 1] = '\0';
	mk_str name = plug_workload_name(a, STR("Job"), STR("batch"), str_of(owner), STR("u"),
					 (mk_str){"", 0});

	is_int(name.n, 253, "a long owner is cut to 253 bytes");
	is_int(name.p[247], '-', "the hash comes after 247 bytes");
}

static const char *const strip[] = {"/spec/a~1b", "/spec/list/0", "/spec/none/at/all", NULL};
static const char *const forward[] = {"/spec/serve", "/spec/gone", "/spec/scalar/x", NULL};
static const mk_adapter thing = {
	.struct_size = sizeof(mk_adapter),
	.group = "ex.io",
	.version = "v1",
	.kind = "Thing",
	.managed_by = "/spec/run~1policy/managed~0By",
	.strip = strip,
	.forward = forward,
};

static void skeleton(struct arena *a, const struct plug_adapter *ad)
{
	struct json *obj = parse_json(
		a, "{\"apiVersion\":\"ex.io/"
		   "v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"n\",\"namespace\":\"s\","
		   "\"uid\":\"u\",\"resourceVersion\":\"1\",\"generation\":4,"
		   "\"creationTimestamp\":\"t\","
		   "\"ownerReferences\":[{}],\"finalizers\":[\"f\"],\"managedFields\":[],"
		   "\"deletionTimestamp\":\"t\","
		   "\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"2\"}},\"data\":{\"z\":"
		   "1},\"status\":{\"s\":1},"
		   "\"spec\":{\"a/b\":1,\"list\":[1,2],\"run/"
		   "policy\":{\"managed~By\":\"x\",\"k\":true}}}");
	mk_str before = json_write(a, obj);

	is_str(json_write(a, plug_skeleton(ad, obj, a)).p,
	       "{\"apiVersion\":\"ex.io/"
	       "v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"n\",\"namespace\":\"s\","
	       "\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"2\"}},"
	       "\"spec\":{\"list\":[2],\"run/policy\":{\"k\":true}}}",
	       "a skeleton has name, namespace, labels, annotations and spec, without managed_by "
	       "and strip");
	is_str(json_write(a, obj).p, before.p, "the local object is not touched");
	is_str(json_write(a, plug_skeleton(ad, parse_json(a, "{\"metadata\":{\"name\":\"n\"}}"), a))
		       .p,
	       "{\"metadata\":{\"name\":\"n\"}}", "an absent spec stays absent");
}

static void managed_is(struct arena *a, const struct plug_adapter *ad, const char *spec,
		       int want_code, bool want, const char *want_text, const char *name)
{
	struct json *obj = json_new_obj(a);
	mk_str reason = {"", 0};
	struct mk_err err = {0};
	bool managed = false;

	json_set(a, obj, STR("spec"), parse_json(a, spec));
	enum mk_code code = plug_managed(ad, obj, a, &managed, &reason, &err);

	is_int(code, want_code, name);
	is_int(managed, want, name);
	is_str(code == ERR_OK ? (reason.n ? reason.p : "") : err.msg, want_text, name);
}

static void managed(struct arena *a, const struct plug_adapter *ad)
{
	managed_is(a, ad, "{\"run/policy\":{\"managed~By\":\"kueue.x-k8s.io/multikueue\"}}", ERR_OK,
		   true, "", "managed");
	managed_is(a, ad, "{\"run/policy\":{\"managed~By\":\"other\"}}", ERR_OK, false,
		   "Expecting spec.run/policy.managed~By to be \"kueue.x-k8s.io/multikueue\" not "
		   "\"other\"",
		   "another manager");
	managed_is(
		a, ad, "{}", ERR_OK, false,
		"Expecting spec.run/policy.managed~By to be \"kueue.x-k8s.io/multikueue\" not \"\"",
		"absent");
	managed_is(a, ad, "{\"run/policy\":{\"managed~By\":[]}}", ERR_INVALID, false,
		   "spec.run/policy.managed~By: expected a string, found an array", "wrong type");
	managed_is(a, ad, "{\"run/policy\":null}", ERR_INVALID, false,
		   "spec.run/policy: expected an object, found null", "null on the way");
	managed_is(a, ad, "true", ERR_INVALID, false, "spec: expected an object, found a boolean",
		   "spec is no object");
}

static void forwarding(struct arena *a, const struct plug_adapter *ad)
{
	struct json *local =
		parse_json(a, "{\"spec\":{\"serve\":\"v2\",\"scalar\":{\"x\":1},\"other\":9}}");
	struct json *draft =
		parse_json(a, "{\"spec\":{\"serve\":\"v1\",\"gone\":1,\"scalar\":7,\"other\":8}}");

	is_int(plug_forward(ad, local, draft, a), ERR_INVALID,
	       "a pointer through a scalar is reported");
	is_str(json_write(a, draft).p, "{\"spec\":{\"serve\":\"v2\",\"scalar\":7,\"other\":8}}",
	       "the other pointers are forwarded, absent ones removed, nothing else");
}

int main(void)
{
	const struct plug_adapter ad = {.d = &thing};
	struct arena a;

	arena_init(&a, 0);
	names(&a);
	skeleton(&a, &ad);
	managed(&a, &ad);
	forwarding(&a, &ad);
	arena_done(&a);
	return done_testing();
}
