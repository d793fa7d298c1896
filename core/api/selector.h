/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation of a MultiKueueConfig that takes MultiKueueClusters by their labels; and labels of
 * clusters as they are kept.
 */
#ifndef MK_API_SELECTOR_H
#define MK_API_SELECTOR_H

#include <multikueue/selector.h>

#include <stdbool.h>

enum { API_SELECTOR_BYTES = 4096 }; /* a longer one has a mistake */

/*
 * As mk_selects, of sdk/multikueue/selector.h; but a selector that asks for nothing would take each
 * cluster, and has a mistake instead.
 */
int api_selects(mk_str selector, mk_label_fn *label, void *ctx, const char **error, size_t *at);

/*
 * Labels as a list of "name=value": the name of one, and *ret_value what follows the first "=". A
 * text without one is a name whose value is empty.
 */
mk_str api_label_name(mk_str label, mk_str *ret_value);
/* The value of the label of that name, the first of the list; false: there is none. */
bool api_label_find(const mk_str *labels, size_t n, mk_str name, mk_str *ret_value);

#endif
