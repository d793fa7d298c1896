/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors of clusters; see selector.h. */
#include "core/api/selector.h"

#include "core/base/str.h"

int api_selects(mk_str selector, mk_label_fn *label, void *ctx, const char **error, size_t *at)
{
	*at = 0;
	if (str_trim(selector).n == 0) {
		*error = "the name of a label";
		return -1;
	}
	if (selector.n > API_SELECTOR_BYTES) {
		*error = "at most 4096 bytes";
		return -1;
	}
	return mk_selects(selector, label, ctx, error, at);
}
