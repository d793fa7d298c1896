/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that code left in its process though it must leave none: files, threads, processes,
 * signals, folder, mask.
 */
#ifndef MK_CHECK_TRACES_H
#define MK_CHECK_TRACES_H

#include <signal.h>
#include <sys/types.h>

#include "core/base/str.h"

enum { TRACES_SIGNALS = 65, TRACES_PATH = 4096 };

struct traces {
	size_t files, threads;
	struct sigaction signals[TRACES_SIGNALS];
	sigset_t blocked;
	char folder[TRACES_PATH];
	mode_t mask;
};

/* How things are now. */
void traces_take(struct traces *ret);

/* Appends what is different now, as "found a, b"; returns the number of differences. */
size_t traces_tell(const struct traces *before, struct buf *out);

#endif
