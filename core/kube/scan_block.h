/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in 64 bytes of JSON the characters stand that structure is made of: one bit per byte, the
 * first in the lowest bit. Three times, with the same answers: with AVX2, with SSE2, and with plain
 * 64-bit words.
 */
#ifndef MK_KUBE_SCAN_BLOCK_H
#define MK_KUBE_SCAN_BLOCK_H

#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { BLOCK_BYTES = 64 };

struct block {
	uint64_t quote, slash; /* '"', '\\' */
	uint64_t open, close;  /* '{' or '[', '}' or ']': they differ in one bit, 0x20 */
};

/* One bit for each of the 8 bytes of 'w' that is 'c'. */
static inline uint64_t block_word(uint64_t w, unsigned char c)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f;
	uint64_t x = w ^ (0x0101010101010101 * c); /* 0 where the byte is 'c' */
	uint64_t zero = ~(((x & low) + low) | x | low);

	/* The top bits of the bytes, side by side. */
	return ((zero >> 7) * 0x0102040810204080) >> 56;
}

static inline struct block block_plain(const char *p)
{
	struct block b = {.quote = 0};

	for (unsigned i = 0; i < BLOCK_BYTES; i += 8) {
		uint64_t w;

		memcpy(&w, p + i, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		b.quote |= block_word(w, '"') << i;
		b.slash |= block_word(w, '\\') << i;
		b.open |= block_word(w | 0x2020202020202020, '{') << i;
		b.close |= block_word(w | 0x2020202020202020, '}') << i;
	}
	return b;
}

#ifdef __SSE2__
static inline uint64_t block_mask(__m128i v, char c)
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

static inline struct block block_sse2(const char *p)
{
	struct block b = {.quote = 0};

#pragma GCC unroll 4
	for (unsigned i = 0; i < BLOCK_BYTES; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i same = _mm_or_si128(v, _mm_set1_epi8(0x20));

		b.quote |= block_mask(v, '"') << i;
		b.slash |= block_mask(v, '\\') << i;
		b.open |= block_mask(same, '{') << i;
		b.close |= block_mask(same, '}') << i;
	}
	return b;
}
#endif

#ifdef __x86_64__
/* For processors with AVX2 only. */
__attribute__((target("avx2"))) static inline struct block block_avx2(const char *p)
{
	struct block b = {.quote = 0};

#pragma GCC unroll 2
	for (unsigned i = 0; i < BLOCK_BYTES; i += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
		__m256i same = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
		__m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
		__m256i slash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
		__m256i open = _mm256_cmpeq_epi8(same, _mm256_set1_epi8('{'));
		__m256i close = _mm256_cmpeq_epi8(same, _mm256_set1_epi8('}'));

		b.quote |= (uint64_t)(unsigned)_mm256_movemask_epi8(quote) << i;
		b.slash |= (uint64_t)(unsigned)_mm256_movemask_epi8(slash) << i;
		b.open |= (uint64_t)(unsigned)_mm256_movemask_epi8(open) << i;
		b.close |= (uint64_t)(unsigned)_mm256_movemask_epi8(close) << i;
	}
	return b;
}
#endif

/*
 * How many of the first 16 bytes come before the first one that is '"', '\\' or no printable ASCII;
 * or fewer, where no such instructions are.
 */
enum { PLAIN_BYTES = 16 };
static inline unsigned block_plain_prefix(const char *p)
{
#ifdef __SSE2__
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i odd = _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)),
				   _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)));
	__m128i end = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
				   _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));

	return (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8(_mm_or_si128(odd, end)) |
				       1u << PLAIN_BYTES);
#else
	(void)p;
	return 0;
#endif
}

static inline struct block block_of(const char *p)
{
#ifdef __SSE2__
	return block_sse2(p);
#else
	return block_plain(p);
#endif
}

#endif
