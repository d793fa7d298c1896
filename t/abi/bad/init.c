/* SPDX-License-Identifier: Apache-2.0 */
/* A function that the linker is told to run at load (-Wl,-init,begin). */
#include "good.c"

__attribute__((visibility("hidden"))) void begin(void)
{
}
