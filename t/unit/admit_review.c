/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden reviews: every kind whose managedBy is defaulted, parked pods, the queues
 * behind them, and hostile input.
 */
#include "t/lib/admit_tell.h"
#include "t/lib/tap.h"

#include "core/admit/review.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/rng.h"

#define MK "kueue.x-k8s.io/multikueue"
#define QUEUE(name) "\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"" name "\"}}"

static struct admit_queues *queues;

/* --- the caches ------------------------------------------------------------------------------- */

#define LOCAL(cq) "{\"spec\":{\"clusterQueue\":\"" cq "\"}}"
#define CHECKED(checks) \
	"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[" checks "]}}}"
#define CHECK(by) "{\"spec\":{\"controllerName\":\"" by "\"}}"

static void fill(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};

	for (size_t i = 0; i < 3; i++) {
		admit_tell(queues, EV_LIST_BEGIN, kinds[i], "", "", "{}");
	}
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far", LOCAL("far"));
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "near", LOCAL("near"));
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "lost", LOCAL("nowhere"));
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "other", "elsewhere", LOCAL("far"));
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "far",
		   CHECKED("{\"name\":\"prov\"},{\"name\":\"mk\",\"onFlavors\":[\"a\"]}"));
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "near",
		   CHECKED("{\"name\":\"prov\"}"));
	admit_tell(queues, EV_OBSERVED, KIND_CHECK, "", "mk", CHECK(MK));
	admit_tell(queues, EV_OBSERVED, KIND_CHECK, "", "prov",
		   CHECK("kueue.x-k8s.io/provisioning-request"));
	for (size_t i = 0; i < 3; i++) {
		ok(!admit_queues_ready(queues), "not ready before every kind is listed");
		admit_tell(queues, EV_LIST_END, kinds[i], "", "", "{}");
	}
	ok(admit_queues_ready(queues), "ready when all are");
}

static bool away(const char *ns, const char *queue)
{
	return admit_queues_ask(queues, str_of(ns), str_of(queue)) == ADMIT_LEADS_AWAY;
}

static void test_queues(void)
{
	struct arena a;
	const struct admit_row *rows;
	size_t n = 0;
	uint64_t version = admit_queues_version(queues);

	ok(away("ns", "far") && away("other", "elsewhere"),
	   "queues with a check of ours lead away");
	ok(!away("ns", "near") && !away("ns", "lost") && !away("other", "far") && !away("ns", "") &&
		   !away("", "ns/far"),
	   "others do not");
	arena_init(&a, 0);
	rows = admit_queues_table(queues, &a, &n);
	is_int(n, 2, "the table has those that lead away");
	is_str(rows[0].key.p, "ns.far", "sorted");
	is_str(rows[1].key.p, "other.elsewhere", "by namespace and name");
	is_str(rows[1].cluster_queue.p, "far", "with their ClusterQueue");
	arena_done(&a);

	admit_tell(
		queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "far",
		"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"prov\"},"
		"{\"name\":\"mk\"}]}},\"status\":{\"pendingWorkloads\":7}}");
	is_int(admit_queues_version(queues), version, "a change of status is none");
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "near",
		   CHECKED("{\"name\":\"mk\"}"));
	ok(away("ns", "near") && admit_queues_version(queues) > version, "a queue gains the check");
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "near", CHECKED(""));
	ok(!away("ns", "near"), "and loses it");
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "near", "{\"spec\":7}");
	ok(!away("ns", "near"), "a spec that is none means no checks");
	admit_tell(queues, EV_GONE, KIND_CHECK, "", "mk", "{}");
	ok(!away("ns", "far"), "a check that is gone is none of ours");
	admit_tell(queues, EV_OBSERVED, KIND_CHECK, "", "mk", CHECK(MK));
	admit_tell(queues, EV_GONE, KIND_LOCAL_QUEUE, "ns", "far", "{}");
	ok(away("ns", "far"), "a LocalQueue that was deleted counts as what it was");
	admit_tell(queues, EV_LIST_BEGIN, KIND_CLUSTER_QUEUE, "", "", "{}");
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "near", CHECKED(""));
	admit_tell(queues, EV_LIST_END, KIND_CLUSTER_QUEUE, "", "", "{}");
	ok(!away("ns", "far"), "what a list does not name is gone");
	admit_tell(queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "far",
		   CHECKED("{\"name\":\"mk\"}"));
	ok(away("ns", "far"), "and may come back");
}

/* --- reviews ---------------------------------------------------------------------------------- */

