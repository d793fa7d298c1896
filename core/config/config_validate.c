/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation in Kueue's order and words: integrations, multiKueue, certificates, selector, TLS,
 * servers.
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "core/base/hostport.h"
#include "core/base/map.h"
#include "core/config/config_impl.h"

enum { LEASE_MAX_MS = 3600 * 1000 }; /* what the lease machine takes, core/kube/lease.c */

/* One of Kueue's integrations. */
struct framework {
	const char *name;
	const char *group, *version, *kind;
	bool has_adapter; /* Kueue has a MultiKueue adapter for the kind */
};

/* Sorted by name. */
static const struct framework frameworks[] = {
	{"batch/job", "batch", "v1", "Job", true},
	{"deployment", "apps", "v1", "Deployment", false},
	{"jobset.x-k8s.io/jobset", "jobset.x-k8s.io", "v1alpha2", "JobSet", true},
	{"kubeflow.org/jaxjob", "kubeflow.org", "v1", "JAXJob", true},
	{"kubeflow.org/mpijob", "kubeflow.org", "v2beta1", "MPIJob", true},
	{"kubeflow.org/paddlejob", "kubeflow.org", "v1", "PaddleJob", true},
	{"kubeflow.org/pytorchjob", "kubeflow.org", "v1", "PyTorchJob", true},
	{"kubeflow.org/tfjob", "kubeflow.org", "v1", "TFJob", true},
	{"kubeflow.org/xgboostjob", "kubeflow.org", "v1", "XGBoostJob", true},
	{"leaderworkerset.x-k8s.io/leaderworkerset", "leaderworkerset.x-k8s.io", "v1",
	 "LeaderWorkerSet", true},
	{"pod", "", "v1", "Pod", true},
	{"ray.io/raycluster", "ray.io", "v1", "RayCluster", true},
	{"ray.io/rayjob", "ray.io", "v1", "RayJob", true},
	{"ray.io/rayservice", "ray.io", "v1", "RayService", true},
	{"sparkoperator.k8s.io/sparkapplication", "sparkoperator.k8s.io", "v1beta2",
	 "SparkApplication", false},
	{"statefulset", "apps", "v1", "StatefulSet", true},
	{"trainer.kubeflow.org/trainjob", "trainer.kubeflow.org", "v1alpha1", "TrainJob", true},
	{"workload.codeflare.dev/appwrapper", "workload.codeflare.dev", "v1beta2", "AppWrapper",
	 true},
};
enum { N_FRAMEWORKS = sizeof(frameworks) / sizeof(frameworks[0]) };

static const struct framework *find_framework(mk_str name)
{
	for (size_t i = 0; i < N_FRAMEWORKS; i++) {
		if (str_is(name, frameworks[i].name)) {
			return &frameworks[i];
		}
	}
	return NULL;
}

bool config_framework_kind(mk_str name, struct config_gvk *ret)
{
	const struct framework *f = find_framework(name);

	if (!f) {
		return false;
	}
	*ret = (struct config_gvk){
		.group = str_of(f->group), .version = str_of(f->version), .kind = str_of(f->kind)};
	return true;
}

static mk_str known_frameworks(struct arena *a)
{
	mk_str s = STR("");

	for (size_t i = 0; i < N_FRAMEWORKS; i++) {
		s = arena_printf(a, "%.*s%s\"%s\"", STR_ARG(s), i ? ", " : "", frameworks[i].name);
	}
	return s;
}

static bool gvk_is(const struct config_gvk *g, const struct framework *f)
{
	return str_is(g->group, f->group) && str_is(g->version, f->version) &&
	       str_is(g->kind, f->kind);
}

/* Is the framework in the list, before element 'end'? */
static bool listed(const struct config_strs *list, size_t end, const char *name)
{
	for (size_t i = 0; i < end && i < list->n; i++) {
		if (str_is(list->v[i], name)) {
			return true;
		}
	}
	return false;
}

