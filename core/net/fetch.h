/* SPDX-License-Identifier: Apache-2.0 */
/* One GET over HTTP without TLS, for command line tools that ask a daemon on the same host. */
#ifndef MK_NET_FETCH_H
#define MK_NET_FETCH_H

#include "core/base/err.h"
#include "core/base/str.h"

/*
 * Waits for the answer to a GET of 'url' ("http://127.0.0.1:8081/v1/clusters"), 'timeout_ms' at
 * most; no proxy and no redirect is followed. The body is appended to 'body', whose cap bounds it.
 * ERR_UNAVAILABLE: no complete answer, 'err' has libcurl's words; ERR_INVALID: no http:// URL;
 * ERR_NO_MEMORY: or the answer is larger than the cap. One thread at a time.
 */
enum mk_code fetch_get(const char *url, int64_t timeout_ms, struct buf *body, int *ret_status,
		       struct mk_err *err);

#endif
