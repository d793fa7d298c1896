/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that one turn of the loop may spend on work that can wait. Who does such work asks
 * between two pieces whether the slice is spent, and leaves the rest for the next turn. The owner
 * of the turn sets it; without a clock (simulation, most tests) a slice is never spent, and only
 * counts bound the work.
 */
#ifndef MK_BASE_SLICE_H
#define MK_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
	int64_t (*clock_us)(void); /* monotonic; NULL: none */
	int64_t until_us;
};

/* Begins a slice of 'us' microseconds. */
static inline void slice_begin(struct slice *s, int64_t us)
{
	s->until_us = s->clock_us != NULL ? s->clock_us() + us : 0;
}

/* Is it over? 's' may be NULL: there is no limit. */
static inline bool slice_spent(const struct slice *s)
{
	return s != NULL && s->clock_us != NULL && s->clock_us() >= s->until_us;
}

#endif
