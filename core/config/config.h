/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: Kueue's own `Configuration` (config.kueue.x-k8s.io, v1beta2 or v1beta1), read
 * as strictly as Kueue v0.19.2 reads it and judged with its texts, plus our keys under
 * `multiKueue`. Pure: bytes in, struct out.
 *
 *	config_load -> (load plugins) -> config_check_dispatcher
 *
 * Keys, defaults and rules are in docs/configuration.md. What only Kueue's core uses is checked for
 * shape and dropped.
 */
#ifndef MK_CONFIG_CONFIG_H
#define MK_CONFIG_CONFIG_H

#include "core/base/json.h"
#include "core/base/yaml.h"

/* The Lease that we elect our leader by, and Kueue's, which stands in the same namespace. */
#define CONFIG_LEASE "multikueued"
#define CONFIG_KUEUE_LEASE "c1f6bfd2.kueue.x-k8s.io"
#define CONFIG_ALL_AT_ONCE "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
#define CONFIG_INCREMENTAL "kueue.x-k8s.io/multikueue-dispatcher-incremental"

/*
 * The feature gates that change what the daemon does; Kueue's other gates are known by name only.
 */
enum config_gate {
	CONFIG_GATE_MULTIKUEUE,
	CONFIG_GATE_ADAPTERS_FOR_CUSTOM_JOBS,
	CONFIG_GATE_CLUSTER_PROFILE,
	CONFIG_GATE_ORCHESTRATED_PREEMPTION,
	CONFIG_GATE_MANAGER_QUOTA_AUTOMATION,
	CONFIG_GATE_KUBECONFIG_PATH_VALIDATION,
	CONFIG_GATE_REMOTE_SPEC_SYNC,
	CONFIG_GATE_INCREMENTAL_CONFIG,
	CONFIG_GATE_INCREMENTAL_CONFIG_ORDER,
	CONFIG_GATE_WORKLOAD_IDENTIFIER_ANNOTATIONS,
	CONFIG_GATE_TLS_OPTIONS,
	CONFIG_GATE_WORKLOAD_REQUEST_USE_MERGE_PATCH,
	CONFIG_GATE_ELASTIC_JOBS,
	CONFIG_GATE_PRIORITY_BOOST,
	CONFIG_GATE_RAY_AUTOSCALING,
	CONFIG_N_GATES
};

/*
 * Minor versions of Kueue that multiKueue.kueueVersion may name, and the newest that is tested,
 * which is its default.
 */
enum { CONFIG_KUEUE_OLDEST = 18, CONFIG_KUEUE_TESTED = 19, CONFIG_KUEUE_NEWEST = 20 };

/* A list of strings. */
struct config_strs {
	const mk_str *v;
	size_t n;
};

/*
 * multiKueue.externalFrameworks[] and integrations.externalFrameworks[], taken apart:
 * "Kind.version.group".
 */
struct config_gvk {
	mk_str group, version, kind;
};

struct config_gvks {
	const struct config_gvk *v;
	size_t n;
};

/* multiKueue.clusterProfile: a program that gives credentials. Parsed; run only with the gate. */
struct config_provider {
	mk_str name, command, api_version, install_hint;
	struct config_strs args;
	struct config_strs env; /* name, value, name, value, ... */
	bool provide_cluster_info;
};

/* multiKueue.plugins.budgets: limits of one hook call. */
struct config_budgets {
	int64_t soft_time_ms, hard_time_ms;
	int64_t soft_memory, hard_memory; /* bytes */
	int64_t soft_calls, hard_calls;   /* host functions */
};

/* Of formerOrigins, and of formerManagers. */
enum { CONFIG_MAX_FORMER = 16 };

/* quotaTrees.mode */
enum config_trees { CONFIG_TREES_OFF, CONFIG_TREES_OBSERVE, CONFIG_TREES_COMPILE };

