/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authority of our own behind the webhook, and its next step: a pure function of what the
 * shared Secret holds, what the API servers were told to trust, and the time. An authority lives
 * ten years and is replaced a year before its end, a server certificate one year and ninety days.
 *
 * An authority is replaced in stages, so that there is no moment without trust: first the new one
 * is written beside the old one (ca.crt holds both), and only when the webhook configuration trusts
 * both is the server's certificate signed anew.
 */
#ifndef MK_SERVE_SERVING_CERTS_H
#define MK_SERVE_SERVING_CERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

/* The Secret's data, PEM texts; empty views for what is missing. */
struct serving_certs {
	mk_str ca;     /* what to trust; the first one signs */
	mk_str ca_key; /* of the first one */
	mk_str cert, key;
};

/* Names of the data, as cert-manager and Kueue have them. */
#define SERVING_CA "ca.crt"
#define SERVING_CA_KEY "ca.key"
#define SERVING_CERT "tls.crt"
#define SERVING_KEY "tls.key"

struct serving_input {
	struct serving_certs have;
	mk_str trusted;      /* the caBundle that every webhook has, or "" when unknown or none */
	const mk_str *names; /* that the server is called by */
	size_t n_names;
	int64_t now_ms; /* wall clock */
};

/*
 * *ret_change tells whether something is to be written; *ret is then what the Secret shall hold, in
 * 'a' or borrowed from 'in'. ERR_NO_MEMORY, ERR_INVALID (a name that no certificate can have).
 */
enum mk_code serving_certs_plan(struct arena *a, const struct serving_input *in,
				struct serving_certs *ret, bool *ret_change, struct mk_err *err);

#endif
