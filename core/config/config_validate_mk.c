/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of multiKueue, Kueue's keys and ours. */
#include "core/base/timefmt.h"
#include "core/config/config_impl.h"

/* Go prints a duration as its nanoseconds. */
static void check_duration(struct config_run *r, const char *pointer, const char *path)
{
	const struct json *v = json_at(r->doc, pointer);
	int64_t ns = 0;

	if (json_type(v) == JSON_STR && duration_parse_ns(json_str(v), &ns, NULL) && ns < 0) {
		config_error(r, str_of(pointer),
			     "%s: Invalid value: %lld: must be greater than or equal to 0", path,
			     (long long)ns);
		config_hint(r, "expected a duration of 0s or more, found %.*s",
			    STR_ARG(json_str(v)));
	}
}

/* Kueue elects a leader of its own: two programs with one Lease keep each other from leading. */
static void check_lease(struct config_run *r, const struct config *c)
{
	mk_str ours = json_str_at(r->doc, "/multiKueue/leaseName");
	mk_str given = json_str_at(r->doc, "/leaderElection/resourceName");
	const char *wrong = ours.n > 0 ? config_subdomain_error(r->a, ours) : NULL;

	if (wrong) {
		config_error(r, STR("/multiKueue/leaseName"),
			     "multiKueue.leaseName: Invalid value: %s: %s",
			     config_quote(r->a, ours), wrong);
	} else if (!c->leader_election.elect) {
		return;
	} else if (ours.n > 0 && (str_is(ours, CONFIG_KUEUE_LEASE) || str_eq(ours, given))) {
		config_warning(r, STR("/multiKueue/leaseName"),
			       "multiKueue.leaseName: %s is the Lease of Kueue, too: while Kueue "
			       "holds it, multikueued leads nothing; give it a name of its own",
			       config_quote(r->a, ours));
	} else if (ours.n == 0 && str_is(given, CONFIG_KUEUE_LEASE)) {
		config_warning(r, STR("/leaderElection/resourceName"),
			       "leaderElection.resourceName: " CONFIG_KUEUE_LEASE
			       " is Kueue's own Lease and is left to it: multikueued has the "
			       "Lease " CONFIG_LEASE "; multiKueue.leaseName sets another one");
	} else if (ours.n == 0 && given.n > 0 && !str_is(given, CONFIG_LEASE)) {
		config_warning(r, STR("/leaderElection/resourceName"),
			       "leaderElection.resourceName: %s is taken for multikueued's own "
			       "Lease: if Kueue has this name as well, the two keep each other "
			       "from leading; multiKueue.leaseName says for certain which is ours",
			       config_quote(r->a, given));
	}
}

/* Kueue accepts these, and then such a cluster never connects. */
static void warn_of_provider(struct config_run *r, const struct json *exec, mk_str exec_at,
			     const char *path)
{
	mk_str version = json_str(json_get(exec, "apiVersion"));
	mk_str command = json_str(json_get(exec, "command"));

	if (version.n > 0 && !str_is(version, "client.authentication.k8s.io/v1") &&
	    !str_is(version, "client.authentication.k8s.io/v1beta1")) {
		config_warning(r, json_pointer_child(r->a, exec_at, STR("apiVersion")),
			       "%s.execConfig.apiVersion: %s is not known: clusters of this "
			       "provider will not connect; expected "
			       "client.authentication.k8s.io/v1 or /v1beta1",
			       path, config_quote(r->a, version));
	}
	if (str_index(command, '/') > 0) {
		config_warning(r, json_pointer_child(r->a, exec_at, STR("command")),
			       "%s.execConfig.command: %s depends on the directory that the daemon "
			       "is started in; expected an absolute path, or a name to be looked "
			       "up in PATH",
			       path, config_quote(r->a, command));
	}
}

static void check_provider(struct config_run *r, const struct json *v, mk_str pointer,
			   const char *path)
{
	static const char *const modes[] = {"Never", "IfAvailable", "Always"};
	const struct json *exec = json_get(v, "execConfig");
	mk_str mode = json_str(json_get(exec, "interactiveMode"));
	mk_str exec_at = json_pointer_child(r->a, pointer, STR("execConfig"));
	struct json_iter it = json_iter(json_get(exec, "env"));
	bool known = false;

	warn_of_provider(r, exec, exec_at, path);
	/* The paths of the messages have no index: so Kueue prints them. */
	if (json_str(json_get(v, "name")).n == 0) {
		config_error(r, pointer, "%s.name: Required value: must be specified", path);
	}
	if (json_str(json_get(exec, "command")).n == 0) {
		config_error(r, exec_at, "%s.execConfig.command: Required value: must be specified",
			     path);
	}
	if (json_str(json_get(exec, "apiVersion")).n == 0) {
		config_error(r, exec_at,
			     "%s.execConfig.apiVersion: Required value: must be specified", path);
	}
	while (json_next(&it)) {
		if (json_str(json_get(it.val, "name")).n == 0) {
			config_error(r, json_pointer_child(r->a, exec_at, STR("env")),
				     "%s.execConfig.env.name: Required value: must be specified",
				     path);
		}
	}
	for (size_t i = 0; i < 3; i++) {
		known = known || str_is(mode, modes[i]);
	}
	if (mode.n == 0) {
		config_error(r, exec_at,
			     "%s.execConfig.interactiveMode: Required value: must be specified",
			     path);
	} else if (!known) {
		config_error(
			r, json_pointer_child(r->a, exec_at, STR("interactiveMode")),
			"%s.execConfig.interactiveMode: Unsupported value: %s: supported values: "
			"\"Never\", \"IfAvailable\", \"Always\"",
			path, config_quote(r->a, mode));
	}
}

