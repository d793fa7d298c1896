/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of multiKueue.walls. A wall that is not as its author meant it would let through what
 * it should keep, so nothing is guessed: an empty value is no list, and an unknown word is an
 * error.
 */
#include "core/api/names.h"
#include "core/config/config_impl.h"

static const char *const reference_kinds[] = {
	NAME_REF_CONFIG_MAP,
	NAME_REF_HOST_NAMESPACE,
	NAME_REF_HOST_PATH,
	NAME_REF_VOLUME_CLAIM,
	NAME_REF_RESOURCE_CLAIM,
	NAME_REF_SECRET,
	NULL,
};

static void invalid(struct config_run *r, mk_str pointer, mk_str value, const char *why)
{
	config_error(r, pointer, "%.*s: Invalid value: %s: %s",
		     STR_ARG(config_path(r->a, r->doc, pointer)), config_quote(r->a, value), why);
}

static void required(struct config_run *r, mk_str pointer, const char *key, const char *why)
{
	config_error(r, pointer, "%.*s.%s: Required value: %s",
		     STR_ARG(config_path(r->a, r->doc, pointer)), key, why);
}

static void check_entry(struct config_run *r, mk_str pointer, const char *list, mk_str entry)
{
	struct config_gvk gvk;
	ptrdiff_t star = str_index(entry, '*');

	if (entry.n == 0) {
		invalid(r, pointer, entry, "must not be empty");
	} else if (strcmp(list, "references") == 0) {
		config_check_word(r, pointer, reference_kinds);
	} else if (star >= 0 && (size_t)star + 1 < entry.n) {
		invalid(r, pointer, entry, "'*' may stand at the end only");
	} else if (strcmp(list, "kinds") == 0 && star < 0 && !config_parse_gvk(r->a, entry, &gvk)) {
		invalid(r, pointer, entry,
			"must be \"Kind.version.group\", as in \"Job.v1.batch\" and \"Pod.v1.\"");
	}
}

static void check_rule(struct config_run *r, mk_str pointer, const struct json *rule)
{
	static const char *const lists[] = {"namespaces", "kinds", "serviceAccounts",
					    "priorityClasses", "references"};

	if (json_type(rule) != JSON_OBJ) {
		invalid(r, pointer, STR(""), "must be an object; {} allows everything");
		return;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct json *list = json_get(rule, lists[i]);
		struct json_iter it = json_iter(list);
		mk_str at = json_pointer_child(r->a, pointer, str_of(lists[i]));

		if (list && json_type(list) != JSON_ARR) {
			invalid(r, at, STR(""),
				"must be a list: [] allows none, and without the key any is "
				"allowed");
		}
		for (size_t k = 0; json_next(&it); k++) {
			check_entry(r, config_index(r->a, at, k), lists[i], json_str(it.val));
		}
	}
}

static void check_name(struct config_run *r, const struct json *walls, size_t i, mk_str pointer)
{
	mk_str name = json_str(json_get(json_elem(walls, i), "config"));
	mk_str at = json_pointer_child(r->a, pointer, STR("config"));
	const char *why = str_is(name, "*") ? NULL : config_subdomain_error(r->a, name);

	if (name.n == 0) {
		required(r, pointer, "config",
			 "the name of a MultiKueueConfig, or \"*\" for those without a wall of "
			 "their own");
		return;
	}
	if (why) {
		invalid(r, at, name, why);
	}
	for (size_t k = 0; k < i; k++) {
		if (str_eq(name, json_str(json_get(json_elem(walls, k), "config")))) {
			config_error(r, at, "%.*s: Duplicate value: %s",
				     STR_ARG(config_path(r->a, r->doc, at)),
				     config_quote(r->a, name));
			return;
		}
	}
}

/*
 * Without a name the daemon would write as itself what was meant for a lesser account, so an empty
 * 'impersonate' is an error.
 */
static void check_impersonate(struct config_run *r, mk_str pointer, const struct json *v)
{
	mk_str at = json_pointer_child(r->a, pointer, STR("impersonate"));
	mk_str name = json_str(json_get(v, "serviceAccount"));
	const char *why;

	if (!v) {
		return;
	}
	if (name.n == 0) {
		required(r, at, "serviceAccount",
			 "the name of a ServiceAccount in each namespace of workers");
		return;
	}
	why = config_subdomain_error(r->a, name);
	if (why) {
		invalid(r, json_pointer_child(r->a, at, STR("serviceAccount")), name, why);
	}
}

void config_validate_walls(struct config_run *r, const struct json *walls)
{
	struct json_iter it = json_iter(walls);

	for (size_t i = 0; json_next(&it); i++) {
		mk_str pointer = config_index(r->a, STR("/multiKueue/walls"), i);
		const struct json *allow = json_get(it.val, "allow");
		mk_str at = json_pointer_child(r->a, pointer, STR("allow"));
		struct json_iter rules = json_iter(allow);

		check_name(r, walls, i, pointer);
		check_impersonate(r, pointer, json_get(it.val, "impersonate"));
		if (json_type(allow) != JSON_ARR) {
			required(r, pointer, "allow", "a list of rules; [] lets nothing leave");
		}
		for (size_t k = 0; json_next(&rules); k++) {
			check_rule(r, config_index(r->a, at, k), rules.val);
		}
	}
}