static void validate_frameworks(struct config_run *r, const struct config *c)
{
	mk_str known = known_frameworks(r->a);

	for (size_t i = 0; i < c->frameworks.n; i++) {
		mk_str name = c->frameworks.v[i];
		mk_str pointer = config_index(r->a, STR("/integrations/frameworks"), i);

		if (!find_framework(name)) {
			config_error(
				r, pointer,
				"integrations.frameworks[%zu]: Unsupported value: %s: supported "
				"values: %s",
				i, config_quote(r->a, name), known.p);
		} else if (listed(&c->frameworks, i, name.p)) {
			config_error(r, pointer,
				     "integrations.frameworks[%zu]: Duplicate value: %s", i,
				     config_quote(r->a, name));
		}
	}
}

/*
 * Does the GVK belong to a framework in the list; with 'adapters' only to one that has an adapter?
 */
static bool is_taken(const struct config *c, const struct config_gvk *g, bool adapters)
{
	for (size_t i = 0; i < N_FRAMEWORKS; i++) {
		const struct framework *f = &frameworks[i];

		if (gvk_is(g, f) && (f->has_adapter || !adapters) &&
		    listed(&c->frameworks, c->frameworks.n, f->name)) {
			return true;
		}
	}
	return false;
}

bool config_enables(const struct config *c, const struct config_gvk *g)
{
	for (size_t i = 0; i < N_FRAMEWORKS; i++) {
		const struct framework *f = &frameworks[i];

		if (f->has_adapter && gvk_is(g, f)) {
			return listed(&c->frameworks, c->frameworks.n, f->name);
		}
	}
	return true;
}

/*
 * Was this text seen before? Two texts name the same GVK only when they are equal, since they are
 * split at their first two dots. Without memory everything counts as new, and the load fails at its
 * end.
 */
static bool seen_before(struct config_run *r, struct map *seen, mk_str text)
{
	if (map_get(seen, text) != NULL) {
		return true;
	}
	r->a->failed = !map_put(seen, text, seen) || r->a->failed;
	return false;
}

static void validate_external_integrations(struct config_run *r, const struct config *c)
{
	struct json_iter it = json_iter(json_at(r->doc, "/integrations/externalFrameworks"));
	struct map seen;

	map_init(&seen);
	for (size_t i = 0; json_next(&it); i++) {
		mk_str pointer = config_index(r->a, STR("/integrations/externalFrameworks"), i);
		mk_str name = json_str(it.val);
		const char *shown = config_quote(r->a, name);
		struct config_gvk g;

		if (!config_parse_gvk(r->a, name, &g)) {
			config_error(
				r, pointer,
				"integrations.externalFrameworks[%zu]: Invalid value: %s: must be "
				"format, 'Kind.version.group.com'",
				i, shown);
		} else if (is_taken(c, &g, false) || seen_before(r, &seen, name)) {
			config_error(r, pointer,
				     "integrations.externalFrameworks[%zu]: Duplicate value: %s", i,
				     shown);
		}
	}
	map_done(&seen);
}

void config_validate_mk_frameworks(struct config_run *r, const struct config *c)
{
	struct json_iter it = json_iter(json_at(r->doc, "/multiKueue/externalFrameworks"));
	struct map seen;

	map_init(&seen);
	for (size_t i = 0; json_next(&it); i++) {
		mk_str pointer = json_pointer_child(
			r->a, config_index(r->a, STR("/multiKueue/externalFrameworks"), i),
			STR("name"));
		mk_str name = json_str(json_get(it.val, "name"));
		const char *shown = config_quote(r->a, name);
		struct config_gvk g;

		if (!config_parse_gvk(r->a, name, &g)) {
			config_error(r, pointer,
				     "multiKueue.externalFrameworks[%zu].name: Invalid value: %s: "
				     "must be "
				     "in 'kind.version.group' format",
				     i, shown);
			continue;
		}
		if (seen_before(r, &seen, name)) {
			config_error(r, pointer,
				     "multiKueue.externalFrameworks[%zu].name: Duplicate value: %s",
				     i, shown);
		}
		if (is_taken(c, &g, true)) {
			config_error(r, pointer,
				     "multiKueue.externalFrameworks[%zu].name: Invalid value: %s: "
				     "conflicts with a built-in MultiKueue adapter",
				     i, shown);
		}
	}
	map_done(&seen);
}

