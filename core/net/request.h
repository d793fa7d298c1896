/* SPDX-License-Identifier: Apache-2.0 */
/* What both transports ask of a request, and the words for what went wrong before it was sent. */
#ifndef MK_NET_REQUEST_H
#define MK_NET_REQUEST_H

#include "core/kube/transport.h"
#include "core/net/fence.h"

enum {
	REQUEST_MAX_URL = 32 * 1024,
	REQUEST_METHOD_SIZE = 8,
	REQUEST_MAX_USER = 512,
	REQUEST_CONNECT_MS = 10 * 1000, /* name, address and TLS */
	/* Bytes that stay unacknowledged this long end the connection; keepalive covers the silent
	 * ones. */
	REQUEST_USER_TIMEOUT_MS = 30 * 1000,
	REQUEST_KEEP_IDLE_S = 15,
	REQUEST_KEEP_INTERVAL_S = 5,
	REQUEST_ROUTE_MS = 300 * 1000, /* then a server's name is looked up anew */
	REQUEST_TOO_BIG_SIZE = 64,
};

/* What is said of a write that the fence held back. */
#define REQUEST_FENCED "not the leader: nothing was sent"
/* What is said of credentials that could be parsed. */
#define REQUEST_CREDENTIALS "tls: the client certificate, key or CA cannot be used"

/*
 * Checks method, path and user, and says how much time the request has (0: no limit): a write no
 * more than the lease's validity. ERR_INVALID, ERR_FENCED (a write, and the fence is down).
 */
enum mk_code request_check(const struct transport_request *r, struct net_fence *fence,
			   int64_t *ret_timeout_ms, struct mk_err *err);

/* Why a connection was not made, as Go's client says it: "connect: connection refused". Static. */
const char *request_dial_words(int errno_value);

/* What is said of an answer of more than 'cap' bytes; 'head': of one whose head is too large. */
void request_too_big_words(bool head, size_t cap, char text[static REQUEST_TOO_BIG_SIZE]);

#endif
