/* SPDX-License-Identifier: Apache-2.0 */
/* The list of known failures: judge.h says what a line is. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "t/sim/sim.h"

struct known {
	char world[64], invariant[8], text[128]; /* of the failure, a part of it */
	uint64_t first, count;
	unsigned line;
};

static struct known known[KNOWN_MAX];
static size_t n_known;

static bool is_comment(mk_str line)
{
	return line.n == 0 || line.p[0] == '#';
}

/* "WORLD FIRST COUNT INVARIANT text" */
static bool read_line(mk_str line, struct known *k)
{
	mk_str world, first, count, invariant;

	if (!str_split(&line, ' ', &world) || !str_split(&line, ' ', &first) ||
	    !str_split(&line, ' ', &count) || !str_split(&line, ' ', &invariant) ||
	    world.n >= sizeof(k->world) || invariant.n >= sizeof(k->invariant) ||
	    !str_u64(first, &k->first) || !str_u64(count, &k->count) || line.n == 0 ||
	    line.n >= sizeof(k->text)) {
		return false;
	}
	snprintf(k->world, sizeof(k->world), "%.*s", STR_ARG(world));
	snprintf(k->invariant, sizeof(k->invariant), "%.*s", STR_ARG(invariant));
	snprintf(k->text, sizeof(k->text), "%.*s", STR_ARG(line));
	return true;
}

bool known_read(const char *path, bool must_exist)
{
	FILE *f = fopen(path, "re");
	char text[512];
	unsigned n = 0;

	if (!f) {
		if (must_exist) {
			fprintf(stderr, "sim: %s: %s\n", path, strerror(errno));
		}
		return !must_exist;
	}
	while (fgets(text, sizeof(text), f) != NULL) {
		mk_str line = str_trim(str_of(text));
		struct known k = {.line = ++n};

		if (is_comment(line)) {
			continue;
		}
		if (n_known == KNOWN_MAX || !read_line(line, &k)) {
			fprintf(stderr,
				"sim: %s:%u: not \"WORLD FIRST COUNT INVARIANT text\", or one "
				"line too many\n",
				path, n);
			fclose(f);
			return false;
		}
		known[n_known++] = k;
	}
	fclose(f);
	return true;
}

/* Is it a failure of that invariant, in these words? */
static bool is_of(const char *failure, const struct known *k)
{
	size_t n = strlen(k->invariant);

	return strncmp(failure, k->invariant, n) == 0 && failure[n] == ' ' &&
	       strstr(failure, k->text) != NULL;
}

bool known_covers(const char *world, uint64_t seed, const char *failure, struct coverage *cov)
{
	for (size_t i = 0; i < n_known; i++) {
		const struct known *k = &known[i];

		if (strcmp(k->world, world) == 0 && seed >= k->first &&
		    seed - k->first < k->count && is_of(failure, k)) {
			cov->known[i]++;
			return true;
		}
	}
	return false;
}

bool known_still_fail(const char *world, uint64_t first, uint64_t count, const struct coverage *cov)
{
	bool good = true;

	for (size_t i = 0; i < n_known; i++) {
		const struct known *k = &known[i];

		if (strcmp(k->world, world) != 0 || first > k->first ||
		    first + count < k->first + k->count) {
			continue;
		}
		printf("# known: %s %s: %llu of %llu seeds of world %s from %llu\n", k->invariant,
		       k->text, (unsigned long long)cov->known[i], (unsigned long long)k->count,
		       k->world, (unsigned long long)k->first);
		if (cov->known[i] == 0) {
			printf("FAIL no seed of %llu of world %s fails %s \"%s\" any more: remove "
			       "line "
			       "%u of the list of known failures\n",
			       (unsigned long long)k->count, k->world, k->invariant, k->text,
			       k->line);
			good = false;
		}
	}
	return good;
}
