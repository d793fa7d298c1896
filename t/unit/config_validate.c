/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of the configuration, printing. Dispatchers: config_dispatchers.c, feature gates:
 * config_gates.c.
 */
#include "t/lib/tap.h"

#include "core/config/config.h"

#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define MK V2 "multiKueue:\n"
#define LABEL                                                                                    \
	"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' " \
	"or '.', and must "                                                                      \
	"start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "     \
	"'12345', regex used "                                                                   \
	"for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define SIXTYFOUR "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct arena a;
static struct config c;
static struct config_problems problems;
static struct mk_err err;

static enum mk_code load_with(const char *text, const char *gates)
{
	struct config_input in = {.text = str_of(text), .feature_gates = str_of(gates)};

	arena_clear(&a);
	memset(&c, 0, sizeof(c));
	err.msg[0] = '\0';
	return config_load(&a, &in, &c, &problems, &err);
}

/* All findings, one per line, joined; not cut like the message. */
static const char *all_findings(void)
{
	static char text[16 * 1024];
	size_t n = 0;

	text[0] = '\0';
	for (const struct config_problem *p = problems.first; p != NULL; p = p->next) {
		if (!p->warning) {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "\n" : "",
					      p->text.p);
		}
	}
	return text;
}

static void refused(const char *text, const char *want)
{
	is_int(load_with(text, ""), ERR_INVALID, want);
	is_str(all_findings(), want, "... says so");
}

static void accepted(const char *text, const char *name)
{
	is_int(load_with(text, ""), ERR_OK, name);
	if (err.msg[0] != '\0') {
		printf("# %s\n", err.msg);
	}
}

static void test_multikueue(void)
{
	refused(MK "  gcInterval: -1s\n", "multiKueue.gcInterval: Invalid value: -1000000000: must "
					  "be greater than or equal to 0");
	is_int(problems.first->line, 4, "... in line 4");
	refused(MK "  placementTimeout: -1s\n",
		"multiKueue.placementTimeout: Invalid value: -1000000000: must be greater than or "
		"equal to 0");
	refused(MK "  unplaceable: Drop\n",
		"multiKueue.unplaceable: Unsupported value: \"Drop\": supported values: "
		"\"Reject\", \"Wait\"");
	refused(MK "  workerLostTimeout: -5m\n",
		"multiKueue.workerLostTimeout: Invalid value: -300000000000: must be greater than "
		"or equal to 0");
	refused(MK "  origin: \"a b\"\n", "multiKueue.origin: Invalid value: \"a b\": " LABEL);
	refused(MK "  origin: a-\n", "multiKueue.origin: Invalid value: \"a-\": " LABEL);
	refused(MK "  origin: " SIXTYFOUR "\n", "multiKueue.origin: Invalid value: \"" SIXTYFOUR
						"\": must be no more than 63 bytes");
	refused(MK "  origin: " SIXTYFOUR "-\n", "multiKueue.origin: Invalid value: \"" SIXTYFOUR
						 "-\": must be no more than 63 bytes," LABEL);
	refused(MK "  incrementalDispatcherConfig: {stepSize: 2}\n",
		"multiKueue.incrementalDispatcherConfig: Invalid value: {\"stepSize\":2}: "
		"incrementalDispatcherConfig is only valid when dispatcherName is set to the "
		"incremental "
		"dispatcher");
	refused(MK "  dispatcherName: " CONFIG_INCREMENTAL
		   "\n  incrementalDispatcherConfig: {stepSize: 0}\n",
		"multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: 0: must be "
		"greater than or equal "
		"to 1");
	is_int(load_with(MK "  gcInterval: -1s\n  workerLostTimeout: -1s\n  origin: \"a b\"\n", ""),
	       ERR_INVALID, "C-V21: three errors in one message");
	ok(str_starts(str_of(err.msg),
		      STR("[multiKueue.gcInterval: Invalid value: -1000000000: must be greater "
			  "than or equal to "
			  "0, multiKueue.workerLostTimeout: Invalid value: -1000000000: must be "
			  "greater than or "
			  "equal to 0, multiKueue.origin: Invalid value: \"a b\": a valid label")),
	   "... one message in that order");
}

