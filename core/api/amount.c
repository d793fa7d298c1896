/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities as whole numbers and back. base/canon.c understands the spelling. */
#include "core/api/amount.h"

#include "core/base/canon.h"

__extension__ typedef unsigned __int128 wide;

enum { MILLI_DIGITS = 3 };

static bool is_cpu(mk_str resource)
{
	return str_is(resource, "cpu");
}

int64_t api_add(int64_t x, int64_t y)
{
	int64_t sum;

	if (__builtin_add_overflow(x, y, &sum)) {
		return x > 0 ? INT64_MAX : INT64_MIN;
	}
	return sum;
}

/* digits * 10^ten as int64, rounded away from zero when 'away', else towards it. */
static int64_t scale(wide digits, int ten, bool away)
{
	const wide most = (wide)INT64_MAX;
	bool lost = false;

	for (; ten < 0 && digits > 0; ten++) {
		lost = lost || digits % 10 != 0;
		digits /= 10;
	}
	if (lost && away) {
		digits++;
	}
	for (; ten > 0 && digits > 0 && digits <= most; ten--) {
		digits *= 10;
	}
	return digits > most ? INT64_MAX : (int64_t)digits;
}

static enum api_format format_of(mk_str s)
{
	if (str_ends(s, STR("i"))) {
		return API_BINARY;
	}
	for (size_t i = 0; i + 1 < s.n; i++) {
		if (s.p[i] == 'e' || s.p[i] == 'E') {
			return API_EXPONENT;
		}
	}
	return API_DECIMAL;
}

bool api_amount_parse(struct arena *a, mk_str s, mk_str resource, bool up, struct api_amount *ret)
{
	mk_str canon = canon_quantity(a, s);
	bool minus = str_starts(canon, STR("-"));
	mk_str digits, exponent;
	wide v = 0;
	int64_t ten = 0;
	bool small;

	if (canon.n == 0) {
		return false;
	}
	exponent = str_sub(canon, minus ? 1 : 0, SIZE_MAX);
	if (!str_split(&exponent, 'e', &digits)) {
		return false;
	}
	for (size_t i = 0; i < digits.n; i++) {
		v = v * 10 + (unsigned int)(digits.p[i] - '0');
	}
	small = str_starts(exponent, STR("-"));
	if (!str_i64(str_sub(exponent, small ? 1 : 0, SIZE_MAX), &ten)) {
		return false;
	}
	ten = (small ? -ten : ten) + (is_cpu(resource) ? MILLI_DIGITS : 0);
	/* Away from zero: up for what is positive, down for what is negative. */
	ret->v = scale(v, (int)ten, up != minus);
	ret->v = minus ? -ret->v : ret->v;
	ret->format = format_of(s);
	return true;
}

bool api_amount_read(struct arena *a, const struct json *v, mk_str resource, bool up,
		     struct api_amount *ret)
{
	enum json_type type = json_type(v);

	if (type == JSON_STR) {
		return api_amount_parse(a, json_str(v), resource, up, ret);
	}
	if (type != JSON_INT && type != JSON_REAL) {
		return false;
	}
	return api_amount_parse(a, json_write(a, v), resource, up, ret);
}

/* 'v' * 10^ten with a suffix for each third power. */
static mk_str decimal_text(struct arena *a, int64_t v, int ten, bool exponent)
{
	static const char *const suffixes[] = {"m", "", "k", "M", "G", "T", "P", "E"};
	int third = ten / 3;

	while (v % 1000 == 0 && v != 0 && third < 6) {
		v /= 1000;
		third++;
	}
	if (v == 0) {
		third = 0;
	}
	if (exponent && third != 0) {
		return arena_printf(a, "%llde%d", (long long)v, third * 3);
	}
	return arena_printf(a, "%lld%s", (long long)v, suffixes[third + 1]);
}

static mk_str binary_text(struct arena *a, int64_t v)
{
	static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	size_t i = 0;

	while (v % 1024 == 0 && v != 0 && i < 6) {
		v /= 1024;
		i++;
	}
	return arena_printf(a, "%lld%s", (long long)v, suffixes[i]);
}

mk_str api_amount_text(struct arena *a, struct api_amount q, mk_str resource)
{
	int64_t v = q.v;

	if (is_cpu(resource) && (v % 1000 != 0 || q.format != API_BINARY)) {
		return decimal_text(a, v, -MILLI_DIGITS, q.format == API_EXPONENT);
	}
	v = is_cpu(resource) ? v / 1000 : v;
	if (q.format == API_BINARY && (v >= 1024 || v <= -1024)) {
		return binary_text(a, v);
	}
	return decimal_text(a, v, 0, q.format == API_EXPONENT);
}

mk_str api_amount_shown(struct arena *a, int64_t v, mk_str resource)
{
	bool binary = str_is(resource, "memory") || str_ends(resource, STR("storage")) ||
		      str_starts(resource, STR("hugepages-"));

	if (v == INT64_MAX) {
		return STR("unlimited");
	}
	if (!binary && !is_cpu(resource)) {
		return arena_printf(a, "%lld", (long long)v);
	}
	if (is_cpu(resource)) {
		return v % 1000 == 0 ? arena_printf(a, "%lld", (long long)(v / 1000))
				     : arena_printf(a, "%lldm", (long long)v);
	}
	return api_amount_text(a, (struct api_amount){v, API_BINARY}, resource);
}