static void check_cluster_profile(struct config_run *r)
{
	const struct json *access = json_at(r->doc, "/multiKueue/clusterProfile/accessProviders");
	const struct json *old = json_at(r->doc, "/multiKueue/clusterProfile/credentialsProviders");
	bool use_access = json_len(access) > 0;
	const char *name = use_access ? "accessProviders" : "credentialsProviders";
	mk_str base = STR("/multiKueue/clusterProfile/credentialsProviders");
	struct json_iter it = json_iter(use_access ? access : old);
	mk_str path = arena_printf(r->a, "multiKueue.clusterProfile.%s", name);

	if (use_access && json_len(old) > 0) {
		config_error(
			r, base,
			"multiKueue.clusterProfile.credentialsProviders: Forbidden: must not be "
			"specified when accessProviders is specified");
	} else if (json_len(old) > 0) {
		config_warning(r, base,
			       "multiKueue.clusterProfile.credentialsProviders: deprecated: use "
			       "accessProviders");
	}
	if (use_access) {
		base = STR("/multiKueue/clusterProfile/accessProviders");
	}
	for (size_t i = 0; path.p != NULL && json_next(&it); i++) {
		check_provider(r, it.val, config_index(r->a, base, i), path.p);
	}
}

static void check_incremental(struct config_run *r, const struct config *c)
{
	const struct json *section = json_at(r->doc, "/multiKueue/incrementalDispatcherConfig");
	const struct json *step = json_get(section, "stepSize");

	if (json_type(section) != JSON_OBJ) {
		return;
	}
	if (!str_is(c->multikueue.dispatcher, CONFIG_INCREMENTAL)) {
		config_error(r, STR("/multiKueue/incrementalDispatcherConfig"),
			     "multiKueue.incrementalDispatcherConfig: Invalid value: %s: "
			     "incrementalDispatcherConfig is only valid when dispatcherName is set "
			     "to the "
			     "incremental dispatcher",
			     json_write(r->a, section).p);
	}
	if (json_type(step) == JSON_INT && json_int(step, 1) < 1) {
		config_error(r, STR("/multiKueue/incrementalDispatcherConfig/stepSize"),
			     "multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: "
			     "%lld: must be "
			     "greater than or equal to 1",
			     (long long)json_int(step, 1));
	}
}

/* A soft limit and its hard one; both are greater than 0. */
static void check_limits(struct config_run *r, const char *what, int64_t soft, int64_t hard)
{
	mk_str pointer = arena_printf(r->a, "/multiKueue/plugins/budgets/soft%s", what);

	if (soft < 1 || hard < 1) {
		config_error(
			r, pointer,
			"multiKueue.plugins.budgets.%s%s: Invalid value: must be a whole number "
			"greater than 0",
			soft < 1 ? "soft" : "hard", what);
	} else if (soft > hard) {
		config_error(r, pointer,
			     "multiKueue.plugins.budgets.soft%s: Invalid value: must not be "
			     "greater than "
			     "hard%s",
			     what, what);
	}
}

static void check_plugins(struct config_run *r, const struct config_multikueue *m)
{
	mk_str dir = m->plugin_directory;

	if (dir.n == 0 || dir.p[0] != '/' || strlen(dir.p) != dir.n) {
		config_error(
			r, STR("/multiKueue/plugins/directory"),
			"multiKueue.plugins.directory: Invalid value: %s: must be an absolute path",
			config_quote(r->a, dir));
	}
	for (size_t i = 0; i < m->plugin_allow.n; i++) {
		if (m->plugin_allow.v[i].n == 0) {
			config_error(r, config_index(r->a, STR("/multiKueue/plugins/allow"), i),
				     "multiKueue.plugins.allow[%zu]: Required value: must be a "
				     "plugin id",
				     i);
		}
	}
	check_limits(r, "Time", m->budgets.soft_time_ms, m->budgets.hard_time_ms);
	check_limits(r, "Memory", m->budgets.soft_memory, m->budgets.hard_memory);
	check_limits(r, "Calls", m->budgets.soft_calls, m->budgets.hard_calls);
}

enum { MIN_WORKER_MEMORY = 1024 * 1024, MIN_JOB_STATUS = 16 * 1024 };

