/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many deadlines on one timer of the loop: a heap, so that setting one costs O(log n) and no system
 * call. A struct deadline is embedded in the caller's object. Its place is reserved when it is
 * made: setting it cannot fail. Everything belongs to the loop's thread.
 */
#ifndef MK_NET_DEADLINES_H
#define MK_NET_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/slice.h"
#include "core/net/loop.h"

struct deadline {
	struct heap_node node;
	loop_fn *fn;
	void *ctx;
};

enum { DEADLINES_SLICE_US = 2000 };

struct deadlines {
	struct loop_timer *timer;
	/* Of those that are due together: one at least, then until it is spent; sockets are next. */
	struct slice slice;
	struct heap heap;
	size_t reserved;  /* deadlines that were made */
	int64_t armed_ms; /* when the timer fires; INT64_MAX: it does not run */
	/* Called around the callbacks of those that are due, or NULL. */
	loop_fn *enter, *leave;
	void *ctx;
};

/* Makes an empty set in place, of zeroed memory. False: out of memory. */
bool deadlines_init(struct deadlines *d, struct loop *l);
/* No deadline may be in use any more. Fine after a failed init. */
void deadlines_done(struct deadlines *d);

/* Makes 'x', which is not set; fn(ctx) is called from the loop when it is due. False: no memory. */
bool deadline_init(struct deadlines *d, struct deadline *x, loop_fn *fn, void *ctx);
/* Gives the place back. */
void deadline_done(struct deadlines *d, struct deadline *x);

/* Sets or moves 'x' to this time of the monotonic clock. */
void deadline_set(struct deadlines *d, struct deadline *x, int64_t at_ms);
/* Fine when it is not set. */
void deadline_stop(struct deadlines *d, struct deadline *x);

#endif
