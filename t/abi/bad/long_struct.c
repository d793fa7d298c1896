/* SPDX-License-Identifier: Apache-2.0 */
/* An entry that claims to be longer than its symbol. */
#include "bad.h"

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, 4000, 1, 0, 0);
