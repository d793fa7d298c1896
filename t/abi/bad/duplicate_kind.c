/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of adapters/job.c. */
#include "bad.h"

static const mk_adapter ad = {
	sizeof(mk_adapter), 0, "batch", "v1", "Job", NULL, NULL, NULL, NULL, NULL, NULL, NULL};
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
