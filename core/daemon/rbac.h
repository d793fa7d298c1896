/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon may do, as manifests: the least that Kubernetes' RBAC must allow on the manager
 * and on a worker for the adapters that are loaded. conf/rbac/ holds what it says with the plugins
 * that come along; t/real runs with exactly those files. No I/O.
 */
#ifndef MK_DAEMON_RBAC_H
#define MK_DAEMON_RBAC_H

#include "core/config/config.h"
#include "core/plug/plug.h"

enum rbac_side { RBAC_MANAGER, RBAC_WORKER };

/*
 * Appends ServiceAccount, ClusterRoles, (manager) Roles and their bindings as YAML documents:
 * namespaces, the Lease and the webhook as 'c' has them, one rule per adapter of 'p', in its order.
 * Resource names are guessed from the kinds as kubectl does ("Job" is "jobs"), since no API server
 * is asked.
 */
void rbac_print(const struct config *c, const struct plug *p, enum rbac_side side, struct buf *out);

#endif
