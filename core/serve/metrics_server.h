/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics for readers of the cluster: always HTTPS, and only for those whom the API server lets
 * (metrics_access.h). Its certificate is signed by itself and lives in memory, or, with
 * internalCertManagement off, comes from the directory that Kueue's manifests mount, looked at
 * every two seconds.
 */
#ifndef MK_SERVE_METRICS_SERVER_H
#define MK_SERVE_METRICS_SERVER_H

#include "core/config/config.h"
#include "core/kube/kube.h"
#include "core/net/http_server.h"

#define METRICS_CERT_DIRECTORY "/etc/kueue/metrics/certs"

struct metrics_server;

struct metrics_server_options {
	struct loop *loop;           /* borrowed */
	const struct config *config; /* borrowed */
	struct kube *kube;           /* borrowed */
	http_handler_fn *handler;    /* of /metrics */
	void *handler_ctx;
	void (*wake)(void *ctx); /* metrics_server_run is due at once */
	void *wake_ctx;
};

/*
 * Listens at metrics.bindAddress. ERR_INVALID (address, TLS options, certificate), ERR_UNAVAILABLE
 * (address), ERR_NOT_FOUND, ERR_DENIED (certificate files), ERR_NO_MEMORY.
 */
struct metrics_server *metrics_server_new(const struct metrics_server_options *o,
					  struct mk_err *err);
/* After kube_free. NULL is fine. */
void metrics_server_free(struct metrics_server *m);

/* Does what is due: questions to the API server, answers to readers, certificates. */
void metrics_server_run(struct metrics_server *m, int64_t mono_ms, int64_t wall_ms);

/* Monotonic ms of the next metrics_server_run. */
int64_t metrics_server_next_ms(const struct metrics_server *m);

#endif
