/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target includes: it defines fuzz_one(). In the fuzz flavour (clang)
 * libFuzzer calls it; in every other flavour the program gives it the files named on its
 * command line, to replay a finding.
 */
#ifndef MK_T_FUZZ_FUZZ_H
#define MK_T_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int fuzz_one(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for each input. */
#define FUZZ_MUST(what)                                                                    \
	do {                                                                               \
		if (!(what)) {                                                             \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                           \
		}                                                                          \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_one(data, size);
}

#ifndef MK_FUZZ
enum { FUZZ_REPLAY_MAX = 1 << 24 };

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		uint8_t *data = malloc(FUZZ_REPLAY_MAX);
		FILE *f = fopen(argv[i], "rb");
		size_t n;

		if (!data || !f) {
			fprintf(stderr, "cannot read %s\n", argv[i]);
			return 1;
		}
		n = fread(data, 1, FUZZ_REPLAY_MAX, f);
		fclose(f);
		fuzz_one(data, n);
		free(data);
	}
	printf("%d inputs replayed\n", argc - 1);
	return 0;
}
#endif

#endif
