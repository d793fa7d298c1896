/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: acceptance, defaults, and every refusal of Kueue's with its words. */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/config/config.h"

#define V2 "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define V1 "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"
#define MK V2 "multiKueue:\n"

static struct arena a;
static struct config c;
static struct config_problems problems;
static struct mk_err err;

static enum mk_code load_with(const char *text, const char *gates)
{
	struct config_input in = {
		.text = str_of(text),
		.feature_gates = str_of(gates),
		.service_namespace = STR(""),
	};

	arena_clear(&a);
	memset(&c, 0, sizeof(c));
	err.msg[0] = '\0';
	return config_load(&a, &in, &c, &problems, &err);
}

static bool accepted(const char *text, const char *name)
{
	enum mk_code code = load_with(text, "");

	if (code != ERR_OK) {
		printf("# %s\n", err.msg);
	}
	return is_int(code, ERR_OK, name);
}

static void refused(const char *text, const char *want)
{
	if (!is_int(load_with(text, ""), ERR_INVALID, want)) {
		return;
	}
	is_str(err.msg, want, "... says so");
}

/* 'n' findings whose texts, joined by newlines, are 'want'; the first one in 'line'. */
static void findings(const char *text, int line, const char *want)
{
	struct buf b;
	char name[120];

	load_with(text, "");
	buf_init(&b, 1 << 20);
	for (const struct config_problem *p = problems.first; p != NULL; p = p->next) {
		if (!p->warning) {
			buf_printf(&b, "%s%s", b.n ? "\n" : "", p->text.p);
		}
	}
	snprintf(name, sizeof(name), "%.100s", want);
	is_str(b.p, want, name);
	is_int(problems.first ? problems.first->line : -1, line, "... and where");
	buf_done(&b);
}

static void test_defaults(void)
{
	const char *same[] = {V2,
			      "",
			      "# nothing\n",
			      V1,
			      "multiKueue: {}\n",
			      MK "  clusterProfile: {}\n",
			      MK "  gcInterval: null\n  origin: \"\"\n",
			      "kind: Configuration\n"};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		accepted(same[i], same[i][0] ? same[i] : "an empty file");
		ok(c.multikueue.gc_interval_ms == 60000 &&
			   c.multikueue.worker_lost_timeout_ms == 900000 &&
			   str_is(c.multikueue.origin, "multikueue") &&
			   str_is(c.multikueue.dispatcher, CONFIG_ALL_AT_ONCE) &&
			   c.frameworks.n == 1 && str_is(c.frameworks.v[0], "batch/job") &&
			   c.multikueue.step_size == 3,
		   "... has the defaults");
	}
	ok(str_is(c.namespace_, "kueue-system") && c.leader_election.elect &&
		   str_is(c.leader_election.resource_name, CONFIG_LEASE) &&
		   c.leader_election.lease_duration_ms == 15000 &&
		   c.leader_election.renew_deadline_ms == 10000 &&
		   c.leader_election.retry_period_ms == 2000,
	   "leader election");
	ok(str_is(c.health_bind_address, ":8081") && str_is(c.readiness_endpoint, "/readyz") &&
		   str_is(c.liveness_endpoint, "/healthz") &&
		   str_is(c.metrics_bind_address, ":8443") && c.webhook_port == 9443 &&
		   c.internal_certs,
	   "servers");
	ok(!c.webhook_on && str_is(c.webhook_secret_name, "multikueue-webhook-server-cert"),
	   "no webhook unasked");
	ok(str_is(c.multikueue.plugin_directory, "/usr/local/lib/multikueue/plugins") &&
		   c.multikueue.budgets.soft_time_ms == 5 &&
		   c.multikueue.budgets.hard_time_ms == 50 &&
		   c.multikueue.budgets.hard_memory == 16 * 1024 * 1024 &&
		   !c.multikueue.allow_loopback && !c.multikueue.allow_link_local &&
		   !c.multikueue.only_libcurl && !c.multikueue.worker_lost_keep &&
		   !c.multikueue.collect_unmarked && c.multikueue.placement_timeout_ms == 0 &&
		   !c.multikueue.unplaceable_reject &&
		   c.multikueue.quota_trees == CONFIG_TREES_OFF &&
		   json_len(c.multikueue.dispatchers) == 0,
	   "our own keys");
	ok(c.gates[CONFIG_GATE_MULTIKUEUE] && c.gates[CONFIG_GATE_REMOTE_SPEC_SYNC] &&
		   !c.gates[CONFIG_GATE_CLUSTER_PROFILE],
	   "gates");
	is_int(problems.n_warnings, 0, "no warning");
}

