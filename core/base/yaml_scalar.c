/* SPDX-License-Identifier: Apache-2.0 */
/* Plain scalars by the rules of YAML 1.1 as Go's yaml v2 has them. */
#include "core/base/yaml_impl.h"

#include "core/base/yaml.h"

static bool is_one_of(mk_str s, const char *const *words)
{
	for (; *words != NULL; words++) {
		if (str_is(s, *words)) {
			return true;
		}
	}
	return false;
}

bool yaml_is_infinite(mk_str text)
{
	static const char *const words[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",
					    ".INF",  "+.inf", "+.Inf", "+.INF", "-.inf",
					    "-.Inf", "-.INF", NULL};

	return is_one_of(text, words);
}

static bool digit_of(char c, unsigned int base, unsigned int *ret)
{
	unsigned int d;

	if (c >= '0' && c <= '9') {
		d = (unsigned int)(c - '0');
	} else if (c >= 'a' && c <= 'f') {
		d = (unsigned int)(c - 'a') + 10;
	} else if (c >= 'A' && c <= 'F') {
		d = (unsigned int)(c - 'A') + 10;
	} else {
		return false;
	}
	*ret = d;
	return d < base;
}

/*
 * An integer with an optional prefix of its base: 0x, 0o, 0b, or 0 for octal. 64 bits, signed or
 * not.
 */
static bool parse_int(mk_str s, bool *ret_minus, uint64_t *ret)
{
	unsigned int base = 10;
	uint64_t v = 0;
	bool minus = s.n > 0 && s.p[0] == '-';

	if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+')) {
		s = str_sub(s, 1, SIZE_MAX);
	}
	if (s.n > 1 && s.p[0] == '0') {
		char c = (char)(s.p[1] | 0x20);

		base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
		s = str_sub(s, c == 'x' || c == 'b' || c == 'o' ? 2 : 1, SIZE_MAX);
	}
	if (s.n == 0) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		unsigned int d;

		if (!digit_of(s.p[i], base, &d) || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v)) {
			return false;
		}
	}
	if (minus && v > (uint64_t)INT64_MAX + 1) {
		return false;
	}
	*ret_minus = minus;
	*ret = v;
	return true;
}

static size_t skip_digits(mk_str s, size_t i)
{
	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
		i++;
	}
	return i;
}

/*
 * A decimal number in YAML's looser grammar (".5", "1.", "+2", "007.5") as JSON spells it; the
 * empty view when 's' is none or memory is out.
 */
static mk_str json_spelling(struct arena *a, mk_str s)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	size_t from = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;
	size_t whole_end = skip_digits(s, from);
	size_t frac = whole_end;
	size_t frac_end = whole_end;
	size_t end;
	mk_str whole;
	mk_str fraction;

	if (frac < s.n && s.p[frac] == '.') {
		frac++;
		frac_end = skip_digits(s, frac);
	}
	end = frac_end;
	if (whole_end == from && frac_end == frac) {
		return (mk_str){NULL, 0};
	}
	if (end < s.n && (s.p[end] | 0x20) == 'e') {
		size_t digits = end + 1;

		digits += digits < s.n && (s.p[digits] == '-' || s.p[digits] == '+') ? 1 : 0;
		end = skip_digits(s, digits);
		if (end == digits) {
			return (mk_str){NULL, 0};
		}
	}
	if (end != s.n) {
		return (mk_str){NULL, 0};
	}
	while (whole_end - from > 1 && s.p[from] == '0') {
		from++;
	}
	whole = whole_end > from ? str_sub(s, from, whole_end - from) : STR("0");
	fraction = str_sub(s, frac, frac_end - frac);
	return arena_printf(a, "%s%.*s%s%.*s%.*s", minus ? "-" : "", STR_ARG(whole),
			    fraction.n ? "." : "", STR_ARG(fraction), (int)(s.n - frac_end),
			    s.p + frac_end);
}

/* 's' without underscores, which YAML 1.1 allows between digits. */
static mk_str without_underscores(struct arena *a, mk_str s)
{
	char *p;
	size_t n = 0;

	if (str_index(s, '_') < 0) {
		return s;
	}
	p = arena_alloc(a, s.n);
	for (size_t i = 0; p != NULL && i < s.n; i++) {
		if (s.p[i] != '_') {
			p[n++] = s.p[i];
		}
	}
	return (mk_str){p, n};
}

static struct json *number(struct arena *a, mk_str text)
{
	mk_str plain = text.p[0] == '.' ? text : without_underscores(a, text);
	bool minus;
	uint64_t v;

	if (plain.n == 0) {
		return NULL;
	}
	if (parse_int(plain, &minus, &v)) {
		mk_str s = arena_printf(a, "%s%llu", minus && v ? "-" : "", (unsigned long long)v);

		return s.p ? json_new_num(a, s) : NULL;
	}
	plain = json_spelling(a, plain);
	return plain.p ? json_new_num(a, plain) : NULL;
}

struct json *yaml_scalar(struct arena *a, mk_str text, bool plain)
{
	static const char *const yes[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
					  "True", "TRUE", "on",  "On",  "ON",  NULL};
	static const char *const no[] = {"n",     "N",     "no",  "No",  "NO",  "false",
					 "False", "FALSE", "off", "Off", "OFF", NULL};
	static const char *const null[] = {"", "~", "null", "Null", "NULL", NULL};
	struct json *v;
	char c;

	if (!plain) {
		return json_new_str(a, text);
	}
	if (is_one_of(text, null)) {
		return json_new_null(a);
	}
	if (is_one_of(text, yes)) {
		return json_new_bool(a, true);
	}
	if (is_one_of(text, no)) {
		return json_new_bool(a, false);
	}
	c = text.p[0];
	if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.') {
		v = number(a, text);
		if (v != NULL) {
			return v;
		}
	}
	return arena_failed(a) ? NULL : json_new_str(a, text);
}
