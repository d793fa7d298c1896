/* SPDX-License-Identifier: Apache-2.0 */
/* Feature gates, for the version of Kueue that multiKueue.kueueVersion names. */
#include "t/lib/tap.h"

#include "core/config/config.h"
#include "core/config/gate_table.h"

#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define V20 V2 "multiKueue: {kueueVersion: v0.20.7}\n"
#define G "featureGates: Invalid value: "

static struct arena a;
static struct config c;
static struct config_problems problems;

static enum mk_code load(const char *text, const char *flag, struct mk_err *err)
{
	struct config_input in = {.text = str_of(text), .feature_gates = str_of(flag)};

	arena_clear(&a);
	memset(&c, 0, sizeof(c));
	return config_load(&a, &in, &c, &problems, err);
}

static void refused(const char *text, const char *flag, const char *want)
{
	struct mk_err err = {.code = ERR_OK};

	is_int(load(text, flag, &err), ERR_INVALID, want);
	is_str(err.msg, want, "... says so");
}

static void accepted(const char *text, const char *flag, const char *name)
{
	struct mk_err err = {.code = ERR_OK};

	is_int(load(text, flag, &err), ERR_OK, name);
	if (err.msg[0] != '\0') {
		printf("# %s\n", err.msg);
	}
}

/* Is this one of the warnings? */
static void warned(const char *want)
{
	bool found = false;

	for (const struct config_problem *p = problems.first; p != NULL; p = p->next) {
		found = found || (p->warning && strcmp(p->text.p, want) == 0);
	}
	ok(found, want);
	for (const struct config_problem *p = problems.first; !found && p != NULL; p = p->next) {
		printf("# found %s\n", p->text.p);
	}
}

static void test_words(void)
{
	refused(V2 "featureGates: {}\n", "MultiKueue=true",
		G "{}: feature gates for CLI and configuration cannot both specified");
	refused(V2 "featureGates: {TLSOptions: true, MultiKueue: true}\n", "MultiKueue=true",
		G "{\"MultiKueue\":true,\"TLSOptions\":true}: feature gates for CLI and "
		  "configuration cannot both specified");
	refused(V2, "MultiKueue", G "\"MultiKueue\": missing bool value for MultiKueue");
	refused(V2, "MultiKueue=maybe",
		G "\"MultiKueue=maybe\": invalid value of MultiKueue=maybe, err: "
		  "strconv.ParseBool: parsing \"maybe\": invalid syntax");
	refused(V2, "MultiKueueAllowInsecureKubeconfigs=true",
		G "\"MultiKueueAllowInsecureKubeconfigs=true\": cannot set feature gate "
		  "MultiKueueAllowInsecureKubeconfigs to true, feature is locked to false");
	accepted(V2, "MultiKueueAllowInsecureKubeconfigs=false", "a locked gate set as it is");
	refused(V2 "featureGates: {MultiKueueWaitForWorkloadAdmitted: false}\n", "",
		G "{\"MultiKueueWaitForWorkloadAdmitted\":false}: cannot set feature gate "
		  "MultiKueueWaitForWorkloadAdmitted to false, feature is locked to true");
}

static void test_values(void)
{
	accepted(V2, " TLSOptions = f ,, MultiKueueClusterProfile=1", "blanks and empty parts");
	ok(!c.gates[CONFIG_GATE_TLS_OPTIONS] && c.gates[CONFIG_GATE_CLUSTER_PROFILE],
	   "... and sets them");
	accepted(V2, "AllAlpha=true,MultiKueueManagerQuotaAutomation=false",
		 "all alphas but the one named");
	ok(c.gates[CONFIG_GATE_KUBECONFIG_PATH_VALIDATION] &&
		   c.gates[CONFIG_GATE_CLUSTER_PROFILE] &&
		   !c.gates[CONFIG_GATE_MANAGER_QUOTA_AUTOMATION],
	   "... are on");
	accepted(V2 "featureGates: {AllBeta: false, MultiKueueRemoteSpecSync: true, "
		    "TopologyAwareScheduling: false}\n",
		 "", "all betas but one");
	ok(!c.gates[CONFIG_GATE_INCREMENTAL_CONFIG] && c.gates[CONFIG_GATE_REMOTE_SPEC_SYNC],
	   "... are off");
	accepted(V2 "featureGates: {MultiKueue: false}\n", "", "the gate that is for Kueue alone");
	is_int(problems.n_warnings, 1, "... is warned of");
	accepted(V2, "WatchList=true", "a gate of the API server library");
	is_int(problems.n_warnings, 0, "... is no news");
	for (int i = 0; i < CONFIG_N_GATES; i++) {
		if (config_gate_name((enum config_gate)i)[0] == '\0') {
			ok(false, "a gate without a name");
		}
	}
}

