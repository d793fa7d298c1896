/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy whose status does not fit: it is over multiKueue.jobStatusSize, which keeps the manager's
 * etcd from being filled, or no text of the copy is kept. The last good status stays; an Event and
 * the check's message say so. How the job ended comes home all the same, with what is short beside
 * it (store/reduce.h).
 */
#ifndef MK_ENGINE_RULES_UNFIT_H
#define MK_ENGINE_RULES_UNFIT_H

#include "core/engine/rules/pass.h"

/* No text of the copy is kept, or a reduced one of its end. Notes and reports it. */
bool unfit_text(struct pass *p, const struct record *remote);
/* The status that the job would have from it has 'n' bytes: too many. Notes and reports it. */
bool unfit_size(struct pass *p, const struct record *remote, size_t n);
/* The status of the copy fits, or is there already. */
void unfit_ends(struct pass *p);
/* What does not fit, and why, in the scratch arena; "": nothing. */
mk_str unfit_words(struct pass *p, const struct record *remote);

#endif
