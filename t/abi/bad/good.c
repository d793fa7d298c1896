/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with this one: the counter-check. */
#include "bad.h"

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
