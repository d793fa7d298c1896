/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one worker brings has a quarter of the loop's time at most, however much that is: then it
 * stays in the socket for the rest of a tenth of a second, and others are served as if the machine
 * were a little slower.
 */
#ifndef MK_NET_HTTP2_SHARE_H
#define MK_NET_HTTP2_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum { HTTP2_SHARE_US = 25 * 1000, HTTP2_SHARE_OF_US = 100 * 1000 };

/* Zero is valid. */
struct http2_share {
	int64_t since_us, spent_us;
};

/* The loop's time between these two was the worker's. */
void http2_share_charge(struct http2_share *s, int64_t from_us, int64_t to_us);

/* 0, or when the worker is to be heard again. */
int64_t http2_share_rests_until_us(const struct http2_share *s);

#endif