static void test_providers(void)
{
#define P "multiKueue.clusterProfile.accessProviders"
#define GOOD                                                                               \
	"{name: p, execConfig: {command: x, apiVersion: client.authentication.k8s.io/v1, " \
	"interactiveMode: Never}}"
	refused(MK "  clusterProfile:\n    accessProviders: [" GOOD
		   "]\n    credentialsProviders: [" GOOD "]\n",
		"multiKueue.clusterProfile.credentialsProviders: Forbidden: must not be specified "
		"when "
		"accessProviders is specified");
	refused(MK "  clusterProfile:\n    accessProviders:\n    - name: \"\"\n      execConfig: "
		   "{env: [{value: x}]}\n",
		P ".name: Required value: must be specified\n" P
		  ".execConfig.command: Required value: must be "
		  "specified\n" P ".execConfig.apiVersion: Required value: must be specified\n" P
		  ".execConfig.env.name: Required value: must be specified\n" P
		  ".execConfig.interactiveMode: Required value: must be specified");
	is_int(problems.first->line, 6, "... in its line");
	refused(MK "  clusterProfile:\n    accessProviders:\n    - name: p\n      execConfig: "
		   "{command: x, apiVersion: "
		   "v1, interactiveMode: Sometimes}\n",
		P ".execConfig.interactiveMode: Unsupported value: \"Sometimes\": supported "
		  "values: \"Never\", "
		  "\"IfAvailable\", \"Always\"");
	accepted(MK "  clusterProfile:\n    credentialsProviders: [" GOOD ", " GOOD "]\n",
		 "two of one name");
	ok(problems.n_warnings == 1 && c.multikueue.n_providers == 2,
	   "... with a warning for the old key");
	accepted(MK "  clusterProfile:\n    accessProviders: [" GOOD "]\n", "a provider");
	ok(problems.n_warnings == 0 && c.multikueue.has_profiles,
	   "... that nothing is said against");
	accepted(MK
		 "  clusterProfile:\n    accessProviders: [{name: p, execConfig: {command: bin/x, "
		 "apiVersion: v1, interactiveMode: Never}}]\n",
		 "an unknown version of the protocol, and a relative path");
	ok(problems.n_warnings == 2 &&
		   strstr(problems.first->text.p,
			  "accessProviders.execConfig.apiVersion: \"v1\" is not known: clusters of "
			  "this provider will not connect") != NULL,
	   "... pass as in Kueue, with warnings");
}

static void test_integrations(void)
{
	refused(V2 "integrations: {frameworks: [foo]}\n",
		"integrations.frameworks[0]: Unsupported value: \"foo\": supported values: "
		"\"batch/job\", "
		"\"deployment\", \"jobset.x-k8s.io/jobset\", \"kubeflow.org/jaxjob\", "
		"\"kubeflow.org/mpijob\", "
		"\"kubeflow.org/paddlejob\", \"kubeflow.org/pytorchjob\", \"kubeflow.org/tfjob\", "
		"\"kubeflow.org/xgboostjob\", \"leaderworkerset.x-k8s.io/leaderworkerset\", "
		"\"pod\", "
		"\"ray.io/raycluster\", \"ray.io/rayjob\", \"ray.io/rayservice\", "
		"\"sparkoperator.k8s.io/sparkapplication\", \"statefulset\", "
		"\"trainer.kubeflow.org/trainjob\", "
		"\"workload.codeflare.dev/appwrapper\"");
	refused(V2 "integrations: {frameworks: [batch/job, batch/job]}\n",
		"integrations.frameworks[1]: Duplicate value: \"batch/job\"");
	refused(V2 "integrations: {frameworks: [batch/job], externalFrameworks: [Job.v1.batch]}\n",
		"integrations.externalFrameworks[0]: Duplicate value: \"Job.v1.batch\"");
	refused(V2 "integrations: {externalFrameworks: [foo, A.b.c, A.b.c]}\n",
		"integrations.externalFrameworks[0]: Invalid value: \"foo\": must be format, "
		"'Kind.version.group.com'\nintegrations.externalFrameworks[2]: Duplicate value: "
		"\"A.b.c\"");
	accepted(V2 "integrations: {frameworks: []}\n", "an empty list has the default");
}

