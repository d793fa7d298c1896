/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256**, seeded by splitmix64 so that any seed, 0 included, gives a good state. */
#include "core/base/rng.h"

static uint64_t rotl(uint64_t x, unsigned int k)
{
	return (x << k) | (x >> (64 - k));
}

void rng_init(struct rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z;

		seed += UINT64_C(0x9e3779b97f4a7c15);
		z = seed;
		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		r->s[i] = z ^ (z >> 31);
	}
}

uint64_t rng_next(struct rng *r)
{
	uint64_t result = rotl(r->s[1] * 5, 7) * 9;
	uint64_t t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotl(r->s[3], 45);
	return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	uint64_t limit;
	uint64_t x;

	if (n == 0) {
		return 0;
	}
	/* Rejects the top part of the range, which would make small remainders more likely. */
	limit = UINT64_MAX - UINT64_MAX % n;
	do {
		x = rng_next(r);
	} while (x >= limit);
	return x % n;
}

int64_t rng_range(struct rng *r, int64_t lo, int64_t hi)
{
	uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
	uint64_t off;

	if (hi < lo) {
		return lo;
	}
	off = span == 0 ? rng_next(r) : rng_below(r, span);
	return (int64_t)((uint64_t)lo + off);
}

bool rng_chance(struct rng *r, uint64_t num, uint64_t den)
{
	return rng_below(r, den) < num;
}