static void test_values(void)
{
	struct config_input in = {.text = STR(V2), .service_namespace = STR(" ours \n")};
	struct json *v;

	is_int(config_load(&a, &in, &c, &problems, &err), ERR_OK, "in a pod");
	is_str(c.namespace_.p, "ours", "the pod's namespace");
	is_str(json_str_at(c.managed_jobs_selector, "/matchExpressions/0/values/1").p, "ours",
	       "... is in the default selector");
	accepted(V2 "webhook: {}\n", "an empty section");
	ok(c.webhook_on && c.internal_certs, "... is a webhook with our own authority");
	accepted(V2 "webhook: {port: 0}\n", "port 0");
	is_int(c.webhook_port, 9443, "... is the default, as in controller-runtime");
	accepted(V2 "webhook: {certDir: /certs}\n", "a folder of certificates");
	ok(c.webhook_on && !c.internal_certs, "... is used");
	ok(c.metrics_own_cert, "... for the webhook: that of the metrics stays our own");
	accepted(V2 "internalCertManagement: {enable: false}\n", "certificates of others");
	ok(!c.internal_certs && !c.metrics_own_cert, "... are wanted for both");
	accepted(V2 "webhook: {certDir: /c}\ninternalCertManagement: {enable: true}\n",
		 "unless the authority is asked for");
	ok(c.internal_certs && c.metrics_own_cert, "... is ours then");
	accepted(V2 "clientConnection: {qps: 2.5, burst: 7}\n", "a rate of requests");
	ok(c.client_qps == 2.5 && c.client_burst == 7, "... with its fraction");
	accepted(V2 "clientConnection: {}\n", "none");
	ok(c.client_qps == 0 && c.client_burst == 0, "... is none");
	accepted(V2 "webhook: null\n", "null is no section");
	ok(!c.webhook_on, "... at all");
	accepted(MK "  workerLostTimeout: 9000h\n", "more than a year");
	ok(c.multikueue.worker_lost_timeout_ms == INT64_C(9000) * 3600 * 1000 &&
		   !c.multikueue.worker_lost_keep,
	   "... is a timeout like any other");
	accepted(MK "  gcInterval: 0s\n  workerLostTimeout: 0s\n", "C-V6: zero");
	ok(c.multikueue.gc_interval_ms == 0 && c.multikueue.worker_lost_timeout_ms == 0,
	   "... kept");
	accepted(MK "  gcInterval: \"0\"\n", "C-V6: zero without a unit");
	accepted(MK "  gcInterval: 1h30m\n", "C-V6: composed");
	is_int(c.multikueue.gc_interval_ms, 5400000, "... value");
	accepted(MK "  origin: My.mgr_1\n", "C-V10: origin kept");
	is_str(c.multikueue.origin.p, "My.mgr_1", "... as it is");
	accepted(MK "  dispatcherName: \"\"\n", "C-V10: empty dispatcher");
	accepted(MK "  dispatcherName: " CONFIG_INCREMENTAL "\n", "C-V12: incremental alone");
	is_int(c.multikueue.step_size, 3, "... 3");
	accepted(MK "  dispatcherName: " CONFIG_INCREMENTAL
		    "\n  incrementalDispatcherConfig:\n    stepSize: 5\n",
		 "C-V12: with 5");
	is_int(c.multikueue.step_size, 5, "... 5");
	v = json_getn(config_dispatchers(&a, &c), STR(CONFIG_INCREMENTAL));
	is_int(json_int(json_get(v, "stepSize"), 0), 5, "... handed to the dispatcher");
	accepted(V2 "featureGates:\n  MultiKueueIncrementalDispatcherConfig: false\nmultiKueue:\n"
		    "  dispatcherName: " CONFIG_INCREMENTAL
		    "\n  incrementalDispatcherConfig:\n    stepSize: 5\n",
		 "with its gate off");
	is_int(c.multikueue.step_size, 3, "... the step size does not count");
	accepted(V2 "featureGates:\n  MultiKueueIncrementalDispatcherRespectConfigOrder: false\n"
		    "multiKueue:\n  dispatcherName: " CONFIG_INCREMENTAL "\n",
		 "in another order");
	v = json_getn(config_dispatchers(&a, &c), STR(CONFIG_INCREMENTAL));
	is_str(json_str(json_get(v, "order")).p, "name", "... and by name with the gate off");
}

