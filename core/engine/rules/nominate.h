/* SPDX-License-Identifier: Apache-2.0 */
/* Which clusters are tried: what the dispatcher says of them; and writing it, unless another controller does. */
#ifndef MK_ENGINE_RULES_NOMINATE_H
#define MK_ENGINE_RULES_NOMINATE_H

#include "core/engine/rules/pass.h"

enum { MAX_PICK = 20 };
/* The wanted nominations: names, and which clones they mean. */
struct pick {
	bool valid; /* false: leave everything as it is */
	mk_str names[MAX_PICK];
	size_t n;
};
/* Asks the dispatcher. */
void nominate_choose(struct pass *p, struct pick *pick);
/* Writes the nominations, unless they stand there already or are another controller's. */
void nominate_write(struct pass *p, const struct pick *pick);
/* Is the cluster nominated in the Workload as we last read it? */
bool nominate_has(const struct pass *p, mk_str name);
/* Can the job's kind run there, as far as we know? */
bool nominate_is_served(const struct pass *p, const struct cluster *c);
/* May a clone be made there now? */
bool nominate_is_connected(struct pass *p, struct clone *k);

#endif
