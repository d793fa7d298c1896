/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory with one lifetime: everything allocated from an arena dies at one visible line (arena_done
 * or arena_clear). One arena per engine step, per configuration load, per HTTP exchange. Not
 * thread-safe. Allocation can fail (the cap, or the system is out of memory): it then returns NULL,
 * and arena_failed() stays true until arena_clear, so that a caller may check once after a series
 * of calls.
 */
#ifndef MK_BASE_ARENA_H
#define MK_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdarg.h>

#include <multikueue/types.h>

struct arena_block;
struct arena_cleanup;

struct arena {
	struct arena_block *blocks;    /* the one in use first */
	struct arena_cleanup *cleanup; /* newest first */
	size_t used;                   /* bytes handed out since init or clear */
	size_t cap;                    /* most bytes that 'used' may reach */
	bool failed;
};

/*
 * Prepares 'a' in place; 'cap' is the most it may ever hold (0 = 256 MiB). Allocates nothing yet.
 */
void arena_init(struct arena *a, size_t cap);

/* Runs the cleanups, newest first, and frees all memory. 'a' may be used again after arena_init. */
void arena_done(struct arena *a);

/*
 * As arena_done, but keeps the largest block (up to 1 MiB) and stays usable: for a step that
 * repeats.
 */
void arena_clear(struct arena *a);

/*
 * 'size' zeroed bytes aligned for any type; NULL when out of memory or over the cap. size 0 gives a
 * unique pointer.
 */
void *arena_alloc(struct arena *a, size_t size);

/* n * size zeroed bytes; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t size);

/* As arena_alloc, but not zeroed: for a caller that writes every byte before it reads one. */
void *arena_alloc_raw(struct arena *a, size_t size);

/* True once an allocation failed since init or clear. */
bool arena_failed(const struct arena *a);

/* Calls fn(ctx) at arena_done/arena_clear. False (and fn is called at once) when out of memory. */
bool arena_on_done(struct arena *a, void (*fn)(void *ctx), void *ctx);

/* Copies 's' with a terminating NUL (not counted in n). On failure {NULL, 0}. */
mk_str arena_dup(struct arena *a, mk_str s);

/* printf into the arena; the result is NUL-terminated. On failure {NULL, 0}. */
mk_str arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
mk_str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#endif
