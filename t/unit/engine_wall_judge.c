/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of walls on objects of many kinds: each way to name a ServiceAccount, a priority class,
 * a Secret or a volume that a wall does not allow is refused, and jobs that keep to it are not.
 */
#include <stdlib.h>

#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/engine/rules/wall_judge.h"

static const char walls_text[] =
	"[{\"config\":\"tenants\",\"allow\":["
	"{\"namespaces\":[\"team-a\",\"lab-*\"],\"kinds\":[\"Job.v1.batch\",\"Pod.v1.\","
	"\"AppWrapper.v1beta2.workload.codeflare.dev\"],\"serviceAccounts\":[\"default\","
	"\"train*\"],\"priorityClasses\":[\"low\"],\"references\":[\"ConfigMap\"]}]},"
	"{\"config\":\"open\",\"allow\":[{}]},"
	"{\"config\":\"shut\",\"allow\":[]},"
	"{\"config\":\"two\",\"allow\":[{\"namespaces\":[\"team-a\"],\"serviceAccounts\":[\"a\"]},"
	"{\"namespaces\":[\"team-a\"],\"serviceAccounts\":[\"b\"]}]},"
	"{\"config\":\"none\",\"allow\":[{\"serviceAccounts\":[],\"priorityClasses\":[],"
	"\"references\":[]}]}]";

static struct arena a;
static struct json *walls;
static const struct kind job = {.group = {"batch", 5}, .version = {"v1", 2}, .kind = {"Job", 3}};
static const struct kind jobset = {
	.group = {"jobset.x-k8s.io", 15}, .version = {"v1alpha2", 8}, .kind = {"JobSet", 6}};

/* The verdict about an object of that config, namespace and kind: "" it may leave. */
static const char *said(const char *config, const char *ns, const struct kind *k, bool is_job,
			const char *text)
{
	struct wall_question q = {.walls = walls,
				  .config = str_of(config),
				  .ns = str_of(ns),
				  .kind = k,
				  .obj = parse_json(&a, text),
				  .is_job = is_job};
	mk_str why = STR("");

	return wall_judge(&q, &a, &why) == WALL_LETS ? "" : why.p;
}

#define OF_TENANTS "the wall of MultiKueueConfig \"tenants\" keeps it here: "
#define POD(fields) "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{}]," fields "}}}}"
#define SAYS "; allowed: "

static void lets(const char *text, const char *name)
{
	is_str(said("tenants", "team-a", &job, true, text), "", name);
}

static void keeps(const char *text, const char *words, const char *name)
{
	const char *why = said("tenants", "team-a", &job, true, text);

	if (!tap_ok(strstr(why, OF_TENANTS) == why && strstr(why, words), name, __FILE__,
		    __LINE__)) {
		printf("# said: %s\n", why);
	}
}

static void which_wall(void)
{
	ok(wall_judge_stands(walls, STR("tenants")) && !wall_judge_stands(walls, STR("others")),
	   "a wall stands for the configs that the configuration names");
	ok(!wall_judge_stands(NULL, STR("tenants")), "without the key there is none");
	is_str(said("others", "x", &job, true, "{}"), "", "without a wall everything may leave");
	is_str(said("open", "x", &jobset, true, POD("\"serviceAccountName\":\"admin\"")), "",
	       "an empty rule allows everything");
	is_str(said("shut", "x", &job, true, "{}"),
	       "the wall of MultiKueueConfig \"shut\" keeps it here: nothing may leave namespace "
	       "\"x\"",
	       "no rule allows nothing");
	is_str(said("two", "team-a", &job, true, POD("\"serviceAccountName\":\"b\"")), "",
	       "one rule that allows it suffices");
	ok(strstr(said("two", "team-a", &job, true, POD("\"serviceAccountName\":\"c\"")), "\"c\""),
	   "... and none of them does");
	walls = parse_json(
		&a, "[{\"config\":\"*\",\"allow\":[]},{\"config\":\"open\",\"allow\":[{}]}]");
	is_str(said("open", "x", &job, true, "{}"), "", "a wall of its own comes before the star");
	ok(said("others", "x", &job, true, "{}")[0] && wall_judge_stands(walls, STR("others")),
	   "... which is the wall of all others");
	walls = parse_json(&a, walls_text);
}

