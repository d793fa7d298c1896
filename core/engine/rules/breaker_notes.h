/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted of clones that are made again; rules/breaker.c decides by it. */
#ifndef MK_ENGINE_RULES_BREAKER_NOTES_H
#define MK_ENGINE_RULES_BREAKER_NOTES_H

#include <stdbool.h>
#include <stdint.h>

enum { BREAKER_MINUTES = 10 };

struct breaker {
	int64_t minute; /* of the newest count */
	unsigned count[BREAKER_MINUTES], sum;
	int64_t last_at;
	bool open;
};

#endif
