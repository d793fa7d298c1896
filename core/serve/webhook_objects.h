/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of the manager cluster that a server lives by which API servers call: admission's,
 * and that of the aggregated API.
 *
 *   Secret                          certificate and authority, shared by all replicas; only with
 *                                   an authority of our own
 *   MutatingWebhookConfiguration,   the caBundle of each, so that API servers trust that
 *   ValidatingWebhookConfiguration, authority
 *   or APIService
 *   ConfigMap multikueue-queues     the queues that lead to workers, for the policy in
 *                                   conf/admission; written only where it exists
 *
 * Every replica reads the Secret; the leader alone writes, and each write carries the
 * resourceVersion that was read. No sockets and no clock: requests go through core/kube, time is an
 * argument.
 */
#ifndef MK_SERVE_WEBHOOK_OBJECTS_H
#define MK_SERVE_WEBHOOK_OBJECTS_H

#include "core/admit/queues.h"
#include "core/kube/kube.h"
#include "core/serve/serving_certs.h"

struct webhook_objects;

/* Strings and pointers are borrowed for the object's life. */
struct webhook_objects_options {
	struct kube *kube;
	const char *module;                /* of the log */
	uint16_t trusting_kind;            /* KIND_WEBHOOKS or KIND_API_SERVICE */
	mk_str trusting;                   /* its name: whose caBundle is ours to write */
	uint16_t also_kind;                /* KIND_VALIDATING, with 'also' */
	mk_str also;                       /* another one, which may be missing; "": none */
	const struct admit_queues *queues; /* of the ConfigMap; NULL: there is none */
	mk_str namespace_;
	bool own_authority;
	mk_str secret;       /* name; with own_authority */
	const mk_str *names; /* that the server is called by; with own_authority */
	size_t n_names;
	/*
	 * A certificate was read from the Secret, another one than the last. False: it cannot be
	 * used; told again later.
	 */
	bool (*on_certificate)(void *ctx, mk_str cert, mk_str key);
	void *ctx;
};

/* NULL: out of memory. */
struct webhook_objects *webhook_objects_new(const struct webhook_objects_options *o);
/* After kube_free: until then its answers come here. NULL is fine. */
void webhook_objects_free(struct webhook_objects *w);

/*
 * Told of every event: a change of the Secret, or of an object that names whom API servers trust,
 * is read at once.
 */
void webhook_objects_event(struct webhook_objects *w, const struct event *ev);

/* Does what is due. 'leads': may write. */
void webhook_objects_run(struct webhook_objects *w, int64_t mono_ms, int64_t wall_ms, bool leads);

/* Monotonic ms of the next run without answers or events. */
int64_t webhook_objects_next_ms(const struct webhook_objects *w);

#endif
