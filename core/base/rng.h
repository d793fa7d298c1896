/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seeded pseudo-random generator (not for secrets): the same seed gives the same sequence
 * everywhere.
 */
#ifndef MK_BASE_RNG_H
#define MK_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

/* Any seed is good, 0 included. */
void rng_init(struct rng *r, uint64_t seed);
/* 64 random bits. */
uint64_t rng_next(struct rng *r);
/* Uniform in [0, n); 0 when n is 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* Uniform in [lo, hi]. */
int64_t rng_range(struct rng *r, int64_t lo, int64_t hi);
/* True num times in den. */
bool rng_chance(struct rng *r, uint64_t num, uint64_t den);

#endif
