/* SPDX-License-Identifier: Apache-2.0 */
/* Large tables that are read here and there; the rest of the heap is alloc.h. */
#ifndef MK_BASE_ALLOC_BIG_H
#define MK_BASE_ALLOC_BIG_H

#include <stddef.h>

/*
 * 'size' zeroed bytes at a multiple of 64, on huge pages where it is 2 MiB or more and the system
 * has them. NULL when out of memory. Give it to mk_free.
 */
void *mk_calloc_big(size_t size) __attribute__((malloc, alloc_size(1)));

#endif
