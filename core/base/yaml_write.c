/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values to YAML block text. A string has no quotes only if every YAML reader takes it for a
 * string; all others are written as JSON strings, which are YAML too.
 */
#include "core/base/yaml.h"

#include "core/base/yaml_impl.h"

enum { TEXT_MAX = 64 * 1024 * 1024 };

struct writer {
	struct arena *a;
	struct buf out;
};

/* Letters, digits and a few signs that mean nothing to YAML inside a word. */
static bool is_plain(struct arena *a, mk_str s)
{
	char c = s.n > 0 ? s.p[0] : '\0';

	if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	      c == '/')) {
		return false;
	}
	for (size_t i = 0; i < s.n; i++) {
		c = s.p[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || c == '.' || c == '/')) {
			return false;
		}
	}
	if (s.n > 4 && s.p[4] == '-') {
		return false; /* might be a date */
	}
	return json_type(yaml_scalar(a, s, true)) == JSON_STR;
}

/*
 * The code point at s[i] if JSON strings may have it unescaped but YAML readers refuse it or take
 * it for the end of a line; its size in *ret_n, 0 if it needs no escape.
 */
static unsigned must_escape(mk_str s, size_t i, size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)s.p + i;
	unsigned c = 0;

	*ret_n = 0;
	if (p[0] == 0x7f) {
		*ret_n = 1;
		return 0x7f;
	}
	if (p[0] == 0xc2 && s.n - i > 1 && p[1] < 0xa0) {
		*ret_n = 2;
		return p[1];
	}
	if ((p[0] == 0xe2 || p[0] == 0xef) && s.n - i > 2) {
		c = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	}
	if (c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff) {
		*ret_n = 3;
	}
	return c;
}

static mk_str quoted(const struct writer *w, mk_str s)
{
	mk_str json = json_write(w->a, json_new_str(w->a, s));
	struct buf out;
	size_t done = 0;

	buf_init(&out, TEXT_MAX);
	for (size_t i = 0; i < json.n; i++) {
		size_t n;
		unsigned c = must_escape(json, i, &n);

		if (n > 0) {
			buf_add(&out, str_sub(json, done, i - done));
			buf_printf(&out, "\\u%04x", c);
			done = i + n;
			i = done - 1;
		}
	}
	if (done > 0) {
		buf_add(&out, str_sub(json, done, json.n - done));
		w->a->failed = w->a->failed || out.failed;
		json = arena_dup(w->a, buf_str(&out));
	}
	buf_done(&out);
	return json;
}

static mk_str string_text(const struct writer *w, mk_str s)
{
	return is_plain(w->a, s) ? s : quoted(w, s);
}

static void indent(struct writer *w, int depth)
{
	for (int i = 0; i < depth; i++) {
		buf_add(&w->out, STR("  "));
	}
}

/*
 * A key with its colon. Readers look 1,024 characters far for the colon of a key that is not marked
 * as one.
 */
static void put_key(struct writer *w, mk_str key, int depth)
{
	enum { UNMARKED_MAX = 1000 };
	mk_str text = string_text(w, key);

	if (text.n > UNMARKED_MAX) {
		buf_add(&w->out, STR("? "));
	}
	buf_add(&w->out, text);
	if (text.n > UNMARKED_MAX) {
		buf_add(&w->out, STR("\n"));
		indent(w, depth);
	}
	buf_add(&w->out, STR(":"));
}

static bool is_block(const struct json *v)
{
	return (json_type(v) == JSON_OBJ || json_type(v) == JSON_ARR) && json_len(v) > 0;
}

static void put_scalar(struct writer *w, const struct json *v)
{
	if (json_type(v) == JSON_STR) {
		buf_add(&w->out, string_text(w, json_str(v)));
	} else {
		buf_add(&w->out, json_write(w->a, v));
	}
	buf_add(&w->out, STR("\n"));
}

/* Writes a container from the current position on; its first line is already indented. */
static void put_block(struct writer *w, const struct json *v, int depth)
{
	struct json_iter it = json_iter(v);
	bool first = true;

	if (depth > JSON_MAX_DEPTH) {
		w->out.failed = true;
	}
	while (!w->out.failed && json_next(&it)) {
		if (!first) {
			indent(w, depth);
		}
		first = false;
		if (json_type(v) == JSON_ARR) {
			buf_add(&w->out, STR("- "));
			if (is_block(it.val)) {
				put_block(w, it.val, depth + 1);
			} else {
				put_scalar(w, it.val);
			}
			continue;
		}
		put_key(w, it.key, depth);
		if (!is_block(it.val)) {
			buf_add(&w->out, STR(" "));
			put_scalar(w, it.val);
			continue;
		}
		buf_add(&w->out, STR("\n"));
		/* The dash of a list stands below its key. */
		indent(w, json_type(it.val) == JSON_ARR ? depth : depth + 1);
		put_block(w, it.val, json_type(it.val) == JSON_ARR ? depth : depth + 1);
	}
}

mk_str yaml_write(struct arena *a, const struct json *v)
{
	struct writer w = {.a = a};
	mk_str text = {NULL, 0};

	buf_init(&w.out, TEXT_MAX);
	if (is_block(v)) {
		put_block(&w, v, 0);
	} else if (v != NULL) {
		put_scalar(&w, v);
	}
	if (w.out.failed || arena_failed(a)) {
		a->failed = true;
	} else {
		text = arena_dup(a, buf_str(&w.out));
	}
	buf_done(&w.out);
	return text;
}
