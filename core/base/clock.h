/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place where time is read. All code that decides something gets the time as an argument.
 * Thread-safe.
 */
#ifndef MK_BASE_CLOCK_H
#define MK_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic; stands still while the machine sleeps. For timers and durations. */
int64_t clock_mono_ms(void);
int64_t clock_mono_us(void);

/* Monotonic and counts sleep: for the validity of a lease. */
int64_t clock_boot_ms(void);

/* Since 1970, UTC; may jump. For logs, Events and API objects. */
int64_t clock_wall_ms(void);

/* CPU time of the calling thread. */
int64_t clock_cpu_us(void);

#endif
