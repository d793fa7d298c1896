/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server of ours listens, and from where its clients come. */
#ifndef MK_NET_LISTEN_H
#define MK_NET_LISTEN_H

#include <event2/listener.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/str.h"

enum { LISTEN_HOST_SIZE = 64 };

/*
 * The parts of an address as listen_open takes it: 'host' without brackets, "" for all. Whether it is an IP address is not
 * looked at. MK_INVALID.
 */
enum mk_code listen_split(mk_str address, char host[static LISTEN_HOST_SIZE], uint16_t *ret_port,
			  struct mk_err *err);

/*
 * Listens on 'address': "host:port" with an IP address, or ":port" for all; port 0 chooses one, '*ret_port' says which.
 * The caller's to free. MK_INVALID (address), MK_UNAVAILABLE (cannot listen there): NULL then.
 */
struct evconnlistener *listen_open(struct event_base *base, mk_str address, evconnlistener_cb fn,
				   void *ctx, uint16_t *ret_port, struct mk_err *err);

/* Is this a loopback address, of either family, also 127.0.0.0/8 as a socket of IPv6 shows it? */
bool listen_is_local(const struct sockaddr *sa, int n);

#endif
