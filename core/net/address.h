/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses the daemon may connect to. An attacker who may write a kubeconfig chooses the
 * server, so the address is judged after name resolution, as the socket address that will be used:
 * a name that resolves to another address the second time does not pass the check. No I/O.
 */
#ifndef MK_NET_ADDRESS_H
#define MK_NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* NULL when allowed, else why not (static text): loopback, link-local, multicast, unspecified or no
 * IP address. */
const char *address_refusal(const struct sockaddr *sa, size_t len, bool allow_loopback,
			    bool allow_link_local);

/* "10.0.0.1:6443" or "[::1]:6443" into 'out', NUL-terminated; "?" for other families. */
void address_text(const struct sockaddr *sa, size_t len, char out[static 64]);

#endif
