/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The waits between attempts that fail: each is twice the one before, up to a limit. A caller that
 * must not come back at the same moment as others adds its random part itself.
 */
#ifndef MK_BASE_BACKOFF_H
#define MK_BASE_BACKOFF_H

#include <stdint.h>

/* The wait in ms after 'n' failures before this one: 'first' doubled 'n' times, at most 'most'. */
static inline int64_t backoff_ms(int64_t first, unsigned n, int64_t most)
{
	while (n-- > 0 && first < most) {
		first *= 2;
	}
	return first < most ? first : most;
}

#endif
