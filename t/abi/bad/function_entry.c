/* SPDX-License-Identifier: Apache-2.0 */
/* The entry is a function: a loader that reads it as data would follow code. */
#include "bad.h"

/* the header declares a constant of this name; here the symbol is made under another one */
__attribute__((visibility("default"))) int entry_function(void) __asm__("mk_plugin_entry");
int entry_function(void)
{
	return 0;
}
