/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/tap.h"

#include <stdlib.h>

static int tap_count;
static int tap_failed;

bool tap_ok(bool pass, const char *name, const char *file, int line)
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

bool tap_is_int(int64_t got, int64_t want, const char *name, const char *file, int line)
{
	bool pass = got == want;

	tap_ok(pass, name, file, line);
	if (!pass) {
		printf("#   found %" PRId64 ", expected %" PRId64 "\n", got, want);
	}
	return pass;
}

bool tap_is_str(const char *got, const char *want, const char *name, const char *file, int line)
{
	bool pass = got == want || (got != NULL && want != NULL && strcmp(got, want) == 0);

	tap_ok(pass, name, file, line);
	if (!pass) {
		printf("#   found    %s\n#   expected %s\n", got ? got : "(null)",
		       want ? want : "(null)");
	}
	return pass;
}

int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed == 0 ? 0 : 1;
}

static bool is_wrapped(const char *by)
{
	const char *wrap = getenv("WRAP");

	return wrap != NULL && strstr(wrap, by) != NULL;
}

bool tap_valgrind(void)
{
	return is_wrapped("valgrind");
}

bool tap_emulated(void)
{
	return is_wrapped("t/lib/emulated");
}
