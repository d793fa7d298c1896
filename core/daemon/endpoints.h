/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own HTTP endpoints: liveness, readiness, metrics, and a JSON view of what it is
 * doing. Plain HTTP, for the inside of a cluster. Readiness never depends on leadership or on
 * workers: a standby is ready.
 */
#ifndef MK_DAEMON_ENDPOINTS_H
#define MK_DAEMON_ENDPOINTS_H

#include "core/daemon/config.h"
#include "core/daemon/telemetry.h"
#include "core/daemon/webhook.h"

struct endpoints;

struct endpoints_options {
	struct loop *loop;             /* borrowed */
	const struct config *config;   /* borrowed */
	struct telemetry *telemetry;   /* borrowed */
	struct manager *manager;       /* borrowed */
	const struct webhook *webhook; /* borrowed; NULL without one */
	/* Says what telemetry reads, at the time of a request. */
	struct telemetry_sources (*sources)(void *ctx);
	void *ctx;
};

/* Opens the listeners that the configuration asks for. MK_INVALID, MK_UNAVAILABLE (address),
 * MK_NO_MEMORY. */
struct endpoints *endpoints_new(const struct endpoints_options *o, struct mk_err *err);
void endpoints_free(struct endpoints *e); /* NULL is fine */

/* From now on readiness answers 503. */
void endpoints_drain(struct endpoints *e);

#endif
