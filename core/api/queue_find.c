/* SPDX-License-Identifier: Apache-2.0 */
/* Finds quotas; see queue_find.h. */
#include "core/api/queue_find.h"

#include <stdlib.h>

enum {
	FEW = 16,        /* quotas that are looked through */
	NAMES_MAX = 640, /* bytes of the two names of one that is sorted */
};

void api_quota_finder_init(struct api_quota_finder *f, struct api_quota_list list)
{
	f->list = list;
	f->next = 0;
	f->is_sorted = false;
}

static bool is_it(const struct api_quota *q, mk_str flavor, mk_str resource)
{
	return str_eq(q->resource, resource) && str_eq(q->flavor, flavor);
}

static int by_names(const void *x, const void *y)
{
	const struct api_quota *a = *(const struct api_quota *const *)x;
	const struct api_quota *b = *(const struct api_quota *const *)y;
	int order = str_cmp(a->flavor, b->flavor);

	return order != 0 ? order : str_cmp(a->resource, b->resource);
}

static void sort(struct api_quota_finder *f)
{
	f->n_sorted = 0;
	for (size_t i = 0; i < f->list.n; i++) {
		const struct api_quota *q = &f->list.v[i];

		if (q->flavor.n + q->resource.n <= NAMES_MAX) {
			f->sorted[f->n_sorted++] = q;
		}
	}
	qsort(f->sorted, f->n_sorted, sizeof(f->sorted[0]), by_names);
	f->is_sorted = true;
}

static const struct api_quota *search(struct api_quota_finder *f, mk_str flavor, mk_str resource)
{
	struct api_quota names = {.flavor = flavor, .resource = resource};
	const struct api_quota *key = &names, *const * at;

	for (size_t i = 0; f->list.n <= FEW && i < f->list.n; i++) {
		if (is_it(&f->list.v[i], flavor, resource)) {
			return &f->list.v[i];
		}
	}
	if (f->list.n <= FEW) {
		return NULL;
	}
	if (!f->is_sorted) {
		sort(f);
	}
	at = bsearch(&key, f->sorted, f->n_sorted, sizeof(f->sorted[0]), by_names);
	return at ? *at : NULL;
}

const struct api_quota *api_quota_find(struct api_quota_finder *f, mk_str flavor, mk_str resource)
{
	const struct api_quota *q = f->next < f->list.n ? &f->list.v[f->next] : NULL;

	if (!q || !is_it(q, flavor, resource)) {
		q = search(f, flavor, resource);
	}
	f->next = q ? (size_t)(q - f->list.v) + 1 : f->next;
	return q;
}
