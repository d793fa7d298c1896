/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a request is from, when an API server forwards it: the headers of its aggregation layer,
 * believed only of a client whose certificate is one of the front proxy's. Which certificates and
 * headers these are stands in the ConfigMap extension-apiserver-authentication of kube-system.
 *
 * No I/O: the object and the time are arguments.
 */
#ifndef MK_SERVE_FRONT_PROXY_H
#define MK_SERVE_FRONT_PROXY_H

#include "core/base/json.h"
#include "core/net/http_server.h"

#define FRONT_PROXY_NAMESPACE "kube-system"
#define FRONT_PROXY_CONFIG_MAP "extension-apiserver-authentication"

/* All zero: no client is believed. */
struct front_proxy {
	struct arena arena; /* of all that follows */
	struct tls_trust *trust;
	const mk_str *names; /* common names; none: each certificate of the authority counts */
	size_t n_names;
	/* Names of headers: one user's, one uid's, all groups', and how those of extras begin. */
	const mk_str *users, *uids, *groups, *extras;
	size_t n_users, n_uids, n_groups, n_extras;
};

/*
 * Takes what the ConfigMap says. ERR_INVALID (what is missing or malformed), ERR_NO_MEMORY: no
 * client is believed any more.
 */
enum mk_code front_proxy_set(struct front_proxy *f, const struct json *config_map,
			     struct mk_err *err);
/* Believes no client, and frees what is held. */
void front_proxy_clear(struct front_proxy *f);

/*
 * The user {username, uid, groups, extra} whom the front proxy forwards 'rq' for, in 'a'.
 * ERR_DENIED: the client is not the front proxy, or what it says is ambiguous or malformed (a
 * header that counts once and comes twice, no user, bytes that are no UTF-8). ERR_NO_MEMORY.
 */
enum mk_code front_proxy_user(const struct front_proxy *f, const struct http_request *rq,
			      int64_t wall_ms, struct arena *a, struct json **ret,
			      struct mk_err *err);

/* For tests: the same of headers that are believed, those of an http_request. */
enum mk_code front_proxy_headers(const struct front_proxy *f, mk_str headers, struct arena *a,
				 struct json **ret, struct mk_err *err);

#endif
