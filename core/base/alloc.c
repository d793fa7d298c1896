/* SPDX-License-Identifier: Apache-2.0 */
/* malloc with a switch for torture tests. */
#include "core/base/alloc.h"
#include "core/base/alloc_big.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Relaxed counters: the lease thread allocates too, and a test needs no order between threads. */
static _Atomic uint64_t n_asked;
static _Atomic uint64_t fail_from;

static bool must_fail(void)
{
	uint64_t asked = atomic_fetch_add_explicit(&n_asked, 1, memory_order_relaxed) + 1;
	uint64_t from = atomic_load_explicit(&fail_from, memory_order_relaxed);

	return from != 0 && asked >= from;
}

uint64_t alloc_fail_after(uint64_t n)
{
	atomic_store_explicit(&fail_from, n, memory_order_relaxed);
	return atomic_exchange_explicit(&n_asked, 0, memory_order_relaxed);
}

void alloc_join_at_once(void)
{
	(void)mallopt(M_MXFAST, 0);
}

void alloc_trim(void)
{
	(void)malloc_trim(0);
}

void *mk_malloc(size_t size)
{
	if (must_fail()) {
		return NULL;
	}
	return malloc(size ? size : 1);
}

void *mk_calloc(size_t n, size_t size)
{
	if (must_fail()) {
		return NULL;
	}
	return calloc(n ? n : 1, size ? size : 1);
}

void *mk_calloc_big(size_t size)
{
	const size_t huge = (size_t)2 << 20;
	size_t line = size < huge ? 64 : huge;
	size_t whole = (size + line - 1) / line * line;
	void *p;

	if (whole < size || must_fail()) {
		return NULL;
	}
	p = aligned_alloc(line, whole > 0 ? whole : line);
	if (!p) {
		return NULL;
	}
	if (whole >= huge) {
		(void)madvise(p, whole, MADV_HUGEPAGE);
	}
	memset(p, 0, size);
	return p;
}

void *mk_realloc(void *p, size_t size)
{
	if (must_fail()) {
		return NULL;
	}
	return realloc(p, size ? size : 1);
}

void mk_free(void *p)
{
	free(p);
}

char *mk_strdup(const char *s)
{
	return s ? mk_strndup((mk_str){s, strlen(s)}) : NULL;
}

char *mk_strndup(mk_str s)
{
	char *p = mk_malloc(s.n + 1);

	if (!p) {
		return NULL;
	}
	if (s.n > 0) {
		memcpy(p, s.p, s.n);
	}
	p[s.n] = '\0';
	return p;
}
