/* SPDX-License-Identifier: Apache-2.0 */
/* Code that runs before any check; and a second exported symbol. */
#include "bad.h"

extern int counter;
__attribute__((visibility("default"))) int counter;

__attribute__((constructor)) static void count(void)
{
	counter++;
}

BAD_ADAPTER(ad);
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 0, 0);
