/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of a job's copy; rules/copied.c decides by it. */
#ifndef MK_ENGINE_RULES_COPIED_NOTES_H
#define MK_ENGINE_RULES_COPIED_NOTES_H

#include <stdbool.h>
#include <stdint.h>

/* A copy, as hashes: of the server that it is, or may be, on (0 none), and of its job's uid. */
struct copied {
	uint64_t on, of;
};

/* The server where the recorded winner won, and the name recorded, as hashes; 0 not known. */
struct won_on {
	uint64_t place, name;
};

/* A copy on a server that no MultiKueueCluster names any more. */
struct unnamed {
	struct copied copy;
	int64_t since; /* monotonic ms; INT64_MAX there is none */
	bool said;     /* an Event has told of it */
};

#endif
