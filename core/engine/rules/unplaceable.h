/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads that fit on no worker, whatever ends there: the dispatcher says so, or Kueue on each
 * worker of the config does. It is told at once, in the check's message and one Event; with
 * multiKueue.unplaceable Reject the check turns Rejected, as long as no worker may have the job.
 */
#ifndef MK_ENGINE_RULES_UNPLACEABLE_H
#define MK_ENGINE_RULES_UNPLACEABLE_H

#include "core/engine/rules/pass.h"

/* Who says so; struct round, 'unplaceable'. */
enum unplaceable { FITS_PERHAPS, FITS_NOT_THERE, FITS_NOT_SAID };

/*
 * Before the win, when none is under way and workers were chosen: notes whether the Workload fits
 * nowhere. True: it was rejected, and the pass ends.
 */
bool unplaceable_rejects(struct pass *p);
/* Why it fits nowhere, in words; "" when it may fit. In the scratch arena. */
mk_str unplaceable_words(struct pass *p);

#endif
