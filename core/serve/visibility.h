/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visibility API: where each Workload stands, and why, for operators and
 * `kubectl multikueue`. docs/visibility.md has each path and object.
 *
 *   GET /v1/workloads                a page; parameters: namespace, phase, cluster, clusterQueue,
 *                                    match, limit, continue, requests
 *   GET /v1/workloads/NAMESPACE/NAME one, with the reason of each cluster; parameters of a part of
 *                                    these: reason, limit, continue
 *   GET /v1/clusters                 workers; parameters: state, match, problem, order, limit,
 *                                    continue
 *   GET /v1/queues                   ClusterQueues that are watched; parameters: of, match, limit,
 *                                    continue
 *   GET /v1/events                   the last decisions; parameters: after, namespace, workload,
 *                                    last, limit
 *   GET /v1/plugins, /v1/settings    what the daemon was started with
 *
 * Answers are JSON; an error is a Status object of Kubernetes.
 */
#ifndef MK_SERVE_VISIBILITY_H
#define MK_SERVE_VISIBILITY_H

#include "core/manager/manager.h"
#include "core/net/http_server.h"
#include "core/serve/decisions.h"

/* What the answers read; borrowed. */
struct visibility {
	struct manager *manager;
	const struct decisions *decisions;
	/* Answers that never change, without kind and apiVersion. */
	const struct json *plugins, *settings;
};

/* Answers a request whose path begins with "/v1/". For http_server_handle; 'ctx' is the above. */
void visibility_handle(void *ctx, const struct http_request *rq, struct http_answer *answer);

#endif
