/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a connection was read, also by libcurl. */
#ifndef MK_NET_RECEIVED_H
#define MK_NET_RECEIVED_H

#include <stdint.h>

/* Bytes that were taken from the socket since it was connected; 0 where the kernel counts none. */
uint64_t received_bytes(int fd);

#endif