static void namespaces_and_kinds(void)
{
	is_str(said("tenants", "lab-7", &job, true, "{}"), "", "a namespace by its beginning");
	is_str(said("tenants", "team-ab", &job, true, "{}"),
	       OF_TENANTS "nothing may leave namespace \"team-ab\"", "a longer name is another");
	is_str(said("tenants", "team-a", &jobset, true, "{}"),
	       OF_TENANTS "a job of kind \"JobSet.v1alpha2.jobset.x-k8s.io\" (kind) is not "
			  "allowed" SAYS "Job.v1.batch, Pod.v1., "
			  "AppWrapper.v1beta2.workload.codeflare.dev",
	       "a kind that is not in the list");
	lets("{\"spec\":{\"components\":[{\"template\":{\"apiVersion\":\"batch/v1\",\"kind\":"
	     "\"Job\",\"metadata\":{\"namespace\":\"team-a\"}}}]}}",
	     "an object within, of an allowed kind");
	keeps("{\"spec\":{\"components\":[{\"template\":{\"apiVersion\":\"v1\",\"kind\":"
	      "\"Secret\"}}]}}",
	      "an object of kind \"Secret.v1.\" (spec.components[0].template)",
	      "an object within, of another kind");
	keeps("{\"spec\":{\"components\":[{\"template\":{\"metadata\":{\"namespace\":\"team-b\"}}}"
	      "]}}",
	      "names another namespace, \"team-b\"", "an object within, for another namespace");
}

static void service_accounts(void)
{
	lets(POD("\"serviceAccountName\":\"trainer\""), "an account by its beginning");
	lets(POD("\"priorityClassName\":\"low\""), "no account is \"default\"");
	lets(POD("\"automountServiceAccountToken\":false"), "a token that is not mounted");
	keeps(POD("\"serviceAccountName\":\"admin\""),
	      "service account \"admin\" (spec.template.spec.serviceAccountName) is not "
	      "allowed" SAYS "default, train*",
	      "an account that is not in the list");
	keeps(POD("\"serviceAccount\":\"admin\""), "\"admin\"", "by the old name of the field");
	keeps(POD("\"serviceAccountName\":\"default\",\"serviceAccount\":\"admin\""), "\"admin\"",
	      "by the old name beside the new one");
	keeps("{\"spec\":{\"headGroupSpec\":{\"template\":{\"spec\":{\"serviceAccountName\":"
	      "\"admin\"}}}}}",
	      "\"admin\"", "in a template of Ray");
	keeps("{\"spec\":{\"podTemplateOverrides\":[{\"spec\":{\"serviceAccountName\":\"admin\"}}]"
	      "}}",
	      "[0].spec.serviceAccountName", "in an override of a TrainJob");
	keeps("{\"spec\":{\"sparkConf\":{\"spark.kubernetes.authenticate.driver."
	      "serviceAccountName\":\"admin\"}}}",
	      "\"admin\"", "as a setting of Spark");
	keeps("{\"spec\":{\"driver\":{\"serviceAccount\":\"admin\"}}}", "\"admin\"",
	      "in the driver of Spark");
	keeps("{\"spec\":{\"accounts\":{\"serviceAccount\":{\"name\":\"admin\"}}}}", "\"admin\"",
	      "as an object with a name");
	keeps("{\"spec\":{\"serviceAccount\":[\"default\",\"admin\"]}}", "\"admin\"",
	      "in a list of names");
	keeps("{\"spec\":{\"podSpecPatch\":\"serviceAccountName: admin\"}}", "cannot be judged",
	      "in a text that becomes a part of a pod");
	keeps("{\"spec\":{\"t\":{\"metadata\":{\"annotations\":{\"kubernetes.io/"
	      "service-account.name\":\"admin\"}}}}}",
	      "\"admin\"", "in the annotation that gives a Secret its token");
	keeps("{\"SPEC\":{\"ServiceAccountName\":\"admin\"}}", "\"admin\"", "in capitals");
	ok(strstr(said("none", "x", &job, true, POD("\"a\":1")), "\"default\""),
	   "no account allowed: a pod that names none has \"default\"");
}

static void priorities(void)
{
	lets("{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"low\"}}}",
	     "a class of Workloads that is allowed");
	keeps(POD("\"priorityClassName\":\"system-node-critical\""), "\"system-node-critical\"",
	      "a class of pods");
	keeps("{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"high\"}}}",
	      "\"high\"", "a class of Workloads by the job's label");
	ok(strstr(said("tenants", "team-a", &job, false,
		       "{\"priorityClassRef\":{\"name\":\"high\"},\"priority\":9}"),
		  "\"high\" (priorityClassRef)"),
	   "... by the Workload's reference");
	ok(strstr(said("tenants", "team-a", &job, false, "{\"priority\":1000000}"),
		  "priority 1000000 of a Workload that names no priority class"),
	   "a priority that no class gave");
	is_str(said("tenants", "team-a", &job, false,
		    "{\"priorityClassRef\":{\"name\":\"low\"},\"priority\":9}"),
	       "", "the priority of an allowed class");
}