/* Judges 'text': the patch as text, "" for none, or the word of the error. */
static const char *judge(const struct admit_queues *q, const char *text, enum admit_rule *rule)
{
	static char out[4096];
	struct arena a;
	mk_str answer = {NULL, 0};
	struct mk_err err = {.code = ERR_OK};
	enum mk_code code;

	arena_init(&a, 0);
	code = admit_review(q, str_of(text), &a, &answer, rule, &err);
	if (code != ERR_OK) {
		snprintf(out, sizeof(out), "%s", err_code_name(code));
	} else {
		struct json *doc = NULL;
		mk_str patch = {NULL, 0};

		json_parse(&a, answer, &doc, NULL);
		if (!json_bool(json_at(doc, "/response/allowed")) ||
		    !str_is(json_str_at(doc, "/response/uid"), "u1")) {
			snprintf(out, sizeof(out), "bad answer %.*s", STR_ARG(answer));
		} else {
			base64_decode(&a, json_str_at(doc, "/response/patch"), &patch, NULL);
			snprintf(out, sizeof(out), "%.*s", STR_ARG(patch));
		}
	}
	arena_done(&a);
	return out;
}

static const char *review(const char *group, const char *kind, const char *operation,
			  const char *objects)
{
	static char text[8192];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
		 "{\"uid\":\"u1\",\"kind\":{\"group\":\"%s\",\"version\":\"v1\",\"kind\":\"%s\"},"
		 "\"namespace\":\"ns\",\"operation\":\"%s\",%s}}",
		 group, kind, operation, objects);
	return text;
}

static const char *patch_of(const char *group, const char *kind, const char *operation,
			    const char *objects)
{
	enum admit_rule rule = ADMIT_N_RULES;

	return judge(queues, review(group, kind, operation, objects), &rule);
}

static void same(const char *found, const char *expected, const char *kind, const char *what)
{
	char name[256];

	snprintf(name, sizeof(name), "%s: %s", kind, what);
	is_str(found, expected, name);
}

struct golden {
	const char *group, *kind, *parent, *built_in;
};

