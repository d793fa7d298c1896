/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes in a destructor: when the daemon ends. */
#include <stdlib.h>

#include "good.c"

__attribute__((destructor)) static void die(void)
{
	abort();
}
