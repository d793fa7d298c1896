/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's share of the loop; see http2_share.h. */
#include "core/net/http2_share.h"

void http2_share_charge(struct http2_share *s, int64_t from_us, int64_t to_us)
{
	if (from_us - s->since_us >= HTTP2_SHARE_OF_US) {
		*s = (struct http2_share){.since_us = from_us};
	}
	s->spent_us += to_us - from_us;
}

int64_t http2_share_rests_until_us(const struct http2_share *s)
{
	return s->spent_us < HTTP2_SHARE_US ? 0 : s->since_us + HTTP2_SHARE_OF_US;
}
