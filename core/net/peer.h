/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One API server as the client sees it: our own copy of a struct endpoint, checked, with the URL
 * and the name overrides that libcurl needs, and the bearer token of the moment. Secrets are wiped
 * when freed. Not thread-safe: the transport and the lease thread each make their own.
 */
#ifndef MK_NET_PEER_H
#define MK_NET_PEER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kube/transport.h"
#include "core/net/tls_creds.h"

enum { PEER_TOKEN_REREAD_MS = 60000, PEER_TOKEN_MAX = 64 * 1024 };

struct peer {
	char *host;                 /* as given */
	char *url;                  /* https://name:port/base */
	struct curl_slist *resolve; /* pins the URL's name to an IP address, or NULL */
	struct curl_slist *connect; /* leads the URL's name to another DNS name, or NULL */
	char *ca, *cert, *key;      /* PEM or NULL */
	size_t ca_size, cert_size, key_size;
	char *token;      /* or NULL */
	char *token_file; /* or NULL */
	int64_t token_read_ms;
	unsigned token_generation; /* counts changes */
	uint16_t port;
	bool is_name;  /* 'host' must be looked up */
	bool is_http1; /* it agreed on nothing newer, on the connection that was used last */
	bool allow_loopback, allow_link_local;
};

/*
 * Copies and checks 'e'. ERR_INVALID: a host that is neither a DNS name nor an IP address, a bad
 * path, PEM or token (text as Go's client says it); ERR_NO_MEMORY. 'ret_creds' (or NULL) gets the
 * parsed credentials, to be freed with tls_creds_free.
 */
struct peer *peer_new(const struct endpoint *e, struct tls_creds **ret_creds, struct mk_err *err);
void peer_free(struct peer *p); /* NULL is fine */
/* What it was made of, borrowed from it, without base_path and tls_server_name. */
struct endpoint peer_endpoint(const struct peer *p);

/*
 * Reads the token file again when 60 s have passed, or at once with 'force'. A failed or empty read
 * keeps the old token. True when the token changed.
 */
bool peer_refresh_token(struct peer *p, int64_t mono_ms, bool force);

/*
 * Takes the token, certificate and key of 'e' in place of the old ones; the rest of it is not
 * looked at. ERR_INVALID and ERR_NO_MEMORY as above: the old ones stay.
 */
enum mk_code peer_renew(struct peer *p, const struct endpoint *e, struct mk_err *err);

/* May this socket address be connected to? NULL or why not (static). */
const char *peer_refuses(const struct peer *p, const struct sockaddr *sa, size_t len);

#endif
