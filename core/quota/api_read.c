/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of single values; see api_read.h. */
#include "core/quota/api_read.h"

#include <stdarg.h>

enum { WEIGHT_MAX = 1000000000, SHOWN_MAX = 253 };

const struct api_word api_policies[] = {
	{"capacity", API_CAPACITY},
	{"fair", API_FAIR},
	{"fifo", API_FIFO},
	{NULL, 0},
};

const struct api_word api_fences[] = {
	{"DisableCrossQuotaPreemption", API_FENCE_CLOSED},
	{"EnableCrossQuotaPreemption", API_FENCE_OPEN},
	{NULL, 0},
};

mk_str api_path(struct api_reader *r, const char *fmt, ...)
{
	va_list ap;
	mk_str path;

	va_start(ap, fmt);
	path = arena_vprintf(r->a, fmt, ap);
	va_end(ap);
	return path;
}

struct json *api_annotation(const struct json *obj, const char *name)
{
	struct json *all = json_get(json_get(obj, "metadata"), "annotations");
	struct json_iter it = json_iter(json_type(all) == JSON_OBJ ? all : NULL);
	mk_str prefix = STR(API_ANNOTATION);

	while (json_next(&it)) {
		if (str_starts(it.key, prefix) &&
		    str_is(str_sub(it.key, prefix.n, SIZE_MAX), name)) {
			return json_type(it.val) == JSON_STR ? it.val : NULL;
		}
	}
	return NULL;
}

bool api_is_true(const struct json *obj, const char *name)
{
	return str_is(json_str(api_annotation(obj, name)), "true");
}

const struct json *api_condition_get(const struct json *status, const char *type)
{
	struct json_iter it = json_iter(api_get(status, "conditions"));

	while (json_next(&it)) {
		if (str_is(json_str(api_get(it.val, "type")), type)) {
			return it.val;
		}
	}
	return NULL;
}

bool api_condition(const struct json *status, const char *type)
{
	return str_is(json_str(api_get(api_condition_get(status, type), "status")), "True");
}

const char *api_policies_name(enum api_policy policy)
{
	return policy == API_FIFO ? "fifo" : policy == API_FAIR ? "fair" : "capacity";
}

struct api_source api_source(struct api_reader *r, const char *field, const char *name)
{
	const struct json *spec = json_get(r->object->json, "spec");
	const struct json *v = api_get(spec, field);

	if (v != NULL) {
		return (struct api_source){v, api_path(r, "spec.%s", field), false};
	}
	v = api_annotation(r->object->json, name);
	if (v != NULL) {
		return (struct api_source){
			v, api_path(r, "metadata.annotations[" API_ANNOTATION "%s]", name), true};
	}
	return (struct api_source){NULL, api_path(r, "spec.%s", field), false};
}

static void fault(struct api_reader *r, mk_str path, const struct json *v, const char *what)
{
	mk_str shown = json_type(v) == JSON_STR ? json_str(v) : json_write(r->a, v);

	shown = str_cut(shown, SHOWN_MAX);
	api_fault_add(r->a, &r->object->faults, 0, path, "Invalid value: \"%.*s\": %s",
		      STR_ARG(shown), what);
}

static bool is_unset(const struct json *v)
{
	return json_type(v) == JSON_ABSENT || json_type(v) == JSON_NULL;
}

bool api_check_type(struct api_reader *r, const struct json *v, enum json_type type, mk_str path)
{
	static const char *const words[] = {
		[JSON_ABSENT] = "must be absent",  [JSON_NULL] = "must be null",
		[JSON_BOOL] = "must be a boolean", [JSON_INT] = "must be an integer",
		[JSON_REAL] = "must be a number",  [JSON_STR] = "must be a string",
		[JSON_ARR] = "must be a list",     [JSON_OBJ] = "must be an object",
	};

	if (is_unset(v) || json_type(v) == type) {
		return true;
	}
	fault(r, path, v, words[type]);
	return false;
}

struct api_text api_read_text(struct api_reader *r, const struct json *v, mk_str path)
{
	struct api_text t = {.path = path};

	if (api_check_type(r, v, JSON_STR, path)) {
		t.v = json_str(v);
		t.set = t.v.n > 0;
	}
	return t;
}

