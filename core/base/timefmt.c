/* SPDX-License-Identifier: Apache-2.0 */
/* Civil dates by days since 1970 (proleptic Gregorian), and Go's duration grammar. */
#include "core/base/timefmt.h"

#include <stdio.h>

enum { DAY_S = 86400 };

/* The years 0 to 9999, which have four digits. */
static const int64_t first_ms = INT64_C(-62167219200000);
static const int64_t last_ms = INT64_C(253402300799999);

struct civil {
	int64_t year;
	unsigned int month, day;
};

/*
 * Counts in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
 */
static struct civil civil_of(int64_t days)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	unsigned int doe = (unsigned int)(z - era * 146097);
	unsigned int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned int mp = (5 * doy + 2) / 153;
	struct civil c = {
		.year = (int64_t)yoe + era * 400,
		.month = mp < 10 ? mp + 3 : mp - 9,
		.day = doy - (153 * mp + 2) / 5 + 1,
	};

	c.year += c.month <= 2 ? 1 : 0;
	return c;
}

static int64_t days_of(struct civil c)
{
	int64_t y = c.year - (c.month <= 2 ? 1 : 0);
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	unsigned int yoe = (unsigned int)(y - era * 400);
	unsigned int doy = (153 * (c.month > 2 ? c.month - 3 : c.month + 9) + 2) / 5 + c.day - 1;
	unsigned int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

	return era * 146097 + (int64_t)doe - 719468;
}

static unsigned int days_in(int64_t year, unsigned int month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 && leap ? 29 : days[month - 1];
}

struct broken_down {
	struct civil date;
	unsigned int h, m, s, ms;
};

static struct broken_down break_down(int64_t wall_ms)
{
	struct broken_down t = {.ms = 0};
	int64_t s;
	int64_t days;
	unsigned int rest;

	wall_ms = wall_ms < first_ms ? first_ms : wall_ms > last_ms ? last_ms : wall_ms;
	s = wall_ms / 1000 - (wall_ms % 1000 < 0 ? 1 : 0);
	t.ms = (unsigned int)(wall_ms - s * 1000);
	days = s / DAY_S - (s % DAY_S < 0 ? 1 : 0);
	rest = (unsigned int)(s - days * DAY_S);
	t.date = civil_of(days);
	t.h = rest / 3600;
	t.m = rest / 60 % 60;
	t.s = rest % 60;
	return t;
}

/*
 * 'n' digits of 'v' and what follows them; by hand, since signal handlers, which must not call
 * printf, use it.
 */
static size_t put_digits(char *out, unsigned int v, size_t n, char after)
{
	for (size_t i = n; i-- > 0; v /= 10) {
		out[i] = (char)('0' + v % 10);
	}
	out[n] = after;
	return n + 1;
}

size_t time_write(char *out, int64_t wall_ms, bool micro)
{
	struct broken_down t = break_down(wall_ms);
	size_t n = put_digits(out, (unsigned int)t.date.year, 4, '-');

	n += put_digits(out + n, t.date.month, 2, '-');
	n += put_digits(out + n, t.date.day, 2, 'T');
	n += put_digits(out + n, t.h, 2, ':');
	n += put_digits(out + n, t.m, 2, ':');
	n += put_digits(out + n, t.s, 2, micro ? '.' : 'Z');
	if (micro) {
		n += put_digits(out + n, t.ms * 1000, 6, 'Z');
	}
	out[n] = '\0';
	return n;
}

static mk_str time_text(struct arena *a, int64_t wall_ms, bool micro)
{
	char text[TIME_TEXT_MAX];
	size_t n = time_write(text, wall_ms, micro);

	return arena_dup(a, (mk_str){text, n});
}

mk_str time_rfc3339(struct arena *a, int64_t wall_ms)
{
	return time_text(a, wall_ms, false);
}

mk_str time_rfc3339_micro(struct arena *a, int64_t wall_ms)
{
	return time_text(a, wall_ms, true);
}

/* Takes exactly n digits off the front, and then 'sep' unless it is 0. */
static bool take_digits(mk_str *s, size_t n, char sep, unsigned int *ret)
{
	size_t taken = n + (sep ? 1 : 0);

	if (s->n < taken || (sep && s->p[n] != sep)) {
		return false;
	}
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (s->p[i] < '0' || s->p[i] > '9') {
			return false;
		}
		*ret = *ret * 10 + (unsigned int)(s->p[i] - '0');
	}
	*s = (mk_str){s->p + taken, s->n - taken};
	return true;
}

/* A fraction with its point, when there is one. */
static bool take_fraction(mk_str *s, unsigned int *ret_ms)
{
	unsigned int weight = 100;
	size_t n = 1;

	*ret_ms = 0;
	if (s->n == 0 || s->p[0] != '.') {
		return true;
	}
	for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
		*ret_ms += weight * (unsigned int)(s->p[n] - '0');
		weight /= 10;
	}
	*s = str_sub(*s, n, SIZE_MAX);
	return n > 1;
}

