/* SPDX-License-Identifier: Apache-2.0 */
/* Built for another major. */
#include "bad.h"

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 2, 0, 0);
