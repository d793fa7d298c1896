/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of tests; see plug_hook.h. */
#include "t/lib/plug_hook.h"

hook_fn *hook_does;

static int hook(mk_call *c, const mk_view *v, mk_val draft)
{
	return hook_does(c, v, draft);
}

static const mk_adapter thing = {
	.struct_size = sizeof(mk_adapter),
	.group = "ex.io",
	.version = "v1",
	.kind = "Thing",
	.remote = hook,
	.status = hook,
};
static const void *const items[] = {&thing};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&adapters, NULL};
const mk_entry hook_entry = MK_ENTRY("test.hook", "3", factories);
