/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader finds wrong with an API object: a list that it fills while it reads on. */
#ifndef MK_API_FAULT_H
#define MK_API_FAULT_H

#include "core/base/arena.h"

/* What is wrong with an object. */
struct api_fault {
	/*
	 * number of the rule of core/quota/validate.h, 1 to 33; 0 for a value that cannot be read
	 */
	int rule;
	mk_str path; /* "spec.hierarchies[root].weightedQuotas[0].name" */
	mk_str text; /* what follows "<path>: " */
};

struct api_faults {
	struct api_fault *p;
	size_t n, size;
};

/*
 * Appends a fault; out of memory shows in arena_failed(a). Control characters in the text become
 * '?'.
 */
void api_fault_add(struct arena *a, struct api_faults *f, int rule, mk_str path, const char *fmt,
		   ...) __attribute__((format(printf, 5, 6)));

#endif