static const struct golden goldens[] = {
	{"batch", "Job", "", "kubernetes.io/job-controller"},
	{"jobset.x-k8s.io", "JobSet", "", "jobset.sigs.k8s.io/jobset-controller"},
	{"trainer.kubeflow.org", "TrainJob", "", "trainer.kubeflow.org/trainjob-controller"},
	{"ray.io", "RayJob", "", "ray.io/kuberay-operator"},
	{"ray.io", "RayCluster", "", "ray.io/kuberay-operator"},
	{"ray.io", "RayService", "", "ray.io/kuberay-operator"},
	{"workload.codeflare.dev", "AppWrapper", "",
	 "workload.codeflare.dev/appwrapper-controller"},
	{"kubeflow.org", "MPIJob", "runPolicy", "kubeflow.org/mpi-operator"},
	{"kubeflow.org", "PyTorchJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "TFJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "PaddleJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "XGBoostJob", "runPolicy", "kubeflow.org/training-operator"},
	{"kubeflow.org", "JAXJob", "runPolicy", "kubeflow.org/training-operator"},
};

/* The object of a review with 'spec' as the holder of managedBy. */
static const char *object(const struct golden *g, const char *queue, const char *holder)
{
	static char text[2048];

	snprintf(text, sizeof(text),
		 "\"object\":{\"metadata\":{\"name\":\"j\",\"labels\":{"
		 "\"kueue.x-k8s.io/queue-name\":\"%s\"}},\"spec\":%s%s%s%s%s}",
		 queue, g->parent[0] ? "{\"" : "", g->parent, g->parent[0] ? "\":" : "", holder,
		 g->parent[0] ? "}" : "");
	return text;
}

static void test_kind(const struct golden *g)
{
	char set[512];
	char text[512];
	const char *slash = g->parent[0] ? "/" : "";

	snprintf(set, sizeof(set),
		 "[{\"op\":\"add\",\"path\":\"/spec/%s%smanagedBy\",\"value\":\"" MK "\"}]",
		 g->parent, slash);
#define PATCH(operation, queue, holder) \
	patch_of(g->group, g->kind, operation, object(g, queue, holder))
	same(PATCH("CREATE", "far", "{\"suspend\":true}"), set, g->kind, "not set: it is set");
	same(PATCH("CREATE", "far", "{\"managedBy\":null}"), set, g->kind, "null: it is set");
	snprintf(text, sizeof(text), "{\"managedBy\":\"%s\"}", g->built_in);
	same(PATCH("CREATE", "far", text), set, g->kind, "the built-in controller is replaced");
	same(PATCH("CREATE", "far", "{\"managedBy\":\"acme.io/mine\"}"), "", g->kind,
	     "another one stays");
	same(PATCH("CREATE", "far", "{\"managedBy\":\"" MK "\"}"), "", g->kind, "ours stays");
	same(PATCH("CREATE", "far", "{\"managedBy\":\"\"}"), "", g->kind, "empty is not unset");
	same(PATCH("CREATE", "far", "{\"managedBy\":7}"), "", g->kind, "a number is left alone");
	same(PATCH("CREATE", "near", "{}"), "", g->kind, "a queue that stays here");
	same(PATCH("CREATE", "nowhere", "{}"), "", g->kind, "an unknown queue");
	same(PATCH("UPDATE", "far", "{}"), "", g->kind, "an update changes nothing");
	same(PATCH("CREATE", "far", "7"), "", g->kind, "a number for a spec");
	same(patch_of(g->group, g->kind, "CREATE", "\"object\":{\"spec\":{}}"), "", g->kind,
	     "no queue");
	same(patch_of("other.io", g->kind, "CREATE", object(g, "far", "{}")), "", g->kind,
	     "the kind of another group");
	if (g->parent[0]) {
		same(patch_of(g->group, g->kind, "CREATE",
			      "\"object\":{" QUEUE("far") ",\"spec\":{}}"),
		     "[{\"op\":\"add\",\"path\":\"/spec/runPolicy\",\"value\":{\"managedBy\":\"" MK
		     "\"}}]",
		     g->kind, "the parent is made");
	}
}

#define GATE "{\"name\":\"kueue.x-k8s.io/admission\"}"
#define OTHER_GATE "{\"name\":\"acme.io/wait\"}"
#define POD(queue, spec) "{" QUEUE(queue) ",\"spec\":{" spec "}}"
#define PODS(now, old) "\"object\":" now ",\"oldObject\":" old

static void test_pods(void)
{
	is_str(patch_of("", "Pod", "UPDATE",
			PODS(POD("far", "\"nodeSelector\":{\"a\":\"b\"},\"tolerations\":[{\"key\":"
					"\"k\"}],\"affinity\":{\"nodeAffinity\":{}},\"x\":1"),
			     POD("far", "\"schedulingGates\":[" OTHER_GATE "," GATE
					"],\"tolerations\":[],\"x\":1"))),
	       "[{\"op\":\"add\",\"path\":\"/spec/schedulingGates\",\"value\":[" OTHER_GATE "," GATE
	       "]},{\"op\":\"remove\",\"path\":\"/spec/nodeSelector\"},{\"op\":\"add\",\"path\":"
	       "\"/spec/tolerations\",\"value\":[]},{\"op\":\"remove\",\"path\":"
	       "\"/spec/affinity\"}]",
	       "Pod: gates, selector, tolerations and affinity are as they were");
	is_str(patch_of("", "Pod", "UPDATE",
			PODS(POD("far", "\"schedulingGates\":[" OTHER_GATE
					"],\"affinity\":{\"podAffinity\":{}},\"nodeSelector\":{}"),
			     POD("far",
				 "\"schedulingGates\":[" GATE "," OTHER_GATE
				 "],\"affinity\":{\"nodeAffinity\":{}},\"nodeSelector\":{}"))),
	       "[{\"op\":\"add\",\"path\":\"/spec/schedulingGates\",\"value\":[" GATE "," OTHER_GATE
	       "]},{\"op\":\"add\",\"path\":\"/spec/affinity\",\"value\":{\"nodeAffinity\":{}}}]",
	       "Pod: what did not change has no operation");
	is_str(patch_of("", "Pod", "UPDATE",
			PODS("{\"spec\":{}}", POD("far", "\"schedulingGates\":[" GATE "]"))),
	       "[{\"op\":\"add\",\"path\":\"/spec/schedulingGates\",\"value\":[" GATE "]}]",
	       "Pod: the queue is that of the old pod");
	is_str(patch_of("", "Pod", "UPDATE",
			PODS(POD("near", ""), POD("near", "\"schedulingGates\":[" GATE "]"))),
	       "", "Pod: a queue that stays here");
	is_str(patch_of("", "Pod", "UPDATE",
			PODS(POD("far", "\"schedulingGates\":[" GATE "]"),
			     POD("far", "\"schedulingGates\":[" OTHER_GATE "," GATE "]"))),
	       "", "Pod: another gate may go");
	is_str(patch_of("", "Pod", "UPDATE",
			PODS(POD("far", ""), POD("far", "\"schedulingGates\":[" OTHER_GATE "]"))),
	       "", "Pod: it had no gate of Kueue's");
	is_str(patch_of("", "Pod", "CREATE", "\"object\":" POD("far", "")), "",
	       "Pod: a new one is Kueue's affair");
	is_str(patch_of("", "Pod", "DELETE",
			"\"object\":null,\"oldObject\":" POD("far",
							     "\"schedulingGates\":[" GATE "]")),
	       "", "Pod: a delete goes through");
	is_str(patch_of("", "Pod", "UPDATE",
			"\"subResource\":\"status\"," PODS(
				POD("far", ""), POD("far", "\"schedulingGates\":[" GATE "]"))),
	       "", "Pod: a subresource goes through");
	is_str(patch_of("other.io", "Pod", "UPDATE",
			PODS(POD("far", ""), POD("far", "\"schedulingGates\":[" GATE "]"))),
	       "", "Pod: of another group");
}

/* --- hostile input ---------------------------------------------------------------------------- */

static void test_bad_reviews(void)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"null",
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}",
		"{\"apiVersion\":\"admission.k8s.io/"
		"v1\",\"kind\":\"AdmissionReview\",\"request\":[]}",
		"{\"apiVersion\":\"admission.k8s.io/"
		"v1\",\"kind\":\"AdmissionReview\",\"request\":{}}",
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":"
		"{\"uid\":7}}",
		"{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\","
		"\"request\":{\"uid\":\"u1\"}}",
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"Review\",\"request\":{\"uid\":"
		"\"u1\"}}",
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"apiVersion\":\"x\"}",
	};
	static const char *const odd[] = {
		"\"object\":7",
		"\"object\":null,\"oldObject\":[]",
		"\"object\":{\"metadata\":{\"labels\":7},\"spec\":{}}",
		"\"object\":{\"metadata\":[],\"spec\":[]}",
		"\"object\":{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/"
		"queue-name\":[1]}},\"spec\":"
		"{}}",
		"\"object\":{\"spec\":{}},\"oldObject\":{\"spec\":{\"schedulingGates\":{\"name\":1}"
		"}}",
		"\"object\":{\"spec\":{}},\"oldObject\":{\"spec\":{\"schedulingGates\":[[[]],null]}"
		"}",
	};
	enum admit_rule rule = ADMIT_NONE;
	char deep[4096];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_str(judge(queues, bad[i], &rule), "invalid", bad[i][0] ? bad[i] : "nothing");
	}
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		is_str(patch_of("batch", "Job", "CREATE", odd[i]), "", odd[i]);
		is_str(patch_of("", "Pod", "UPDATE", odd[i]), "", "the same for a pod");
	}
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	is_str(judge(queues, deep, &rule), "invalid", "thousands of brackets");
}

