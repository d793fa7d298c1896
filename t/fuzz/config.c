/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the configuration file. What is taken can be printed for Kueue, and that is taken
 * too, for it is the same without our keys.
 */
#include "core/config/config.h"
#include "t/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t size)
{
	struct config_input in = {.text = {(const char *)data, size}};
	struct config_problems problems;
	struct config c;
	struct mk_err err;
	struct arena a;

	arena_init(&a, 0);
	if (size < 65536 && config_load(&a, &in, &c, &problems, &err) == ERR_OK) {
		FUZZ_MUST(problems.n_errors == 0);
		in.text = config_print_kueue(&a, &c);
		FUZZ_MUST(config_load(&a, &in, &c, &problems, &err) == ERR_OK);
	}
	arena_done(&a);
	return 0;
}
