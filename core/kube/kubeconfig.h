/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials as text → struct endpoint. Two callers with different rules: kubeconfigs of workers
 * come from Secrets that users may write, so they have to pass Kueue's checks, in Kueue's order and
 * words, and then stricter ones of ours; the manager's own comes from a file that the operator
 * named and may point to other files, as kubectl's may. No I/O here: the caller reads the files.
 */
#ifndef MK_KUBE_KUBECONFIG_H
#define MK_KUBE_KUBECONFIG_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/kube/transport.h"

enum { KUBECONFIG_MAX = 1024 * 1024 };

struct kubeconfig_options {
	bool allow_loopback, allow_link_local; /* targets that a worker's server may name */
};

/*
 * A worker's kubeconfig. Strings of 'ret' live in 'a'. ERR_INVALID: the message is what stands
 * behind `load client config failed: ` (reason InsecureKubeConfig of the condition Active);
 * ERR_TOO_BIG; ERR_NO_MEMORY.
 */
enum mk_code kubeconfig_parse(struct arena *a, mk_str text, const struct kubeconfig_options *o,
			      struct endpoint *ret, struct mk_err *err);

/* Where a cluster is, as a ClusterProfile says it; "" = it does not. */
struct kubeconfig_place {
	mk_str server, tls_server_name, ca_base64;
};

/*
 * The same rules for a place without credentials. Strings of 'ret' live in 'a' or are those of
 * 'place'. ERR_INVALID: the message is what stands behind `load client config failed: ` (reason
 * BadRestConfig of the condition Active); ERR_NO_MEMORY.
 */
enum mk_code kubeconfig_endpoint(struct arena *a, const struct kubeconfig_place *place,
				 const struct kubeconfig_options *o, struct endpoint *ret,
				 struct mk_err *err);

/* Reads a file that a kubeconfig names (relative names are relative to it) into 'a'. */
typedef enum mk_code kubeconfig_read_fn(void *ctx, struct arena *a, mk_str path, mk_str *ret,
					struct mk_err *err);

/*
 * The manager's own kubeconfig (--kubeconfig): client-certificate, client-key and
 * certificate-authority may be files, fetched through 'read'; a tokenFile is read by the transport.
 * https only, verified TLS only, no exec, auth-provider, basic auth, proxy or impersonation.
 * Loopback and link-local servers are fine. Errors as above, and those of 'read'.
 */
enum mk_code kubeconfig_parse_file(struct arena *a, mk_str text, kubeconfig_read_fn *read,
				   void *ctx, struct endpoint *ret, struct mk_err *err);

/*
 * In-cluster credentials: KUBERNETES_SERVICE_HOST and _PORT as found in the environment, the CA
 * bundle's content, and the token's path. Strings are borrowed, the host is copied into 'a'.
 * ERR_NOT_FOUND: not in a cluster (a variable is empty); ERR_INVALID: no usable host or port, or an
 * empty CA.
 */
enum mk_code kubeconfig_in_cluster(struct arena *a, mk_str host, mk_str port, mk_str ca_pem,
				   mk_str token_file, struct endpoint *ret, struct mk_err *err);

/*
 * Wipes and empties the secrets that 'e' points to. They must be writable: an endpoint made by the
 * functions above.
 */
void kubeconfig_wipe(struct endpoint *e);

#endif
