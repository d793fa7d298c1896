/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks a body that was compressed with gzip, piece by piece. No I/O. */
#ifndef MK_NET_INFLATER_H
#define MK_NET_INFLATER_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/str.h"

struct inflater;

/* NULL: out of memory. */
struct inflater *inflater_new(void);
void inflater_free(struct inflater *z); /* NULL is fine */

/*
 * Unpacks 'in' and hands what comes of it to out(ctx), at most 64 KiB at a time; out returns false
 * to stop. ERR_OK also when it was stopped; ERR_INVALID: this is not gzip, ERR_NO_MEMORY.
 */
enum mk_code inflater_run(struct inflater *z, mk_str in, bool (*out)(void *ctx, mk_str bytes),
			  void *ctx);

/* Has the end of the compressed body been seen? */
bool inflater_is_done(const struct inflater *z);

#endif
