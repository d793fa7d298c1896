/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between protocol logic and the network. core/net implements it with libcurl, t/sim
 * with the simulated store. Above it everything is deterministic. One thread; no call blocks;
 * callbacks never arrive inside a call.
 *
 * Life of a request: send() with a token of the caller's choosing -> on_head once -> on_chunk any
 * number of times -> on_end exactly once. cancel() suppresses all further callbacks of the token.
 * An unsent request gets on_end only.
 */
#ifndef MK_KUBE_TRANSPORT_H
#define MK_KUBE_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

/* How to reach and prove ourselves to one API server. Strings are copied by open(). */
struct endpoint {
	mk_str host; /* DNS name, IPv4, or IPv6 without brackets */
	uint16_t port;
	mk_str base_path;         /* "" or "/prefix", no trailing slash */
	mk_str tls_server_name;   /* "" = host */
	mk_str ca_pem;            /* "" = the system's roots */
	mk_str cert_pem, key_pem; /* client certificate, or both "" */
	mk_str token;             /* bearer token or "" */
	mk_str token_file; /* in-cluster: read by the transport every 60 s and after a 401, or "" */
	bool allow_loopback, allow_link_local;
};

enum transport_class {
	TRANSPORT_READ, /* connection pool of requests */
	/* the same pool; fenced: not sent, or cut, when the lease's validity ends */
	TRANSPORT_WRITE,
	TRANSPORT_WATCH, /* connection pool of watches; no overall timeout */
};

struct transport_request {
	const char *method;       /* "GET" "POST" "PATCH" "PUT" "DELETE" */
	mk_str path;              /* path and query, as sent, without base_path */
	const char *accept;       /* "application/json" when NULL */
	const char *content_type; /* NULL without body */
	mk_str body;
	mk_str as; /* Impersonate-User: who the server takes us for; "" = who we are */
	enum transport_class cls;
	int64_t timeout_ms; /* 0 for watches */
	bool gzip;          /* lists only */
	bool is_plain;      /* no answer to it holds credentials */
};

/* Why a request ended, when it was not by a complete answer. */
enum transport_end {
	/* complete answer (any HTTP status), or a watch closed cleanly by the server */
	TRANSPORT_OK,
	TRANSPORT_NOT_SENT, /* certainly not executed: refused, DNS, TLS, connect timeout, fenced */
	TRANSPORT_LOST,     /* sent, connection lost or timed out before a complete answer */
};

struct transport_head {
	int status;
	mk_str content_type;
	int64_t retry_after_ms; /* -1 without the header */
};

/* Implemented by core/kube; all calls on the main thread. */
struct transport_sink {
	void *ctx;
	void (*on_head)(void *ctx, uint64_t token, const struct transport_head *head);
	void (*on_chunk)(void *ctx, uint64_t token, mk_str bytes);
	/*
	 * 'text' says what went wrong, without secrets; code: ERR_OK, ERR_UNAVAILABLE, ERR_TIMEOUT,
	 * ERR_DENIED (TLS, address), ERR_FENCED.
	 */
	void (*on_end)(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		       mk_str text);
	/*
	 * 'n' bytes came from the cluster that no request asked for and that bring nothing, such as
	 * 'what'; TRANSPORT_FLOOD: more than HTTP/2 has to put up with. May be NULL.
	 */
	void (*on_barren)(void *ctx, uint32_t cluster, size_t n, mk_str what);
};

enum { TRANSPORT_FLOOD = 1024 * 1024 * 1024 };

/* Implemented by core/net and t/sim. */
struct transport {
	void *ctx;
	/*
	 * Prepares 'cluster' (no I/O). An open cluster is first closed. ERR_INVALID (bad PEM, with
	 * the text of Go's client), ERR_NO_MEMORY.
	 */
	enum mk_code (*open)(void *ctx, uint32_t cluster, const struct endpoint *e,
			     struct mk_err *err);
	/*
	 * New credentials for an open cluster (token, or certificate and key; the rest of 'e' is as
	 * it was): for requests that are sent from now on, and for those that get a 401. Nothing is
	 * dropped. May be NULL: the cluster is opened anew. ERR_INVALID, ERR_NO_MEMORY, ERR_BUG (not
	 * open): the old ones stay.
	 */
	enum mk_code (*renew)(void *ctx, uint32_t cluster, const struct endpoint *e,
			      struct mk_err *err);
	/* Drops all connections; tokens still open get no more callbacks. */
	void (*close)(void *ctx, uint32_t cluster);
	/*
	 * Throws away the cluster's connections but keeps it open: for a peer that is suspected
	 * dead. Open tokens get on_end(TRANSPORT_LOST).
	 */
	void (*reset)(void *ctx, uint32_t cluster);
	/* Queues a request; strings are copied. ERR_NO_MEMORY, ERR_BUG (cluster not open). */
	enum mk_code (*send)(void *ctx, uint32_t cluster, const struct transport_request *r,
			     uint64_t token, struct mk_err *err);
	void (*cancel)(void *ctx, uint32_t cluster, uint64_t token);
};

#endif
