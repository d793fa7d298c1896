/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request taken apart: path, query, counters; and the two things every object needs, times and
 * uids.
 */
#include "t/kubesim/store_int.h"

#include <stdio.h>

static int hex(char ch)
{
	if (ch >= '0' && ch <= '9') {
		return ch - '0';
	}
	if (ch >= 'a' && ch <= 'f') {
		return ch - 'a' + 10;
	}
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/* Percent-decodes; '+' is a blank in a query only. */
static mk_str decode(struct arena *a, mk_str s, bool query)
{
	char *p;
	size_t n = 0;

	if (str_index(s, '%') < 0 && (!query || str_index(s, '+') < 0)) {
		return s;
	}
	p = arena_alloc(a, s.n + 1);
	if (!p) {
		return s;
	}
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0) {
			p[n++] = (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2]));
			i += 2;
		} else if (query && s.p[i] == '+') {
			p[n++] = ' ';
		} else {
			p[n++] = s.p[i];
		}
	}
	return (mk_str){p, n};
}

mk_str ks_param(struct ks_ctx *c, const char *key)
{
	mk_str rest = c->query, part, name;

	while (str_split(&rest, '&', &part)) {
		mk_str value = part;

		if (str_split(&value, '=', &name) && str_is(name, key)) {
			mk_str v = decode(c->a, value, true);

			return v.p ? v : STR("");
		}
	}
	return (mk_str){NULL, 0};
}

bool ks_param_true(struct ks_ctx *c, const char *key)
{
	mk_str v = ks_param(c, key);

	return str_is(v, "true") || str_is(v, "1");
}

static mk_str segment(struct ks_ctx *c, mk_str *rest)
{
	mk_str part;

	return str_split(rest, '/', &part) ? decode(c->a, part, false) : (mk_str){NULL, 0};
}

/* rest: what follows "/api/v1/" or "/apis/<group>/<version>/". */
static bool route_resource(struct ks_ctx *c, mk_str group, mk_str version, mk_str rest)
{
	mk_str first = segment(c, &rest), second = segment(c, &rest);
	mk_str third = segment(c, &rest);
	bool of_namespace = str_is(first, "namespaces") && third.n > 0 &&
			    !str_is(third, "status") && !str_is(third, "finalize");

	if (of_namespace) {
		c->ns = second;
		c->res = ks_resource_find(c->s, group, version, third);
		c->name = segment(c, &rest);
		c->sub = segment(c, &rest);
	} else {
		c->res = ks_resource_find(c->s, group, version, first);
		c->name = second;
		c->sub = third;
	}
	if (!c->res || rest.n > 0 || (of_namespace && !c->res->namespaced)) {
		return false;
	}
	if (c->res->namespaced && c->name.n > 0 && c->ns.n == 0) {
		return false;
	}
	if (c->sub.n > 0 && !(str_is(c->sub, "status") && c->res->has_status) &&
	    !(str_is(c->sub, "finalize") && str_is(str_of(c->res->plural), "namespaces"))) {
		return false;
	}
	return c->res->served;
}

bool ks_route(struct ks_ctx *c)
{
	mk_str rest = c->path, group, version;

	if (str_starts(rest, STR("/api/v1/"))) {
		return route_resource(c, STR(""), STR("v1"), str_sub(rest, 8, rest.n));
	}
	if (!str_starts(rest, STR("/apis/"))) {
		return false;
	}
	rest = str_sub(rest, 6, rest.n);
	group = segment(c, &rest);
	version = segment(c, &rest);
	return group.n > 0 && rest.n > 0 && route_resource(c, group, version, rest);
}

/* --- counters --------------------------------------------------------------------------------- */
static const char *const verb_words[] = {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"};

static size_t verb_index(const struct ks_ctx *c)
{
	if (str_is(c->r->method, "GET")) {
		return c->watching ? 2 : c->name.n == 0;
	}
	for (size_t i = 3; i < 7; i++) {
		if (str_is(c->r->method, verb_words[i])) {
			return i;
		}
	}
	return 7;
}

void ks_count_request(struct ks_ctx *c)
{
	size_t verb = verb_index(c), slot;
	struct ks_count *k;

	if (!c->res || verb > 6) {
		return;
	}
	slot = (c->res->index * 8 + verb) * 3;
	slot += c->sub.n == 0 ? 0 : (str_is(c->sub, "status") ? 1 : 2);
	if (c->s->count_slot[slot] == 0) {
		mk_str key = arena_printf(c->a, "%s %s%s%.*s", verb_words[verb], c->res->id,
					  c->sub.n ? "/" : "", STR_ARG(c->sub));

		k = &c->s->counts[c->s->n_counts];
		k->key = mk_strndup(key);
		if (!k->key) {
			return;
		}
		c->s->count_slot[slot] = (uint16_t)++c->s->n_counts;
	}
	k = &c->s->counts[c->s->count_slot[slot] - 1];
	k->n++;
	k->refused += c->ret->status >= 400;
}

/* --- times and uids --------------------------------------------------------------------------- */
static void digits(char *at, int64_t value, size_t n)
{
	while (n > 0) {
		at[--n] = (char)('0' + value % 10);
		value /= 10;
	}
}

mk_str ks_time(struct arena *a, int64_t ms)
{
	char text[] = "0000-00-00T00:00:00Z";
	int64_t sec = ms / 1000 - (ms % 1000 < 0);
	int64_t days = sec / 86400 - (sec % 86400 < 0), rem = sec - days * 86400;
	int64_t era, doe, yoe, doy, mp, year;

	/* civil date from days since 1970-01-01, in eras of 400 years that start on 1 March */
	days += 719468;
	era = (days >= 0 ? days : days - 146096) / 146097;
	doe = days - era * 146097;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	year = yoe + era * 400 + (mp >= 10);
	digits(text, year, 4);
	digits(text + 5, mp < 10 ? mp + 3 : mp - 9, 2);
	digits(text + 8, doy - (153 * mp + 2) / 5 + 1, 2);
	digits(text + 11, rem / 3600, 2);
	digits(text + 14, rem / 60 % 60, 2);
	digits(text + 17, rem % 60, 2);
	return arena_dup(a, (mk_str){text, sizeof(text) - 1});
}

mk_str ks_uuid(struct ks_store *s, struct arena *a)
{
	uint64_t x = rng_next(&s->rng), y = rng_next(&s->rng);

	return arena_printf(a, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(x >> 32),
			    (unsigned)(x >> 16 & 0xffff), (unsigned)(x & 0xfff),
			    (unsigned)(0x8000 | (y >> 48 & 0x3fff)),
			    (unsigned long long)(y & 0xffffffffffff));
}
