/* SPDX-License-Identifier: Apache-2.0 */
/* Not the magic number. */
#include "bad.h"

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, 0x464c457fu, sizeof(mk_entry), 1, 0, 0);
