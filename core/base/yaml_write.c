/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values to YAML block text. Strings go without quotes only when no YAML reader can take them for anything else;
 * all others are written as JSON strings, which are YAML too.
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

static void put_string(struct writer *w, mk_str s)
{
	if (is_plain(w->a, s)) {
		buf_add(&w->out, s);
	} else {
		buf_add(&w->out, json_write(w->a, json_new_str(w->a, s)));
	}
}

static void indent(struct writer *w, int depth)
{
	for (int i = 0; i < depth; i++) {
		buf_add(&w->out, STR("  "));
	}
}

static bool is_block(const struct json *v)
{
	return (json_type(v) == JSON_OBJ || json_type(v) == JSON_ARR) && json_len(v) > 0;
}

static void put_scalar(struct writer *w, const struct json *v)
{
	if (json_type(v) == JSON_STR) {
		put_string(w, json_str(v));
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
		put_string(w, it.key);
		if (!is_block(it.val)) {
			buf_add(&w->out, STR(": "));
			put_scalar(w, it.val);
			continue;
		}
		buf_add(&w->out, STR(":\n"));
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
