/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes; see pipe_text.h. */
#include "t/lib/pipe_text.h"

#include <poll.h>
#include <stddef.h>
#include <unistd.h>

const char *pipe_text(int fd)
{
	static char text[128 * 1024];
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	size_t n = 0;

	while (n < sizeof(text) - 1 && poll(&pfd, 1, 0) == 1) {
		ssize_t k = read(fd, text + n, sizeof(text) - 1 - n);

		if (k <= 0) {
			break;
		}
		n += (size_t)k;
	}
	text[n] = '\0';
	return text;
}
