/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the quotas of a queue grew; see queue.h. */
#include <stdlib.h>

#include "core/api/amount.h"
#include "core/api/queue.h"

/*
 * Finds quotas of a list. Those that are asked for in its order, as of an older state of the same
 * object, take no search; the first other one has the list sorted.
 */
struct finder {
	struct api_quota_list list;
	size_t next; /* behind the last that was found in order */
	bool is_sorted;
	const struct api_quota *sorted[API_QUOTAS_MAX];
};

static int by_names(const struct api_quota *x, const struct api_quota *y)
{
	int order = str_cmp(x->flavor, y->flavor);

	return order != 0 ? order : str_cmp(x->resource, y->resource);
}

static int by_names_at(const void *x, const void *y)
{
	return by_names(*(const struct api_quota *const *)x, *(const struct api_quota *const *)y);
}

static void sort(struct finder *f)
{
	for (size_t i = 0; i < f->list.n; i++) {
		f->sorted[i] = &f->list.v[i];
	}
	qsort(f->sorted, f->list.n, sizeof(f->sorted[0]), by_names_at);
	f->is_sorted = true;
}

/* NULL: the list has none of that flavor and resource. */
static const struct api_quota *find(struct finder *f, const struct api_quota *q)
{
	const struct api_quota *const *at;

	if (f->next < f->list.n && by_names(&f->list.v[f->next], q) == 0) {
		return &f->list.v[f->next++];
	}
	if (!f->is_sorted) {
		sort(f);
	}
	at = bsearch(&q, f->sorted, f->list.n, sizeof(f->sorted[0]), by_names_at);
	return at ? *at : NULL;
}

typedef int64_t amount_fn(const struct api_quota *q);

static int64_t nominal_of(const struct api_quota *q)
{
	return q->nominal;
}

static int64_t free_of(const struct api_quota *q)
{
	return api_add(q->nominal, -q->used);
}

/* What was not there before had nothing. */
static bool is_any_more(struct api_quota_list old, struct api_quota_list now, amount_fn *amount)
{
	struct finder f;

	f.list = old;
	f.next = 0;
	f.is_sorted = false;
	for (size_t i = 0; i < now.n; i++) {
		const struct api_quota *before = find(&f, &now.v[i]);

		if (amount(&now.v[i]) > (before ? amount(before) : 0)) {
			return true;
		}
	}
	return false;
}

bool api_quotas_grew(struct api_quota_list old, struct api_quota_list now)
{
	return is_any_more(old, now, nominal_of);
}

bool api_quotas_freed(struct api_quota_list old, struct api_quota_list now)
{
	return is_any_more(old, now, free_of);
}
