/* SPDX-License-Identifier: Apache-2.0 */
/* clock_gettime in the units that the project uses. */
#include "core/base/clock.h"

#include <time.h>

static int64_t read_us(clockid_t id)
{
	struct timespec t = {0};

	/* Cannot fail: the clocks below exist on every Linux that runs this. */
	(void)clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_mono_ms(void)
{
	return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t clock_boot_ms(void)
{
	return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_cpu_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
}