static void gvk(const char *name, const char *group, const char *version, const char *kind)
{
	char text[256];

	snprintf(text, sizeof(text), MK "  externalFrameworks: [{name: \"%s\"}]\n", name);
	accepted(text, name);
	ok(c.multikueue.external_frameworks.n == 1 &&
		   str_is(c.multikueue.external_frameworks.v[0].group, group) &&
		   str_is(c.multikueue.external_frameworks.v[0].version, version) &&
		   str_is(c.multikueue.external_frameworks.v[0].kind, kind),
	   "... taken apart");
}

static void test_external(void)
{
#define F "multiKueue.externalFrameworks"
	gvk("PipelineRun.v1.tekton.dev", "tekton.dev", "v1", "PipelineRun");
	gvk("pipelinerun.v1.tekton.dev", "tekton.dev", "v1", "pipelinerun");
	gvk("A.b.c.d.e", "c.d.e", "b", "A");
	gvk("Pod.v1.", "", "v1", "Pod");
	gvk("..", "", "", "");
	gvk(".v1.g", "g", "v1", "");
	gvk("Foo..g", "g", "", "Foo");
	gvk("Foo.v1.g.", "g.", "v1", "Foo");
	gvk(" Foo.v1.g ", "g ", "v1", " Foo");
	gvk("Foo/v1.x.y", "y", "x", "Foo/v1");
	gvk("JobSet.v1alpha2.jobset.x-k8s.io", "jobset.x-k8s.io", "v1alpha2", "JobSet");
	refused(MK "  externalFrameworks: [{name: a}, {name: a.b}, {name: \"\"}, {}]\n",
		F "[0].name: Invalid value: \"a\": must be in 'kind.version.group' format\n" F
		  "[1].name: Invalid value: \"a.b\": must be in 'kind.version.group' format\n" F
		  "[2].name: Invalid value: \"\": must be in 'kind.version.group' format\n" F
		  "[3].name: Invalid value: \"\": must be in 'kind.version.group' format");
	refused(MK "  externalFrameworks: [{name: A.v1.b.c}, {name: A.v1.b.c}]\n",
		F "[1].name: Duplicate value: \"A.v1.b.c\"");
	refused(MK "  externalFrameworks: [{name: Job.v1.batch}]\n",
		F "[0].name: Invalid value: \"Job.v1.batch\": conflicts with a built-in MultiKueue "
		  "adapter");
	refused(MK "  externalFrameworks: [{name: Job.v1.batch}, {name: Job.v1.batch}]\n",
		F "[0].name: Invalid value: \"Job.v1.batch\": conflicts with a built-in MultiKueue "
		  "adapter\n" F "[1].name: Duplicate value: \"Job.v1.batch\"\n" F
		  "[1].name: Invalid value: \"Job.v1.batch\": conflicts with a built-in MultiKueue "
		  "adapter");
	accepted(V2 "integrations: {frameworks: [deployment]}\nmultiKueue:\n  externalFrameworks: "
		    "[{name: "
		    "Deployment.v1.apps}]\n",
		 "a kind without an adapter does not conflict");
}

static void test_tls(void)
{
	refused(V2 "tls: {minVersion: VersionTLS11}\n",
		"tls: Invalid value: {\"minVersion\":\"VersionTLS11\"}: invalid minVersion. Please "
		"use VersionTLS12 or "
		"VersionTLS13");
	refused(V2 "tls: {minVersion: x}\n", "tls: Invalid value: {\"minVersion\":\"x\"}: invalid "
					     "minVersion: unknown tls version \"x\". Please use "
					     "VersionTLS12 or VersionTLS13");
	refused(V2 "tls: {minVersion: VersionTLS13, cipherSuites: [TLS_AES_128_GCM_SHA256]}\n",
		"tls.cipherSuites: Invalid value: [\"TLS_AES_128_GCM_SHA256\"]: may not be "
		"specified when `minVersion` "
		"is 'VersionTLS13'");
	refused(V2 "tls: {curvePreferences: [0]}\n",
		"tls: Invalid value: {\"curvePreferences\":[0]}: invalid curve preferences: curve "
		"preference 0 is out "
		"of range (must be 1-65535)");
	refused(V2 "tls: {curvePreferences: [23, 23]}\n",
		"tls: Invalid value: {\"curvePreferences\":[23,23]}: invalid curve preferences: "
		"duplicate curve "
		"preference 23");
	load_with(V2 "tls: {cipherSuites: [NOPE]}\n", "");
	ok(strstr(all_findings(), "invalid cipher suites: Cipher suite NOPE not supported or "
				  "doesn't exist. Please use "
				  "the secure cipher names: [TLS_AES_128_GCM_SHA256 ") != NULL,
	   "an unknown cipher");
}

