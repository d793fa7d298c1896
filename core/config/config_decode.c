/* SPDX-License-Identifier: Apache-2.0 */
/* From a document of known shape to the struct, with every default. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/canon.h"
#include "core/base/timefmt.h"
#include "core/config/config_impl.h"
#include "core/plug/plug.h"

static const struct json *at(const struct config_run *r, const char *pointer)
{
	const struct json *v = json_at(r->doc, pointer);

	return json_type(v) == JSON_NULL ? NULL : v;
}

/* The string, or 'otherwise' when it is not there. */
static mk_str str_at(const struct config_run *r, const char *pointer, mk_str otherwise)
{
	const struct json *v = at(r, pointer);

	return v ? json_str(v) : otherwise;
}

/* The same, with the default for an empty string too. */
static mk_str str_or(const struct config_run *r, const char *pointer, mk_str otherwise)
{
	mk_str s = str_at(r, pointer, otherwise);

	return s.n > 0 ? s : otherwise;
}

/*
 * An address to listen at. As in Go, localhost is that of IPv4; no other name is looked up
 * (validation refuses them).
 */
static mk_str address_at(const struct config_run *r, const char *pointer, mk_str otherwise)
{
	static const mk_str local = {"localhost", 9};
	mk_str s = str_or(r, pointer, otherwise);

	if (str_eq(s, local) || str_starts(s, STR("localhost:"))) {
		s = arena_printf(r->a, "127.0.0.1%.*s", STR_ARG(str_sub(s, local.n, s.n)));
	}
	return s;
}

static bool bool_at(const struct config_run *r, const char *pointer, bool otherwise)
{
	const struct json *v = at(r, pointer);

	return v ? json_bool(v) : otherwise;
}

static int64_t int_at(const struct config_run *r, const char *pointer, int64_t otherwise)
{
	return json_int(at(r, pointer), otherwise);
}

/* A number with a fraction; 0 without one. */
static double double_at(const struct config_run *r, const char *pointer)
{
	const struct json *v = at(r, pointer);
	char text[64];

	if (!v) {
		return 0;
	}
	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(json_write(r->a, v)));
	return strtod(text, NULL);
}

static int64_t duration_at(const struct config_run *r, const char *pointer, int64_t otherwise_ms)
{
	const struct json *v = at(r, pointer);
	int64_t ms = otherwise_ms;

	/* The shape was checked: it parses. */
	if (v != NULL) {
		(void)duration_parse(json_str(v), &ms, NULL);
	}
	return ms;
}

/* A default that also stands for zero, as in the leader election of component-base. */
static int64_t duration_or(const struct config_run *r, const char *pointer, int64_t otherwise_ms)
{
	int64_t ms = duration_at(r, pointer, otherwise_ms);

	return ms != 0 ? ms : otherwise_ms;
}

static struct config_strs strs_of(struct config_run *r, const struct json *list)
{
	struct json_iter it = json_iter(list);
	mk_str *v = arena_array(r->a, json_len(list), sizeof(*v));
	struct config_strs s = {.v = v};

	while (v != NULL && json_next(&it)) {
		v[s.n++] = json_str(it.val);
	}
	return s;
}

static struct config_strs strs_at(struct config_run *r, const char *pointer)
{
	return strs_of(r, at(r, pointer));
}

bool config_parse_gvk(struct arena *a, mk_str s, struct config_gvk *ret)
{
	ptrdiff_t first = str_index(s, '.');
	mk_str rest;
	ptrdiff_t second;

	if (first < 0) {
		return false;
	}
	rest = str_sub(s, (size_t)first + 1, SIZE_MAX);
	second = str_index(rest, '.');
	if (second < 0) {
		return false;
	}
	ret->kind = arena_dup(a, str_sub(s, 0, (size_t)first));
	ret->version = arena_dup(a, str_sub(rest, 0, (size_t)second));
	ret->group = arena_dup(a, str_sub(rest, (size_t)second + 1, SIZE_MAX));
	return true;
}

/* Those that parse; the others are found by validation. 'key' NULL: the elements are strings. */
static struct config_gvks gvks_at(struct config_run *r, const char *pointer, const char *key)
{
	const struct json *list = at(r, pointer);
	struct json_iter it = json_iter(list);
	struct config_gvk *v = arena_array(r->a, json_len(list), sizeof(*v));
	struct config_gvks s = {.v = v};

