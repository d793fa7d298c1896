/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as Kubernetes writes them (RFC 3339) and durations as Go writes them, to and from
 * milliseconds.
 */
#ifndef MK_BASE_TIMEFMT_H
#define MK_BASE_TIMEFMT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/str.h"

/*
 * 'wall_ms' (since 1970; years 0 to 9999, clamped) as "2026-01-02T03:04:05Z", fraction cut off. In
 * 'a'; {NULL, 0} when out of memory.
 */
mk_str time_rfc3339(struct arena *a, int64_t wall_ms);

/* The same with six digits of fraction, as MicroTime wants: "2026-01-02T03:04:05.678000Z". */
mk_str time_rfc3339_micro(struct arena *a, int64_t wall_ms);

/* Room for the longest text of time_write, with its NUL. */
enum { TIME_TEXT_MAX = 32 };

/* The same without an arena: writes into 'out' (TIME_TEXT_MAX bytes), returns the length. */
size_t time_write(char *out, int64_t wall_ms, bool micro);

/*
 * RFC 3339 with optional fraction and any offset; digits below the millisecond are cut off. False,
 * with *ret_wall_ms untouched, when 's' is no such time (a leap second is none, as in Go), or when
 * its year in UTC does not have four digits, so that time_rfc3339 could not write it.
 */
bool time_parse(mk_str s, int64_t *ret_wall_ms);

/*
 * A Go duration ("1h30m", "-1.5s", "0") in nanoseconds. False with ERR_INVALID and the text that Go
 * gives, such as `time: unknown unit "x" in duration "1x"`.
 */
bool duration_parse_ns(mk_str go_duration, int64_t *ret_ns, struct mk_err *err);

/*
 * The same in milliseconds, rounded towards zero, except that what is not zero never becomes zero.
 */
bool duration_parse(mk_str go_duration, int64_t *ret_ms, struct mk_err *err);

/* For tests: as Go prints 'ns': "1h30m0s", "1.5s", "0s". In 'a'; {NULL, 0} when out of memory. */
mk_str duration_text_ns(struct arena *a, int64_t ns);
mk_str duration_text(struct arena *a, int64_t ms);

#endif
