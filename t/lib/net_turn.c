/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/net_turn.h"

#include "core/base/clock.h"

enum { PATIENCE_MS = 60000 };

bool turn_until(struct loop *loop, const int *what, int want)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (*what < want && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	return *what >= want;
}
