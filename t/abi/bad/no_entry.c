/* SPDX-License-Identifier: Apache-2.0 */
/* No entry at all. */
#include "bad.h"

BAD_ADAPTER(ad);
__attribute__((visibility("default"))) extern const void *const other_entry;
const void *const other_entry = &ad;
