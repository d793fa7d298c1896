/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that make a cluster a worker, on both sides, as JSON in an arena. No I/O. */
#ifndef MK_CLI_WORKER_OBJECTS_H
#define MK_CLI_WORKER_OBJECTS_H

#include "core/base/json.h"

/* Labels of Secrets: on a worker, whose token it is; on a manager, where the kubeconfig leads. */
#define OBJECTS_MANAGER_UID "multikueued.io/manager-uid"
#define OBJECTS_WORKER_UID "multikueued.io/worker-uid"
/* Who writes, in managedFields. */
#define OBJECTS_WRITER "kubectl-multikueue"
/* What stands for a token where objects are shown. */
#define OBJECTS_REDACTED "REDACTED"

/* What the manager is told of a worker. */
struct endpoint {
	mk_str server, ca; /* ca: base64 of PEM; "": the roots that the manager's host has */
	mk_str tls_name;   /* "": that of the server's URL */
};

/* Namespace, ServiceAccount and the rights of conf/rbac/worker.yaml. NULL: out of memory. */
struct json *objects_account(struct arena *a, mk_str ns);
/* The Secret in which Kubernetes puts a token for the account. */
struct json *objects_token(struct arena *a, mk_str ns, mk_str manager_uid, int64_t number);
/* The kubeconfig for the account with that token, as YAML. */
mk_str objects_kubeconfig(struct arena *a, mk_str name, const struct endpoint *e, mk_str token);
/* The Secret on the manager with that kubeconfig. */
struct json *objects_secret(struct arena *a, mk_str ns, mk_str name, mk_str worker_uid,
			    mk_str kubeconfig);
struct json *objects_cluster(struct arena *a, mk_str name);
/*
 * MultiKueueConfig 'name' with the clusters of 'old' (the object as it is, or an empty one) and
 * 'cluster'; NULL: nothing changes.
 */
struct json *objects_config(struct arena *a, mk_str name, const struct json *old, mk_str cluster);

/*
 * The newest token Secret for that manager in 'secrets', a List; NULL: there is none. *ret_number:
 * its number.
 */
const struct json *objects_newest_token(const struct json *secrets, mk_str manager_uid,
					int64_t *ret_number);
/*
 * The day on which an API server first saw the token of that Secret, and some later days; "": it
 * saw none, or tells none.
 */
mk_str objects_last_used(const struct json *secret);
/* The server that the kubeconfig in a Secret leads to; "": it has none. */
mk_str objects_server(struct arena *a, const struct json *secret);
/* The token in the kubeconfig of a Secret, which has one user; "": it has none, or more users. */
mk_str objects_kubeconfig_token(struct arena *a, const struct json *secret);
/*
 * That Secret with another token, to be applied where nothing has changed it since it was read;
 * NULL: objects_kubeconfig_token has none.
 */
struct json *objects_with_token(struct arena *a, const struct json *secret, mk_str token);
/* Makes the kubeconfig in a Secret text that can be read. */
void objects_show_kubeconfig(struct arena *a, struct json *secret);

/* What replaces a token. */
struct objects_rotation {
	int64_t number;      /* of the token Secret that is to be used */
	bool is_used;        /* by the manager, already */
	struct json *former; /* the names of the older ones */
};
/*
 * The rotation for that manager, whose kubeconfig has 'token', from its token Secrets in the List
 * 'secrets'. One that was interrupted goes on: a newest Secret that the manager uses beside older
 * ones, or that was never used, is not followed by another one.
 */
struct objects_rotation objects_rotate(struct arena *a, const struct json *secrets,
				       mk_str manager_uid, mk_str token);

/* --- what goes with a worker ------------------------------------------------------------------ */

/* MultiKueueConfig 'old' without the cluster; NULL: it does not name it. */
struct json *objects_config_without(struct arena *a, const struct json *old, mk_str cluster);
/* Is it a token Secret that these commands made for that manager? */
bool objects_is_token(const struct json *secret, mk_str manager_uid);
/* A token Secret in the List that the account has for another user than that manager; "": none. */
mk_str objects_foreign_token(const struct json *secrets, mk_str manager_uid);
/* Who else wrote the rules of that ClusterRole, which has its managedFields; "": no other. */
mk_str objects_foreign_writer(const struct json *role);
/* Does the ClusterRoleBinding give the rights to the account in namespace 'ns' alone? */
bool objects_binds_alone(const struct json *binding, mk_str ns);

#endif
