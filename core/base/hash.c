/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash for tables. */
#include "core/base/hash.h"

#include <string.h>

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, unsigned int k)
{
	return (x << k) | (x >> (64 - k));
}

__attribute__((always_inline)) static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

/* The first 8 bytes, little end first. */
static uint64_t load8(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

/* The last n < 8 bytes of 's'. */
static uint64_t load_tail(mk_str s, size_t n)
{
	const char *p = s.p + s.n - n;
	uint64_t x = 0;

	if (s.n >= 8) {
		return load8(s.p + s.n - 8) >> (64 - 8 * n);
	}
	for (size_t i = 0; i < n; i++) {
		x |= (uint64_t)(unsigned char)p[i] << (8 * i);
	}
	return x;
}

uint64_t hash64(mk_str str)
{
	const uint64_t k0 = UINT64_C(0x6d756c74696b7565);
	const uint64_t k1 = UINT64_C(0x75652d6d616e6167);
	struct sip s = {
		.v0 = k0 ^ UINT64_C(0x736f6d6570736575),
		.v1 = k1 ^ UINT64_C(0x646f72616e646f6d),
		.v2 = k0 ^ UINT64_C(0x6c7967656e657261),
		.v3 = k1 ^ UINT64_C(0x7465646279746573),
	};
	size_t i = 0;
	uint64_t m;

	for (; str.n - i >= 8; i += 8) {
		m = load8(str.p + i);
		s.v3 ^= m;
		sip_round(&s);
		s.v0 ^= m;
	}
	m = (uint64_t)str.n << 56;
	if (str.n > i) {
		m |= load_tail(str, str.n - i);
	}
	s.v3 ^= m;
	sip_round(&s);
	s.v0 ^= m;
	s.v2 ^= 0xff;
	for (int r = 0; r < 3; r++) {
		sip_round(&s);
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
