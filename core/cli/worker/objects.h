/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that make a cluster a worker, on both sides, as JSON in an arena. No I/O. */
#ifndef MK_CLI_WORKER_OBJECTS_H
#define MK_CLI_WORKER_OBJECTS_H

#include "core/base/json.h"

/* Labels of Secrets: on a worker, whose token it is; on a manager, where the kubeconfig leads. */
#define OBJECTS_MANAGER_UID "multikueued.io/manager-uid"
#define OBJECTS_WORKER_UID "multikueued.io/worker-uid"

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
/* The server that the kubeconfig in a Secret leads to; "": it has none. */
mk_str objects_server(struct arena *a, const struct json *secret);

#endif
