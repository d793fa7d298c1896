/* SPDX-License-Identifier: Apache-2.0 */
/* Times, durations, clocks. */
#include "t/lib/tap.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/timefmt.h"

static struct arena a;

static void wall(int64_t ms, const char *want)
{
	int64_t back = 0;

	is_str(time_rfc3339_micro(&a, ms).p, want, want);
	ok(time_parse(str_of(want), &back) && back == ms, "... and back");
}

static void parsed(const char *text, int64_t want)
{
	int64_t got = -1;

	ok(time_parse(str_of(text), &got), text);
	is_int(got, want, "... value");
}

static void no_time(const char *text)
{
	int64_t got = 77;
	char name[100];

	snprintf(name, sizeof(name), "no time: '%s'", text);
	ok(!time_parse(str_of(text), &got) && got == 77, name);
}

static void test_times(void)
{
	struct rng r;
	bool good = true;

	wall(0, "1970-01-01T00:00:00.000000Z");
	wall(INT64_C(1767322984678), "2026-01-02T03:03:04.678000Z");
	wall(INT64_C(951782400000), "2000-02-29T00:00:00.000000Z");
	wall(-1, "1969-12-31T23:59:59.999000Z");
	wall(INT64_C(-2203891200000), "1900-03-01T00:00:00.000000Z");
	wall(INT64_C(253402300799999), "9999-12-31T23:59:59.999000Z");
	is_str(time_rfc3339(&a, INT64_C(1767322984678)).p, "2026-01-02T03:03:04Z", "whole seconds");
	is_str(time_rfc3339(&a, INT64_MAX).p, "9999-12-31T23:59:59Z", "clamped");
	is_str(time_rfc3339(&a, INT64_MIN).p, "0000-01-01T00:00:00Z", "clamped below");
	parsed("2026-01-02T03:03:04Z", INT64_C(1767322984000));
	parsed("2026-01-02T05:03:04+02:00", INT64_C(1767322984000));
	parsed("2026-01-01T21:33:04.1-05:30", INT64_C(1767322984100));
	parsed("2026-01-02T03:03:04.123456789Z", INT64_C(1767322984123));
	no_time("");
	no_time("2026-01-02");
	no_time("2026-01-02 03:03:04Z");
	no_time("2026-1-2T03:03:04Z");
	no_time("2026-13-02T03:03:04Z");
	no_time("2026-02-29T03:03:04Z");
	no_time("2026-00-01T03:03:04Z");
	no_time("2026-01-00T03:03:04Z");
	no_time("2026-01-02T24:00:00Z");
	no_time("2026-01-02T03:60:00Z");
	no_time("2026-01-02T03:03:60Z");
	no_time("2026-01-02T03:03:04");
	no_time("2026-01-02T03:03:04.Z");
	no_time("2026-01-02T03:03:04+0200");
	no_time("2026-01-02T03:03:04+02:60");
	no_time("2026-01-02T03:03:04Zx");
	no_time("2026-01-02t03:03:04z");
	parsed("0000-01-01T04:30:00+04:30", INT64_C(-62167219200000));
	no_time("0000-01-01T04:29:59+04:30");
	parsed("9999-12-31T19:29:59.999-04:30", INT64_C(253402300799999));
	no_time("9999-12-31T19:30:00-04:30");
	rng_init(&r, 3);
	for (int i = 0; i < 2000; i++) {
		int64_t ms = rng_range(&r, INT64_C(-62167219200000), INT64_C(253402300799999));
		int64_t back = 0;

		good = good && time_parse(time_rfc3339_micro(&a, ms), &back) && back == ms;
	}
	ok(good, "two thousand times there and back");
}

static void duration(const char *text, int64_t ns, const char *printed)
{
	int64_t got = -77;

	ok(duration_parse_ns(str_of(text), &got, NULL), text);
	is_int(got, ns, "... nanoseconds");
	is_str(duration_text_ns(&a, ns).p, printed, "... printed");
}

static void no_duration(const char *text, const char *want)
{
	struct mk_err err;
	int64_t got = 77;

	ok(!duration_parse_ns(str_of(text), &got, &err) && got == 77, want);
	is_str(err.msg, want, "... says so");
}

static void test_durations(void)
{
	int64_t ms = 0;

	duration("1h30m", INT64_C(5400000000000), "1h30m0s");
	duration("0", 0, "0s");
	duration("0s", 0, "0s");
	duration("-0", 0, "0s");
	duration("+5m", INT64_C(300000000000), "5m0s");
	duration("-5m", INT64_C(-300000000000), "-5m0s");
	duration("1.5s", 1500000000, "1.5s");
	duration(".5s", 500000000, "500ms");
	duration("1.s", 1000000000, "1s");
	duration("100ms", 100000000, "100ms");
	duration("1500us", 1500000, "1.5ms");
	duration("3\xc2\xb5s", 3000, "3\xc2\xb5s");
	duration("3\xce\xbcs", 3000, "3\xc2\xb5s");
	duration("15ns", 15, "15ns");
	duration("1h1m1.000000001s", INT64_C(3661000000001), "1h1m1.000000001s");
	duration("9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s");
	duration("-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s");
	duration("0.3333333333333333333h", INT64_C(1200000000000), "20m0s");
	no_duration("", "time: invalid duration \"\"");
	no_duration("-", "time: invalid duration \"-\"");
	no_duration("1", "time: missing unit in duration \"1\"");
	no_duration("1x", "time: unknown unit \"x\" in duration \"1x\"");
	no_duration("1m2", "time: missing unit in duration \"1m2\"");
	no_duration("s", "time: invalid duration \"s\"");
	no_duration(".s", "time: invalid duration \".s\"");
	no_duration("1 s", "time: unknown unit \" s\" in duration \"1 s\"");
	no_duration("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\"");
	no_duration("3000000h", "time: invalid duration \"3000000h\"");
	no_duration(
		"1\"\x01\xc3\xa9",
		"time: unknown unit \"\\\"\\x01\\xc3\\xa9\" in duration \"1\\\"\\x01\\xc3\\xa9\"");
	ok(duration_parse(STR("90s"), &ms, NULL) && ms == 90000, "milliseconds");
	ok(duration_parse(STR("1us"), &ms, NULL) && ms == 1,
	   "less than a millisecond is not nothing");
	ok(duration_parse(STR("-1ns"), &ms, NULL) && ms == -1, "... nor below");
	is_str(duration_text(&a, 900000).p, "15m0s", "text of milliseconds");
	is_str(duration_text(&a, INT64_MAX).p, "2562047h47m16.854775807s", "clamped");
}

static void test_clock(void)
{
	int64_t t0 = clock_mono_us();
	int64_t b0 = clock_boot_ms();
	int64_t c0 = clock_cpu_us();

	ok(clock_wall_ms() > INT64_C(1700000000000), "wall clock is past 2023");
	ok(clock_mono_us() >= t0 && clock_boot_ms() >= b0 && clock_cpu_us() >= c0,
	   "never backwards");
	ok(clock_mono_ms() - t0 / 1000 < 10000, "units agree");
}

int main(void)
{
	arena_init(&a, 0);
	test_times();
	test_durations();
	test_clock();
	arena_done(&a);
	return done_testing();
}