static void test_share(void)
{
	accepted(MK "  workerMemory: 0\n", "a worker without a share");
	is_int(c.multikueue.worker_memory, 0, "... has no limit");
	accepted(MK "  workerMemory: 1Mi\n", "the smallest share");
	accepted(MK, "no share is set");
	is_int(c.multikueue.worker_memory, 1 << 30, "... it is 1Gi");
}

static void test_our_values(void)
{
	accepted(
		MK
		"  plugins:\n    directory: /opt/p\n    allow: [a.b/c]\n    budgets:\n      "
		"softTime: 1ms\n"
		"      hardMemory: 32Mi\n      hardCalls: 200000\n"
		"  dispatchers:\n    acme.io/x:\n      a: [1, {b: c}]\n  externalDispatchers: "
		"[acme.io/y]\n"
		"  network: {allowLoopback: true, allowLinkLocal: true, transport: curl,\n"
		"    tls: {minVersion: VersionTLS13}}\n"
		"  lostWorkerPolicy: Keep\n  takeOver: CollectUnmarked\n  workerMemory: 256Mi\n"
		"  placementTimeout: 10m\n  unplaceable: Reject\n"
		"  quotaTrees: {mode: Compile}\n"
		"  formerOrigins: [old]\n  formerManagers: [a5e3b1b2, \"77\"]\n  managerId: west\n",
		"our keys");
	ok(str_is(c.multikueue.plugin_directory, "/opt/p") && c.multikueue.plugin_allow.n == 1 &&
		   c.multikueue.budgets.soft_time_ms == 1 &&
		   c.multikueue.budgets.hard_memory == 33554432 &&
		   c.multikueue.budgets.hard_calls == 200000 && c.multikueue.allow_loopback &&
		   c.multikueue.allow_link_local && c.multikueue.only_libcurl &&
		   c.multikueue.workers_tls13 && c.multikueue.worker_lost_keep &&
		   c.multikueue.collect_unmarked && c.multikueue.placement_timeout_ms == 600000 &&
		   c.multikueue.unplaceable_reject &&
		   c.multikueue.quota_trees == CONFIG_TREES_COMPILE &&
		   c.multikueue.worker_lost_timeout_ms == 900000 &&
		   c.multikueue.external_dispatchers.n == 1 && c.multikueue.former_origins.n == 1 &&
		   str_is(c.multikueue.former_origins.v[0], "old") &&
		   c.multikueue.former_managers.n == 2 &&
		   str_is(c.multikueue.former_managers.v[0], "a5e3b1b2") &&
		   str_is(c.multikueue.manager_id, "west") &&
		   c.multikueue.worker_memory == 256 * 1024 * 1024,
	   "... have their values");
	is_str(json_str_at(json_getn(config_dispatchers(&a, &c), STR("acme.io/x")), "/a/1/b").p,
	       "c", "... a dispatcher's section");
	is_int(problems.n_warnings, 1, "... and one warning that Kueue refuses them");
	is_int(problems.first->line, 4, "... with its line");
}

