/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of objects as they are kept: those of one kind differ little, so a text is kept as what
 * differs from a model, which is one of them (core/base/delta.h). The text that comes back is the
 * same, byte for byte.
 */
#ifndef MK_ENGINE_STORE_KEPT_H
#define MK_ENGINE_STORE_KEPT_H

#include "core/base/arena.h"

struct kept;

/* The model of the next texts of one sort, e.g. copies of a kind on workers. */
struct models;

/* NULL: out of memory. Frees with models_free; texts that are kept still outlive it. */
struct models *models_new(void);
void models_free(struct models *m);

/*
 * Keeps 'text' (heap); NULL when out of memory. Without memory for a model, the text is kept whole.
 * 'scratch' holds temporaries.
 */
struct kept *kept_new(struct models *m, mk_str text, struct arena *scratch);
/* Frees it; NULL is fine. */
void kept_free(struct kept *k);
/* Its memory, without the model; 0 for NULL. */
size_t kept_size(const struct kept *k);
/* The text, NUL-terminated, in 'a' or borrowed from 'k'; {NULL, 0} when out of memory. */
mk_str kept_text(const struct kept *k, struct arena *a);

#endif
