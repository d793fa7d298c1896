/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that may hold credentials: blocks are overwritten before they are given back. Request
 * heads have tokens, and what a library has parsed has keys; the libraries overwrite some of it
 * themselves, not all. Thread-safe.
 */
#ifndef MK_NET_WIPE_H
#define MK_NET_WIPE_H

#include <stdbool.h>
#include <stddef.h>

/* As mk_free, of what mk_malloc and its kin made; overwritten. */
void wipe_free(void *p);

/* As mk_realloc; what is left behind is overwritten. It never shrinks a block. */
void *wipe_realloc(void *p, size_t size);

/*
 * From now on OpenSSL and libcurl overwrite what they give back. Once, at the start of a program,
 * before either of them is used. False: it is too late for that, or out of memory.
 */
bool wipe_install(void);

#endif