static bool take_offset(mk_str s, int64_t *ret_s)
{
	unsigned int h;
	unsigned int m;
	bool west;

	if (s.n == 1 && s.p[0] == 'Z') {
		*ret_s = 0;
		return true;
	}
	if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-')) {
		return false;
	}
	west = s.p[0] == '-';
	s = str_sub(s, 1, SIZE_MAX);
	if (!take_digits(&s, 2, ':', &h) || !take_digits(&s, 2, 0, &m) || h > 24 || m > 59) {
		return false;
	}
	*ret_s = ((int64_t)h * 3600 + (int64_t)m * 60) * (west ? -1 : 1);
	return true;
}

bool time_parse(mk_str s, int64_t *ret_wall_ms)
{
	struct broken_down t;
	unsigned int year;
	int64_t offset;
	int64_t seconds;
	int64_t ms;

	if (!take_digits(&s, 4, '-', &year) || !take_digits(&s, 2, '-', &t.date.month) ||
	    !take_digits(&s, 2, 'T', &t.date.day) || !take_digits(&s, 2, ':', &t.h) ||
	    !take_digits(&s, 2, ':', &t.m) || !take_digits(&s, 2, 0, &t.s) ||
	    !take_fraction(&s, &t.ms) || !take_offset(s, &offset)) {
		return false;
	}
	t.date.year = (int64_t)year;
	if (t.date.month < 1 || t.date.month > 12 || t.date.day < 1 ||
	    t.date.day > days_in(t.date.year, t.date.month) || t.h > 23 || t.m > 59 || t.s > 59) {
		return false;
	}
	seconds = days_of(t.date) * DAY_S + (int64_t)t.h * 3600 + (int64_t)t.m * 60 + (int64_t)t.s;
	ms = (seconds - offset) * 1000 + (int64_t)t.ms;
	if (ms < first_ms || ms > last_ms) {
		return false;
	}
	*ret_wall_ms = ms;
	return true;
}

/* Go's quoting of durations in messages: everything but printable ASCII as \xNN. */
static const char *quoted(mk_str s, char *out, size_t size)
{
	size_t n = 0;

	out[n++] = '"';
	for (size_t i = 0; i < s.n && n + 6 < size; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\') {
			out[n++] = '\\';
			out[n++] = (char)c;
		} else if (c < ' ' || c >= 0x80) {
			n += (size_t)snprintf(out + n, size - n, "\\x%02x", (unsigned int)c);
		} else {
			out[n++] = (char)c;
		}
	}
	out[n++] = '"';
	out[n] = '\0';
	return out;
}

static bool invalid_duration(mk_str s, struct mk_err *err)
{
	char text[200];

	err_set(err, ERR_INVALID, "time: invalid duration %s", quoted(s, text, sizeof(text)));
	return false;
}

static uint64_t unit_ns(mk_str unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"\xc2\xb5s", 1000}, /* micro sign */
		{"\xce\xbcs", 1000}, /* Greek mu */
		{"ms", 1000000},
		{"s", 1000000000},
		{"m", UINT64_C(60000000000)},
		{"h", UINT64_C(3600000000000)},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (str_is(unit, units[i].name)) {
			return units[i].ns;
		}
	}
	return 0;
}