/* Files of other versions start us, typing errors do not. */
static void test_unknown(void)
{
	accepted(V2 "featureGates: {Foo: true}\n", "", "a gate that nobody knows");
	warned("featureGates: unrecognized feature gate: Foo; it has no effect");
	is_int(problems.first->line, 3, "... with its line");
	accepted(V2, "MultiKueueBatchJobWithManagedBy=true", "a gate of an older Kueue");
	refused(V2, "TLSOption=true", G "\"TLSOption=true\": unrecognized feature gate: TLSOption");
	is_str(problems.first->hint.p, "did you mean TLSOptions?", "... with the one that is near");
	accepted(V2 "featureGates: {TASTopologySpreading: true}\n", "", "a gate of 0.20");
	warned("featureGates: TASTopologySpreading is a gate of Kueue 0.20 and has no effect: "
	       "multiKueue.kueueVersion is 0.19");
	accepted(V20 "featureGates: {HierarchicalCohorts: false}\n", "", "a gate of 0.19, in 0.20");
	warned("featureGates: HierarchicalCohorts is a gate of Kueue 0.19 and has no effect: "
	       "multiKueue.kueueVersion is 0.20");
}

static void test_version(void)
{
	accepted(V2, "", "without a version");
	ok(c.multikueue.kueue_minor == 19 && !c.gates[CONFIG_GATE_KUBECONFIG_PATH_VALIDATION] &&
		   !c.gates[CONFIG_GATE_ORCHESTRATED_PREEMPTION],
	   "... the gates are those of the newest that is tested");
	accepted(V2 "multiKueue: {kueueVersion: \"0.18\"}\n", "", "0.18");
	is_int(c.multikueue.kueue_minor, 18, "... is known");
	accepted(V20, "", "v0.20.7");
	ok(c.multikueue.kueue_minor == 20 && c.gates[CONFIG_GATE_KUBECONFIG_PATH_VALIDATION] &&
		   c.gates[CONFIG_GATE_ORCHESTRATED_PREEMPTION] &&
		   !c.gates[CONFIG_GATE_RAY_AUTOSCALING],
	   "... has gates of its own");
	is_int(problems.n_warnings, 1, "... and warns of nothing but that Kueue refuses our key");
	refused(V20, "TLSOptions=false",
		G "\"TLSOptions=false\": cannot set feature gate TLSOptions to false, feature is "
		  "locked to true");
	accepted(V20, "MultiKueueRayInTreeAutoscaling=true", "sizes that workers decide");
	ok(c.gates[CONFIG_GATE_RAY_AUTOSCALING], "... by a gate of its own");
	refused(V20 "featureGates: {TLSOption: true}\n", "MultiKueue",
		G "{\"TLSOption\":true}: feature gates for CLI and configuration cannot both "
		  "specified");
	for (const char *const *v = (const char *const[]){"0.17", "1.19", "0", "0.20.1.2", "0.x",
							  "newest", "0.21", NULL};
	     *v != NULL; v++) {
		char text[200], want[200];

		snprintf(text, sizeof(text), V2 "multiKueue: {kueueVersion: \"%s\"}\n", *v);
		snprintf(want, sizeof(want),
			 "multiKueue.kueueVersion: Unsupported value: \"%s\": supported values: "
			 "\"0.18\" to \"0.20\", with or without a patch release",
			 *v);
		refused(text, "", want);
	}
}

