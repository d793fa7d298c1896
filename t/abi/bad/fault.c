/* SPDX-License-Identifier: Apache-2.0 */
/* Breaks the output rules when called: renames the copy. */
#include "bad.h"

static int rename_it(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)v;
	c->host->set(c, draft, "/metadata/name", c->host->text(c, mk_lit("other")));
	return MK_SET;
}

static const mk_adapter ad = {
	sizeof(mk_adapter), 0, "ex.io", "v1", "Bad", NULL, NULL, NULL, NULL, NULL, rename_it, NULL};
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
