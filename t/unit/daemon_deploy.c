/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifests of conf/ fit each other, the configuration beside them, and the
 * command line. Run from the root.
 */
#include "core/base/yaml.h"
#include "core/config/config.h"
#include "core/daemon/options.h"
#include "t/lib/tap.h"

enum { GRACE_S = 25 }; /* what the daemon takes to end: requests under way, then the lease */

static struct arena a;

static mk_str read_file(const char *name)
{
	mk_str path = arena_printf(&a, "conf/%s", name);
	FILE *f = fopen(path.p, "r");
	char *text = arena_alloc(&a, 256 * 1024);
	size_t n = 0;

	if (f) {
		n = fread(text, 1, 256 * 1024 - 1, f);
		fclose(f);
	}
	return (mk_str){text, n};
}

/* The documents of a file; NULL and a word when it cannot be read. */
static struct json *documents(const char *name)
{
	struct mk_err err = {.msg = "there is none"};
	mk_str text = read_file(name);
	struct json *docs = NULL;

	if (text.n == 0 || yaml_documents(&a, text, NULL, &docs, &err) != ERR_OK) {
		printf("# conf/%s: %s\n", name, err.msg);
		return NULL;
	}
	return docs;
}

/* The object of a kind among all that kustomization.yaml names. */
static struct json *find(const struct json *kustomization, const char *kind)
{
	struct json_iter files = json_iter(json_get(kustomization, "resources"));

	while (json_next(&files)) {
		struct json_iter docs = json_iter(documents(json_str(files.val).p));

		while (json_next(&docs)) {
			if (str_is(json_str(json_get(docs.val, "kind")), kind)) {
				return docs.val;
			}
		}
	}
	return NULL;
}

static void check_files(const struct json *kustomization)
{
	struct json_iter files = json_iter(json_get(kustomization, "resources"));
	size_t good = 0;

	while (json_next(&files)) {
		struct json_iter docs = json_iter(documents(json_str(files.val).p));
		bool all = json_len(docs.container) > 0;

		while (json_next(&docs)) {
			mk_str ns = json_str_at(docs.val, "/metadata/namespace");

			all = all && json_str(json_get(docs.val, "apiVersion")).n > 0 &&
			      json_str_at(docs.val, "/metadata/name").n > 0 &&
			      (ns.n > 0 ||
			       str_starts(json_str(json_get(docs.val, "kind")), STR("Cluster")));
		}
		good += all;
	}
	is_int((int64_t)good, (int64_t)json_len(json_get(kustomization, "resources")),
	       "C-7.3: every file is there and says what and where its objects are");
	is_str(json_str_at(kustomization, "/images/0/newTag").p, MK_VERSION,
	       "the image is that of this version");
}

static void check_command(const struct json *kustomization, const struct json *container,
			  const struct json *pod)
{
	char *argv[16] = {NULL};
	int argc = 0;
	struct json_iter args = json_iter(json_get(container, "args"));
	struct options o = {.config = ""};
	struct mk_err err = {.msg = ""};
	mk_str mount = json_str_at(container, "/volumeMounts/0/mountPath");
	mk_str generated = json_str_at(kustomization, "/configMapGenerator/0/files/0");

	argv[argc++] = (char *)(uintptr_t) "multikueued";
	while (argc < 15 && json_next(&args)) {
		argv[argc++] = (char *)(uintptr_t)json_str(args.val).p;
	}
	is_int(options_parse(argc, argv, &o, &err), ERR_OK, "the daemon knows its arguments");
	is_str(o.config, arena_printf(&a, "%.*s/config.yaml", STR_ARG(mount)).p,
	       "the configuration is where the volume is");
	is_str(generated.p, "config.yaml=multikueued.yaml", "by the name that the ConfigMap has");
	ok(str_eq(json_str_at(kustomization, "/configMapGenerator/0/name"),
		  json_str_at(pod, "/volumes/0/configMap/name")),
	   "and the volume is the ConfigMap");
}

static const struct json *port_of(const struct json *container, const char *name)
{
	struct json_iter it = json_iter(json_get(container, "ports"));

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "name")), name)) {
			return json_get(it.val, "containerPort");
		}
	}
	return NULL;
}

/* How long a probe may fail until it counts. */
static int64_t patience_s(const struct json *container, const char *probe)
{
	const struct json *v = json_at(container, probe);

	return json_int(json_get(v, "periodSeconds"), 10) *
	       json_int(json_get(v, "failureThreshold"), 0);
}