/*
 * Any one byte changed, and any beginning of a review: an answer or an error, never anything else.
 */
static void test_noise(void)
{
	struct rng rng;
	char text[8192];
	char copy[8192];
	size_t n;
	enum admit_rule rule = ADMIT_NONE;

	rng_init(&rng, 7);
	snprintf(text, sizeof(text), "%s",
		 review("", "Pod", "UPDATE",
			PODS(POD("far", "\"tolerations\":[{\"key\":\"k\"}]"),
			     POD("far", "\"schedulingGates\":[" GATE "]"))));
	n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		memcpy(copy, text, i);
		copy[i] = '\0';
		(void)judge(queues, copy, &rule);
	}
	for (int i = 0; i < 20000; i++) {
		memcpy(copy, text, n + 1);
		copy[rng_range(&rng, 0, (int64_t)n - 1)] = (char)rng_range(&rng, 1, 255);
		(void)judge(queues, copy, &rule);
	}
	ok(true, "twenty thousand damaged reviews");
}

static void test_full(void)
{
	char name[32];
	enum admit_rule rule = ADMIT_NONE;

	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "full", name, LOCAL("near"));
	}
#define IN_FULL(queue)                                                                      \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":" \
	"{\"uid\":\"u1\",\"kind\":{\"group\":\"batch\",\"kind\":\"Job\"},\"namespace\":"    \
	"\"full\",\"operation\":\"CREATE\",\"object\":{" QUEUE(queue) ",\"spec\":{}}}}"
	is_str(judge(queues, IN_FULL("q2999"), &rule), "unavailable",
	       "an unknown queue of a namespace that is too full: no answer");
	is_str(judge(queues, IN_FULL("q7"), &rule), "", "a known one is answered");
	is_str(patch_of("batch", "Job", "CREATE", "\"object\":{" QUEUE("none") ",\"spec\":{}}"), "",
	       "so are other namespaces");
}

