/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps state between calls. */
#include "bad.h"

static int calls;

static int count(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c;
	(void)v;
	(void)draft;
	return calls++ % 2 ? MK_SET : MK_KEEP;
}

static const mk_adapter ad = {
	sizeof(mk_adapter), 0, "ex.io", "v1", "Bad", NULL, NULL, NULL, NULL, NULL, count, NULL};
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