static bool is_digit(mk_str s, size_t i)
{
	return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* Takes the whole part; false when it exceeds 2^63. */
static bool take_whole(mk_str *s, uint64_t *ret)
{
	const uint64_t most = UINT64_C(1) << 63;
	uint64_t v = 0;
	size_t n = 0;

	for (; is_digit(*s, n); n++) {
		if (v > most / 10) {
			return false;
		}
		v = v * 10 + (uint64_t)(s->p[n] - '0');
		if (v > most) {
			return false;
		}
	}
	*s = str_sub(*s, n, SIZE_MAX);
	*ret = v;
	return true;
}

/* Takes the digits behind the point: value and scale; what does not fit counts for nothing. */
static void take_decimals(mk_str *s, uint64_t *ret, double *ret_scale)
{
	bool overflow = false;
	uint64_t v = 0;
	double scale = 1;
	size_t n = 0;

	for (; is_digit(*s, n); n++) {
		if (!overflow && v > (uint64_t)INT64_MAX / 10) {
			overflow = true;
		}
		if (!overflow) {
			v = v * 10 + (uint64_t)(s->p[n] - '0');
			scale *= 10;
		}
	}
	*s = str_sub(*s, n, SIZE_MAX);
	*ret = v;
	*ret_scale = scale;
}

/* Takes one number and unit off *s: "1.5h". */
static bool take_term(mk_str whole_text, mk_str *s, uint64_t *ret_ns, struct mk_err *err)
{
	const uint64_t most = UINT64_C(1) << 63;
	size_t before = s->n;
	char text[200];
	char unit_text[100];
	uint64_t v = 0;
	uint64_t f = 0;
	double scale = 1;
	size_t n = 0;
	uint64_t unit;
	bool digits;

	if (!is_digit(*s, 0) && s->p[0] != '.') {
		return invalid_duration(whole_text, err);
	}
	if (!take_whole(s, &v)) {
		return invalid_duration(whole_text, err);
	}
	digits = s->n < before;
	if (s->n > 0 && s->p[0] == '.') {
		*s = str_sub(*s, 1, SIZE_MAX);
		before = s->n;
		take_decimals(s, &f, &scale);
		digits = digits || s->n < before;
	}
	if (!digits) {
		return invalid_duration(whole_text, err);
	}
	while (n < s->n && s->p[n] != '.' && !is_digit(*s, n)) {
		n++;
	}
	if (n == 0) {
		err_set(err, ERR_INVALID, "time: missing unit in duration %s",
			quoted(whole_text, text, sizeof(text)));
		return false;
	}
	unit = unit_ns(str_sub(*s, 0, n));
	if (unit == 0) {
		err_set(err, ERR_INVALID, "time: unknown unit %s in duration %s",
			quoted(str_sub(*s, 0, n), unit_text, sizeof(unit_text)),
			quoted(whole_text, text, sizeof(text)));
		return false;
	}
	*s = str_sub(*s, n, SIZE_MAX);
	if (v > most / unit) {
		return invalid_duration(whole_text, err);
	}
	v *= unit;
	if (f > 0) {
		v += (uint64_t)((double)f * ((double)unit / scale));
	}
	if (v > most) {
		return invalid_duration(whole_text, err);
	}
	*ret_ns = v;
	return true;
}

bool duration_parse_ns(mk_str go_duration, int64_t *ret_ns, struct mk_err *err)
{
	const uint64_t most = UINT64_C(1) << 63;
	mk_str s = go_duration;
	bool minus = false;
	uint64_t sum = 0;

	if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+')) {
		minus = s.p[0] == '-';
		s = str_sub(s, 1, SIZE_MAX);
	}
	if (str_is(s, "0")) {
		*ret_ns = 0;
		return true;
	}
	if (s.n == 0) {
		return invalid_duration(go_duration, err);
	}
	while (s.n > 0) {
		uint64_t v = 0;

		if (!take_term(go_duration, &s, &v, err)) {
			return false;
		}
		sum += v;
		if (sum > most) {
			return invalid_duration(go_duration, err);
		}
	}
	if (sum == most && !minus) {
		return invalid_duration(go_duration, err);
	}
	*ret_ns = minus ? (int64_t)(0 - sum) : (int64_t)sum;
	return true;
}

bool duration_parse(mk_str go_duration, int64_t *ret_ms, struct mk_err *err)
{
	int64_t ns;

	if (!duration_parse_ns(go_duration, &ns, err)) {
		return false;
	}
	*ret_ms = ns / 1000000;
	if (*ret_ms == 0 && ns != 0) {
		*ret_ms = ns > 0 ? 1 : -1;
	}
	return true;
}

/* "<whole>[.<fraction without trailing zeros>]<unit>"; 'digits' digits of v are fraction. */
static mk_str with_fraction(struct arena *a, const char *prefix, uint64_t v, int digits,
			    const char *unit)
{
	uint64_t scale = 1;
	uint64_t fraction;

	for (int i = 0; i < digits; i++) {
		scale *= 10;
	}
	fraction = v % scale;
	if (fraction == 0) {
		return arena_printf(a, "%s%llu%s", prefix, (unsigned long long)(v / scale), unit);
	}
	while (fraction % 10 == 0) {
		fraction /= 10;
		digits--;
	}
	return arena_printf(a, "%s%llu.%0*llu%s", prefix, (unsigned long long)(v / scale), digits,
			    (unsigned long long)fraction, unit);
}

mk_str duration_text_ns(struct arena *a, int64_t ns)
{
	uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	const char *sign = ns < 0 ? "-" : "";
	const uint64_t second = 1000000000;
	uint64_t minutes = u / second / 60;
	char prefix[64];

	if (u == 0) {
		return arena_dup(a, STR("0s"));
	}
	if (u < 1000) {
		return with_fraction(a, sign, u, 0, "ns");
	}
	if (u < 1000000) {
		return with_fraction(a, sign, u, 3, "\xc2\xb5s");
	}
	if (u < second) {
		return with_fraction(a, sign, u, 6, "ms");
	}
	if (minutes >= 60) {
		snprintf(prefix, sizeof(prefix), "%s%lluh%llum", sign,
			 (unsigned long long)(minutes / 60), (unsigned long long)(minutes % 60));
	} else if (minutes > 0) {
		snprintf(prefix, sizeof(prefix), "%s%llum", sign, (unsigned long long)minutes);
	} else {
		snprintf(prefix, sizeof(prefix), "%s", sign);
	}
	return with_fraction(a, prefix, u % (60 * second), 9, "s");
}

mk_str duration_text(struct arena *a, int64_t ms)
{
	int64_t ns;

	if (__builtin_mul_overflow(ms, 1000000, &ns)) {
		ns = ms < 0 ? INT64_MIN : INT64_MAX;
	}
	return duration_text_ns(a, ns);
}