static bool spelled_int(mk_str s, int64_t *ret)
{
	bool minus = str_starts(s, STR("-"));

	if (!str_i64(str_sub(s, minus ? 1 : 0, SIZE_MAX), ret)) {
		return false;
	}
	*ret = minus ? -*ret : *ret;
	return true;
}

struct api_int api_read_int(struct api_reader *r, const struct json *v, mk_str path, bool spelled)
{
	struct api_int out = {.path = path};
	int64_t i = 0;

	if (is_unset(v)) {
		return out;
	}
	if (spelled ? !spelled_int(json_str(v), &i) : json_type(v) != JSON_INT) {
		out.bad = true;
	} else if (!spelled) {
		i = json_int(v, INT64_MAX);
	}
	if (out.bad || i > INT32_MAX || i < INT32_MIN) {
		out.bad = true;
		fault(r, path, v, "must be an integer");
		return out;
	}
	out.set = true;
	out.v = i;
	return out;
}

int api_read_word(struct api_reader *r, const struct json *v, mk_str path,
		  const struct api_word *words, int otherwise)
{
	mk_str list = {NULL, 0};
	mk_str found = json_type(v) == JSON_STR ? json_str(v) : json_write(r->a, v);

	if (is_unset(v)) {
		return otherwise;
	}
	for (const struct api_word *w = words; w->word != NULL; w++) {
		if (json_type(v) == JSON_STR && str_is(found, w->word)) {
			return w->value;
		}
		list = arena_printf(r->a, "%.*s%s\"%s\"", STR_ARG(list), list.n ? ", " : "",
				    w->word);
	}
	found = str_cut(found, SHOWN_MAX);
	api_fault_add(r->a, &r->object->faults, 0, path,
		      "Unsupported value: \"%.*s\": supported values: %.*s", STR_ARG(found),
		      STR_ARG(list));
	return otherwise;
}

int64_t api_read_weight(struct api_reader *r, const struct json *spec, const char *base)
{
	const struct json *v = json_get(json_get(spec, "fairSharing"), "weight");
	struct api_amount w = {.v = 1000};
	mk_str path;

	if (is_unset(v)) {
		return 1000;
	}
	path = api_path(r, "%s.fairSharing.weight", base);
	/* Weights are in thousandths, as cpu is. */
	if (!api_amount_read(r->a, v, STR("cpu"), true, &w)) {
		fault(r, path, v, "must be a quantity");
		return 1000;
	}
	if (w.v < 0) {
		fault(r, path, v, "must be at least 0");
		return 1000;
	}
	return w.v > WEIGHT_MAX ? WEIGHT_MAX : w.v;
}

void api_map_free(void *map)
{
	map_done(map);
}

/* --- lists of quotas -------------------------------------------------------------------------- */

mk_str api_pair(struct arena *a, mk_str flavor, mk_str resource)
{
	return arena_printf(a, "%.*s/%.*s", STR_ARG(flavor), STR_ARG(resource));
}

const struct api_quota *api_quotas_get(const struct api_quotas *list, mk_str key)
{
	return map_get(&list->index, key);
}

/*
 * The name of an element; without one it is not looked at further. A slash would make two pairs
 * look the same.
 */
static bool read_name(struct api_reader *r, const struct json *v, mk_str path, bool flavor,
		      mk_str *ret)
{
	const struct json *name = api_get(v, "name");
	mk_str at = api_path(r, "%.*s.name", STR_ARG(path));

	if (json_type(v) != JSON_OBJ) {
		api_check_type(r, v, JSON_OBJ, path);
		return false;
	}
	if (!api_check_type(r, name, JSON_STR, at)) {
		return false;
	}
	*ret = json_str(name);
	if (ret->n == 0) {
		api_fault_add(r->a, &r->object->faults, 0, at, "Required value");
		return false;
	}
	if (ret->n > SHOWN_MAX || (flavor && str_index(*ret, '/') >= 0)) {
		fault(r, at, name, flavor ? "must be a DNS subdomain" : "must be a name");
		return false;
	}
	return true;
}

static bool read_amount(struct api_reader *r, const struct json *v, struct api_quota *q,
			const char *field, struct api_amount *ret)
{
	const struct json *amount = json_get(v, field);

	if (is_unset(amount)) {
		return false;
	}
	if (!api_amount_read(r->a, amount, q->resource, false, ret)) {
		if (!arena_failed(r->a)) {
			fault(r, api_path(r, "%.*s.%s", STR_ARG(q->path), field), amount,
			      "must be a quantity");
		}
		q->bad = true;
		return false;
	}
	return true;
}