	while (v != NULL && json_next(&it)) {
		mk_str text = json_str(key ? json_get(it.val, key) : it.val);

		if (config_parse_gvk(r->a, text, &v[s.n])) {
			s.n++;
		}
	}
	return s;
}

static struct config_provider provider_of(struct config_run *r, const struct json *v)
{
	const struct json *exec = json_get(v, "execConfig");
	struct json_iter it = json_iter(json_get(exec, "env"));
	mk_str *env = arena_array(r->a, 2 * json_len(json_get(exec, "env")), sizeof(*env));
	struct config_provider p = {
		.name = json_str(json_get(v, "name")),
		.command = json_str(json_get(exec, "command")),
		.api_version = json_str(json_get(exec, "apiVersion")),
		.install_hint = json_str(json_get(exec, "installHint")),
		.args = strs_of(r, json_get(exec, "args")),
		.env = {.v = env},
		.provide_cluster_info = json_bool(json_get(exec, "provideClusterInfo")),
	};

	while (env != NULL && json_next(&it)) {
		env[p.env.n++] = json_str(json_get(it.val, "name"));
		env[p.env.n++] = json_str(json_get(it.val, "value"));
	}
	return p;
}

static void fill_providers(struct config_run *r, struct config_multikueue *m)
{
	const struct json *list = at(r, "/multiKueue/clusterProfile/accessProviders");
	struct config_provider *v;
	struct json_iter it;

	if (json_len(list) == 0) {
		list = at(r, "/multiKueue/clusterProfile/credentialsProviders");
	}
	v = arena_array(r->a, json_len(list), sizeof(*v));
	it = json_iter(list);
	m->has_profiles = json_type(at(r, "/multiKueue/clusterProfile")) == JSON_OBJ;
	m->providers = v;
	while (v != NULL && json_next(&it)) {
		v[m->n_providers++] = provider_of(r, it.val);
	}
}

/* Bytes of a quantity, such as 16Mi; -1 when it is none or out of range. */
static int64_t bytes_at(const struct config_run *r, const char *pointer, int64_t otherwise)
{
	const struct json *v = at(r, pointer);
	mk_str q;
	mk_str digits;
	int64_t n = 0;
	int64_t e = 0;

	if (!v) {
		return otherwise;
	}
	q = canon_quantity(r->a, json_type(v) == JSON_STR ? json_str(v) : json_write(r->a, v));
	if (!q.p || !str_split(&q, 'e', &digits) || !str_i64(digits, &n) || !str_i64(q, &e) ||
	    e < 0) {
		return -1;
	}
	for (; e > 0; e--) {
		if (__builtin_mul_overflow(n, (int64_t)10, &n)) {
			return -1;
		}
	}
	return n;
}

static enum config_trees trees_at(struct config_run *r)
{
	mk_str mode = str_at(r, "/multiKueue/quotaTrees/mode", STR(""));

	return str_is(mode, "Compile")   ? CONFIG_TREES_COMPILE
	       : str_is(mode, "Observe") ? CONFIG_TREES_OBSERVE
					 : CONFIG_TREES_OFF;
}

