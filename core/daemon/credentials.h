/* SPDX-License-Identifier: Apache-2.0 */
/* How the daemon reaches its own (manager) API server: a kubeconfig file, or what a pod finds in
 * its file system. */
#ifndef MK_DAEMON_CREDENTIALS_H
#define MK_DAEMON_CREDENTIALS_H

#include "core/base/arena.h"
#include "core/kube/transport.h"

/*
 * Fills 'ret' (strings in 'a') from the file 'kubeconfig', or in-cluster when it is NULL.
 * ERR_NOT_FOUND, ERR_DENIED (file), ERR_TOO_BIG, ERR_INVALID; the message names the file and says
 * what to do.
 */
enum mk_code credentials_load(struct arena *a, const char *kubeconfig, struct endpoint *ret,
			      struct mk_err *err);

/* The namespace of the pod's service account, or {NULL, 0} outside of a cluster. In 'a'. */
mk_str credentials_namespace(struct arena *a);

#endif