static void test_memory(void)
{
	struct admit_queues *other = admit_queues_new();
	enum admit_rule rule = ADMIT_NONE;
	char text[8192];
	const char *found = "";
	uint64_t n = 1;

	snprintf(text, sizeof(text), "%s",
		 review("batch", "Job", "CREATE", "\"object\":{" QUEUE("far") ",\"spec\":{}}"));
	is_str(judge(other, text, &rule), "unavailable", "queues that are not known: no answer");
	is_str(judge(other, review("batch", "Job", "CREATE", "\"object\":{\"spec\":{}}"), &rule),
	       "", "unless no queue is asked for");
	admit_queues_free(other);
	for (; n < 200; n++) {
		struct arena a;
		mk_str answer;

		arena_init(&a, 0);
		alloc_fail_after(n);
		if (admit_review(queues, str_of(text), &a, &answer, &rule, NULL) == ERR_OK) {
			found = "done";
		}
		alloc_fail_after(0);
		arena_done(&a);
		if (found[0]) {
			break;
		}
	}
	is_str(found, "done", "out of memory at any allocation is an error");
	ok(n > 2, "and there were some");
}

/*
 * A watch that is refused, or whose kind is gone: what was known grows
 * old, and new queues are not seen.
 */
static void test_refused(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};
	enum admit_rule rule = ADMIT_NONE;
	char text[8192];

	snprintf(text, sizeof(text), "%s",
		 review("batch", "Job", "CREATE", "\"object\":{" QUEUE("new") ",\"spec\":{}}"));
	is_str(judge(queues, text, &rule), "", "an unknown queue, while all is watched");
	for (size_t i = 0; i < 3; i++) {
		admit_tell(queues, EV_UNSERVED, kinds[i], "", "", "{}");
		ok(!admit_queues_ready(queues), "refused: not ready");
		is_str(judge(queues, text, &rule), "unavailable",
		       "and no queue is taken for one that stays here");
		admit_tell(queues, EV_SERVED, kinds[i], "", "", "{}");
		ok(!admit_queues_ready(queues), "served again: not ready before it was listed");
		admit_tell(queues, EV_LIST_BEGIN, kinds[i], "", "", "{}");
		ok(!admit_queues_ready(queues), "nor while it is");
		admit_tell(queues, EV_LIST_END, kinds[i], "", "", "{}");
		ok(admit_queues_ready(queues), "listed: ready");
	}
	admit_tell(queues, EV_UNSERVED, KIND_LOCAL_QUEUE, "", "", "{}");
	admit_tell(queues, EV_STALE, KIND_LOCAL_QUEUE, "", "", "{}");
	ok(!admit_queues_ready(queues), "a group that could not be asked on a new connection");
	admit_tell(queues, EV_FRESH, KIND_LOCAL_QUEUE, "", "", "{}");
	ok(admit_queues_ready(queues), "the watch goes on where it broke: no list is needed");
	admit_tell(queues, EV_UNSERVED, KIND_WORKLOAD, "", "", "{}");
	ok(admit_queues_ready(queues), "other kinds do not matter");
}

static void test_lost(void)
{
	struct json *obj = NULL;
	struct event ev = {
		.type = EV_OBSERVED, .kind = KIND_LOCAL_QUEUE, .ns = STR("ns"), .name = STR("new")};
	struct arena a;

	arena_init(&a, 0);
	json_parse(&a, STR(LOCAL("far")), &obj, NULL);
	ev.obj = obj;
	alloc_fail_after(1);
	admit_queues_event(queues, &ev);
	alloc_fail_after(0);
	ok(!admit_queues_ready(queues), "a queue that could not be kept: nothing is sure any more");
	arena_done(&a);
}

int main(void)
{
	queues = admit_queues_new();
	fill();
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		test_kind(&goldens[i]);
	}
	test_pods();
	test_bad_reviews();
	test_noise();
	test_memory();
	test_full();
	admit_queues_free(queues);
	queues = admit_queues_new();
	fill();
	test_queues();
	test_lost();
	admit_queues_free(queues);
	queues = admit_queues_new();
	fill();
	test_refused();
	admit_queues_free(queues);
	return done_testing();
}