static void test_other_values(void)
{
	accepted(V2 "tls:\n  minVersion: VersionTLS13\n  curvePreferences: [29, 23]\n", "TLS 1.3");
	ok(c.tls.tls13 && c.tls.n_curves == 2 && c.tls.curves[0] == 29, "... has its values");
	accepted(V2 "controller:\n  groupKindConcurrency:\n    Workload.kueue.x-k8s.io: 10\n"
		    "  cacheSyncTimeout: 60000000000\n",
		 "controller");
	accepted(MK
		 "  clusterProfile:\n    accessProviders:\n    - name: p\n      execConfig: "
		 "{command: x, args: "
		 "[a, b], env: [{name: NAME, value: V}], apiVersion: v1, interactiveMode: Never}\n",
		 "a provider");
	ok(c.multikueue.n_providers == 1 && c.multikueue.providers[0].args.n == 2 &&
		   c.multikueue.providers[0].env.n == 2 &&
		   str_is(c.multikueue.providers[0].env.v[1], "V"),
	   "... has its values");
	accepted(V1 "queueVisibility: {updateIntervalSeconds: 5, clusterQueues: {maxCount: 1}}\n"
		    "waitForPodsReady: {enable: true}\nfairSharing: {enable: true}\n"
		    "integrations: {frameworks: [pod], podOptions: {podSelector: {}}}\n",
		 "what only v1beta1 has");
	accepted("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n---\n{{{{\n",
		 "only the first document counts");
}

static void test_decoding(void)
{
	refused("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Config\n",
		"no kind \"Config\" is registered for version \"config.kueue.x-k8s.io/v1beta2\" in "
		"scheme "
		"\"multikueued\"");
	refused("apiVersion: config.kueue.x-k8s.io/v1\nkind: Configuration\n",
		"no kind \"Configuration\" is registered for version \"config.kueue.x-k8s.io/v1\" "
		"in scheme "
		"\"multikueued\"");
	refused(V2 "multikueue: {}\n", "strict decoding error: unknown field \"multikueue\"");
	ok(str_starts(problems.first->hint, STR("did you mean multiKueue? Keys here: ")),
	   "... with what was meant");
	refused(MK "  gcInterval: 1m\n  gcIntervall: 1\n  externalFramework: []\n  foo: 1\n",
		"strict decoding error: unknown field \"multiKueue.externalFramework\", unknown "
		"field \"multiKueue.gcIntervall\"");
	refused(MK "  externalFrameworks:\n  - {name: A.b.c, nam: 1}\n",
		"strict decoding error: unknown field \"multiKueue.externalFrameworks[0].nam\"");
	refused(MK "  network: {invented: 1}\n",
		"strict decoding error: unknown field \"multiKueue.network.invented\"");
	refused(MK "  walls:\n  - {config: a, deny: []}\n",
		"strict decoding error: unknown field \"multiKueue.walls[0].deny\"");
	refused(MK "  gcInterval: 1m\n  gcInterval: 2m\n",
		"strict decoding error: yaml: unmarshal errors:\n  line 5: key \"gcInterval\" "
		"already set in "
		"map");
	is_int(problems.first->line, 5, "... in line 5");
}

/* What stands in the file at that line is left to Kueue: a warning with the hint. */
static void left(const char *text, int line, const char *field, const char *hint)
{
	const struct config_problem *p;
	char want[200];

	if (!accepted(text, field)) {
		return;
	}
	p = problems.first;
	snprintf(want, sizeof(want),
		 "unknown field \"%s\" has no effect here; a newer Kueue may have it", field);
	ok(p && p->warning && p->line == line && problems.n_warnings == 1,
	   "... with one warning, which names the line");
	is_str(p ? p->text.p : "", want, "... and the key");
	is_str(p ? p->hint.p : "", hint, "... and what may stand there");
}

