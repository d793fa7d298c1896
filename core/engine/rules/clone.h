/* SPDX-License-Identifier: Apache-2.0 */
/* The clone of a Workload: the object that is created on a worker. */
#ifndef MK_ENGINE_RULES_CLONE_H
#define MK_ENGINE_RULES_CLONE_H

#include "core/engine/rules/pass.h"

/*
 * The body of a clone, in the step's arena; NULL: out of memory, or the Workload's text is missing.
 */
struct json *clone_body(struct pass *p);
/*
 * Hash of the part of the local spec that a clone must agree with; "" when the text is not there
 * yet.
 */
mk_str clone_hash(struct pass *p);

#endif
