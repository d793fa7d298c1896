/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager does not serve a job's kind any more, or not to us: its CRD is gone, or a right. What
 * runs goes on, and its end is kept until the kind is back; this only reports it.
 */
#ifndef MK_ENGINE_RULES_UNSERVED_H
#define MK_ENGINE_RULES_UNSERVED_H

#include "core/engine/rules/pass.h"

/*
 * What is not served, or not listed, and what to do, in the scratch arena; "": the job's kind can
 * be seen here, or need not.
 */
mk_str unserved_words(struct pass *p);
/* The same once the kind has not been served for a while, which an Event reports as well. */
mk_str unserved_late(struct pass *p);

#endif
