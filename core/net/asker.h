/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many requests to many API servers at once, for command line tools that ask a fleet and wait for
 * the answers. The same options, checks and words as the transport of the daemon. One thread.
 *
 * asker_new -> asker_open for each server -> asker_send -> asker_run -> asker_free.
 */
#ifndef MK_NET_ASKER_H
#define MK_NET_ASKER_H

#include "core/kube/transport.h"

struct asker;
struct asker_server;

struct asker_answer {
	enum mk_code code; /* ERR_OK: complete, whatever its status */
	int status;        /* 0: none came */
	mk_str body;       /* borrowed for the call */
	mk_str text;       /* why there is no complete answer; borrowed likewise */
	bool no_name;      /* ... because the server's name is not known */
	int64_t date_ms;   /* of the header Date, -1 without one */
	int64_t asked_ms;  /* when it was sent, by the wall clock; took_ms later it was there */
	int64_t took_ms;
	/* Of the server, the first certificate; "" when the connection was there already. */
	mk_str cert_pem;
};

typedef void asker_fn(void *ctx, const struct asker_answer *answer);

struct asker_request {
	const char *method; /* "GET", or "POST" of JSON */
	mk_str path;        /* path and query */
	mk_str body;        /* "" for none */
	mk_str as;          /* as in struct transport_request */
	int64_t timeout_ms; /* for all of it */
	asker_fn *fn;       /* called once, inside asker_run; may send more */
	void *ctx;
};

/* 'user_agent' is borrowed. ERR_NO_MEMORY: NULL. */
struct asker *asker_new(const char *user_agent, struct mk_err *err);
/* Frees the servers as well. Requests under way get no answer. NULL is fine. */
void asker_free(struct asker *k);

/*
 * A server to send to, until asker_free; strings of 'e' are copied. NULL: ERR_INVALID (host, PEM,
 * token), ERR_NO_MEMORY.
 */
struct asker_server *asker_open(struct asker *k, const struct endpoint *e, struct mk_err *err);
/*
 * The same for HTTP without TLS and without credentials over a socket of this host ('path'), as
 * `kubectl proxy --unix-socket` opens it.
 */
struct asker_server *asker_open_socket(struct asker *k, const char *path, struct mk_err *err);

/* Begins; strings of 'r' are copied. ERR_INVALID, ERR_NO_MEMORY: 'fn' is not called. */
enum mk_code asker_send(struct asker *k, struct asker_server *to, const struct asker_request *r,
			struct mk_err *err);

/*
 * Waits until no request is under way, or for 'ms'. ERR_TIMEOUT: some still are; ERR_NO_MEMORY,
 * ERR_BUG (libcurl).
 */
enum mk_code asker_run(struct asker *k, int64_t ms, struct mk_err *err);

#endif
