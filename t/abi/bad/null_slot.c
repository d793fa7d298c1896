/* SPDX-License-Identifier: Apache-2.0 */
/* A dispatcher without its one required function. */
#include "bad.h"

static const mk_dispatcher di = {sizeof(mk_dispatcher), 0, "ex.io/null", NULL};
BAD_ENTRY(MK_FACTORY_DISPATCHER, di, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