static void fill_ours(struct config_run *r, struct config_multikueue *m)
{
	const struct json *dispatchers = at(r, "/multiKueue/dispatchers");
	const struct plug_limits *l = &plug_default_limits;

	m->plugin_directory =
		str_at(r, "/multiKueue/plugins/directory",
		       r->in->plugin_directory.n > 0 ? r->in->plugin_directory
						     : STR("/usr/local/" CONFIG_PLUGINS));
	m->plugin_allow = strs_at(r, "/multiKueue/plugins/allow");
	m->budgets = (struct config_budgets){
		.soft_time_ms =
			duration_at(r, "/multiKueue/plugins/budgets/softTime", l->soft_us / 1000),
		.hard_time_ms =
			duration_at(r, "/multiKueue/plugins/budgets/hardTime", l->hard_us / 1000),
		.soft_memory = bytes_at(r, "/multiKueue/plugins/budgets/softMemory",
					(int64_t)l->soft_bytes),
		.hard_memory = bytes_at(r, "/multiKueue/plugins/budgets/hardMemory",
					(int64_t)l->hard_bytes),
		.soft_calls =
			int_at(r, "/multiKueue/plugins/budgets/softCalls", (int64_t)l->soft_calls),
		.hard_calls =
			int_at(r, "/multiKueue/plugins/budgets/hardCalls", (int64_t)l->hard_calls),
	};
	m->dispatchers = dispatchers ? dispatchers : json_new_obj(r->a);
	m->walls = at(r, "/multiKueue/walls");
	m->external_dispatchers = strs_at(r, "/multiKueue/externalDispatchers");
	m->former_origins = strs_at(r, "/multiKueue/formerOrigins");
	m->former_managers = strs_at(r, "/multiKueue/formerManagers");
	m->manager_id = str_at(r, "/multiKueue/managerId", STR(""));
	m->allow_loopback = bool_at(r, "/multiKueue/network/allowLoopback", false);
	m->allow_link_local = bool_at(r, "/multiKueue/network/allowLinkLocal", false);
	m->workers_tls13 =
		str_is(str_at(r, "/multiKueue/network/tls/minVersion", STR("")), "VersionTLS13");
	m->only_libcurl = str_is(str_at(r, "/multiKueue/network/transport", STR("")), "curl");
	m->worker_lost_keep = str_is(str_at(r, "/multiKueue/lostWorkerPolicy", STR("")), "Keep");
	m->collect_unmarked = str_is(str_at(r, "/multiKueue/takeOver", STR("")), "CollectUnmarked");
	m->placement_timeout_ms = duration_at(r, "/multiKueue/placementTimeout", 0);
	m->unplaceable_reject = str_is(str_at(r, "/multiKueue/unplaceable", STR("")), "Reject");
	m->quota_trees = trees_at(r);
	m->job_status_size = bytes_at(r, "/multiKueue/jobStatusSize", 256 * 1024);
	m->worker_memory = bytes_at(r, "/multiKueue/workerMemory", 1024 * 1024 * 1024);
	m->kueue_minor = config_kueue_minor(str_at(r, "/multiKueue/kueueVersion", STR("")));
	m->kueue_named = m->kueue_minor != 0;
	m->kueue_minor = m->kueue_named ? m->kueue_minor : CONFIG_KUEUE_TESTED;
}

static void fill_multikueue(struct config_run *r, struct config_multikueue *m)
{
	m->gc_interval_ms = duration_at(r, "/multiKueue/gcInterval", 60 * 1000);
	m->origin = str_or(r, "/multiKueue/origin", STR("multikueue"));
	m->worker_lost_timeout_ms = duration_at(r, "/multiKueue/workerLostTimeout", 15 * 60 * 1000);
	m->dispatcher = str_at(r, "/multiKueue/dispatcherName", STR(CONFIG_ALL_AT_ONCE));
	m->step_size = (int32_t)int_at(r, "/multiKueue/incrementalDispatcherConfig/stepSize", 3);
	m->external_frameworks = gvks_at(r, "/multiKueue/externalFrameworks", "name");
	fill_providers(r, m);
	fill_ours(r, m);
}

/* Service and Secret are not named as Kueue's, which stand in the same namespace. */
static void fill_webhook(struct config_run *r, struct config *c)
{
	bool has_dir = json_type(json_at(r->doc, "/webhook/certDir")) == JSON_STR;

	c->webhook_on = json_type(json_at(r->doc, "/webhook")) == JSON_OBJ;
	/* Out of range is found by validation; it must not wrap here. */
	c->webhook_port = (int32_t)int_at(r, "/webhook/port", 9443);
	c->webhook_port = c->webhook_port != 0 ? c->webhook_port : 9443;
	c->webhook_host = address_at(r, "/webhook/host", STR(""));
	c->webhook_cert_dir =
		str_or(r, "/webhook/certDir", STR("/tmp/k8s-webhook-server/serving-certs"));
	c->metrics_own_cert = bool_at(r, "/internalCertManagement/enable", true);
	c->internal_certs = bool_at(r, "/internalCertManagement/enable", !has_dir);
	c->webhook_service_name = str_at(r, "/internalCertManagement/webhookServiceName",
					 STR("multikueue-webhook-service"));
	c->webhook_secret_name = str_at(r, "/internalCertManagement/webhookSecretName",
					STR("multikueue-webhook-server-cert"));
}

/*
 * A file that multikueued shares with Kueue names Kueue's Lease, and Kueue always holds it. Any
 * other name was chosen, and counts; our own key comes first.
 */
