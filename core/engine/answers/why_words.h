/* SPDX-License-Identifier: Apache-2.0 */
/* Words of why.c and whole.c. */
#ifndef MK_ENGINE_ANSWERS_WHY_WORDS_H
#define MK_ENGINE_ANSWERS_WHY_WORDS_H

#include "core/engine/rules/pass.h"

/* In the scratch arena. */
mk_str why_say(struct pass *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Monotonic to wall time; -1 for a time that is not known. */
int64_t why_wall(const struct engine *e, int64_t mono_ms);
/* The beginning of a text that a server wrote. */
static inline mk_str why_short(mk_str words)
{
	enum { WORDS_MAX = 256 };

	return str_cut(words, WORDS_MAX);
}

#endif
