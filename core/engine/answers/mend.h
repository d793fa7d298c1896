/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator can do about a reason, as a fixed sentence. It depends on the reason and on what
 * Kueue, the API server or the network said about it: "LocalQueue x doesn't exist" has another mend
 * than "insufficient unused quota". The visibility API has it as `mend` (docs/visibility.md).
 */
#ifndef MK_ENGINE_ANSWERS_MEND_H
#define MK_ENGINE_ANSWERS_MEND_H

#include "core/engine/answers/why.h"

/* For one worker; NULL: nothing is to be done, or time does it. */
const char *mend_cluster(const struct why_cluster *w);
/* For the Workload as a whole, apart from its workers; NULL as above. */
const char *mend_whole(const struct why_whole *w);

#endif
