/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visibility API behind the API servers' aggregation layer: HTTPS with a certificate by an
 * authority of our own, for the front proxy, which says whom it asks for, and for clients with a
 * bearer token. Who is known is let to discovery; objects take the right that the API server is
 * asked about (access.h). Refusals are Status objects.
 */
#ifndef MK_SERVE_API_SERVER_H
#define MK_SERVE_API_SERVER_H

#include "core/config/config.h"
#include "core/serve/api_answers.h"

#define API_SERVICE NAME_VISIBILITY_VERSION "." NAME_VISIBILITY_GROUP

struct api_server;

struct api_server_options {
	struct loop *loop;                  /* borrowed */
	const struct config *config;        /* borrowed */
	struct kube *kube;                  /* borrowed */
	struct api_answers_options answers; /* what is answered */
	void (*wake)(void *ctx);            /* api_server_run is due at once */
	void *wake_ctx;
};

/*
 * Listens at multiKueue.visibility.bindAddress. ERR_INVALID (address, TLS options),
 * ERR_UNAVAILABLE (address), ERR_NO_MEMORY. Handshakes are refused until there is a certificate.
 */
struct api_server *api_server_new(const struct api_server_options *o, struct mk_err *err);
/* After kube_free. NULL is fine. */
void api_server_free(struct api_server *s);

/* Told of every event. */
void api_server_event(struct api_server *s, const struct event *ev);

/*
 * Does what is due: questions to the API server, answers to clients, certificates. 'leads': may
 * write.
 */
void api_server_run(struct api_server *s, int64_t mono_ms, int64_t wall_ms, bool leads);

/* Monotonic ms of the next api_server_run. */
int64_t api_server_next_ms(const struct api_server *s);

#endif