static void test_selector(void)
{
	refused(V2 "managedJobsNamespaceSelector: {}\n",
		"managedJobsNamespaceSelector: Invalid value: {}: should not match the "
		"\"kube-system\" namespace\n"
		"managedJobsNamespaceSelector: Invalid value: {}: should not match the "
		"\"kueue-system\" namespace");
	refused(V2 "managedJobsNamespaceSelector: {matchExpressions: [{key: "
		   "kubernetes.io/metadata.name, operator: "
		   "NotIn, values: [kube-system]}]}\n",
		"managedJobsNamespaceSelector: Invalid value: {\"matchExpressions\":[{\"key\":"
		"\"kubernetes.io/"
		"metadata.name\",\"operator\":\"NotIn\",\"values\":[\"kube-system\"]}]}: should "
		"not "
		"match the \"kueue-system\" namespace");
	refused(V2 "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Foo}, "
		   "{key: a, operator: In}]}\n",
		"managedJobsNamespaceSelector.matchExpressions[0].operator: Invalid value: "
		"\"Foo\": not a valid selector "
		"operator\nmanagedJobsNamespaceSelector.matchExpressions[1].values: Required "
		"value: must be specified "
		"when `operator` is 'In' or 'NotIn'");
	accepted(V2 "managedJobsNamespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "
		    "team-a}}\n",
		 "a selector for one namespace");
	accepted(V2 "managedJobsNamespaceSelector: {matchExpressions: [{key: kueue, operator: "
		    "Exists}]}\n",
		 "a selector by a label");
}

static void test_servers(void)
{
	refused(V2 "internalCertManagement: {webhookServiceName: 1x, webhookSecretName: A}\n",
		"internalCertManagement.webhookServiceName: Invalid value: \"1x\": a DNS-1035 "
		"label must consist of "
		"lower case alphanumeric characters or '-', start with an alphabetic character, "
		"and end with an "
		"alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation "
		"is "
		"'[a-z]([-a-z0-9]*[a-z0-9])?')\n"
		"internalCertManagement.webhookSecretName: Invalid value: \"A\": a lowercase RFC "
		"1123 subdomain must "
		"consist of lower case alphanumeric characters, '-' or '.', and must start and end "
		"with an alphanumeric "
		"character (e.g. 'example.com', regex used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	accepted(V2 "internalCertManagement: {enable: false, webhookServiceName: 1x}\n",
		 "names count only if enabled");
	refused(V2 "visibilityServer: {bindAddress: x, bindPort: 0}\n",
		"visibilityServer.bindAddress: Invalid value: \"x\": must be a valid IP address\n"
		"visibilityServer.bindPort: Invalid value: 0: must be a valid port number "
		"(1-65535)");
	refused(V2 "leaderElection: {leaseDuration: 5s, resourceLock: endpoints}\nwebhook: {port: "
		   "70000}\n",
		"leaderElection.leaseDuration: Invalid value: 5000000000: leaseDuration must be "
		"greater than "
		"renewDeadline\nleaderElection.resourceLock: Unsupported value: \"endpoints\": "
		"supported values: "
		"\"leases\"\nwebhook.port: Invalid value: 70000: must be a valid port number "
		"(0-65535)");
}

#define ADDRESS                                                                            \
	"must be a port, with or without an IP address before it: :8081, 127.0.0.1:8081, " \
	"[::1]:8081"

