/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences from a model; see delta.h. A delta is a row of three: how many bytes come as they
 * are; these bytes; and, unless the text ends there, a stretch of the model: by how many bytes it
 * is longer than STRETCH, and where it begins, as the distance from the place that lies as far
 * behind the last stretch in the model as it does in the text. Numbers have seven bits a byte, the
 * lowest first.
 */
#include "core/base/delta.h"

#include <string.h>

#include "core/base/alloc.h"

enum {
	STRETCH = 8,     /* shortest piece of a model */
	MAX_BITS = 16,   /* of the hash */
	NUMBER_MAX = 10, /* bytes of a number */
	STEP = 4,  /* where no stretch is found, the next bytes that are tried are so far on */
	TIRED = 5, /* each 2^TIRED bytes without a stretch make the steps longer by one */
};

static uint64_t load(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static size_t place_of(const struct delta_index *x, uint64_t w)
{
	return (size_t)((w * 0x9E3779B97F4A7C15u) >> (64 - x->bits));
}

bool delta_index_make(struct delta_index *x, mk_str model)
{
	*x = (struct delta_index){.bits = 1};
	if (model.n < STRETCH || model.n > DELTA_MODEL_MAX) {
		return false;
	}
	while (x->bits < MAX_BITS && (size_t)1 << x->bits < model.n) {
		x->bits++;
	}
	x->places = mk_calloc((size_t)1 << x->bits, sizeof(*x->places));
	if (!x->places) {
		return false;
	}
	x->model = model;
	for (size_t i = model.n - STRETCH + 1; i-- > 0;) {
		x->places[place_of(x, load(model.p + i))] = (uint16_t)(i + 1);
	}
	return true;
}

void delta_index_done(struct delta_index *x)
{
	mk_free(x->places);
	*x = (struct delta_index){.places = NULL};
}

/* How many bytes are the same from both places on, at most 'n'. */
static size_t same(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	while (i + STRETCH <= n && load(a + i) == load(b + i)) {
		i += STRETCH;
	}
	while (i < n && a[i] == b[i]) {
		i++;
	}
	return i;
}

/* Does the model have the STRETCH bytes at 'p', best at 'wanted'? Then '*ret_at' says where. */
static bool find(const struct delta_index *x, const char *p, size_t wanted, size_t *ret_at)
{
	uint64_t w = load(p);
	size_t at = wanted;

	if (wanted > x->model.n - STRETCH || load(x->model.p + wanted) != w) {
		at = x->places[place_of(x, w)];
		if (at == 0 || load(x->model.p + at - 1) != w) {
			return false;
		}
		at--;
	}
	*ret_at = at;
	return true;
}

static size_t put_number(char *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7) {
		to[n++] = (char)(unsigned char)(v | 0x80);
	}
	to[n++] = (char)(unsigned char)v;
	return n;
}

/* Small numbers for small distances of both signs. */
static uint64_t fold(size_t from, size_t to)
{
	return to >= from ? (uint64_t)(to - from) << 1 : ((uint64_t)(from - to) << 1) - 1;
}

size_t delta_write(const struct delta_index *x, mk_str text, char *to, size_t room)
{
	size_t i = 0, own = 0, n = 0; /* from 'own' to 'i': bytes that the model does not have */
	size_t next = 0;              /* of the model: behind the last stretch */

	while (x->places && i + STRETCH <= text.n) {
		size_t at, len;

		if (!find(x, text.p + i, next + (i - own), &at)) {
			i += STEP + ((i - own) >> TIRED);
			continue;
		}
		for (; i > own && at > 0 && text.p[i - 1] == x->model.p[at - 1]; i--) {
			at--;
		}
		len = same(text.p + i, x->model.p + at,
			   text.n - i < x->model.n - at ? text.n - i : x->model.n - at);
		if (n + (i - own) + (size_t)3 * NUMBER_MAX > room) {
			return 0;
		}
		n += put_number(to + n, i - own);
		memcpy(to + n, text.p + own, i - own);
		n += i - own;
		n += put_number(to + n, len - STRETCH);
		n += put_number(to + n, fold(next + (i - own), at));
		i += len;
		own = i;
		next = at + len;
	}
	if (n + (text.n - own) + NUMBER_MAX > room) {
		return 0;
	}
	n += put_number(to + n, text.n - own);
	if (text.n > own) {
		memcpy(to + n, text.p + own, text.n - own);
	}
	return n + (text.n - own);
}

static bool take_number(mk_str *from, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; from->n > 0 && shift < 63; shift += 7) {
		unsigned char c = (unsigned char)*from->p;

		from->p++;
		from->n--;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*ret = v;
			return true;
		}
	}
	return false;
}

bool delta_read(mk_str model, mk_str delta, char *to, size_t n)
{
	uint64_t own, len, folded;
	size_t i = 0, next = 0;

	for (;;) {
		if (!take_number(&delta, &own) || own > delta.n || own > n - i) {
			return false;
		}
		if (own > 0) {
			memcpy(to + i, delta.p, own);
		}
		delta.p += own;
		delta.n -= own;
		i += own;
		next += own;
		if (i == n) {
			return delta.n == 0;
		}
		if (!take_number(&delta, &len) || !take_number(&delta, &folded)) {
			return false;
		}
		next = (folded & 1) ? next - ((folded + 1) >> 1) : next + (folded >> 1);
		len += STRETCH;
		if (next > model.n || len > model.n - next || len > n - i) {
			return false;
		}
		memcpy(to + i, model.p + next, len);
		i += len;
		next += len;
	}
}