static void validate_certs(struct config_run *r, const struct config *c)
{
	const char *why;

	if (!c->internal_certs) {
		return;
	}
	why = config_dns1035_error(r->a, c->webhook_service_name);
	if (why != NULL) {
		config_error(r, STR("/internalCertManagement/webhookServiceName"),
			     "internalCertManagement.webhookServiceName: Invalid value: %s: %s",
			     config_quote(r->a, c->webhook_service_name), why);
	}
	why = config_subdomain_error(r->a, c->webhook_secret_name);
	if (why != NULL) {
		config_error(r, STR("/internalCertManagement/webhookSecretName"),
			     "internalCertManagement.webhookSecretName: Invalid value: %s: %s",
			     config_quote(r->a, c->webhook_secret_name), why);
	}
}

static const char *const preferred_ciphers[] = {
	"TLS_AES_128_GCM_SHA256",
	"TLS_AES_256_GCM_SHA384",
	"TLS_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	NULL,
};

static const char *const insecure_ciphers[] = {
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
	"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
	"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
	"TLS_ECDHE_RSA_WITH_RC4_128_SHA",
	"TLS_RSA_WITH_3DES_EDE_CBC_SHA",
	"TLS_RSA_WITH_AES_128_CBC_SHA",
	"TLS_RSA_WITH_AES_128_CBC_SHA256",
	"TLS_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_RSA_WITH_AES_256_CBC_SHA",
	"TLS_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_RSA_WITH_RC4_128_SHA",
	NULL,
};

static bool is_word(mk_str s, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (str_is(s, *words)) {
			return true;
		}
	}
	return false;
}

static mk_str version_error(struct arena *a, mk_str version)
{
	const char *use = "Please use VersionTLS12 or VersionTLS13";

	if (str_is(version, "VersionTLS10") || str_is(version, "VersionTLS11")) {
		return arena_printf(a, "invalid minVersion. %s", use);
	}
	if (version.n > 0 && !str_is(version, "VersionTLS12") && !str_is(version, "VersionTLS13")) {
		return arena_printf(a, "invalid minVersion: unknown tls version %s. %s",
				    config_quote(a, version), use);
	}
	return (mk_str){NULL, 0};
}

static mk_str cipher_error(struct arena *a, const struct config_strs *ciphers)
{
	for (size_t i = 0; i < ciphers->n; i++) {
		mk_str all = STR("");

		if (is_word(ciphers->v[i], preferred_ciphers) ||
		    is_word(ciphers->v[i], insecure_ciphers)) {
			continue;
		}
		for (const char *const *p = preferred_ciphers; *p != NULL; p++) {
			all = arena_printf(a, "%.*s%s%s", STR_ARG(all), all.n ? " " : "", *p);
		}
		return arena_printf(
			a,
			"invalid cipher suites: Cipher suite %.*s not supported or doesn't "
			"exist. Please use the secure cipher names: [%s]",
			STR_ARG(ciphers->v[i]), all.p);
	}
	return (mk_str){NULL, 0};
}

static mk_str curve_error(struct arena *a, const struct config_tls *tls)
{
	/*
	 * What Go's library implements: P-256, P-384, P-521, X25519, and the hybrids with ML-KEM.
	 */
	static const int32_t known[] = {23, 24, 25, 29, 4587, 4588, 4589};

	for (size_t i = 0; i < tls->n_curves; i++) {
		int32_t id = tls->curves[i];
		bool found = false;

		if (id <= 0 || id > 65535) {
			return arena_printf(
				a,
				"invalid curve preferences: curve preference %d is out of "
				"range (must be 1-65535)",
				(int)id);
		}
		for (size_t k = 0; k < i; k++) {
			if (tls->curves[k] == id) {
				return arena_printf(
					a,
					"invalid curve preferences: duplicate curve preference %d",
					(int)id);
			}
		}
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
			found = found || known[k] == id;
		}
		if (!found) {
			return arena_printf(a,
					    "invalid curve preferences: curve preference %d is not "
					    "supported by the current Go version",
					    (int)id);
		}
	}
	return (mk_str){NULL, 0};
}

