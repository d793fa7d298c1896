/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes in a constructor, so before the loader can look at its entry. */
#include <stdlib.h>

#include "good.c"

__attribute__((constructor)) static void die(void)
{
	abort();
}
