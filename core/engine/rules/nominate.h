/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nominations: which clusters the dispatcher chooses, and writing the list, unless another
 * controller writes it.
 */
#ifndef MK_ENGINE_RULES_NOMINATE_H
#define MK_ENGINE_RULES_NOMINATE_H

#include "core/engine/rules/pass.h"

enum { MAX_PICK = 20 };
/* The wanted nominations. */
struct pick {
	bool valid; /* false: change nothing in this pass */
	mk_str names[MAX_PICK];
	size_t n;
};
/*
 * The name of the dispatcher for a check with its config: the check's annotation, else the
 * config's, else dispatcherName of the configuration. 'check' may be NULL.
 */
mk_str nominate_dispatcher_of(const struct engine *e, const struct record *check,
			      const struct record *config);
/*
 * The name of the dispatcher that is asked: the check's annotation, else the config's, else
 * dispatcherName of the configuration. The pass has a config.
 */
mk_str nominate_dispatcher(const struct pass *p);
/* Has the dispatcher this flag, MK_WANTS_...? 'dispatcher' is an index in plug; -1 none. */
bool nominate_wants(const struct engine *e, int dispatcher, uint32_t flag);
/* Fills 'pick' from the pinned cluster or the dispatcher of the Workload's check. */
void nominate_choose(struct pass *p, struct pick *pick);
/*
 * Writes the nominations, unless the Workload has them already or another controller writes them.
 */
void nominate_write(struct pass *p, const struct pick *pick);
/* Is the cluster nominated in the Workload, as last observed? */
bool nominate_has(const struct pass *p, mk_str name);
/* Does the cluster serve the job's kind, as far as we know? */
bool nominate_is_served(const struct pass *p, const struct cluster *c);
/* May a clone be created there now? If not, the pass comes when it may. */
bool nominate_is_connected(struct pass *p, struct clone *k);

#endif
