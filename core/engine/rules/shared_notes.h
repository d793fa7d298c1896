/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of a worker on which another manager uses our id; rules/shared.c decides by it. */
#ifndef MK_ENGINE_RULES_SHARED_NOTES_H
#define MK_ENGINE_RULES_SHARED_NOTES_H

#include <stdbool.h>
#include <stdint.h>

struct shared_id {
	int64_t until; /* monotonic ms: the worker rests until then; 0 it does not */
	bool reported; /* ... and this process has reported it; else it is on record */
	bool over;     /* the rest has ended, which is not on record yet */
};

#endif
