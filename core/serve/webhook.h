/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhooks of one replica over TLS on a thread of its own (reviews.h): POST /mutate, answered
 * from warm caches by core/admit, and POST /validate for queue trees, by core/trees. Every replica
 * serves them, a standby as well; none needs a worker or the lease for that.
 *
 * Its certificate comes from files (webhook.certDir), looked at every two seconds, so that a Secret
 * that is mounted anew is used without a restart, or from an authority of our own
 * (webhook_objects.h).
 */
#ifndef MK_SERVE_WEBHOOK_H
#define MK_SERVE_WEBHOOK_H

#include "core/config/config.h"
#include "core/manager/manager.h"
#include "core/trees/store.h"

struct webhook;

struct webhook_options {
	const struct config *config; /* borrowed */
	struct manager *manager;     /* borrowed */
	/* Borrowed, until webhook_free. NULL: writes of queue trees are not reviewed. */
	struct trees_store *trees;
};

/*
 * Listens, and asks for the queues' watches; before manager_start. ERR_INVALID (host, TLS options),
 * ERR_UNAVAILABLE (port), ERR_NO_MEMORY.
 */
struct webhook *webhook_new(const struct webhook_options *o, struct mk_err *err);
/* After manager_free. NULL is fine. */
void webhook_free(struct webhook *w);

/* The user name that the manager's API server knows this daemon by. */
void webhook_account(struct webhook *w, mk_str name);

/* Told of every event of the manager. */
void webhook_event(struct webhook *w, const struct event *ev);

/* Does what is due; 'leads': this replica writes certificates and the table of queues. */
void webhook_run(struct webhook *w, int64_t mono_ms, int64_t wall_ms, bool leads);

/* Monotonic ms of the next webhook_run. */
int64_t webhook_next_ms(const struct webhook *w);

/* Why it cannot answer (yet), or NULL: a certificate is there and the queues are known. */
const char *webhook_not_ready(const struct webhook *w);

#endif
