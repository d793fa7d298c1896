/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own HTTP endpoints. Liveness and readiness are plain HTTP for every client. Only for
 * clients on the same host, kubectl port-forward among them: /metrics, /status (JSON of what it is
 * doing), /v1/ (visibility.h) and /ui (ui.h). Other readers get /metrics over HTTPS, when the API
 * server lets them (metrics_server.h), and what /v1/ says as an API of Kubernetes (api_server.h).
 * Readiness never depends on leadership or on workers: a standby is ready.
 */
#ifndef MK_SERVE_ENDPOINTS_H
#define MK_SERVE_ENDPOINTS_H

#include "core/config/config.h"
#include "core/serve/telemetry.h"
#include "core/serve/webhook.h"

struct endpoints;

struct endpoints_options {
	struct loop *loop;             /* borrowed */
	const struct config *config;   /* borrowed */
	struct telemetry *telemetry;   /* borrowed */
	struct manager *manager;       /* borrowed */
	const struct webhook *webhook; /* borrowed; NULL without one */
	/* Borrowed: what the visibility API says of the process. */
	const struct json *plugins, *settings;
	/* Says what telemetry reads, at the time of a request. */
	struct telemetry_sources (*sources)(void *ctx);
	/* endpoints_run is due at once. */
	void (*wake)(void *ctx);
	void *ctx; /* of both */
};

/* Opens the listeners that the configuration asks for. ERR_INVALID, ERR_UNAVAILABLE (address),
 * ERR_NOT_FOUND, ERR_DENIED (certificate), ERR_NO_MEMORY. */
struct endpoints *endpoints_new(const struct endpoints_options *o, struct mk_err *err);
/* After manager_free. NULL is fine. */
void endpoints_free(struct endpoints *e);

/* Told of every event. */
void endpoints_event(struct endpoints *e, const struct event *ev);

/*
 * Does what is due; monotonic ms of the next time. Call manager_now before. 'leads': may write.
 */
void endpoints_run(struct endpoints *e, int64_t mono_ms, int64_t wall_ms, bool leads);
int64_t endpoints_next_ms(const struct endpoints *e);

/* From now on readiness answers 503. */
void endpoints_drain(struct endpoints *e);

#endif
