/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterQueues; see queue.h. */
#include "core/api/queue.h"

#include <string.h>

#include "core/api/amount.h"
#include "core/base/map.h"

enum {
	FEW = 16,       /* quotas that are looked through */
	PAIR_MAX = 640, /* bytes of two names */
};

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

/* The quotas of a list by pair, when they are many. */
struct pairs {
	struct api_quota *list;
	uint32_t n;
	struct map map; /* "flavor/resource" */
	char key[PAIR_MAX];
};

static mk_str key_of(struct pairs *p, mk_str flavor, mk_str resource)
{
	if (flavor.n + resource.n + 1 > PAIR_MAX) {
		return STR("");
	}
	memcpy(p->key, str_chars(flavor), flavor.n);
	p->key[flavor.n] = '/';
	memcpy(p->key + flavor.n + 1, str_chars(resource), resource.n);
	return (mk_str){p->key, flavor.n + 1 + resource.n};
}

static bool make_map(struct pairs *p)
{
	map_init(&p->map);
	for (uint32_t i = 0; p->n > FEW && i < p->n; i++) {
		mk_str key = key_of(p, p->list[i].flavor, p->list[i].resource);

		if (key.n > 0 && !map_get(&p->map, key) && !map_put(&p->map, key, &p->list[i])) {
			return false;
		}
	}
	return true;
}

/* The first of that pair; NULL: none. */
static struct api_quota *find(struct pairs *p, mk_str flavor, mk_str resource)
{
	if (p->n > FEW) {
		return map_get(&p->map, key_of(p, flavor, resource));
	}
	for (uint32_t i = 0; i < p->n; i++) {
		if (str_eq(p->list[i].flavor, flavor) && str_eq(p->list[i].resource, resource)) {
			return &p->list[i];
		}
	}
	return NULL;
}

/*
 * The reservation in the status; statuses of older Kueue only have the usage. However long it is,
 * and whatever it names, it is read once. False: out of memory.
 */
static bool read_used(struct arena *a, const struct json *obj, struct api_quota *list, uint32_t n)
{
	const struct json *flavors = json_at(obj, "/status/flavorsReservation");
	struct pairs p = {.list = list, .n = n};
	bool good = make_map(&p);
	struct json_iter it;

	flavors = json_len(flavors) > 0 ? flavors : json_at(obj, "/status/flavorsUsage");
	it = json_iter(flavors);
	while (good && n > 0 && json_next(&it)) {
		struct json_iter each = json_iter(json_get(it.val, "resources"));
		mk_str flavor = json_str(json_get(it.val, "name"));

		while (json_next(&each)) {
			mk_str resource = json_str(json_get(each.val, "name"));
			struct api_quota *q = find(&p, flavor, resource);
			struct api_amount amount = {.v = 0};

			if (q) {
				(void)api_amount_read(a, json_get(each.val, "total"), resource,
						      true, &amount);
				q->used = amount.v;
			}
		}
	}
	map_done(&p.map);
	return good;
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
	return list && read_used(a, obj, list, *ret_n) ? list : NULL;
}
