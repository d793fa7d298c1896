/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig's content, as the files kubeconfig*.c share it. Everything lives in the arena of the
 * parse.
 */
#ifndef MK_KUBE_KUBECONFIG_IMPL_H
#define MK_KUBE_KUBECONFIG_IMPL_H

#include "core/kube/kubeconfig.h"

enum { KUBECONFIG_ENTRIES_MAX = 1000 }; /* of one kind: bounds the search for duplicates */

struct kc_cluster {
	mk_str name, server, tls_server_name, ca_file, ca_data, proxy;
	bool insecure;
};

struct kc_exec {
	bool set;
	mk_str command, api_version, mode;
};

struct kc_user {
	mk_str name, cert_file, cert_data, key_file, key_data, token, token_file;
	mk_str username, password, as, as_uid;
	bool as_more; /* as-groups or as-user-extra */
	bool auth_provider;
	struct kc_exec exec;
};

struct kc_context {
	mk_str name, cluster, user;
};

struct kubeconfig {
	mk_str current;
	struct kc_cluster *clusters;
	struct kc_user *users;
	struct kc_context *contexts;
	size_t n_clusters, n_users, n_contexts;
};

/* What the current context selects; an absent part is NULL. */
struct kc_choice {
	const struct kc_cluster *cluster;
	const struct kc_user *user;
};

/*
 * kubeconfig_decode.c: text → content. ERR_INVALID with Go's texts behind "failed to parse
 * kubeconfig(apiconfig): ".
 */
enum mk_code kubeconfig_decode(struct arena *a, mk_str text, struct kubeconfig *ret,
			       struct mk_err *err);

/* kubeconfig_rules.c: Kueue's checks of every entry, in its order. */
enum mk_code kubeconfig_check_entries(const struct kubeconfig *kc, struct mk_err *err);
/*
 * Those of the Kubernetes client: finds the current context's cluster and user, "invalid
 * configuration: …".
 */
enum mk_code kubeconfig_resolve(const struct kubeconfig *kc, struct kc_choice *ret,
				struct mk_err *err);
/* What neither a worker's nor our own kubeconfig may use. */
enum mk_code kubeconfig_check_choice(const struct kc_choice *c, struct mk_err *err);

/*
 * kubeconfig_server.c: a server URL → host, port, base_path. ERR_INVALID `untrusted server
 * endpoint`, or our own words.
 */
enum mk_code kubeconfig_server(struct arena *a, mk_str url, struct endpoint *ret,
			       struct mk_err *err);
/*
 * Refuses loopback and link-local targets that are not allowed, as far as the text of the host
 * tells.
 */
enum mk_code kubeconfig_check_host(mk_str host, const struct kubeconfig_options *o,
				   struct mk_err *err);

#endif
