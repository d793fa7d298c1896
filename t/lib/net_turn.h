/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of core/net that a test turns until something has happened. */
#ifndef MK_T_LIB_NET_TURN_H
#define MK_T_LIB_NET_TURN_H

#include <stdbool.h>

#include "core/net/loop.h"

/* Turns the loop until *what >= want; false: it was not within 20 seconds. */
bool turn_until(struct loop *loop, const int *what, int want);

#endif