/* The section as Go prints the struct: its own order, empty fields left out. */
static mk_str print_tls(struct arena *a, const struct json *tls)
{
	static const char *const order[] = {"minVersion", "cipherSuites", "curvePreferences"};
	struct json *o = json_new_obj(a);

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct json *v = json_get(tls, order[i]);

		if (json_len(v) > 0 || json_str(v).n > 0) {
			json_set(a, o, str_of(order[i]), json_dup(a, v));
		}
	}
	return json_write(a, o);
}

static void validate_tls(struct config_run *r, const struct config *c)
{
	const struct json *tls = json_get(r->doc, "tls");
	mk_str errors[3] = {
		version_error(r->a, json_str(json_get(tls, "minVersion"))),
		cipher_error(r->a, &c->tls.ciphers),
		curve_error(r->a, &c->tls),
	};
	mk_str all = STR("");

	for (size_t i = 0; i < 3; i++) {
		if (errors[i].p != NULL) {
			all = arena_printf(r->a, "%.*s%s%s", STR_ARG(all), all.n ? "\n" : "",
					   errors[i].p);
		}
	}
	if (all.n > 0) {
		config_error(r, STR("/tls"), "tls: Invalid value: %s: %s", print_tls(r->a, tls).p,
			     all.p);
	} else if (c->tls.tls13 && c->tls.ciphers.n > 0) {
		config_error(r, STR("/tls/cipherSuites"),
			     "tls.cipherSuites: Invalid value: %s: may not be specified when "
			     "`minVersion` "
			     "is 'VersionTLS13'",
			     json_write(r->a, json_get(tls, "cipherSuites")).p);
	}
}

static void validate_visibility(struct config_run *r)
{
	const struct json *address = json_at(r->doc, "/visibilityServer/bindAddress");
	int64_t port = json_int(json_at(r->doc, "/visibilityServer/bindPort"), 8082);
	unsigned char raw[16];

	if (json_type(address) == JSON_STR && inet_pton(AF_INET, json_str(address).p, raw) != 1 &&
	    inet_pton(AF_INET6, json_str(address).p, raw) != 1) {
		config_error(r, STR("/visibilityServer/bindAddress"),
			     "visibilityServer.bindAddress: Invalid value: %s: must be a valid IP "
			     "address",
			     config_quote(r->a, json_str(address)));
	}
	if (port < 1 || port > 65535) {
		config_error(r, STR("/visibilityServer/bindPort"),
			     "visibilityServer.bindPort: Invalid value: %lld: must be a valid port "
			     "number "
			     "(1-65535)",
			     (long long)port);
	}
}

static bool is_ip(mk_str host)
{
	unsigned char raw[16];
	char text[64];

	if (host.n >= sizeof(text)) {
		return false;
	}
	snprintf(text, sizeof(text), "%.*s", STR_ARG(host));
	return inet_pton(AF_INET, text, raw) == 1 || inet_pton(AF_INET6, text, raw) == 1;
}

static bool is_address(mk_str s)
{
	char host[HOSTPORT_HOST_SIZE];
	uint16_t port;

	return hostport_split(s, host, &port, NULL) == ERR_OK && (!host[0] || is_ip(str_of(host)));
}

static void validate_address(struct config_run *r, const char *pointer, const char *path,
			     mk_str address)
{
	if (config_is_on(address) && !is_address(address)) {
		config_error(r, str_of(pointer),
			     "%s: Invalid value: %s: must be a port, with or without an IP address "
			     "before it: :8081, 127.0.0.1:8081, [::1]:8081",
			     path, config_quote(r->a, address));
	}
}