/* What the daemon could not start with is found before it is started. */
static void test_starts(void)
{
	static const char *const good[] = {
		":0", "127.0.0.1:8081", "localhost:8081", "::1:81", "[::]:8081", ":65535", "0"};
	static const char *const bad[] = {"8081",   "example.org:81", ":x",    ":",
					  ":65536", "127.0.0:8081",   "[::1]", "x"};
	char text[400], want[400];

	refused(V2 "leaderElection: {leaseDuration: 1h0m1s}\n",
		"leaderElection.leaseDuration: Invalid value: 3601000000000: must be at most 1h");
	accepted(V2 "leaderElection: {leaseDuration: 1h}\n", "a lease of an hour");
	accepted(V2 "leaderElection: {leaseDuration: 2h, leaderElect: false}\n",
		 "whatever, without election");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text),
			 V2 "health: {healthProbeBindAddress: \"%s\"}\nmetrics: {bindAddress: "
			    "\"%s\"}\n",
			 good[i], good[i]);
		accepted(text, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), V2 "health: {healthProbeBindAddress: \"%s\"}\n",
			 bad[i]);
		snprintf(want, sizeof(want),
			 "health.healthProbeBindAddress: Invalid value: \"%s\": " ADDRESS, bad[i]);
		refused(text, want);
	}
	is_int(problems.first->line, 3, "... in line 3");
	refused(V2 "metrics: {bindAddress: \"example.org:81\"}\nwebhook: {host: example.org}\n",
		"metrics.bindAddress: Invalid value: \"example.org:81\": " ADDRESS
		"\nwebhook.host: Invalid value: \"example.org\": must be an IP address");
	refused(V2 "multiKueue: {visibility: {bindAddress: 'example.org:81', serviceName: A, "
		   "secretName: multikueue-webhook-server-cert}}\n",
		"multiKueue.visibility.bindAddress: Invalid value: \"example.org:81\": " ADDRESS
		"\nmultiKueue.visibility.serviceName: Invalid value: \"A\": a DNS-1035 label must "
		"consist of lower case alphanumeric characters or '-', start with an alphabetic "
		"character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
		"regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
		"\nmultiKueue.visibility.secretName: Invalid value: "
		"\"multikueue-webhook-server-cert\": it is the webhook's: expected another name");
	accepted(V2 "multiKueue: {visibility: {bindAddress: ':8444'}}\n", "the aggregated API");
	is_str(c.visibility_bind_address.p, ":8444", "... has its address");
	is_str(c.visibility_service_name.p, "multikueued-visibility", "... a Service");
	is_str(c.visibility_secret_name.p, "multikueued-visibility-cert", "... and a Secret");
	accepted(V2 "webhook: {host: localhost}\n", "localhost");
	is_str(c.visibility_bind_address.p, "0", "without the section it is off");
	is_str(c.webhook_host.p, "127.0.0.1", "... is that of IPv4, as with Go");
	accepted(V2 "health: {healthProbeBindAddress: \"localhost:8081\"}\n", "also here");
	is_str(c.health_bind_address.p, "127.0.0.1:8081", "... and here");
}

