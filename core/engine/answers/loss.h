/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text of a lost connection means: errors of Go, of an API server and of our own vary in
 * addresses and from try to try, the cause behind them does not. Reasons name the cause, and equal
 * causes give equal words.
 */
#ifndef MK_ENGINE_ANSWERS_LOSS_H
#define MK_ENGINE_ANSWERS_LOSS_H

#include "core/base/str.h"

struct loss {
	const char *words; /* which are in the text */
	const char *cause; /* a clause: "nothing listens at its address (connection refused)" */
	const char *mend;  /* what to do, as mend.h has it */
};

/* The row that fits 'text', borrowed for ever; NULL: none does. */
const struct loss *loss_of(mk_str text);

#endif
