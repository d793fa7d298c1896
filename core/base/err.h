/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error of every function that can fail: it returns a code and, if the caller passes a struct
 * mk_err, fills in a message. A code says what the caller should do (core/kube/status.h maps HTTP
 * answers to codes); whether and when to try again depends on the code alone. The message is a
 * short fact in lower case. The struct belongs to the caller; nothing here allocates.
 */
#ifndef MK_BASE_ERR_H
#define MK_BASE_ERR_H

#include <stdint.h>

enum mk_code {
	ERR_OK = 0,
	ERR_NOT_FOUND,   /* the object or file is not there */
	ERR_EXISTS,      /* a create met an object of that name: read it, then decide */
	ERR_CONFLICT,    /* a precondition failed: read again, recompute */
	ERR_GONE,        /* resourceVersion or continue token too old: list again */
	ERR_INVALID,     /* permanent until the input changes */
	ERR_DENIED,      /* credentials or permissions: slow retry */
	ERR_UNAVAILABLE, /* the peer is down, or answers 5xx: back off */
	ERR_LIMITED,     /* 429: wait retry_after_ms */
	ERR_TIMEOUT,     /* no answer in time */
	ERR_UNKNOWN, /* a write was sent and its outcome is not known: read before anything else */
	ERR_TOO_BIG, /* a cap was hit */
	ERR_NO_MEMORY,
	ERR_PLUGIN_FAULT, /* a plugin broke its contract */
	ERR_FENCED,       /* not (or no longer) allowed to write: nothing was sent */
	ERR_BUG,          /* our own mistake */
	ERR_N_CODES
};

struct mk_err {
	enum mk_code code;
	char msg[512];
};

/*
 * Fills 'err' (may be NULL) with 'code' and a printf-style message, and returns 'code',
 * so that a function can end with `return err_set(err, ERR_INVALID, "no host in %s", s);`.
 * Messages are cut to the buffer, on a UTF-8 boundary.
 */
enum mk_code err_set(struct mk_err *err, enum mk_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "<context>: " before the message of 'err' (may be NULL): outermost context comes first. */
void err_wrap(struct mk_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Lower-case word of a code, e.g. "not_found"; never NULL. */
const char *err_code_name(enum mk_code code);

#endif
