/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas: blocks that grow geometrically; a request larger than the next block gets one of its own
 * size.
 */
#include "core/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

enum {
	ALIGN = 16,
	FIRST_BLOCK = 4096,
	LARGEST_STEP = 1024 * 1024, /* blocks double up to here */
	KEEP_MAX = 1024 * 1024,     /* arena_clear keeps one block up to this size */
	DEFAULT_CAP = 256 * 1024 * 1024,
	SHORT = 256, /* a text that needs no second look at its format */
};

struct arena_block {
	_Alignas(ALIGN) struct arena_block *next;
	size_t size; /* of 'data' */
	size_t used;
	_Alignas(ALIGN) unsigned char data[];
};

struct arena_cleanup {
	struct arena_cleanup *next;
	void (*fn)(void *ctx);
	void *ctx;
};

void arena_init(struct arena *a, size_t cap)
{
	*a = (struct arena){.cap = cap ? cap : DEFAULT_CAP};
}

static void run_cleanups(struct arena *a)
{
	while (a->cleanup != NULL) {
		struct arena_cleanup *c = a->cleanup;

		a->cleanup = c->next;
		c->fn(c->ctx);
	}
}

void arena_done(struct arena *a)
{
	run_cleanups(a);
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		mk_free(b);
	}
	*a = (struct arena){.cap = a->cap};
}

void arena_clear(struct arena *a)
{
	struct arena_block *keep = NULL;
	struct arena_block *next;

	run_cleanups(a);
	for (struct arena_block *b = a->blocks; b != NULL; b = next) {
		next = b->next;
		if (b->size <= KEEP_MAX && (!keep || b->size > keep->size)) {
			mk_free(keep);
			keep = b;
		} else {
			mk_free(b);
		}
	}
	if (keep != NULL) {
		keep->next = NULL;
		keep->used = 0;
	}
	*a = (struct arena){.cap = a->cap, .blocks = keep};
}

/*
 * A block with room for 'size' bytes. What is larger than the next step gets a block of its own
 * behind the current one, whose rest stays in use.
 */
static struct arena_block *add_block(struct arena *a, size_t size)
{
	size_t want = FIRST_BLOCK - sizeof(struct arena_block);
	bool apart = false;
	struct arena_block *b;

	if (a->blocks != NULL) {
		want = a->blocks->size < LARGEST_STEP / 2 ? a->blocks->size * 2 : LARGEST_STEP;
		apart = size > want;
	}
	if (want < size) {
		want = size;
	}
	b = mk_malloc(sizeof(*b) + want);
	if (!b) {
		return NULL;
	}
	b->size = want;
	b->used = 0;
	if (apart) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

/*
 * n is a multiple of ALIGN. Most requests are a node or a key: for these two stores are cheaper
 * than a call.
 */
static void zero(unsigned char *p, size_t n)
{
	if (n > (size_t)2 * ALIGN) {
		memset(p, 0, n);
		return;
	}
	memset(p, 0, ALIGN);
	if (n > ALIGN) {
		memset(p + ALIGN, 0, ALIGN);
	}
}

/* 'size' as it is handed out; smaller than 'size' when it overflows. */
static size_t round_up(size_t size)
{
	return size ? (size + (ALIGN - 1)) & ~(size_t)(ALIGN - 1) : ALIGN;
}

void *arena_alloc_raw(struct arena *a, size_t size)
{
	size_t rounded = round_up(size);
	struct arena_block *b = a->blocks;
	void *p;

	if (rounded < size || rounded > a->cap || a->used > a->cap - rounded) {
		a->failed = true;
		return NULL;
	}
	if (!b || b->size - b->used < rounded) {
		b = add_block(a, rounded);
		if (!b) {
			a->failed = true;
			return NULL;
		}
	}
	p = b->data + b->used;
	b->used += rounded;
	a->used += rounded;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = arena_alloc_raw(a, size);

	if (p != NULL) {
		zero(p, round_up(size));
	}
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		a->failed = true;
		return NULL;
	}
	return arena_alloc(a, bytes);
}

bool arena_failed(const struct arena *a)
{
	return a->failed;
}

bool arena_on_done(struct arena *a, void (*fn)(void *ctx), void *ctx)
{
	struct arena_cleanup *c = arena_alloc(a, sizeof(*c));

	if (!c) {
		fn(ctx);
		return false;
	}
	*c = (struct arena_cleanup){.next = a->cleanup, .fn = fn, .ctx = ctx};
	a->cleanup = c;
	return true;
}

mk_str arena_dup(struct arena *a, mk_str s)
{
	char *p = s.n < SIZE_MAX ? arena_alloc_raw(a, s.n + 1) : NULL;

	if (!p) {
		a->failed = true;
		return (mk_str){NULL, 0};
	}
	if (s.n > 0) {
		memcpy(p, s.p, s.n);
	}
	p[s.n] = '\0';
	return (mk_str){p, s.n};
}

/* --- text ------------------------------------------------------------------------------------- */

/* A text that is being put together; 'n' may not grow beyond SHORT. */
struct text {
	char p[SHORT];
	size_t n;
};

static bool add(struct text *t, const char *p, size_t n)
{
	if (n > SHORT - t->n) {
		return false;
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
	return true;
}

static bool add_number(struct text *t, size_t v)
{
	char digits[24];
	char *at = digits + sizeof(digits);

	do {
		*--at = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	return add(t, at, (size_t)(digits + sizeof(digits) - at));
}

/*
 * What most formats are made of, names and sizes (%s, %.*s, %zu), at a fraction of the cost of
 * printf: keys and paths of each field are made so, and were half the instructions of a review of
 * 1,000 queues. False: it has more than that, or is not short.
 */
static bool print_plain(struct text *t, const char *fmt, va_list ap)
{
	while (*fmt != '\0') {
		size_t n = strcspn(fmt, "%");
		const char *p;

		if (!add(t, fmt, n)) {
			return false;
		}
		fmt += n;
		if (strncmp(fmt, "%.*s", 4) == 0) {
			int most = va_arg(ap, int);

			p = va_arg(ap, const char *);
			if (!p || most < 0 || !add(t, p, strnlen(p, (size_t)most))) {
				return false;
			}
			fmt += 4;
		} else if (strncmp(fmt, "%zu", 3) == 0) {
			if (!add_number(t, va_arg(ap, size_t))) {
				return false;
			}
			fmt += 3;
		} else if (strncmp(fmt, "%s", 2) == 0) {
			p = va_arg(ap, const char *);
			if (!p || !add(t, p, strlen(p))) {
				return false;
			}
			fmt += 2;
		} else if (*fmt != '\0') {
			return false;
		}
	}
	return true;
}

mk_str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	struct text t;
	va_list again;
	char *p;
	bool plain;
	int n;

	t.n = 0;
	va_copy(again, ap);
	plain = print_plain(&t, fmt, again);
	va_end(again);
	if (plain) {
		return arena_dup(a, (mk_str){t.p, t.n});
	}
	va_copy(again, ap);
	n = vsnprintf(t.p, sizeof(t.p), fmt, again);
	va_end(again);
	if (n < 0) {
		a->failed = true;
		return (mk_str){NULL, 0};
	}
	if ((size_t)n < sizeof(t.p)) {
		return arena_dup(a, (mk_str){t.p, (size_t)n});
	}
	p = arena_alloc_raw(a, (size_t)n + 1);
	if (!p) {
		return (mk_str){NULL, 0};
	}
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	return (mk_str){p, (size_t)n};
}

mk_str arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	mk_str s;

	va_start(ap, fmt);
	s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return s;
}