/* multiKueue */
struct config_multikueue {
	int64_t gc_interval_ms; /* 0 = no garbage collection */
	mk_str origin;
	int64_t worker_lost_timeout_ms; /* 0 = no grace */
	mk_str dispatcher;              /* the name as given, or the default */
	int32_t step_size; /* of the incremental dispatcher; 3 unless set and its gate is on */
	struct config_gvks external_frameworks;
	bool has_profiles; /* the section clusterProfile is there */
	const struct config_provider *providers;
	size_t n_providers;
	/* Ours. */
	mk_str plugin_directory;
	struct config_strs plugin_allow; /* plugin files, with or without .so; none = all */
	struct config_budgets budgets;
	const struct json *dispatchers; /* object: name -> configuration; never NULL */
	struct config_strs external_dispatchers;
	const struct json *walls;           /* list of walls, see engine_options; NULL = none */
	struct config_strs former_origins;  /* label values, without 'origin' */
	struct config_strs former_managers; /* uids of kube-system, or earlier managerIds */
	mk_str manager_id;                  /* label value; "" = the uid of kube-system */
	bool allow_loopback, allow_link_local;
	bool only_libcurl;     /* network.transport is curl */
	bool workers_tls13;    /* network.tls.minVersion: API servers are asked for TLS 1.3 alone */
	bool worker_lost_keep; /* lostWorkerPolicy is Keep: workerLostTimeout does not count */
	bool collect_unmarked; /* takeOver is CollectUnmarked */
	int64_t placement_timeout_ms; /* 0 = off */
	bool unplaceable_reject;      /* unplaceable is Reject */
	int64_t job_status_size; /* bytes of a job's status that are copied at most; 0 = no limit */
	int64_t worker_memory;   /* bytes that what is known of one worker may take; 0 = no limit */
	int kueue_minor; /* of kueueVersion: 19 is Kueue 0.19, whose gates and defaults count */
	enum config_trees quota_trees;
	bool kueue_named; /* it was configured; else it is CONFIG_KUEUE_TESTED */
};

struct config_leader_election {
	bool elect;
	mk_str resource_name, resource_namespace; /* namespace "" = ours */
	int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;
};

struct config_tls {
	bool tls13;                 /* least version 1.3 instead of 1.2 */
	struct config_strs ciphers; /* Go's names; none = the library's choice */
	const int32_t *curves;      /* IANA numbers */
	size_t n_curves;
};

/*
 * The whole configuration, with defaults. Strings are NUL-terminated and live as long as the arena
 * that config_load was given.
 */
struct config {
	bool v1beta1;      /* the version the file was written in */
	mk_str namespace_; /* where the Secrets and our lease are */
	struct config_multikueue multikueue;
	double client_qps;             /* clientConnection.qps; 0 = no limit */
	int32_t client_burst;          /* clientConnection.burst; 0 = unset */
	struct config_strs frameworks; /* integrations.frameworks */
	struct config_gvks external_frameworks;
	struct config_leader_election leader_election;
	mk_str health_bind_address; /* "0" = off */
	mk_str readiness_endpoint, liveness_endpoint;
	mk_str metrics_bind_address;    /* "0" = off */
	bool metrics_own_cert;          /* one that signs itself, in place of files */
	mk_str visibility_bind_address; /* of the aggregated API; "0" = off */
	mk_str visibility_service_name, visibility_secret_name;
	bool webhook_on; /* the file has the section 'webhook' */
	int32_t webhook_port;
	mk_str webhook_host, webhook_cert_dir;
	bool internal_certs; /* an authority of our own, in place of files in webhook_cert_dir */
	mk_str webhook_service_name, webhook_secret_name;
	const struct json *managed_jobs_selector; /* a LabelSelector, never NULL */
	struct config_tls tls;
	bool gates[CONFIG_N_GATES];
	const struct json *document; /* the file as JSON, without defaults; null when empty */
	struct yaml_lines lines;     /* where its values stood */
};

