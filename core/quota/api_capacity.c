/* SPDX-License-Identifier: Apache-2.0 */
/* capacityFrom: whose quota adds up to the total of a tree; see struct api_capacity. */
#include "core/api/selector.h"
#include "core/base/timefmt.h"
#include "core/quota/api_read.h"

enum { DROP_MS = 5 * 60 * 1000, ONE = 1000, MOST = 1000 * ONE, SHOWN = 63 };

/* --- reading ---------------------------------------------------------------------------------- */

static mk_str below(struct api_reader *r, mk_str path, const char *field)
{
	return api_path(r, "%.*s.%s", STR_ARG(path), field);
}

static int64_t read_duration(struct api_reader *r, const struct json *workers, const char *field,
			     const struct api_capacity *c, int64_t otherwise)
{
	const struct json *v = api_get(workers, field);
	mk_str at = below(r, c->path, field);
	struct api_text text = api_read_text(r, v, at);
	struct mk_err err;
	int64_t ms;

	if (!text.set) {
		return otherwise;
	}
	if (!duration_parse(text.v, &ms, &err)) {
		api_fault_add(r->a, &r->object->faults, 0, at,
			      "Invalid value: \"%.*s\": must be a duration such as \"5m\"",
			      STR_ARG(str_cut(text.v, SHOWN)));
		return otherwise;
	}
	if (ms < 0) {
		api_fault_add(r->a, &r->object->faults, 0, at,
			      "Invalid value: \"%.*s\": must be at least 0",
			      STR_ARG(str_cut(text.v, SHOWN)));
		return otherwise;
	}
	return ms;
}

/* A decimal number as text; three digits of its fraction count. */
static int64_t read_multiplier(struct api_reader *r, const struct json *workers,
			       const struct api_capacity *c)
{
	mk_str at = below(r, c->path, "multiplier");
	struct api_text text = api_read_text(r, api_get(workers, "multiplier"), at);
	struct api_amount amount = {.v = -1};

	if (!text.set) {
		return ONE;
	}
	/* "cpu" has thousandths. */
	if (!api_amount_parse(r->a, text.v, STR("cpu"), false, &amount) || amount.v < 0 ||
	    amount.v > MOST) {
		api_fault_add(r->a, &r->object->faults, 0, at,
			      "Invalid value: \"%.*s\": must be a number from 0 to 1000",
			      STR_ARG(str_cut(text.v, SHOWN)));
		return ONE;
	}
	return amount.v;
}

static void read_flavor_map(struct api_reader *r, const struct json *workers,
			    struct api_capacity *c)
{
	const struct json *map = api_get(workers, "flavorMap");
	mk_str at = below(r, c->path, "flavorMap");
	struct json_iter it = json_iter(json_type(map) == JSON_OBJ ? map : NULL);

	if (!api_check_type(r, map, JSON_OBJ, at)) {
		return;
	}
	c->flavor_map = map;
	while (json_next(&it) && !arena_failed(r->a)) {
		(void)api_read_text(r, it.val,
				    api_path(r, "%.*s[%.*s]", STR_ARG(at), STR_ARG(it.key)));
	}
}

enum verb { VERB_IN, VERB_NOT_IN, VERB_EXISTS, VERB_ABSENT, VERB_BAD = -1 };

static const struct api_word verbs[] = {
	{"DoesNotExist", VERB_ABSENT},
	{"Exists", VERB_EXISTS},
	{"In", VERB_IN},
	{"NotIn", VERB_NOT_IN},
	{NULL, 0},
};

