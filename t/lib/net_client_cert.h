/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that show a certificate to a TLS server of ours, in memory. */
#ifndef MK_T_LIB_NET_CLIENT_CERT_H
#define MK_T_LIB_NET_CLIENT_CERT_H

#include "core/net/tls_issue.h"
#include "core/net/tls_serve.h"

/* A certificate with these common names ("a,b") for 'use', by an authority. */
struct client_cert {
	const char *names;
	const char *use;           /* "clientAuth" */
	const struct tls_pair *ca; /* NULL: shows none */
	int64_t from_ms, to_ms;    /* beside now */
	int name_n;                /* bytes of a single name that has a NUL; else 0 */
};

/* Both ends of a connection; 'server' is the session that our server has. */
struct client_session {
	struct ssl_ctx_st *ctx;
	struct ssl_st *client, *server;
	bool shaken; /* the handshake was done */
};

/* A client with that certificate connects to 't'. To be freed by client_session_end. */
void client_session_begin(struct client_session *s, struct tls_serve *t,
			  const struct client_cert *w);
/* Frees both ends. */
void client_session_end(struct client_session *s);

#endif