static void read_resource(struct api_reader *r, const struct json *v, struct api_quota *q,
			  struct api_quotas *out)
{
	mk_str key;

	if (!read_name(r, v, q->path, false, &q->resource)) {
		return;
	}
	if (!read_amount(r, v, q, "nominalQuota", &q->nominal) && !q->bad) {
		api_fault_add(r->a, &r->object->faults, 0,
			      api_path(r, "%.*s.nominalQuota", STR_ARG(q->path)), "Required value");
		q->bad = true;
	}
	q->has_lending = read_amount(r, v, q, "lendingLimit", &q->lending);
	q->has_borrowing = read_amount(r, v, q, "borrowingLimit", &q->borrowing);
	key = api_pair(r->a, q->flavor, q->resource);
	if (!key.p) {
		return;
	}
	if (map_get(&out->index, key) != NULL) {
		api_fault_add(r->a, &r->object->faults, 0,
			      api_path(r, "%.*s.name", STR_ARG(q->path)),
			      "Duplicate value: \"%.*s\"", STR_ARG(q->resource));
		return;
	}
	out->v[out->n] = *q;
	if (!map_put(&out->index, key, &out->v[out->n])) {
		r->a->failed = true;
		return;
	}
	out->n++;
}

/* Room for 'more' elements; those that are there move, so that the index is made anew. */
static bool make_room(struct api_reader *r, struct api_quotas *out, size_t more)
{
	struct api_quota *v = arena_array(r->a, out->n + more, sizeof(*v));

	if (!v) {
		return false;
	}
	for (size_t i = 0; i < out->n; i++) {
		mk_str key = api_pair(r->a, out->v[i].flavor, out->v[i].resource);

		v[i] = out->v[i];
		if (!key.p || !map_put(&out->index, key, &v[i])) {
			r->a->failed = true;
			return false;
		}
	}
	out->v = v;
	return true;
}

static void read_list(struct api_reader *r, const struct json *list, mk_str path, size_t group,
		      struct api_quotas *out)
{
	struct json_iter flavor = json_iter(list);
	size_t total = 0;

	out->path = path.p != NULL && !out->path.p ? path : out->path;
	if (is_unset(list) || !api_check_type(r, list, JSON_ARR, path)) {
		return;
	}
	if (!out->set && !arena_on_done(r->a, api_map_free, &out->index)) {
		return;
	}
	out->set = true;
	while (json_next(&flavor)) {
		total += json_len(api_get(flavor.val, "resources"));
	}
	if (!make_room(r, out, total)) {
		return;
	}
	flavor = json_iter(list);
	for (size_t i = 0; json_next(&flavor) && !arena_failed(r->a); i++) {
		mk_str at = api_path(r, "%.*s[%zu]", STR_ARG(path), i);
		const struct json *resources = api_get(flavor.val, "resources");
		struct json_iter it = json_iter(resources);
		mk_str name;

		if (!read_name(r, flavor.val, at, true, &name) ||
		    !api_check_type(r, resources, JSON_ARR,
				    api_path(r, "%.*s.resources", STR_ARG(at)))) {
			continue;
		}
		for (size_t j = 0; json_next(&it) && !arena_failed(r->a); j++) {
			struct api_quota q = {.flavor = name, .group = group, .i = i, .j = j};

			q.path = api_path(r, "%.*s.resources[%zu]", STR_ARG(at), j);
			read_resource(r, it.val, &q, out);
		}
	}
}

void api_read_quotas(struct api_reader *r, const struct json *list, mk_str path, size_t group,
		     struct api_quotas *out)
{
	size_t before = r->object->faults.n;

	read_list(r, list, path, group, out);
	out->faulty = out->faulty || r->object->faults.n > before;
}

void api_read_groups(struct api_reader *r, const struct json *groups, mk_str path,
		     struct api_quotas *out)
{
	struct json_iter it = json_iter(groups);

	out->path = path;
	if (is_unset(groups) || !api_check_type(r, groups, JSON_ARR, path)) {
		return;
	}
	for (size_t g = 0; json_next(&it) && !arena_failed(r->a); g++) {
		api_read_quotas(r, api_get(it.val, "flavors"),
				api_path(r, "%.*s[%zu].flavors", STR_ARG(path), g), g, out);
	}
}
