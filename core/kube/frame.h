/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a byte stream into lines, however it is divided when it arrives. Bytes that were searched
 * for an end of line are not searched again. A line is at most FRAME_MAX bytes.
 */
#ifndef MK_KUBE_FRAME_H
#define MK_KUBE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include <multikueue/types.h>

enum { FRAME_MAX = 8 * 1024 * 1024 };

struct frame {
	char *p;
	size_t start;   /* first byte not yet given out */
	size_t n;       /* end of the content */
	size_t scanned; /* no '\n' between start and here */
	size_t size;
	bool failed; /* a line was too long, or memory ran out: the stream is of no use any more */
};

/* All zero is valid too; allocates nothing yet. */
void frame_init(struct frame *f);
void frame_done(struct frame *f);
/* Forgets the content, and memory that a quiet stream does not need. */
void frame_clear(struct frame *f);

/*
 * Takes in bytes. False, and f->failed: too long a line, or out of memory. Lines handed out before
 * are void.
 */
bool frame_add(struct frame *f, mk_str bytes);

/*
 * The next complete line without its "\n" (and "\r" before it); borrowed until frame_add. False:
 * none is complete.
 */
bool frame_next(struct frame *f, mk_str *ret_line);

#endif
