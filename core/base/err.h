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
	MK_OK = 0,
	MK_NOT_FOUND,   /* the object or file is not there */
	MK_EXISTS,      /* a create met an object of that name: read it, then decide */
	MK_CONFLICT,    /* a precondition failed: read again, recompute */
	MK_GONE,        /* resourceVersion or continue token too old: list again */
	MK_INVALID,     /* permanent until the input changes */
	MK_DENIED,      /* credentials or permissions: slow retry */
	MK_UNAVAILABLE, /* the peer is down, or answers 5xx: back off */
	MK_LIMITED,     /* 429: wait retry_after_ms */
	MK_TIMEOUT,     /* no answer in time */
	MK_UNKNOWN, /* a write was sent and its outcome is not known: read before anything else */
	MK_TOO_BIG, /* a cap was hit */
	MK_NO_MEMORY,
	MK_PLUGIN_FAULT, /* a plugin broke its contract */
	MK_FENCED,       /* not (or no longer) allowed to write: nothing was sent */
	MK_BUG,          /* our own mistake */
	MK_N_CODES
};

struct mk_err {
	enum mk_code code;
	const char *module; /* static string: where it arose */
	char msg[512];
};

/*
 * Fills 'err' (may be NULL) with 'code' and a printf-style message, and returns 'code',
 * so that a function can end with `return err_set(err, MK_INVALID, "url", "no host in %s", s);`.
 * 'module' must be a string literal. Messages are cut to the buffer, on a UTF-8 boundary.
 */
enum mk_code err_set(struct mk_err *err, enum mk_code code, const char *module, const char *fmt,
		     ...) __attribute__((format(printf, 4, 5)));

/* Puts "<context>: " before the message of 'err' (may be NULL): outermost context comes first. */
void err_wrap(struct mk_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Lower-case word of a code, e.g. "not_found"; never NULL. */
const char *err_code_name(enum mk_code code);

#endif
