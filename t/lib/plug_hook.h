/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of which a test says what its hooks do. */
#ifndef MK_T_LIB_PLUG_HOOK_H
#define MK_T_LIB_PLUG_HOOK_H

#include <multikueue/adapter.h>

typedef int hook_fn(mk_call *c, const mk_view *v, mk_val draft);

/* What both hooks of its only adapter call, that of ex.io/v1, Kind=Thing. */
extern hook_fn *hook_does;
/* The plugin, "test.hook" 3. */
extern const mk_entry hook_entry;

#endif
