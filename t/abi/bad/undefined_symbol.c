/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a function that no library has. */
#include "bad.h"

int nobody_has_this(void);

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)c;
	(void)d;
	(void)pick;
	return nobody_has_this();
}

static const mk_dispatcher di = {sizeof(mk_dispatcher), 0, "ex.io/undefined", nominate};
BAD_ENTRY(MK_FACTORY_DISPATCHER, di, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