static void check_ports(const struct json *container)
{
	struct config_problems problems;
	struct config c;
	struct mk_err err = {.msg = ""};
	struct config_input in = {.text = read_file("multikueued.yaml")};
	mk_str health, metrics;

	if (!ok(config_load(&a, &in, &c, &problems, &err) == ERR_OK, "the configuration is good")) {
		return;
	}
	health = arena_printf(&a, ":%d", (int)json_int(port_of(container, "health"), 0));
	metrics = arena_printf(&a, ":%d", (int)json_int(port_of(container, "metrics"), 0));
	ok(str_eq(health, c.health_bind_address), "it has the port of the probes");
	ok(str_eq(metrics, c.metrics_bind_address), "that of the metrics");
	is_int(json_int(port_of(container, "webhook"), 0), c.webhook_port, "that of the webhook");
	ok(str_is(json_str_at(container, "/livenessProbe/httpGet/port"), "health") &&
		   str_is(json_str_at(container, "/readinessProbe/httpGet/port"), "health") &&
		   str_eq(json_str_at(container, "/livenessProbe/httpGet/path"),
			  c.liveness_endpoint) &&
		   str_eq(json_str_at(container, "/readinessProbe/httpGet/path"),
			  c.readiness_endpoint),
	   "and the paths that are probed");
	ok(patience_s(container, "/livenessProbe") >= 60 &&
		   json_int(json_at(container, "/livenessProbe/timeoutSeconds"), 1) >= 3 &&
		   json_int(json_at(container, "/readinessProbe/timeoutSeconds"), 1) >= 3,
	   "a busy process is not restarted for a slow answer");
}

/* Is it the name or the number of a port of the container? */
static bool is_port(const struct json *container, const struct json *port)
{
	struct json_iter it = json_iter(json_get(container, "ports"));

	while (port && json_next(&it)) {
		if (json_equal(json_get(it.val, "name"), port) ||
		    json_equal(json_get(it.val, "containerPort"), port)) {
			return true;
		}
	}
	return false;
}

/* How many ports of the container the policy lets in; another one that it names counts -100. */
static int64_t let_in(const struct json *policy, const struct json *container, int64_t *ret_health)
{
	struct json_iter rules = json_iter(json_at(policy, "/spec/ingress"));
	int64_t n = 0;

	*ret_health = 0;
	while (json_next(&rules)) {
		struct json_iter it = json_iter(json_get(rules.val, "ports"));

		while (json_next(&it)) {
			n += is_port(container, json_get(it.val, "port")) ? 1 : -100;
			*ret_health += str_is(json_str(json_get(it.val, "port")), "health");
		}
	}
	return n;
}

/* Each port has a way to it: the policy, and Services of parts that are switched on later. */
static void check_ways(const struct json *kustomization, const struct json *container)
{
	const struct json *services[] = {find(kustomization, "Service"),
					 json_elem(documents("visibility/apiservice.yaml"), 0),
					 json_elem(documents("admission/webhook.yaml"), 0)};
	mk_str text = read_file("multikueued.yaml");
	const char *line = strstr(text.p, "# visibility: ");
	struct config_input in = {.text = STR("")};
	struct config_problems problems;
	struct config c = {.namespace_ = STR("")};
	int64_t to_health;

	is_int(let_in(find(kustomization, "NetworkPolicy"), container, &to_health),
	       (int64_t)json_len(json_get(container, "ports")) - 1,
	       "the policy lets in to each port but one");
	is_int(to_health, 0, "... that of the probes, which only the pod's node needs");
	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++) {
		ok(str_is(json_str(json_get(services[i], "kind")), "Service") &&
			   is_port(container, json_at(services[i], "/spec/ports/0/targetPort")),
		   "a Service leads to a port of the container");
	}
	if (ok(line != NULL, "the configuration names the aggregated API in a comment")) {
		in.text = arena_printf(&a, "%.*s%s", (int)(line - text.p), text.p,
				       line + strlen("# "));
		ok(config_load(&a, &in, &c, &problems, NULL) == ERR_OK &&
			   str_eq(c.visibility_bind_address,
				  arena_printf(&a, ":%d",
					       (int)json_int(port_of(container, "visibility"), 0))),
		   "which, taken out of it, has the port of the container");
	}
}

static void check_labels(const struct json *kustomization, const struct json *deployment)
{
	static const struct {
		const char *kind, *selector;
	} rows[] = {{"PodDisruptionBudget", "/spec/selector/matchLabels"},
		    {"Service", "/spec/selector"},
		    {"NetworkPolicy", "/spec/podSelector/matchLabels"},
		    {"Deployment", "/spec/selector/matchLabels"}};
	const struct json *labels = json_at(deployment, "/spec/template/metadata/labels");
	const struct json *besides = json_elem(documents("visibility/apiservice.yaml"), 0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct json *o = find(kustomization, rows[i].kind);

		ok(labels && json_equal(json_at(o, rows[i].selector), labels),
		   arena_printf(&a, "a %s is about these pods", rows[i].kind).p);
	}
	ok(labels && json_equal(json_at(besides, "/spec/selector"), labels),
	   "so is the Service of the aggregated API");
}

