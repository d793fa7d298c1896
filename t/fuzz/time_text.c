/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: times, durations and quantities. What is read, written and read again is the same.
 */
#include "core/base/canon.h"
#include "core/base/timefmt.h"
#include "t/fuzz/fuzz.h"

int fuzz_one(const uint8_t *data, size_t size)
{
	mk_str text = {(const char *)data, size};
	int64_t ms = 0, again = 0, ns = 0;
	mk_str quantity;
	struct arena a;

	arena_init(&a, 0);
	if (time_parse(text, &ms) && time_parse(time_rfc3339_micro(&a, ms), &again)) {
		FUZZ_MUST(again == ms);
	}
	if (duration_parse_ns(text, &ns, NULL)) {
		FUZZ_MUST(duration_parse_ns(duration_text_ns(&a, ns), &again, NULL) && again == ns);
		FUZZ_MUST(duration_parse(text, &ms, NULL) && (ms == 0) == (ns == 0));
	}
	quantity = size < 4096 ? canon_quantity(&a, text) : (mk_str){NULL, 0};
	if (quantity.n > 0) {
		/* "1.5Ei" has more digits when written out than are read. */
		mk_str twice = canon_quantity(&a, quantity);

		FUZZ_MUST(twice.n == 0 || str_eq(twice, quantity));
	}
	arena_done(&a);
	return 0;
}
