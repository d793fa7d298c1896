/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server of ours listens, and from where its clients come. */
#ifndef MK_NET_LISTEN_H
#define MK_NET_LISTEN_H

#include <event2/listener.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

/*
 * Listens on 'address': "host:port" with an IP address, or ":port" for all; port 0 chooses one,
 * '*ret_port' says which. The caller's to free. ERR_INVALID (address), ERR_UNAVAILABLE (cannot
 * listen there): NULL then.
 */
struct evconnlistener *listen_open(struct event_base *base, mk_str address, evconnlistener_cb fn,
				   void *ctx, uint16_t *ret_port, struct mk_err *err);

/* Is this a loopback address, of either family, also 127.0.0.0/8 as a socket of IPv6 shows it? */
bool listen_is_local(const struct sockaddr *sa, int n);

#endif