static void references(void)
{
	static const struct {
		const char *text, *kind, *name;
	} rows[] = {
		{POD("\"volumes\":[{\"secret\":{\"secretName\":\"s\"}}]"), "Secret", "a volume"},
		{POD("\"volumes\":[{\"projected\":{\"sources\":[{\"secret\":{\"name\":\"s\"}}]}}]"),
		 "Secret", "a projected volume"},
		{POD("\"volumes\":[{\"csi\":{\"nodePublishSecretRef\":{\"name\":\"s\"}}}]"),
		 "Secret", "a volume of a driver"},
		{POD("\"imagePullSecrets\":[{\"name\":\"s\"}]"), "Secret", "a pull secret"},
		{POD("\"initContainers\":[{\"env\":[{\"valueFrom\":{\"secretKeyRef\":{\"name\":"
		     "\"s\"}}}]}]"),
		 "Secret", "a variable"},
		{POD("\"initContainers\":[{\"envFrom\":[{\"secretRef\":{\"name\":\"s\"}}]}]"),
		 "Secret", "all variables"},
		{"{\"spec\":{\"sparkConf\":{\"spark.kubernetes.driver.secrets.s\":\"/mnt\"}}}",
		 "Secret", "a setting of Spark"},
		{POD("\"volumes\":[{\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]"),
		 "PersistentVolumeClaim", "a claim"},
		{POD("\"volumes\":[{\"ephemeral\":{\"volumeClaimTemplate\":{\"spec\":{"
		     "\"dataSource\":{"
		     "\"name\":\"c\"}}}}}]"),
		 "PersistentVolumeClaim", "a copy of a claim"},
		{POD("\"volumes\":[{\"hostPath\":{\"path\":\"/\"}}]"), "HostPath",
		 "a path of the host"},
		{POD("\"hostNetwork\":true"), "HostNamespace", "the host's network"},
		{POD("\"hostPID\":true"), "HostNamespace", "the host's processes"},
		{POD("\"resourceClaims\":[{\"resourceClaimName\":\"c\"}]"), "ResourceClaim",
		 "a device"},
	};
	char words[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(words, sizeof(words), "a reference of kind \"%s\"", rows[i].kind);
		keeps(rows[i].text, words, rows[i].name);
	}
	lets(POD("\"volumes\":[{\"configMap\":{\"name\":\"c\"}},{\"emptyDir\":{}}]"),
	     "references that are allowed");
	lets(POD("\"hostNetwork\":false,\"imagePullSecrets\":[]"), "none is set");
	is_str(said("none", "x", &job, true,
		    "{\"volumes\":[{\"configMap\":{\"name\":\"kube-root-ca.crt\"}}]}"),
	       "", "what every namespace has");
	ok(said("none", "x", &job, true, "{\"volumes\":[{\"configMap\":{\"name\":\"c\"}}]}")[0],
	   "... and no other");
}

/* What is large, deep or strange costs little, and is kept rather than let through. */
static void hostile(void)
{
	static char text[4 * 1024 * 1024];
	size_t n = 0;

	n += (size_t)snprintf(text, sizeof(text), "{\"spec\":[0");
	for (size_t i = 0; i < WALL_NODES_MAX + 10; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, ",0");
	}
	snprintf(text + n, sizeof(text) - n, "]}");
	keeps(text, "cannot be judged", "more members than are looked at");
	n = (size_t)snprintf(text, sizeof(text), "{\"spec\":");
	for (size_t i = 0; i < 120; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"a\":");
	}
	n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"serviceAccountName\":\"admin\"}");
	memset(text + n, '}', 121);
	text[n + 121] = '\0';
	keeps(text, "\"admin\"", "a name 120 levels down");
	n = (size_t)snprintf(text, sizeof(text), "{\"spec\":{\"");
	memset(text + n, 'k', 2000);
	snprintf(text + n + 2000, sizeof(text) - n - 2000, "ServiceAccountName\":\"admin\"}}");
	keeps(text, "too long", "a member with an endless name");
	n = (size_t)snprintf(text, sizeof(text), "{\"spec\":{\"serviceAccountName\":\"");
	memset(text + n, 'x', 4000);
	snprintf(text + n + 4000, sizeof(text) - n - 4000, "\"}}");
	keeps(text, "is not allowed", "an endless account");
	ok(strlen(said("tenants", "team-a", &job, true, text)) < 1024, "... is cut in the words");
}

static void no_memory(void)
{
	struct wall_question q = {.walls = walls,
				  .config = STR("tenants"),
				  .ns = STR("team-a"),
				  .kind = &job,
				  .obj = parse_json(&a, POD("\"serviceAccountName\":\"admin\"")),
				  .is_job = true};
	bool never_let = true;

	for (uint64_t n = 1; n < 8; n++) {
		struct arena small;
		mk_str why = STR("");

		arena_init(&small, 0);
		alloc_fail_after(n);
		never_let &= wall_judge(&q, &small, &why) != WALL_LETS;
		alloc_fail_after(0);
		arena_done(&small);
	}
	ok(never_let, "out of memory nothing is let through");
}

int main(void)
{
	arena_init(&a, 0);
	walls = parse_json(&a, walls_text);
	which_wall();
	namespaces_and_kinds();
	service_accounts();
	priorities();
	references();
	hostile();
	no_memory();
	arena_done(&a);
	return done_testing();
}
