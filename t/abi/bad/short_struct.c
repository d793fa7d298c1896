/* SPDX-License-Identifier: Apache-2.0 */
/* An entry shorter than that of minor 0. */
#include "bad.h"

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, 24, 1, 0, 0);
