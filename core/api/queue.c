/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQueues; see queue.h. */
#include "core/api/queue.h"

#include <stdlib.h>

#include "core/api/amount.h"

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

/*
 * What the status says is reserved, or used in statuses of older Kueue: quotas of which only names
 * and 'used' count, at most API_QUOTAS_MAX. NULL: out of memory.
 */
static struct api_quota *read_used(struct arena *a, const struct json *obj, size_t *ret_n)
{
	const struct json *reserved = json_at(obj, "/status/flavorsReservation");
	const struct json *says =
		json_len(reserved) > 0 ? reserved : json_at(obj, "/status/flavorsUsage");
	struct api_quota *list =
		arena_array(a, json_len(says) > 0 ? API_QUOTAS_MAX : 0, sizeof(*list));
	struct json_iter flavors = json_iter(says);
	size_t n = 0;

	while (list && n < API_QUOTAS_MAX && json_next(&flavors)) {
		struct json_iter it = json_iter(json_get(flavors.val, "resources"));

		while (n < API_QUOTAS_MAX && json_next(&it)) {
			mk_str resource = json_str(json_get(it.val, "name"));
			struct api_amount amount = {.v = 0};

			(void)api_amount_read(a, json_get(it.val, "total"), resource, true,
					      &amount);
			list[n++] = (struct api_quota){
				.flavor = json_str(json_get(flavors.val, "name")),
				.resource = resource,
				.used = amount.v};
		}
	}
	*ret_n = n;
	return list;
}

/* A limit that is there and cannot be read is the strictest. */
static int64_t limit_of(struct arena *a, const struct json *resource, const char *key, mk_str name)
{
	const struct json *v = json_get(resource, key);
	struct api_amount amount = {.v = 0};

	if (!v || json_type(v) == JSON_NULL) {
		return -1;
	}
	(void)api_amount_read(a, v, name, false, &amount);
	return amount.v > 0 ? amount.v : 0;
}

static void add_flavor(struct arena *a, const struct json *flavor, uint32_t group,
		       struct api_quota *list, uint32_t *n)
{
	mk_str name = json_str(json_get(flavor, "name"));
	struct json_iter it = json_iter(json_get(flavor, "resources"));

	while (name.n > 0 && *n < API_QUOTAS_MAX && json_next(&it)) {
		mk_str resource = json_str(json_get(it.val, "name"));
		struct api_amount nominal = {.v = 0};

		if (resource.n == 0) {
			continue;
		}
		(void)api_amount_read(a, json_get(it.val, "nominalQuota"), resource, false,
				      &nominal);
		list[(*n)++] = (struct api_quota){
			.flavor = name,
			.resource = resource,
			.group = group,
			.format = (uint8_t)nominal.format,
			.nominal = nominal.v,
			.borrowing = limit_of(a, it.val, "borrowingLimit", resource),
			.lending = limit_of(a, it.val, "lendingLimit", resource)};
	}
}

static void fill_used(struct api_quota *list, uint32_t n, struct api_quota_list used)
{
	struct finder f;

	f.list = used;
	f.next = 0;
	f.is_sorted = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct api_quota *of = find(&f, &list[i]);

		list[i].used = of ? of->used : 0;
	}
}

struct api_quota *api_quotas(struct arena *a, const struct json *obj, uint32_t *ret_n)
{
	struct json_iter groups = json_iter(json_at(obj, "/spec/resourceGroups"));
	struct api_quota *list = arena_array(a, API_QUOTAS_MAX, sizeof(*list));
	struct api_quota_list used = {.n = 0};

	*ret_n = 0;
	used.v = read_used(a, obj, &used.n);
	if (!used.v) {
		return NULL;
	}
	for (uint32_t g = 0; list && json_next(&groups); g++) {
		struct json_iter flavors = json_iter(json_get(groups.val, "flavors"));

		while (json_next(&flavors)) {
			add_flavor(a, flavors.val, g, list, ret_n);
		}
	}
	if (list) {
		fill_used(list, *ret_n, used);
	}
	return list;
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