static bool named(const struct json *role, mk_str name)
{
	struct json_iter rules = json_iter(json_get(role, "rules"));

	while (json_next(&rules)) {
		struct json_iter it = json_iter(json_get(rules.val, "resourceNames"));

		while (json_next(&it)) {
			if (str_eq(json_str(it.val), name)) {
				return true;
			}
		}
	}
	return false;
}

/*
 * What a generator makes gets a hash behind its name, and kustomize then writes that name wherever
 * a role's resourceNames have the old one, whatever kind of resource the rule is about.
 */
static void check_generated(const struct json *kustomization)
{
	static const char *const lists[] = {"configMapGenerator", "secretGenerator"};
	size_t n = 0, n_roles = 0, n_named = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct json_iter it = json_iter(json_get(kustomization, lists[i]));

		while (json_next(&it)) {
			struct json_iter files = json_iter(json_get(kustomization, "resources"));

			n++;
			while (json_next(&files)) {
				struct json_iter docs = json_iter(documents(json_str(files.val).p));

				while (json_next(&docs)) {
					n_roles += json_get(docs.val, "rules") != NULL;
					n_named +=
						named(docs.val, json_str(json_get(it.val, "name")));
				}
			}
		}
	}
	ok(n == 1 && n_roles > 3, "a name is generated, and there are roles");
	is_int((int64_t)n_named, 0, "no right is about a name that kustomize generates");
}

/* What must be so for a node to be drained, and for a leader to leave in order. */
static void check_ends(const struct json *kustomization, const struct json *deployment)
{
	const struct json *pdb = find(kustomization, "PodDisruptionBudget");
	const struct json *pod = json_at(deployment, "/spec/template/spec");
	int64_t replicas = json_int(json_at(deployment, "/spec/replicas"), 1);

	is_int(replicas, 2, "two replicas");
	ok(json_int(json_at(pdb, "/spec/minAvailable"), 99) == replicas - 1,
	   "one of them may be disturbed");
	ok(json_int(json_get(pod, "terminationGracePeriodSeconds"), 0) > GRACE_S,
	   "one that ends has the time it needs");
	ok(str_eq(json_str(json_get(pod, "serviceAccountName")),
		  json_str_at(find(kustomization, "ServiceAccount"), "/metadata/name")),
	   "their account is the one that has the rights");
	ok(json_bool(json_at(pod, "/securityContext/runAsNonRoot")) &&
		   json_bool(json_at(pod, "/containers/0/securityContext/readOnlyRootFilesystem")),
	   "they run without privileges");
}

/* What the Prometheus operator is told to read is what the Service of the metrics offers. */
static void check_monitoring(const struct json *kustomization)
{
	const struct json *monitor = json_elem(documents("monitoring/servicemonitor.yaml"), 0);
	const struct json *rule = json_elem(documents("monitoring/prometheusrule.yaml"), 0);
	const struct json *plain = json_elem(documents("monitoring/rules.yaml"), 0);
	const struct json *service = find(kustomization, "Service");
	const struct json *endpoint = json_at(monitor, "/spec/endpoints/0");
	mk_str port = json_str_at(service, "/spec/ports/0/name");
	mk_str ns = json_str_at(service, "/metadata/namespace");

	ok(json_len(json_at(monitor, "/spec/selector/matchLabels")) > 0 &&
		   json_equal(json_at(monitor, "/spec/selector/matchLabels"),
			      json_at(service, "/metadata/labels")),
	   "the ServiceMonitor is about the Service of the metrics");
	ok(port.n > 0 && str_eq(json_str_at(endpoint, "/port"), port), "it reads its port");
	ok(ns.n > 0 && str_eq(json_str_at(monitor, "/metadata/namespace"), ns), "in its namespace");
	ok(str_is(json_str_at(endpoint, "/scheme"), "https") &&
		   str_is(json_str_at(endpoint, "/path"), "/metrics") &&
		   json_str_at(endpoint, "/bearerTokenFile").n > 0,
	   "by HTTPS, with a token");
	ok(json_len(json_get(plain, "groups")) > 1 &&
		   json_equal(json_get(plain, "groups"), json_at(rule, "/spec/groups")),
	   "the operator gets the rules that Prometheus gets from a file");
}

int main(void)
{
	struct json *kustomization, *deployment, *container;

	arena_init(&a, 0);
	kustomization = json_elem(documents("kustomization.yaml"), 0);
	deployment = find(kustomization, "Deployment");
	container = json_at(deployment, "/spec/template/spec/containers/0");
	if (ok(container != NULL, "there is a Deployment")) {
		check_files(kustomization);
		check_command(kustomization, container, json_at(deployment, "/spec/template/spec"));
		check_ports(container);
		check_ways(kustomization, container);
		check_generated(kustomization);
		check_labels(kustomization, deployment);
		check_ends(kustomization, deployment);
		check_monitoring(kustomization);
	}
	arena_done(&a);
	return done_testing();
}
