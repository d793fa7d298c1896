/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the dispatcher of plugins/all_at_once.c. */
#include "bad.h"

static int nominate(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)c;
	(void)d;
	(void)pick;
	return MK_KEEP;
}

static const mk_dispatcher di = {sizeof(mk_dispatcher), 0,
				 "kueue.x-k8s.io/multikueue-dispatcher-all-at-once", nominate};
BAD_ENTRY(MK_FACTORY_DISPATCHER, di, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
