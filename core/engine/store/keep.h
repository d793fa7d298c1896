/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of an object's text is kept beside its facts: the part from which bodies are made and
 * that plugins read.
 */
#ifndef MK_ENGINE_STORE_KEEP_H
#define MK_ENGINE_STORE_KEEP_H

#include "core/engine/state.h"

/*
 * Copies the part of 'obj' that is to be kept into '*ret_text' (heap), or NULL when nothing is, or
 * when it is too big or nested too deep; 'f' says so then (F_UNUSABLE). False: out of memory.
 */
bool keep_text(struct engine *e, const struct table *t, struct facts *f, const struct json *obj,
	       char **ret_text, size_t *ret_n);

#endif
