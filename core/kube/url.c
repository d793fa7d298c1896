/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and queries: RFC 3986 escaping of everything but unreserved characters. */
#include "core/kube/url.h"

#include <inttypes.h>
#include <string.h>

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static void add_escaped(struct buf *b, mk_str s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		char out[3] = {'%', hex[c >> 4], hex[c & 15]};

		if (is_unreserved(c)) {
			buf_add(b, (mk_str){s.p + i, 1});
		} else {
			buf_add(b, (mk_str){out, sizeof(out)});
		}
	}
}

static void add_segment(struct buf *b, mk_str s)
{
	buf_add(b, STR("/"));
	/* "." and ".." are path segments that proxies resolve: no object has such a name. */
	if (str_is(s, ".") || str_is(s, "..")) {
		b->failed = true;
	}
	add_escaped(b, s);
}

void url_group(struct buf *b, const struct kind *k)
{
	if (k->group.n == 0) {
		buf_add(b, STR("/api"));
	} else {
		buf_add(b, STR("/apis"));
		add_segment(b, k->group);
	}
	add_segment(b, k->version);
}

void url_path(struct buf *b, const struct url_target *t)
{
	url_group(b, t->kind);
	if (t->ns.n > 0) {
		buf_add(b, STR("/namespaces"));
		add_segment(b, t->ns);
	}
	add_segment(b, t->plural.n > 0 ? t->plural : t->kind->plural);
	if (t->name.n > 0) {
		add_segment(b, t->name);
		if (t->subresource != NULL && t->subresource[0] != '\0') {
			add_segment(b, str_of(t->subresource));
		}
	}
}

void url_query(struct buf *b, const char *key, mk_str value)
{
	bool first = str_index(buf_str(b), '?') < 0;

	buf_printf(b, "%c%s=", first ? '?' : '&', key);
	add_escaped(b, value);
}

void url_query_u64(struct buf *b, const char *key, uint64_t value)
{
	bool first = str_index(buf_str(b), '?') < 0;

	buf_printf(b, "%c%s=%" PRIu64, first ? '?' : '&', key, value);
}

bool url_is_name(mk_str s)
{
	return s.n > 0 && !str_is(s, ".") && !str_is(s, "..") && !memchr(s.p, '/', s.n) &&
	       !memchr(s.p, '%', s.n);
}

bool url_rv(mk_str s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!str_u64(s, &v) || v == 0) {
		return false;
	}
	*ret = v;
	return true;
}