static void check_kueue_version(struct config_run *r)
{
	mk_str version = json_str(json_at(r->doc, "/multiKueue/kueueVersion"));

	if (version.n > 0 && config_kueue_minor(version) == 0) {
		config_error(r, STR("/multiKueue/kueueVersion"),
			     "multiKueue.kueueVersion: Unsupported value: %s: supported values: "
			     "\"0.%d\" to \"0.%d\", with or without a patch release",
			     config_quote(r->a, version), CONFIG_KUEUE_OLDEST, CONFIG_KUEUE_NEWEST);
	}
}

static const struct {
	const char *pointer;
	const char *words[4];
} choices[] = {
	{"/multiKueue/network/transport", {"auto", "curl"}},
	{"/multiKueue/network/tls/minVersion", {"VersionTLS12", "VersionTLS13"}},
	{"/multiKueue/lostWorkerPolicy", {"Keep", "Requeue"}},
	{"/multiKueue/takeOver", {"CollectUnmarked", "None"}},
	{"/multiKueue/unplaceable", {"Reject", "Wait"}},
	{"/multiKueue/quotaTrees/mode", {"Compile", "Observe", "Off"}},
};

static void check_ours(struct config_run *r, const struct config_multikueue *m)
{
	struct json_iter it = json_iter(m->dispatchers);

	check_plugins(r, m);
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		config_check_word(r, str_of(choices[i].pointer), choices[i].words);
	}
	check_kueue_version(r);
	while (json_next(&it)) {
		if (!config_is_domain_path(it.key)) {
			config_error(
				r, json_pointer_child(r->a, STR("/multiKueue/dispatchers"), it.key),
				"multiKueue.dispatchers: Invalid value: %s: must be a "
				"domain-prefixed "
				"path (such as \"acme.io/foo\") of at most 63 bytes",
				config_quote(r->a, it.key));
		}
	}
	for (size_t i = 0; i < m->external_dispatchers.n; i++) {
		mk_str name = m->external_dispatchers.v[i];

		if (!config_is_domain_path(name)) {
			config_error(
				r, config_index(r->a, STR("/multiKueue/externalDispatchers"), i),
				"multiKueue.externalDispatchers[%zu]: Invalid value: %s: must be a "
				"domain-prefixed path (such as \"acme.io/foo\") of at most 63 "
				"bytes",
				i, config_quote(r->a, name));
		}
	}
	if (m->worker_memory < 0 ||
	    (m->worker_memory > 0 && m->worker_memory < MIN_WORKER_MEMORY)) {
		config_error(r, STR("/multiKueue/workerMemory"),
			     "multiKueue.workerMemory: Invalid value: must be 0 or a whole number "
			     "of bytes not less than 1Mi");
	}
	if (m->job_status_size < 0 ||
	    (m->job_status_size > 0 && m->job_status_size < MIN_JOB_STATUS)) {
		config_error(r, STR("/multiKueue/jobStatusSize"),
			     "multiKueue.jobStatusSize: Invalid value: must be 0 or a whole number "
			     "of bytes not less than 16Ki");
	}
}

/* Each is a part of every list and watch of workers, so there are few. */
static void check_former(struct config_run *r, const char *key, const struct config_strs *list,
			 mk_str now)
{
	const char *at = arena_printf(r->a, "/multiKueue/%s", key).p;

	if (list->n > CONFIG_MAX_FORMER) {
		config_error(r, str_of(at),
			     "multiKueue.%s: Too many: %zu: must have at most %d items", key,
			     list->n, CONFIG_MAX_FORMER);
	}
	for (size_t i = 0; i < list->n; i++) {
		const char *why = config_label_value_error(r->a, list->v[i]);

		if (list->v[i].n == 0) {
			why = "must not be empty";
		} else if (!why && str_eq(list->v[i], now)) {
			why = "is the one in use, not a former one";
		}
		if (why) {
			config_error(r, config_index(r->a, str_of(at), i),
				     "multiKueue.%s[%zu]: Invalid value: %s: %s", key, i,
				     config_quote(r->a, list->v[i]), why);
		}
	}
}

static void check_label_value(struct config_run *r, const char *key, mk_str value)
{
	const char *why = config_label_value_error(r->a, value);

	if (why != NULL) {
		config_error(r, arena_printf(r->a, "/multiKueue/%s", key),
			     "multiKueue.%s: Invalid value: %s: %s", key, config_quote(r->a, value),
			     why);
	}
}

void config_validate_multikueue(struct config_run *r, const struct config *c)
{
	const struct config_multikueue *m = &c->multikueue;

	check_duration(r, "/multiKueue/gcInterval", "multiKueue.gcInterval");
	check_duration(r, "/multiKueue/workerLostTimeout", "multiKueue.workerLostTimeout");
	check_duration(r, "/multiKueue/placementTimeout", "multiKueue.placementTimeout");
	check_label_value(r, "origin", m->origin);
	check_label_value(r, "managerId", m->manager_id);
	check_former(r, "formerOrigins", &m->former_origins, m->origin);
	check_former(r, "formerManagers", &m->former_managers, m->manager_id);
	config_validate_mk_frameworks(r, c);
	check_cluster_profile(r);
	check_incremental(r, c);
	check_ours(r, m);
	check_lease(r, c);
	config_validate_walls(r, m->walls);
}