static void test_newer_keys(void)
{
	left(V2 "health: {healthProbeBindAdress: x}\n", 3, "health.healthProbeBindAdress",
	     "did you mean healthProbeBindAddress? Keys here: healthProbeBindAddress, "
	     "readinessEndpointName, livenessEndpointName");
	left(V2 "health: {port: 1}\n", 3, "health.port",
	     "expected one of: healthProbeBindAddress, readinessEndpointName, "
	     "livenessEndpointName");
	left(V2 "objectRetentionPolicies:\n  jobs: {afterFinished: 1h}\n", 4,
	     "objectRetentionPolicies.jobs", "expected one of: workloads");
	left(MK "  externalFrameworks:\n  - {name: A.b.c, x: {y: [1]}}\n", 5,
	     "multiKueue.externalFrameworks[0].x", "expected one of: name");
	accepted(V2 "tracing: {endpoint: \"otel:4317\"}\nmultiKueue:\n  gcInterval: 2m\n"
		    "  objectRetentionPolicies: {remoteObjects: {afterFinished: 1h}}\n",
		 "sections of a newer Kueue");
	is_int(problems.n_warnings, 2, "... are warned of");
	is_int(c.multikueue.gc_interval_ms, 120000, "... and the others count");
}

static void test_types(void)
{
	refused(MK "  gcInterval: 60\n", "json: cannot unmarshal number into Go struct field "
					 "MultiKueue.multiKueue.gcInterval of type "
					 "string");
	is_int(problems.first->line, 4, "... in line 4");
	is_str(problems.first->path.p, "multiKueue.gcInterval", "... with its path");
	is_str(problems.first->hint.p,
	       "expected a duration in quotes or with a unit, such as 1m30s, found number 60",
	       "... and a hint");
	refused(MK "  gcInterval: 0\n", "json: cannot unmarshal number into Go struct field "
					"MultiKueue.multiKueue.gcInterval of type "
					"string");
	refused(MK "  gcInterval: 1x\n", "time: unknown unit \"x\" in duration \"1x\"");
	refused(V1 "multiKueue:\n  clusterProfile: {}\n",
		"strict decoding error: unknown field \"multiKueue.clusterProfile\"");
	refused(V1 "multiKueue:\n  incrementalDispatcherConfig: {}\n",
		"strict decoding error: unknown field \"multiKueue.incrementalDispatcherConfig\"");
	refused(MK "  externalFrameworks: [foo]\n",
		"json: cannot unmarshal string into Go struct field "
		"MultiKueue.multiKueue.externalFrameworks of "
		"type v1beta2.MultiKueueExternalFramework");
	refused(V2 "multiKueue: x\n", "json: cannot unmarshal string into Go struct field "
				      "Configuration.multiKueue of type "
				      "v1beta2.MultiKueue");
	refused("[1]\n", "couldn't get version/kind; json parse error: json: cannot unmarshal "
			 "array into Go value of "
			 "type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; "
			 "Kind string "
			 "\"json:\\\"kind,omitempty\\\"\" }");
	refused("apiVersion: 5\n", "couldn't get version/kind; json parse error: json: cannot "
				   "unmarshal number into Go struct "
				   "field .apiVersion of type string");
	refused(V2 "featureGates: {A: 1}\n", "json: cannot unmarshal number into Go struct field "
					     "Configuration.featureGates of type bool");
	refused(V2 "controller: {cacheSyncTimeout: 2m}\n",
		"json: cannot unmarshal string into Go struct field "
		"ControllerConfigurationSpec.ControllerManager.controller.cacheSyncTimeout of type "
		"time.Duration");
	refused(V2 "clientConnection: {burst: 3000000000}\n",
		"json: cannot unmarshal number 3000000000 into Go struct field "
		"ClientConnection.clientConnection.burst of type int32");
}