static void read_expression(struct api_reader *r, const struct json *v, mk_str at)
{
	const struct json *values = api_get(v, "values");
	struct json_iter it = json_iter(json_type(values) == JSON_ARR ? values : NULL);
	enum verb verb;

	if (!api_check_type(r, v, JSON_OBJ, at) ||
	    !api_check_type(r, values, JSON_ARR, below(r, at, "values"))) {
		return;
	}
	if (!api_read_text(r, api_get(v, "key"), below(r, at, "key")).set) {
		api_fault_add(r->a, &r->object->faults, 0, below(r, at, "key"), "Required value");
	}
	verb = (enum verb)api_read_word(r, api_get(v, "operator"), below(r, at, "operator"), verbs,
					VERB_BAD);
	if (!api_get(v, "operator")) {
		api_fault_add(r->a, &r->object->faults, 0, below(r, at, "operator"),
			      "Required value");
	}
	if ((verb == VERB_IN || verb == VERB_NOT_IN) && json_len(values) == 0) {
		api_fault_add(r->a, &r->object->faults, 0, below(r, at, "values"),
			      "Required value: at least one");
	}
	for (size_t i = 0; json_next(&it); i++) {
		(void)api_read_text(r, it.val, api_path(r, "%.*s.values[%zu]", STR_ARG(at), i));
	}
}

static void read_selector(struct api_reader *r, const struct json *workers, struct api_capacity *c)
{
	const struct json *v = api_get(workers, "selector");
	const struct json *labels = api_get(v, "matchLabels");
	const struct json *list = api_get(v, "matchExpressions");
	mk_str at = below(r, c->path, "selector");
	struct json_iter it;

	if (!v || !api_check_type(r, v, JSON_OBJ, at)) {
		return;
	}
	c->selector = v;
	if (api_check_type(r, labels, JSON_OBJ, below(r, at, "matchLabels"))) {
		it = json_iter(labels);
		while (json_next(&it) && !arena_failed(r->a)) {
			(void)api_read_text(r, it.val,
					    api_path(r, "%.*s.matchLabels[%.*s]", STR_ARG(at),
						     STR_ARG(it.key)));
		}
	}
	if (api_check_type(r, list, JSON_ARR, below(r, at, "matchExpressions"))) {
		it = json_iter(list);
		for (size_t i = 0; json_next(&it) && !arena_failed(r->a); i++) {
			read_expression(r, it.val,
					api_path(r, "%.*s.matchExpressions[%zu]", STR_ARG(at), i));
		}
	}
}

void api_read_capacity(struct api_reader *r, const struct json *v, mk_str path,
		       struct api_capacity *out)
{
	const struct json *workers = api_get(v, "workers");

	out->path = below(r, path, "workers");
	if (!v || !api_check_type(r, v, JSON_OBJ, path) || !out->path.p) {
		return;
	}
	out->set = true;
	if (!workers) {
		api_fault_add(r->a, &r->object->faults, 0, out->path, "Required value");
	}
	if (!workers || !api_check_type(r, workers, JSON_OBJ, out->path)) {
		return;
	}
	out->config = api_read_text(r, api_get(workers, "multiKueueConfig"),
				    below(r, out->path, "multiKueueConfig"));
	read_selector(r, workers, out);
	if (!api_get(workers, "multiKueueConfig") && !api_get(workers, "selector")) {
		api_fault_add(r->a, &r->object->faults, 0, out->path,
			      "Required value: multiKueueConfig or selector");
	} else if (out->config.set && out->selector != NULL) {
		api_fault_add(r->a, &r->object->faults, 0, below(r, out->path, "selector"),
			      "Forbidden: use either multiKueueConfig or selector, not both");
	}
	read_flavor_map(r, workers, out);
	out->multiplier = read_multiplier(r, workers, out);
	out->drop_ms = read_duration(r, workers, "dropAfter", out, DROP_MS);
	out->raise_ms = read_duration(r, workers, "raiseAfter", out, 0);
	out->lost_ms = read_duration(r, workers, "lostAfter", out, -1);
}

void api_read_capacity_note(struct api_reader *r, struct api_capacity *out)
{
	const struct json *v = api_annotation(r->object->json, "capacity-from");
	mk_str path = STR("metadata.annotations[" API_ANNOTATION "capacity-from]");
	struct json *says = NULL;
	enum mk_code code;

	if (!v) {
		return;
	}
	code = json_parse(r->a, json_str(v), &says, NULL);
	if (code == ERR_NO_MEMORY) {
		r->a->failed = true;
	} else if (code != ERR_OK || json_type(says) != JSON_OBJ) {
		api_fault_add(r->a, &r->object->faults, 0, path,
			      "Invalid value: \"%.*s\": must be what capacityFrom of a "
			      "ClusterQuotaTree is, in JSON",
			      STR_ARG(str_cut(json_str(v), 253)));
	} else {
		api_read_capacity(r, says, path, out);
		api_capacity_words(r, says, path);
	}
}