/* Each pair by itself: what one Kueue refuses is warned of in its words. */
static void test_pairs(void)
{
	for (size_t i = 0; i < gate_n_needs; i++) {
		const struct gate_need *n = &gate_needs[i];
		char flag[300], want[600];

		snprintf(flag, sizeof(flag), "%s=true,%s=false", n->gate, n->needs);
		if (n->minor <= 19) {
			accepted(V2, flag, flag);
			snprintf(want, sizeof(want), G "\"%s\": %s requires %s to be enabled",
				 n->gate, n->gate, n->needs);
			warned(want);
		}
		accepted(V20, flag, flag);
		snprintf(want, sizeof(want),
			 G "\"%s\": %s is enabled, but depends on features that are disabled: [%s]",
			 flag, n->gate, n->needs);
		warned(want);
	}
	accepted(V20 "featureGates: {ElasticJobsViaWorkloadSlicesWithTAS: true, "
		     "ElasticJobsViaWorkloadSlices: false, TopologyAwareScheduling: false, "
		     "AllBeta: false}\n",
		 "", "a gate that lacks two");
	warned(G "{\"AllBeta\":false,\"ElasticJobsViaWorkloadSlices\":false,"
		 "\"ElasticJobsViaWorkloadSlicesWithTAS\":true,\"TopologyAwareScheduling\":false}: "
		 "ElasticJobsViaWorkloadSlicesWithTAS is enabled, but depends on features that are "
		 "disabled: [ElasticJobsViaWorkloadSlices TopologyAwareScheduling]");
	is_int(problems.n_warnings, 2, "... is told once, beside our key");
}

/* Warnings, but for the one that Kueue refuses multiKueue.kueueVersion. */
static size_t n_warnings(void)
{
	size_t n = 0;

	for (const struct config_problem *p = problems.first; p != NULL; p = p->next) {
		n += p->warning && strncmp(p->text.p, "multiKueue.", 11) != 0;
	}
	return n;
}

/* Keys and values of Kueue's core that are other in 0.20. */
static void test_core(void)
{
	static const char waits[] = "waitForPodsReady: {timeout: 5m, unscheduledTimeout: 1m, "
				    "maxTimeoutOnWorkload: 1h}\n";
	static const char names[] =
		"resources: {transformations: [{input: a.b/c, outputs: {cpu: 1}}, {input: pods, "
		"outputs: {pods: 1}}], deviceClassMappings: [{name: pods, deviceClassNames: "
		"[x]}]}\n";
	static const char selects[] =
		"metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: "
		"{a b: c}, matchExpressions: [{key: d, operator: In}, {key: e, operator: Is}, "
		"{key: f, operator: Exists}]}}}\n";
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", V20, waits);
	accepted(text, "", "waits of 0.20");
	is_int((int)n_warnings(), 0, "... are nothing to warn of");
	snprintf(text, sizeof(text), "%s%s", V2, waits);
	accepted(text, "", "waits of 0.20, in 0.19");
	warned("waitForPodsReady.unscheduledTimeout: Kueue 0.19 refuses this key of 0.20 "
	       "(multiKueue.kueueVersion)");
	warned("waitForPodsReady.maxTimeoutOnWorkload: Kueue 0.19 refuses this key of 0.20 "
	       "(multiKueue.kueueVersion)");
	snprintf(text, sizeof(text), "%s%s", V20, names);
	accepted(text, "", "a reserved name");
	warned("resources.transformations[1].input: Invalid value: \"pods\": Kueue 0.20 does not "
	       "start with this resource name");
	warned("resources.transformations[1].outputs.pods: Invalid value: \"pods\": Kueue 0.20 "
	       "does not start with this resource name");
	warned("resources.deviceClassMappings[0].name: Invalid value: \"pods\": Kueue 0.20 does "
	       "not start with this resource name");
	is_int((int)n_warnings(), 3, "... and no other name is warned of");
	snprintf(text, sizeof(text), "%s%s", V2, names);
	accepted(text, "", "... which 0.19 takes");
	is_int((int)n_warnings(), 0, "... without a warning");
	snprintf(text, sizeof(text), "%s%s", V20, selects);
	accepted(text, "", "a selector of LocalQueues that is wrong");
	is_int((int)n_warnings(), 3, "... is warned of, thrice");
	warned("metrics.localQueueMetrics.localQueueSelector.matchExpressions[0].values: Required "
	       "value: must be specified when `operator` is 'In' or 'NotIn'");
	warned("metrics.localQueueMetrics.localQueueSelector.matchExpressions[1].operator: Invalid "
	       "value: \"Is\": not a valid selector operator");
}

int main(void)
{
	arena_init(&a, 0);
	test_words();
	test_values();
	test_unknown();
	test_version();
	test_pairs();
	test_core();
	arena_done(&a);
	return done_testing();
}
