/* SPDX-License-Identifier: Apache-2.0 */
/* Base64, quantum by quantum, so that an error names the byte that Go would name. */
#include "core/base/base64.h"

#include "core/base/str.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0 to 63, or -1. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z') {
		return c - 'A';
	}
	if (c >= 'a' && c <= 'z') {
		return c - 'a' + 26;
	}
	if (c >= '0' && c <= '9') {
		return c - '0' + 52;
	}
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static void skip_line_ends(mk_str s, size_t *at)
{
	while (*at < s.n && (s.p[*at] == '\n' || s.p[*at] == '\r')) {
		(*at)++;
	}
}

enum quantum { QUANTUM_FULL, QUANTUM_LAST, QUANTUM_NONE, QUANTUM_BAD };

/*
 * After n data characters and one '=' (just read): checks the rest of the padding and that nothing
 * follows. *at is left on the offending byte.
 */
static enum quantum padding(mk_str s, size_t *at, size_t n)
{
	if (n < 2) {
		(*at)--;
		return QUANTUM_BAD;
	}
	skip_line_ends(s, at);
	if (n == 2) {
		if (*at == s.n) {
			return QUANTUM_BAD;
		}
		if (s.p[*at] != '=') {
			(*at)--;
			return QUANTUM_BAD;
		}
		(*at)++;
		skip_line_ends(s, at);
	}
	return *at < s.n ? QUANTUM_BAD : QUANTUM_LAST;
}

/* Reads up to four characters into bits[]; *ret_n says how many carry data. */
static enum quantum read_quantum(mk_str s, size_t *at, unsigned int bits[4], size_t *ret_n)
{
	size_t n = 0;

	while (n < 4) {
		int v;

		skip_line_ends(s, at);
		if (*at == s.n) {
			if (n == 0) {
				return QUANTUM_NONE;
			}
			/* The text ends within a quantum: Go blames its first byte. */
			*at -= n;
			return QUANTUM_BAD;
		}
		v = value_of(s.p[*at]);
		(*at)++;
		if (v < 0) {
			*ret_n = n;
			if (s.p[*at - 1] == '=') {
				return padding(s, at, n);
			}
			(*at)--;
			return QUANTUM_BAD;
		}
		bits[n++] = (unsigned int)v;
	}
	*ret_n = 4;
	return QUANTUM_FULL;
}

enum mk_code base64_decode(struct arena *a, mk_str s, mk_str *ret, struct mk_err *err)
{
	char *out = arena_alloc(a, s.n / 4 * 3 + 4);
	enum quantum q = QUANTUM_FULL;
	size_t n = 0;
	size_t at = 0;

	if (!out) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	while (q == QUANTUM_FULL) {
		unsigned int bits[4] = {0};
		unsigned int word;
		size_t n_data = 0;

		q = read_quantum(s, &at, bits, &n_data);
		if (q == QUANTUM_BAD) {
			return err_set(err, ERR_INVALID, "illegal base64 data at input byte %zu",
				       at);
		}
		word = bits[0] << 18 | bits[1] << 12 | bits[2] << 6 | bits[3];
		for (size_t i = 0; q != QUANTUM_NONE && i + 1 < n_data; i++) {
			out[n++] = (char)(unsigned char)(word >> (16 - 8 * i) & 0xFF);
		}
	}
	*ret = (mk_str){out, n};
	return ERR_OK;
}

mk_str base64_encode(struct arena *a, mk_str s)
{
	char *out = s.n < SIZE_MAX / 2 ? arena_alloc(a, (s.n + 2) / 3 * 4 + 1) : NULL;
	size_t n = 0;

	if (!out) {
		a->failed = true;
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < s.n; i += 3) {
		size_t left = s.n - i;
		unsigned int word = (unsigned int)(unsigned char)s.p[i] << 16;

		word |= left > 1 ? (unsigned int)(unsigned char)s.p[i + 1] << 8 : 0;
		word |= left > 2 ? (unsigned int)(unsigned char)s.p[i + 2] : 0;
		out[n++] = alphabet[word >> 18];
		out[n++] = alphabet[word >> 12 & 63];
		out[n++] = left > 1 ? alphabet[word >> 6 & 63] : '=';
		out[n++] = left > 2 ? alphabet[word & 63] : '=';
	}
	return (mk_str){out, n};
}