/* --- use -------------------------------------------------------------------------------------- */

mk_str api_capacity_flavor(const struct api_capacity *c, mk_str flavor)
{
	mk_str mapped = json_str(json_getn(c->flavor_map, flavor));

	return mapped.n > 0 ? mapped : flavor;
}

static bool meets(const struct json *one, const mk_str *labels, size_t n)
{
	mk_str verb = json_str(json_get(one, "operator"));
	struct json_iter it = json_iter(json_get(one, "values"));
	mk_str value = STR("");
	bool there = api_label_find(labels, n, json_str(json_get(one, "key")), &value);
	bool among = false;

	while (json_next(&it)) {
		among = among || (there && str_eq(json_str(it.val), value));
	}
	return str_is(verb, "In")       ? among
	       : str_is(verb, "NotIn")  ? !among
	       : str_is(verb, "Exists") ? there
					: str_is(verb, "DoesNotExist") && !there;
}

bool api_capacity_selects(const struct json *selector, const mk_str *labels, size_t n)
{
	struct json_iter it = json_iter(api_get(selector, "matchLabels"));
	mk_str value;

	while (json_next(&it)) {
		if (!api_label_find(labels, n, it.key, &value) ||
		    !str_eq(json_str(it.val), value)) {
			return false;
		}
	}
	it = json_iter(api_get(selector, "matchExpressions"));
	while (json_next(&it)) {
		if (!meets(it.val, labels, n)) {
			return false;
		}
	}
	return json_type(selector) == JSON_OBJ;
}

/* --- totals in objects ------------------------------------------------------------------------ */

static const struct api_total *total_of(const struct api_total *v, size_t n, mk_str flavor,
					mk_str resource)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].flavor, flavor) && str_eq(v[i].resource, resource)) {
			return &v[i];
		}
	}
	return NULL;
}

static void put_group(struct arena *a, struct json *group, const struct api_total *v, size_t n)
{
	struct json_iter flavors = json_iter(json_get(group, "flavors"));

	while (json_next(&flavors)) {
		mk_str flavor = json_str(json_get(flavors.val, "name"));
		struct json_iter each = json_iter(json_get(flavors.val, "resources"));

		while (json_next(&each)) {
			mk_str resource = json_str(json_get(each.val, "name"));
			const struct api_total *t = total_of(v, n, flavor, resource);

			if (t) {
				json_set_str(a, each.val, "nominalQuota",
					     api_amount_text(a, t->amount, resource));
			}
		}
	}
}

void api_totals_put(struct arena *a, struct json *spec, const struct api_total *v, size_t n)
{
	struct json_iter it = json_iter(json_get(spec, "resourceGroups"));

	put_group(a, json_get(spec, "resourceGroup"), v, n);
	while (json_next(&it)) {
		put_group(a, it.val, v, n);
	}
}

bool api_totals_restore(struct arena *a, struct json *tree)
{
	const struct json *total = json_at(tree, "/status/total");
	struct json_iter flavors = json_iter(total);
	struct api_total *v;
	size_t n = 0;

	if (!json_at(tree, "/spec/capacityFrom") || !total) {
		return true;
	}
	while (json_next(&flavors)) {
		n += json_len(json_get(flavors.val, "resources"));
	}
	v = arena_array(a, n + 1, sizeof(*v));
	n = 0;
	flavors = json_iter(total);
	while (v && json_next(&flavors)) {
		struct json_iter each = json_iter(json_get(flavors.val, "resources"));

		while (json_next(&each)) {
			struct api_total t = {json_str(json_get(flavors.val, "name")),
					      json_str(json_get(each.val, "name")),
					      {.v = 0}};

			if (api_amount_read(a, json_get(each.val, "total"), t.resource, false,
					    &t.amount)) {
				v[n++] = t;
			}
		}
	}
	if (v) {
		api_totals_put(a, json_get(tree, "spec"), v, n);
	}
	return !arena_failed(a);
}
