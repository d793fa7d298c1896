/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is short of an object that is too large, or nested too deep, to be taken as it is: enough to
 * say how a job ended, and the counts beside that.
 */
#ifndef MK_ENGINE_STORE_REDUCE_H
#define MK_ENGINE_STORE_REDUCE_H

#include "core/base/json.h"

/* About the bytes of its text. */
size_t reduce_bytes(const struct json *v);
/*
 * The object without its spec, with names in its metadata and what is short in its status; of the
 * conditions those at the end, with messages that are cut. It shares with 'obj'. NULL: out of
 * memory.
 */
struct json *reduce_object(struct arena *a, const struct json *obj);

#endif
