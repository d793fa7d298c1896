/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQueues; see queue.h. */
#include "core/api/queue.h"

#include "core/api/amount.h"
#include "core/api/queue_find.h"

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

/* --- what is used ----------------------------------------------------------------------------- */

/*
 * The reservation in the status; statuses of older Kueue only have the usage. However long it is,
 * and whatever it names, it is read once.
 */
static void read_used(struct arena *a, const struct json *obj, struct api_quota *list, uint32_t n)
{
	const struct json *flavors = json_at(obj, "/status/flavorsReservation");
	struct api_quota_finder f;
	struct json_iter it;

	api_quota_finder_init(&f, (struct api_quota_list){.v = list, .n = n});
	flavors = json_len(flavors) > 0 ? flavors : json_at(obj, "/status/flavorsUsage");
	it = json_iter(flavors);
	while (n > 0 && json_next(&it)) {
		struct json_iter each = json_iter(json_get(it.val, "resources"));
		mk_str flavor = json_str(json_get(it.val, "name"));

		while (json_next(&each)) {
			mk_str resource = json_str(json_get(each.val, "name"));
			const struct api_quota *q = api_quota_find(&f, flavor, resource);
			struct api_amount amount = {.v = 0};

			if (q) {
				(void)api_amount_read(a, json_get(each.val, "total"), resource,
						      true, &amount);
				list[q - list].used = amount.v;
			}
		}
	}
}

/* --- all -------------------------------------------------------------------------------------- */

bool api_is_orchestrated(const struct json *obj)
{
	return json_type(json_at(obj, "/status/effectiveQuotas")) == JSON_OBJ;
}

struct api_quota *api_quotas(struct arena *a, const struct json *obj, uint32_t *ret_n)
{
	struct json_iter groups = json_iter(
		json_at(obj, api_is_orchestrated(obj) ? "/status/effectiveQuotas/resourceGroups"
						      : "/spec/resourceGroups"));
	struct api_quota *list = arena_array(a, API_QUOTAS_MAX, sizeof(*list));

	*ret_n = 0;
	for (uint32_t g = 0; list && json_next(&groups); g++) {
		struct json_iter flavors = json_iter(json_get(groups.val, "flavors"));

		while (json_next(&flavors)) {
			add_flavor(a, flavors.val, g, list, ret_n);
		}
	}
	if (list) {
		read_used(a, obj, list, *ret_n);
	}
	return list;
}

/* --- what there was before -------------------------------------------------------------------- */

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
	struct api_quota_finder f;

	api_quota_finder_init(&f, old);
	for (size_t i = 0; i < now.n; i++) {
		const struct api_quota *q = &now.v[i];
		const struct api_quota *before = api_quota_find(&f, q->flavor, q->resource);

		if (amount(q) > (before ? amount(before) : 0)) {
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