/* multiKueue.visibility: the API behind the API servers' aggregation layer. */
static void validate_aggregated(struct config_run *r, const struct config *c)
{
	const char *why = config_dns1035_error(r->a, c->visibility_service_name);

	validate_address(r, "/multiKueue/visibility/bindAddress",
			 "multiKueue.visibility.bindAddress", c->visibility_bind_address);
	if (why) {
		config_error(r, STR("/multiKueue/visibility/serviceName"),
			     "multiKueue.visibility.serviceName: Invalid value: %s: %s",
			     config_quote(r->a, c->visibility_service_name), why);
	}
	why = config_subdomain_error(r->a, c->visibility_secret_name);
	if (why) {
		config_error(r, STR("/multiKueue/visibility/secretName"),
			     "multiKueue.visibility.secretName: Invalid value: %s: %s",
			     config_quote(r->a, c->visibility_secret_name), why);
	} else if (str_eq(c->visibility_secret_name, c->webhook_secret_name)) {
		config_error(r, STR("/multiKueue/visibility/secretName"),
			     "multiKueue.visibility.secretName: Invalid value: %s: it is the "
			     "webhook's: expected another name",
			     config_quote(r->a, c->visibility_secret_name));
	}
}

/*
 * Kueue would look names of hosts up, and take any lease: here these keep the daemon from starting.
 */
static void validate_limits(struct config_run *r, const struct config *c)
{
	const struct config_leader_election *l = &c->leader_election;

	if (l->elect && l->lease_duration_ms > LEASE_MAX_MS) {
		config_error(r, STR("/leaderElection/leaseDuration"),
			     "leaderElection.leaseDuration: Invalid value: %lld: must be at most "
			     "1h",
			     (long long)l->lease_duration_ms * 1000000);
	}
	validate_address(r, "/health/healthProbeBindAddress", "health.healthProbeBindAddress",
			 c->health_bind_address);
	validate_address(r, "/metrics/bindAddress", "metrics.bindAddress", c->metrics_bind_address);
	validate_aggregated(r, c);
	if (c->webhook_on && c->webhook_host.n > 0 && !is_ip(c->webhook_host)) {
		config_error(r, STR("/webhook/host"),
			     "webhook.host: Invalid value: %s: must be an IP address",
			     config_quote(r->a, c->webhook_host));
	}
}

/* What controller-runtime and client-go demand when the manager starts, put in the same form. */
static void validate_servers(struct config_run *r, const struct config *c)
{
	const struct config_leader_election *l = &c->leader_election;
	static const char *const locks[] = {"leases", NULL};
	int64_t port = json_int(json_at(r->doc, "/webhook/port"), 9443);

	if (l->elect && l->lease_duration_ms <= l->renew_deadline_ms) {
		config_error(
			r, STR("/leaderElection/leaseDuration"),
			"leaderElection.leaseDuration: Invalid value: %lld: leaseDuration must be "
			"greater than renewDeadline",
			(long long)l->lease_duration_ms * 1000000);
	}
	if (l->elect && l->renew_deadline_ms * 5 <= l->retry_period_ms * 6) {
		config_error(
			r, STR("/leaderElection/renewDeadline"),
			"leaderElection.renewDeadline: Invalid value: %lld: renewDeadline must be "
			"greater than retryPeriod*JitterFactor",
			(long long)l->renew_deadline_ms * 1000000);
	}
	if (l->elect && l->retry_period_ms < 1) {
		config_error(r, STR("/leaderElection/retryPeriod"),
			     "leaderElection.retryPeriod: Invalid value: %lld: retryPeriod must be "
			     "greater "
			     "than zero",
			     (long long)l->retry_period_ms * 1000000);
	}
	config_check_word(r, STR("/leaderElection/resourceLock"), locks);
	if (port < 0 || port > 65535) {
		config_error(
			r, STR("/webhook/port"),
			"webhook.port: Invalid value: %lld: must be a valid port number (0-65535)",
			(long long)port);
	}
}

void config_validate(struct config_run *r, const struct config *c)
{
	validate_frameworks(r, c);
	validate_external_integrations(r, c);
	if (listed(&c->frameworks, c->frameworks.n, "pod")) {
		/* Kueue judges the selector once more when pods are managed. */
		config_validate_selector(r, c->managed_jobs_selector, c->namespace_);
	}
	config_validate_multikueue(r, c);
	validate_certs(r, c);
	config_validate_selector(r, c->managed_jobs_selector, c->namespace_);
	validate_tls(r, c);
	validate_visibility(r);
	validate_servers(r, c);
	validate_limits(r, c);
}
