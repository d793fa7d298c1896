/* SPDX-License-Identifier: Apache-2.0 */
/* Several mistakes at once: all of them are reported. */
#include "bad.h"

static const char *const strip[] = {"spec/x", NULL};
static const mk_adapter ad = {
	sizeof(mk_adapter), 64, "ex.io", "v1", NULL, "spec", strip, NULL, NULL, NULL, NULL, NULL};
BAD_ENTRY(MK_FACTORY_ADAPTER, ad, MK_MAGIC, sizeof(mk_entry), 1, 9, 7);