/* One finding. */
struct config_problem {
	struct config_problem *next;
	mk_str pointer; /* RFC 6901, of the place in the file */
	/* the same as users write it: multiKueue.externalFrameworks[0].name; "" = the file */
	mk_str path;
	int line;    /* 0 = not in the file */
	mk_str text; /* Kueue's words, path included */
	mk_str hint; /* "expected ..., found ...", "did you mean ...?", or "" */
	bool warning;
};

struct config_problems {
	struct config_problem *first, **end;
	size_t n_errors, n_warnings;
};

struct config_input {
	mk_str text;              /* the file; empty = all defaults */
	mk_str feature_gates;     /* the value of --feature-gates, "" = not given */
	mk_str service_namespace; /* content of the service account's namespace file, "" = none */
	mk_str plugin_directory;  /* the default; "" = below /usr/local */
};

/* Where plugins are, below the prefix of `make install`. */
#define CONFIG_PLUGINS "lib/multikueue/plugins"

/*
 * Reads, judges, fills in. As in Kueue each stage (decoding, feature gates, validation) must pass
 * before the next one is tried, but within a stage everything is found. ERR_INVALID: err->msg is
 * Kueue's one message (several findings as `[e1, e2]`, cut when too long); 'problems' (cleared
 * first) has each with its line, and also warnings, in the order of the stages. ERR_TOO_BIG for
 * more than 1 MiB; ERR_NO_MEMORY. All memory is in 'a'.
 */
enum mk_code config_load(struct arena *a, const struct config_input *in, struct config *ret,
			 struct config_problems *problems, struct mk_err *err);

/*
 * A dispatcher that is loaded, built-in ones and the template of external names (PLUG_EXTERNAL)
 * among them.
 */
struct config_dispatcher {
	mk_str name;
	const struct json *schema; /* of its section; NULL = any */
};

/*
 * Judges what the configuration says of dispatchers, once they are loaded.
 *  - multiKueue.dispatcherName: a warning for an external one that is not declared; with 'strict'
 *    ERR_INVALID, unless it is "". ERR_INVALID when it can only be a mistake: no domain-prefixed
 *    path, unknown under kueue.x-k8s.io/ or multikueued.io/, or one typing error away from a known
 *    name; and for an external one when the template is not loaded.
 *  - multiKueue.dispatchers: a section that does not fit its dispatcher's schema is ERR_INVALID,
 *    each fault reported with its line; a section of no loaded dispatcher gets a warning.
 */
enum mk_code config_check_dispatcher(struct arena *a, const struct config *c,
				     const struct config_dispatcher *known, size_t n, bool strict,
				     struct config_problems *problems, struct mk_err *err);

/*
 * Adds an error about the value at 'pointer' that was found after loading, with the line of the
 * file: 'text' is the path of the key and what is wrong. Always an error code: ERR_INVALID, with
 * 'text' in 'err', or ERR_NO_MEMORY.
 */
enum mk_code config_blame(struct arena *a, const struct config *c, const char *pointer,
			  const char *text, struct config_problems *problems, struct mk_err *err);

/*
 * The kind behind an entry of integrations.frameworks, e.g. "batch/job". False: no such framework.
 * Strings are static.
 */
bool config_framework_kind(mk_str name, struct config_gvk *ret);

/*
 * Is an adapter of this kind wanted? Not when the kind is that of a framework which
 * integrations.frameworks leaves out; kinds of no framework are wanted, since the operator
 * installed a plugin for them.
 */
bool config_enables(const struct config *c, const struct config_gvk *g);

/*
 * multiKueue.dispatchers: sections by name; the incremental one's has stepSize and order as Kueue's
 * own keys and gates say, unless it says otherwise. In 'a'; NULL when out of memory.
 */
struct json *config_dispatchers(struct arena *a, const struct config *c);

/* Is something to be served at the address of probes or metrics? "0" switches it off. */
bool config_is_on(mk_str address);

/*
 * The file as Kueue accepts it: without our keys, as YAML, the header filled in. In 'a'; {NULL, 0}
 * when out of memory.
 */
mk_str config_print_kueue(struct arena *a, const struct config *c);

/* The name of a gate. */
const char *config_gate_name(enum config_gate gate);

#endif