static void test_manager_id(void)
{
	refused(MK "  managerId: b\n  formerManagers: [a, b]\n",
		"multiKueue.formerManagers[1]: Invalid value: \"b\": is the one in use, not a "
		"former one");
	refused(MK "  managerId: x y\n",
		"multiKueue.managerId: Invalid value: \"x y\": a valid label must be an empty "
		"string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
		"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
		"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

static void test_ours(void)
{
#define SHARE_ERROR                                                                         \
	"multiKueue.workerMemory: Invalid value: must be 0 or a whole number of bytes not " \
	"less than 1Mi"
	refused(MK "  jobStatusSize: 15Ki\n",
		"multiKueue.jobStatusSize: Invalid value: must be 0 or a whole number of bytes not "
		"less than 16Ki");
	refused(MK "  workerMemory: 1023Ki\n", SHARE_ERROR);
	refused(MK "  workerMemory: -1\n", SHARE_ERROR);
	refused(MK "  workerMemory: lots\n", SHARE_ERROR);
	refused(MK "  plugins: {directory: plugins}\n",
		"multiKueue.plugins.directory: Invalid value: \"plugins\": must be an absolute "
		"path");
	refused(MK "  plugins: {allow: [\"\"], budgets: {softTime: 1s, hardMemory: 0, softCalls: "
		   "5, hardCalls: 4}}\n",
		"multiKueue.plugins.allow[0]: Required value: must be a plugin id\n"
		"multiKueue.plugins.budgets.softTime: Invalid value: must not be greater than "
		"hardTime\n"
		"multiKueue.plugins.budgets.hardMemory: Invalid value: must be a whole number "
		"greater than 0\n"
		"multiKueue.plugins.budgets.softCalls: Invalid value: must not be greater than "
		"hardCalls");
	refused(MK "  dispatchers: {foo: {}}\n  externalDispatchers: [bar]\n  lostWorkerPolicy: x\n"
		   "  takeOver: All\n"
		   "  network: {transport: http3, tls: {minVersion: VersionTLS11}}\n"
		   "  quotaTrees: {mode: compile}\n",
		"multiKueue.network.transport: Unsupported value: \"http3\": supported values: "
		"\"auto\", \"curl\"\n"
		"multiKueue.network.tls.minVersion: Unsupported value: \"VersionTLS11\": supported "
		"values: \"VersionTLS12\", \"VersionTLS13\"\n"
		"multiKueue.lostWorkerPolicy: Unsupported value: \"x\": supported values: "
		"\"Keep\", \"Requeue\"\n"
		"multiKueue.takeOver: Unsupported value: \"All\": supported values: "
		"\"CollectUnmarked\", \"None\"\n"
		"multiKueue.quotaTrees.mode: Unsupported value: \"compile\": supported values: "
		"\"Compile\", \"Observe\", \"Off\"\n"
		"multiKueue.dispatchers: Invalid value: \"foo\": must be a domain-prefixed path "
		"(such as "
		"\"acme.io/foo\") of at most 63 bytes\n"
		"multiKueue.externalDispatchers[0]: Invalid value: \"bar\": must be a "
		"domain-prefixed path (such as "
		"\"acme.io/foo\") of at most 63 bytes");
	refused(MK
		"  origin: b\n  formerOrigins: [a, \"\", b, \"x y\"]\n  formerManagers: [\"\"]\n",
		"multiKueue.formerOrigins[1]: Invalid value: \"\": must not be empty\n"
		"multiKueue.formerOrigins[2]: Invalid value: \"b\": is the one in use, not a "
		"former "
		"one\n"
		"multiKueue.formerOrigins[3]: Invalid value: \"x y\": a valid label must be an "
		"empty "
		"string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
		"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
		"regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
		"multiKueue.formerManagers[0]: Invalid value: \"\": must not be empty");
	refused(MK "  formerOrigins: [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r]\n",
		"multiKueue.formerOrigins: Too many: 17: must have at most 16 items");
	refused(MK "  dispatchers: {acme.io/x: 5}\n",
		"json: cannot unmarshal number into Go struct field "
		"MultiKueue.multiKueue.dispatchers of type "
		"map[string]interface {}");
}

static void test_walls(void)
{
	accepted(MK "  walls:\n  - config: tenants\n    allow:\n    - namespaces: [team-*]\n      "
		    "kinds: [Job.v1.batch, Pod.v1.]\n      serviceAccounts: []\n      "
		    "priorityClasses: [low]\n      references: [ConfigMap, Secret]\n    - {}\n  "
		    "- {config: \"*\", allow: []}\n",
		 "walls");
	refused(MK "  walls: [{config: a}, {allow: []}, {config: a, allow: []}, {config: A_b, "
		   "allow: []}]\n",
		"multiKueue.walls[0].allow: Required value: a list of rules; [] lets nothing "
		"leave\n"
		"multiKueue.walls[1].config: Required value: the name of a MultiKueueConfig, or "
		"\"*\" for those without a wall of their own\n"
		"multiKueue.walls[2].config: Duplicate value: \"a\"\n"
		"multiKueue.walls[3].config: Invalid value: \"A_b\": a lowercase RFC 1123 "
		"subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
		"must start and end with an alphanumeric character (e.g. 'example.com', regex "
		"used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	refused(MK "  walls: [{config: a, allow: [{namespaces: , kinds: [Job, batch/job]}, "
		   "{serviceAccounts: [\"\", \"a*b\"], references: [Secrets]}, ]}]\n",
		"multiKueue.walls[0].allow[0].namespaces: Invalid value: \"\": must be a list: "
		"[] allows none, and without the key any is allowed\n"
		"multiKueue.walls[0].allow[0].kinds[0]: Invalid value: \"Job\": must be "
		"\"Kind.version.group\", as in \"Job.v1.batch\" and \"Pod.v1.\"\n"
		"multiKueue.walls[0].allow[0].kinds[1]: Invalid value: \"batch/job\": must be "
		"\"Kind.version.group\", as in \"Job.v1.batch\" and \"Pod.v1.\"\n"
		"multiKueue.walls[0].allow[1].serviceAccounts[0]: Invalid value: \"\": must not "
		"be empty\n"
		"multiKueue.walls[0].allow[1].serviceAccounts[1]: Invalid value: \"a*b\": '*' "
		"may stand at the end only\n"
		"multiKueue.walls[0].allow[1].references[0]: Unsupported value: \"Secrets\": "
		"supported values: \"ConfigMap\", \"HostNamespace\", \"HostPath\", "
		"\"PersistentVolumeClaim\", \"ResourceClaim\", \"Secret\"");
	accepted(MK "  walls: [{config: a, allow: [{}], impersonate: {serviceAccount: tenant}}]\n",
		 "an account for what is written on workers");
	refused(MK
		"  walls: [{config: a, allow: [], impersonate: }, {config: b, allow: [], "
		"impersonate: {}}, {config: c, allow: [], impersonate: {serviceAccount: A_b}}]\n",
		"multiKueue.walls[0].impersonate.serviceAccount: Required value: the name of a "
		"ServiceAccount in each namespace of workers\n"
		"multiKueue.walls[1].impersonate.serviceAccount: Required value: the name of a "
		"ServiceAccount in each namespace of workers\n"
		"multiKueue.walls[2].impersonate.serviceAccount: Invalid value: \"A_b\": a "
		"lowercase RFC 1123 "
		"subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
		"must start and end with an alphanumeric character (e.g. 'example.com', regex "
		"used for validation is "
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	refused(MK "  walls: [{config: a, allow: [], impersonate: {serviceAcount: a}}]\n",
		"unknown field \"multiKueue.walls[0].impersonate.serviceAcount\"");
	refused(MK "  walls: [{config: a, allow: [null]}]\n",
		"multiKueue.walls[0].allow[0]: Invalid value: \"\": must be an object; {} allows "
		"everything");
	refused(MK "  walls: [{config: a, alow: []}]\n",
		"unknown field \"multiKueue.walls[0].alow\"");
}

static void test_print(void)
{
	accepted("multiKueue:\n  plugins: {directory: /x}\n  network: {}\n  origin: \"on\"\n  "
		 "lostWorkerPolicy: Keep\n  takeOver: None\n  placementTimeout: 5m\n  unplaceable: "
		 "Wait\n  "
		 "kueueVersion: v0.19.2\n  workerMemory: 2Gi\n  "
		 "formerOrigins: [a]\n  "
		 "formerManagers: [b]\n  managerId: c\n  walls: [{config: a, allow: []}]\n"
		 "  quotaTrees: {mode: Observe}\n"
		 "integrations:\n  frameworks: [batch/job, pod]\n",
		 "a file with our keys");
	is_str(config_print_kueue(&a, &c).p,
	       "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue:\n  "
	       "origin: \"on\"\n"
	       "integrations:\n  frameworks:\n  - batch/job\n  - pod\n",
	       "... printed without them");
	accepted(MK "  quotaTrees: {mode: Off}\n", "Off without quotes, which YAML reads as false");
	ok(c.multikueue.quota_trees == CONFIG_TREES_OFF, "... is that word");
	accepted("apiVersion: config.kueue.x-k8s.io/v1beta1\n", "v1beta1");
	is_str(config_print_kueue(&a, &c).p,
	       "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n",
	       "... stays v1beta1");
}

int main(void)
{
	arena_init(&a, 0);
	test_multikueue();
	test_providers();
	test_integrations();
	test_external();
	test_tls();
	test_selector();
	test_servers();
	test_starts();
	test_manager_id();
	test_ours();
	test_walls();
	test_print();
	arena_done(&a);
	return done_testing();
}
