/* SPDX-License-Identifier: Apache-2.0 */
/* An adapter for ex.io/v1 Loop that never comes back. t/integration/e2e_bad_plugin.t runs it. */
#include "bad.h"

static int never(mk_call *c, const mk_view *v, mk_val draft)
{
	static volatile unsigned turns;

	(void)c;
	(void)v;
	(void)draft;
	for (;;) {
		turns++;
	}
}

static const mk_adapter loop = {sizeof(mk_adapter),
				0,
				"ex.io",
				"v1",
				"Loop",
				NULL,
				NULL,
				NULL,
				NULL,
				NULL,
				never,
				NULL,
				NULL,
				NULL,
				NULL};
static const void *const items[] = {&loop};
static const mk_factory factory = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, items};
static const mk_factory *const factories[] = {&factory, NULL};

const mk_entry mk_plugin_entry = MK_ENTRY("test.loops", "1.0.0", factories);
