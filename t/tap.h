/* SPDX-License-Identifier: Apache-2.0 */
/* A test program's TAP output: one line per check, the plan at the end. Include it in the program's only file. */
#ifndef MK_T_TAP_H
#define MK_T_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count;
static int tap_failed;

static inline bool tap_ok(bool pass, const char *name, const char *file, int line)
{
	tap_count++;
	printf("%sok %d - %s\n", pass ? "" : "not ", tap_count, name);
	if (!pass) {
		tap_failed++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return pass;
}

static inline bool tap_is_int(int64_t got, int64_t want, const char *name, const char *file,
			      int line)
{
	bool pass = got == want;

	tap_ok(pass, name, file, line);
	if (!pass) {
		printf("#   found %" PRId64 ", expected %" PRId64 "\n", got, want);
	}
	return pass;
}

static inline bool tap_is_str(const char *got, const char *want, const char *name, const char *file,
			      int line)
{
	bool pass = got == want || (got != NULL && want != NULL && strcmp(got, want) == 0);

	tap_ok(pass, name, file, line);
	if (!pass) {
		printf("#   found    %s\n#   expected %s\n", got ? got : "(null)",
		       want ? want : "(null)");
	}
	return pass;
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed == 0 ? 0 : 1;
}

#define ok(pass, name) tap_ok((pass), (name), __FILE__, __LINE__)
#define is_int(got, want, name) \
	tap_is_int((int64_t)(got), (int64_t)(want), (name), __FILE__, __LINE__)
#define is_str(got, want, name) tap_is_str((got), (want), (name), __FILE__, __LINE__)
#define done_testing() tap_done()

#endif
