/* SPDX-License-Identifier: Apache-2.0 */
/* Needs a host of a minor that does not exist yet. */
#include "bad.h"

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 9, 7);
