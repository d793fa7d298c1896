/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel counts of a TCP connection; see received.h. Its headers do not go with libc's. */
#include "core/net/received.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

uint64_t received_bytes(int fd)
{
	struct tcp_info info = {.tcpi_state = 0};
	socklen_t n = sizeof(info);
	int waiting = 0;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0 ||
	    n < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received) ||
	    ioctl(fd, SIOCINQ, &waiting) != 0 || (uint64_t)waiting > info.tcpi_bytes_received) {
		return 0;
	}
	return (uint64_t)info.tcpi_bytes_received - (uint64_t)waiting;
}
