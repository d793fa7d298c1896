/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries of the Kubernetes API. Names and values are percent-escaped. */
#ifndef MK_KUBE_URL_H
#define MK_KUBE_URL_H

#include "core/base/str.h"
#include "core/model/kind.h"

enum { URL_MAX = 16 * 1024 }; /* longest path and query that is built: a cap for struct buf */

/* What a path names. Empty parts are left out. */
struct url_target {
	const struct kind *kind;
	mk_str plural;           /* "" = the kind's own */
	mk_str ns;               /* "" = all namespaces, or cluster-scoped */
	mk_str name;             /* "" = the collection */
	const char *subresource; /* "" or NULL = none */
};

/* Appends e.g. "/apis/batch/v1/namespaces/ns/jobs/name/status". Failure shows in b->failed. */
void url_path(struct buf *b, const struct url_target *t);

/* Appends "/api/v1" or "/apis/<group>/<version>". */
void url_group(struct buf *b, const struct kind *k);

/*
 * Appends "?key=value" or "&key=value", whichever is due; 'key' is a literal, 'value' is escaped.
 */
void url_query(struct buf *b, const char *key, mk_str value);
void url_query_u64(struct buf *b, const char *key, uint64_t value);

/*
 * May 's' be a name in a path? Not "", ".", ".." or a name with '/' or '%', which no API server
 * stores.
 */
bool url_is_name(mk_str s);

/*
 * A resourceVersion that may be sent: decimal digits that fit 64 bits, not 0. False leaves *ret
 * untouched.
 */
bool url_rv(mk_str s, uint64_t *ret);

#endif