static mk_str lease_name(const struct config_run *r)
{
	mk_str ours = str_at(r, "/multiKueue/leaseName", STR(""));
	mk_str given = str_at(r, "/leaderElection/resourceName", STR(""));

	if (ours.n > 0) {
		return ours;
	}
	return given.n > 0 && !str_is(given, CONFIG_KUEUE_LEASE) ? given : STR(CONFIG_LEASE);
}

static void fill_servers(struct config_run *r, struct config *c)
{
	c->leader_election = (struct config_leader_election){
		.elect = bool_at(r, "/leaderElection/leaderElect", true),
		.resource_name = lease_name(r),
		.resource_namespace = str_at(r, "/leaderElection/resourceNamespace", STR("")),
		.lease_duration_ms = duration_or(r, "/leaderElection/leaseDuration", 15000),
		.renew_deadline_ms = duration_or(r, "/leaderElection/renewDeadline", 10000),
		.retry_period_ms = duration_or(r, "/leaderElection/retryPeriod", 2000),
	};
	c->health_bind_address = address_at(r, "/health/healthProbeBindAddress", STR(":8081"));
	c->readiness_endpoint = str_or(r, "/health/readinessEndpointName", STR("/readyz"));
	c->liveness_endpoint = str_or(r, "/health/livenessEndpointName", STR("/healthz"));
	c->metrics_bind_address = address_at(r, "/metrics/bindAddress", STR(":8443"));
	c->visibility_bind_address = address_at(r, "/multiKueue/visibility/bindAddress", STR("0"));
	c->visibility_service_name =
		str_or(r, "/multiKueue/visibility/serviceName", STR("multikueued-visibility"));
	c->visibility_secret_name =
		str_or(r, "/multiKueue/visibility/secretName", STR("multikueued-visibility-cert"));
	fill_webhook(r, c);
}

static void fill_tls(struct config_run *r, struct config_tls *t)
{
	const struct json *list = at(r, "/tls/curvePreferences");
	int32_t *curves = arena_array(r->a, json_len(list), sizeof(*curves));
	struct json_iter it = json_iter(list);

	t->tls13 = str_is(str_at(r, "/tls/minVersion", STR("")), "VersionTLS13");
	t->ciphers = strs_at(r, "/tls/cipherSuites");
	t->curves = curves;
	while (curves != NULL && json_next(&it)) {
		curves[t->n_curves++] = (int32_t)json_int(it.val, 0);
	}
}

/*
 * {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system,
 * <ours>]}]}
 */
static struct json *default_selector(struct arena *a, mk_str namespace_)
{
	struct json *selector = json_new_obj(a);
	struct json *list = json_new_arr(a);
	struct json *e = json_new_obj(a);
	struct json *values = json_new_arr(a);

	json_set_str(a, e, "key", STR("kubernetes.io/metadata.name"));
	json_set_str(a, e, "operator", STR("NotIn"));
	json_add(a, values, json_new_str(a, STR("kube-system")));
	json_add(a, values, json_new_str(a, namespace_));
	json_set(a, e, STR("values"), values);
	json_add(a, list, e);
	json_set(a, selector, STR("matchExpressions"), list);
	return selector;
}

void config_fill(struct config_run *r, struct config *c)
{
	static const mk_str batch_job[] = {{"batch/job", 9}};
	mk_str service_namespace = str_trim(r->in->service_namespace);
	const struct json *selector = at(r, "/managedJobsNamespaceSelector");

	c->v1beta1 = r->v1beta1;
	c->document = r->doc;
	c->lines = r->lines;
	service_namespace =
		service_namespace.n ? arena_dup(r->a, service_namespace) : STR("kueue-system");
	c->namespace_ = str_or(r, "/namespace", service_namespace);
	c->frameworks = strs_at(r, "/integrations/frameworks");
	if (c->frameworks.n == 0) {
		c->frameworks = (struct config_strs){batch_job, 1};
	}
	c->external_frameworks = gvks_at(r, "/integrations/externalFrameworks", NULL);
	c->managed_jobs_selector = selector ? selector : default_selector(r->a, c->namespace_);
	c->client_qps = double_at(r, "/clientConnection/qps");
	c->client_burst = (int32_t)int_at(r, "/clientConnection/burst", 0);
	fill_multikueue(r, &c->multikueue);
	fill_servers(r, c);
	fill_tls(r, &c->tls);
}
