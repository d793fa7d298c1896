/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate in files: read when it is another, and a fault is told once, not at every look. */
#include <stdlib.h>
#include <unistd.h>

#include "core/serve/cert_files.h"
#include "core/serve/serving_certs.h"
#include "t/lib/tap.h"

static char directory[64];
static struct arena arena;

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		printf("Bail out! %s cannot be written\n", path);
		exit(1);
	}
}

static void take_away(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

/* "<text of the certificate>", "same", or the name of the fault. */
static const char *look(struct cert_files *f)
{
	static char text[64];
	struct mk_err err = {.code = ERR_OK};
	struct cert_pair pair;

	if (cert_files_look(f, &arena, &pair, &err)) {
		snprintf(text, sizeof(text), "%.*s/%.*s", STR_ARG(pair.cert), STR_ARG(pair.key));
		return text;
	}
	return err.code == ERR_OK ? "same" : err_code_name(err.code);
}

/* It may have been for lack of memory, after which the files do not change: it is tried again. */
static void test_refused(struct cert_files *f)
{
	int looks = 0;

	while (strcmp(look(f), "same") == 0 && looks < 1000) {
		looks++;
	}
	is_int(looks, 29, "a pair that could not be used is read again, but not at every look");
	is_str(look(f), "same", "once");
	cert_files_refused(f);
	put(SERVING_KEY, "fifth");
	is_str(look(f), "c1/fifth", "another pair at once");
	for (looks = 0; strcmp(look(f), "same") == 0 && looks < 100;) {
		looks++;
	}
	is_int(looks, 100, "and that one is not read again");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	struct cert_files f = {0};

	snprintf(directory, sizeof(directory), "%.40s/certXXXXXX", tmp != NULL ? tmp : "/tmp");
	if (!mkdtemp(directory)) {
		printf("Bail out! no directory\n");
		return 1;
	}
	arena_init(&arena, 0);
	f.directory = str_of(directory);
	is_str(look(&f), err_code_name(ERR_NOT_FOUND), "no files: it is told");
	is_str(look(&f), "same", "and not again");
	put(SERVING_CERT, "c1");
	is_str(look(&f), err_code_name(ERR_NOT_FOUND), "something is there, but no key: told anew");
	put(SERVING_KEY, "k1");
	is_str(look(&f), "c1/k1", "both are there");
	is_str(look(&f), "same", "and stay");
	put(SERVING_KEY, "key2");
	is_str(look(&f), "c1/key2", "one is another");
	take_away(SERVING_KEY);
	is_str(look(&f), err_code_name(ERR_NOT_FOUND), "the key is gone");
	is_str(look(&f), "same", "told once");
	put(SERVING_KEY, "third");
	is_str(look(&f), "c1/third", "it is back");
	take_away(SERVING_KEY);
	is_str(look(&f), err_code_name(ERR_NOT_FOUND), "gone again: told again");
	put(SERVING_KEY, "k4");
	is_str(look(&f), "c1/k4", "back again");
	cert_files_refused(&f);
	test_refused(&f);
	take_away(SERVING_KEY);
	take_away(SERVING_CERT);
	arena_done(&arena);
	rmdir(directory);
	return done_testing();
}
