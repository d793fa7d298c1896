/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of an AdmissionCheck, apart from its condition; a part of facts.c. */
#ifndef MK_ENGINE_STORE_FACTS_CHECK_H
#define MK_ENGINE_STORE_FACTS_CHECK_H

#include "core/engine/store/facts.h"

/* Strings are borrowed from the object, or live in 'a'. */
void facts_of_check(struct facts *f, const struct json *spec, const struct json *annotations,
		    struct arena *a);

#endif
