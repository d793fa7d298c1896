/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a job whose size its worker decides (mk_adapter.scale), and of its child. */
#ifndef MK_ENGINE_STORE_FACTS_SCALE_H
#define MK_ENGINE_STORE_FACTS_SCALE_H

#include "core/engine/store/facts.h"

/*
 * Adds F_SCALED of a local job, F_CHILD and S_OWNER_* of a remote one to 'f'. Strings are borrowed
 * from 'obj' or live in 'a'.
 */
void facts_of_scale(struct facts *f, const struct json *obj, const struct facts_env *env,
		    struct arena *a);

#endif