static void test_hostile(void)
{
	char big[64 * 1024];
	size_t n = 0;

	refused(MK "  origin: &x a\n  dispatcherName: *x\n",
		"yaml: line 4: anchors are not allowed");
	findings(MK "  gcInterval: 60\n  origin: 5\n  network: {allowLoopback: 1}\n", 4,
		 "json: cannot unmarshal number into Go struct field "
		 "MultiKueue.multiKueue.gcInterval of type "
		 "string\n"
		 "json: cannot unmarshal number into Go struct field "
		 "Network.multiKueue.network.allowLoopback "
		 "of type bool\n"
		 "json: cannot unmarshal number into Go struct field MultiKueue.multiKueue.origin "
		 "of type "
		 "string");
	n += (size_t)snprintf(big, sizeof(big), "a: &a [x,x,x,x,x,x,x,x,x]\n");
	for (char x = 'b'; x < 'z'; x++) {
		n += (size_t)snprintf(big + n, sizeof(big) - n,
				      "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", x, x, x - 1,
				      x - 1, x - 1, x - 1, x - 1, x - 1, x - 1, x - 1);
	}
	refused(big, "yaml: line 1: anchors are not allowed");
	memset(big, '[', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	refused(big, "yaml: line 1: nested too deep");
}

static void test_limits(void)
{
	struct buf b;
	struct config_input in;

	buf_init(&b, 4 << 20);
	buf_add(&b, STR("a: \""));
	while (b.n < YAML_MAX_SIZE) {
		buf_add(&b, STR("xxxxxxxxxxxxxxxx"));
	}
	buf_add(&b, STR("\"\n"));
	in = (struct config_input){.text = buf_str(&b)};
	is_int(config_load(&a, &in, &c, &problems, &err), ERR_TOO_BIG, "more than 1 MiB");
	buf_clear(&b);
	buf_add(&b, STR(V2 "integrations:\n  frameworks:\n"));
	for (int i = 0; i < 30000; i++) {
		buf_add(&b, STR("  - nonsense\n"));
	}
	in.text = buf_str(&b);
	is_int(config_load(&a, &in, &c, &problems, &err), ERR_INVALID, "thirty thousand errors");
	is_int(problems.n_errors, 30000, "... are counted");
	buf_done(&b);
}

static void test_torture(void)
{
	const char *text =
		MK "  gcInterval: 5m\n  externalFrameworks: [{name: A.b.c}, {name: D.e.f}]\n"
		   "  plugins: {allow: [a, b]}\ntls: {cipherSuites: [TLS_AES_128_GCM_SHA256]}\n"
		   "integrations: {frameworks: [batch/job, pod]}\n";
	enum mk_code code = ERR_NO_MEMORY;
	bool only_memory = true;
	uint64_t n = 0;

	while (code != ERR_OK && n < 10000) {
		struct config_input in = {.text = str_of(text)};

		arena_done(&a);
		arena_init(&a, 0);
		alloc_fail_after(++n);
		code = config_load(&a, &in, &c, &problems, &err);
		alloc_fail_after(0);
		only_memory = only_memory && (code == ERR_OK || code == ERR_NO_MEMORY);
	}
	printf("# done at allocation %d\n", (int)n);
	ok(only_memory && code == ERR_OK && n > 5,
	   "out of memory at every allocation is only that");
	code = ERR_NO_MEMORY;
	for (size_t cap = 100; code != ERR_OK && cap < 1 << 20; cap += 97) {
		struct config_input in = {.text = str_of(text)};

		arena_done(&a);
		arena_init(&a, cap);
		code = config_load(&a, &in, &c, &problems, &err);
		only_memory = only_memory && (code == ERR_OK || code == ERR_NO_MEMORY);
	}
	ok(only_memory && code == ERR_OK, "... and so is every cap of the arena");
}

int main(void)
{
	arena_init(&a, 0);
	test_defaults();
	test_values();
	test_share();
	test_our_values();
	test_other_values();
	test_decoding();
	test_newer_keys();
	test_types();
	test_hostile();
	test_limits();
	test_torture();
	arena_done(&a);
	return done_testing();
}
