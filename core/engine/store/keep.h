/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which text of an object is kept beside its facts: what bodies and plugins are made from, and nothing of what only takes
 * memory.
 */
#ifndef MK_ENGINE_STORE_KEEP_H
#define MK_ENGINE_STORE_KEEP_H

#include "core/engine/state.h"

/*
 * A copy of what is to be kept of 'obj', heap text, or NULL when nothing is, or when it is far too big, which 'f' says then.
 * False: out of memory.
 */
bool keep_text(struct engine *e, const struct table *t, struct facts *f, const struct json *obj,
	       char **ret_text, size_t *ret_n);

#endif
