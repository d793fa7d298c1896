/* SPDX-License-Identifier: Apache-2.0 */
/* What patience.c notes of a round, a part of struct round (state.h). A restart may lose it. */
#ifndef MK_ENGINE_RULES_PATIENCE_NOTES_H
#define MK_ENGINE_RULES_PATIENCE_NOTES_H

#include <stdint.h>

struct patience_notes {
	int64_t since; /* wall ms since when workers may have been asked; 0 not known */
	int64_t at;    /* ... monotonic, when this process was there; INT64_MAX it was not */
	int64_t seen;  /* ... and when it saw that */
	int64_t last; /* monotonic ms when the last of them can be asked; see patience_asks_later */
};

#endif
