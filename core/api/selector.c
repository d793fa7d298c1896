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

mk_str api_label_name(mk_str label, mk_str *ret_value)
{
	ptrdiff_t end = str_index(label, '=');
	size_t n = end < 0 ? label.n : (size_t)end;

	*ret_value = str_sub(label, n + 1, label.n);
	return str_sub(label, 0, n);
}

bool api_label_find(const mk_str *labels, size_t n, mk_str name, mk_str *ret_value)
{
	for (size_t i = 0; i < n && str_index(name, '=') < 0; i++) {
		mk_str label = labels[i];

		if (label.n > name.n && label.p[name.n] == '=' && str_starts(label, name)) {
			*ret_value = str_sub(label, name.n + 1, label.n);
			return true;
		}
	}
	return false;
}
