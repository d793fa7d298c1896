/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation of a MultiKueueConfig that takes MultiKueueClusters by their labels. */
#ifndef MK_API_SELECTOR_H
#define MK_API_SELECTOR_H

#include <multikueue/selector.h>

enum { API_SELECTOR_BYTES = 4096 }; /* a longer one has a mistake */

/*
 * As mk_selects, of sdk/multikueue/selector.h; but a selector that asks for nothing would take each
 * cluster, and has a mistake instead.
 */
int api_selects(mk_str selector, mk_label_fn *label, void *ctx, const char **error, size_t *at);

#endif
