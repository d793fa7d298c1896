/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap, as all of core uses it: malloc with a test switch, so that tests can fail the n-th
 * allocation and see that running out of memory stays an ordinary error. Arenas, buffers, maps and
 * yyjson come here for their memory. Thread-safe.
 */
#ifndef MK_BASE_ALLOC_H
#define MK_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include <multikueue/types.h>

/* 'size' bytes of any content (0 counts as 1); NULL when out of memory. */
void *mk_malloc(size_t size) __attribute__((malloc, alloc_size(1)));

/* n * size zeroed bytes; NULL when out of memory or when the product overflows. */
void *mk_calloc(size_t n, size_t size) __attribute__((malloc, alloc_size(1, 2)));

/* As realloc, but size 0 counts as 1. On NULL the old block is untouched. */
void *mk_realloc(void *p, size_t size) __attribute__((alloc_size(2)));

/* Gives back what the functions above made; NULL is fine. */
void mk_free(void *p);

/* NUL-terminated copies, to be given to mk_free; NULL when out of memory (or when 's' is NULL). */
char *mk_strdup(const char *s);
char *mk_strndup(mk_str s);

/*
 * At the start of a program whose main loop must not stall: small blocks that were given back are
 * joined with their neighbours one by one. By default glibc collects them and joins all of them at
 * some later allocation, which for a million objects takes a tenth of a second.
 */
void alloc_join_at_once(void);

/*
 * Gives back to the system what is free in whole pages, also between blocks that are in use. Takes
 * about a millisecond for each 4 MiB that are still resident: after much was freed at once.
 */
void alloc_trim(void);

/*
 * For tests: the n-th allocation from now on (n >= 1) and every later one fails; n = 0 switches
 * this off. Returns how many allocations were asked for since the last call.
 */
uint64_t alloc_fail_after(uint64_t n);

#endif
