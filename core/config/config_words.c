/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' rules for names and labels, with its messages; versions of Kueue. */
#include "core/config/config_impl.h"

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9] */
static bool is_label_text(mk_str s)
{
	if (s.n == 0 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1])) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.') {
			return false;
		}
	}
	return true;
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? */
static bool is_dns_label(mk_str s)
{
	if (s.n == 0 || !is_lower_alnum(s.p[0]) || !is_lower_alnum(s.p[s.n - 1])) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (!is_lower_alnum(s.p[i]) && s.p[i] != '-') {
			return false;
		}
	}
	return true;
}

static bool is_subdomain(mk_str s)
{
	mk_str part;

	if (s.n == 0 || s.p[s.n - 1] == '.') {
		return false;
	}
	while (str_split(&s, '.', &part)) {
		if (!is_dns_label(part)) {
			return false;
		}
	}
	return true;
}

/* "must be no more than N bytes" and 'rule', as far as they apply. */
static const char *join(struct arena *a, bool too_long, int max, const char *rule)
{
	mk_str s;

	if (!too_long) {
		return rule;
	}
	s = arena_printf(a, "must be no more than %d bytes%s%s", max, rule ? "," : "",
			 rule ? rule : "");
	return s.p ? s.p : "too long";
}

const char *config_label_value_error(struct arena *a, mk_str s)
{
	const char *rule = "a valid label must be an empty string or consist of alphanumeric "
			   "characters, '-', '_' "
			   "or '.', and must start and end with an alphanumeric character (e.g. "
			   "'MyValue',  or "
			   "'my_value',  or '12345', regex used for validation is "
			   "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

	return join(a, s.n > 63, 63, s.n == 0 || is_label_text(s) ? NULL : rule);
}

const char *config_dns1035_error(struct arena *a, mk_str s)
{
	const char *rule = "a DNS-1035 label must consist of lower case alphanumeric characters or "
			   "'-', start with "
			   "an alphabetic character, and end with an alphanumeric character (e.g. "
			   "'my-name',  or "
			   "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

	return join(a, s.n > 63, 63,
		    is_dns_label(s) && !(s.p[0] >= '0' && s.p[0] <= '9') ? NULL : rule);
}

const char *config_subdomain_error(struct arena *a, mk_str s)
{
	const char *rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
			   "characters, '-' "
			   "or '.', and must start and end with an alphanumeric character (e.g. "
			   "'example.com', "
			   "regex used for validation is "
			   "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

	return join(a, s.n > 253, 253, is_subdomain(s) ? NULL : rule);
}

const char *config_label_key_error(struct arena *a, mk_str s)
{
	const char *rule = "name part must consist of alphanumeric characters, '-', '_' or '.', "
			   "and must start and "
			   "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
			   "'123-abc', regex "
			   "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
	ptrdiff_t slash = str_index(s, '/');
	mk_str name = str_sub(s, slash < 0 ? 0 : (size_t)slash + 1, SIZE_MAX);
	mk_str prefix = str_sub(s, 0, slash < 0 ? 0 : (size_t)slash);

	if (slash >= 0 && prefix.n == 0) {
		return "prefix part must be non-empty";
	}
	if (slash >= 0 && (!is_subdomain(prefix) || prefix.n > 253)) {
		mk_str text = arena_printf(a, "prefix part %s", config_subdomain_error(a, prefix));

		return text.p ? text.p : "bad prefix";
	}
	if (name.n == 0) {
		return "name part must be non-empty";
	}
	if (name.n > 63) {
		return "name part must be no more than 63 bytes";
	}
	return is_label_text(name) ? NULL : rule;
}

void config_check_word(struct config_run *r, mk_str pointer, const char *const *words)
{
	mk_str word = json_str(json_at(r->doc, pointer.p)), all = STR("");

	for (size_t i = 0; words[i] != NULL; i++) {
		if (str_is(word, words[i])) {
			return;
		}
		all = arena_printf(r->a, "%.*s%s\"%s\"", STR_ARG(all), i > 0 ? ", " : "", words[i]);
	}
	if (word.n > 0) {
		config_error(r, pointer, "%.*s: Unsupported value: %s: supported values: %.*s",
			     STR_ARG(config_path(r->a, r->doc, pointer)), config_quote(r->a, word),
			     STR_ARG(all));
	}
}

bool config_is_domain_path(mk_str s)
{
	ptrdiff_t slash = str_index(s, '/');
	mk_str path;

	if (slash < 1 || s.n > 63 || (size_t)slash + 1 == s.n ||
	    !is_subdomain(str_sub(s, 0, (size_t)slash))) {
		return false;
	}
	/* What may stand in a URL's path. */
	path = str_sub(s, (size_t)slash + 1, SIZE_MAX);
	for (size_t i = 0; i < path.n; i++) {
		if (!is_alnum(path.p[i]) && !strchr("/-._~%!$&'()*+,;=:", path.p[i])) {
			return false;
		}
	}
	return str_index(path, '\0') < 0;
}

int config_kueue_minor(mk_str version)
{
	mk_str part[3] = {{NULL, 0}};
	uint64_t number[3] = {0};
	size_t n = 0;

	if (str_starts(version, STR("v"))) {
		version = str_sub(version, 1, SIZE_MAX);
	}
	while (n < 3 && str_split(&version, '.', &part[n])) {
		if (!str_u64(part[n], &number[n])) {
			return 0;
		}
		n++;
	}
	return n >= 2 && version.n == 0 && number[0] == 0 && number[1] >= CONFIG_KUEUE_OLDEST &&
			       number[1] <= CONFIG_KUEUE_NEWEST
		       ? (int)number[1]
		       : 0;
}
