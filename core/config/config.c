/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a configuration: the stages one after the other, and how findings are put into words. */
#include "core/config/config.h"

#include <stdarg.h>
#include <stdlib.h>

#include "core/config/config_impl.h"

enum { PROBLEMS_MAX = 200 }; /* kept in the list; more are counted only */

mk_str config_index(struct arena *a, mk_str pointer, size_t i)
{
	return arena_printf(a, "%.*s/%zu", STR_ARG(pointer), i);
}

/* Appends one token of a pointer to a path. */
static void put_token(struct buf *b, mk_str token, bool is_index)
{
	if (is_index) {
		buf_printf(b, "[%.*s]", STR_ARG(token));
		return;
	}
	if (b->n > 0) {
		buf_add(b, STR("."));
	}
	for (size_t i = 0; i < token.n; i++) {
		if (token.p[i] == '~' && i + 1 < token.n) {
			buf_add(b, token.p[++i] == '0' ? STR("~") : STR("/"));
		} else {
			buf_add(b, str_sub(token, i, 1));
		}
	}
}

mk_str config_path(struct arena *a, const struct json *doc, mk_str pointer)
{
	mk_str rest = pointer.n > 0 ? str_sub(pointer, 1, SIZE_MAX) : pointer;
	size_t done = 0;
	mk_str token;
	struct buf b;
	mk_str s;

	buf_init(&b, YAML_MAX_SIZE * 4);
	buf_add(&b, STR(""));
	while (str_split(&rest, '/', &token)) {
		/* A number is an index only below a list. */
		mk_str parent = arena_dup(a, str_sub(pointer, 0, done));

		put_token(&b, token,
			  parent.p != NULL && json_type(json_at(doc, parent.p)) == JSON_ARR);
		done += token.n + 1;
	}
	a->failed = a->failed || b.failed;
	s = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return s;
}

const char *config_quote(struct arena *a, mk_str s)
{
	struct buf b;
	mk_str out;

	buf_init(&b, YAML_MAX_SIZE * 8);
	buf_add(&b, STR("\""));
	while (s.n > 0) {
		size_t n = str_utf8(s);
		unsigned char c = (unsigned char)s.p[0];
		const char *special = "\aa\bb\ff\nn\rr\tt\vv\"\"\\\\";
		const char *found = NULL;

		for (const char *p = special; *p != '\0'; p += 2) {
			found = (char)c == *p ? p + 1 : found;
		}
		if (found != NULL) {
			buf_printf(&b, "\\%c", *found);
		} else if (n == 0 || c < ' ' || c == 0x7f) {
			buf_printf(&b, "\\x%02x", (unsigned int)c);
		} else {
			buf_add(&b, str_sub(s, 0, n));
		}
		s = str_sub(s, n ? n : 1, SIZE_MAX);
	}
	buf_add(&b, STR("\""));
	a->failed = a->failed || b.failed;
	out = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return out.p ? out.p : "\"\"";
}

static int cmp_members(const void *x, const void *y)
{
	const struct config_member *a = x;
	const struct config_member *b = y;

	return str_cmp(a->key, b->key);
}

const struct config_member *config_members(struct arena *a, const struct json *v)
{
	struct config_member *m = arena_array(a, json_len(v), sizeof(*m));
	struct json_iter it = json_iter(v);
	size_t n = 0;

	while (m != NULL && json_next(&it)) {
		m[n++] = (struct config_member){it.key, it.val};
	}
	if (m != NULL && n > 0) {
		qsort(m, n, sizeof(*m), cmp_members);
	}
	return m;
}

const char *config_sorted(struct arena *a, const struct json *v)
{
	const struct config_member *m = config_members(a, v);
	struct json *out = json_new_obj(a);
	mk_str text;

	for (size_t i = 0; m != NULL && i < json_len(v); i++) {
		json_set(a, out, m[i].key, json_dup(a, m[i].val));
	}
	text = json_write(a, out);
	return text.p ? text.p : "{}";
}

static void add_problem(struct config_run *r, mk_str pointer, bool warning, mk_str text)
{
	struct config_problems *all = r->problems;
	size_t n = warning ? all->n_warnings++ : all->n_errors++;
	struct config_problem *p;

	if (n >= PROBLEMS_MAX || !text.p) {
		return;
	}
	p = arena_alloc(r->a, sizeof(*p));
	if (!p) {
		return;
	}
	*p = (struct config_problem){
		.pointer = arena_dup(r->a, pointer),
		.path = config_path(r->a, r->doc, pointer),
		.line = yaml_line(&r->lines, pointer),
		.text = text,
		.hint = STR(""),
		.warning = warning,
	};
	*all->end = p;
	all->end = &p->next;
}

void config_error(struct config_run *r, mk_str pointer, const char *fmt, ...)
{
	va_list ap;
	mk_str text;

	va_start(ap, fmt);
	text = arena_vprintf(r->a, fmt, ap);
	va_end(ap);
	add_problem(r, pointer, false, text);
}

void config_warning(struct config_run *r, mk_str pointer, const char *fmt, ...)
{
	va_list ap;
	mk_str text;

	va_start(ap, fmt);
	text = arena_vprintf(r->a, fmt, ap);
	va_end(ap);
	add_problem(r, pointer, true, text);
}

void config_hint(struct config_run *r, const char *fmt, ...)
{
	struct config_problem *last = r->problems->first;
	va_list ap;
	mk_str text;

	va_start(ap, fmt);
	text = arena_vprintf(r->a, fmt, ap);
	va_end(ap);
	while (last != NULL && last->next != NULL) {
		last = last->next;
	}
	if (last != NULL && text.p != NULL) {
		last->hint = text;
	}
}

/*
 * The one message of a stage. Decoding: the first wrong type alone, or all unknown fields behind
 * one prefix; later stages: one error plain, several in brackets.
 */
static enum mk_code give_up(struct config_run *r, const char *prefix, bool aggregate,
			    struct mk_err *err)
{
	bool many = aggregate && r->problems->n_errors > 1;
	struct buf b;

	if (arena_failed(r->a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	buf_init(&b, (size_t)1 << 20);
	buf_add(&b, str_of(prefix));
	buf_add(&b, many ? STR("[") : STR(""));
	for (const struct config_problem *p = r->problems->first; p != NULL; p = p->next) {
		if (p->warning) {
			continue;
		}
		buf_add(&b, b.n > strlen(prefix) + (many ? 1 : 0) ? STR(", ") : STR(""));
		buf_add(&b, p->text);
		if (!aggregate) {
			break;
		}
	}
	buf_add(&b, many ? STR("]") : STR(""));
	err_set(err, ERR_INVALID, "%s", b.p ? b.p : "invalid");
	buf_done(&b);
	return ERR_INVALID;
}

/* apiVersion and kind: absent ones are filled in, as Kueue does. */
static void check_header(struct config_run *r)
{
	const struct json *version = json_get(r->doc, "apiVersion");
	const struct json *kind = json_get(r->doc, "kind");
	mk_str v = json_str(version);
	mk_str k = json_str(kind);
	bool is_v1beta2 = v.n == 0 || str_is(v, "config.kueue.x-k8s.io/v1beta2");

	r->v1beta1 = str_is(v, "config.kueue.x-k8s.io/v1beta1");
	/* Wrong types are the schema's business. */
	if ((json_type(version) != JSON_ABSENT && json_type(version) != JSON_STR) ||
	    (json_type(kind) != JSON_ABSENT && json_type(kind) != JSON_STR)) {
		return;
	}
	if ((!is_v1beta2 && !r->v1beta1) || (k.n > 0 && !str_is(k, "Configuration"))) {
		bool bad_version = !is_v1beta2 && !r->v1beta1;

		config_error(r, bad_version ? STR("/apiVersion") : STR("/kind"),
			     "no kind %s is registered for version %s in scheme \"multikueued\"",
			     config_quote(r->a, k.n ? k : STR("Configuration")),
			     config_quote(r->a, v.n ? v : STR("config.kueue.x-k8s.io/v1beta2")));
		config_hint(
			r,
			"expected kind Configuration of config.kueue.x-k8s.io/v1beta2 or v1beta1");
	}
}

static enum mk_code read_text(struct config_run *r, struct mk_err *err)
{
	struct mk_err why = {.code = ERR_OK};
	struct json *doc = NULL;
	enum mk_code code = yaml_parse(r->a, r->in->text, NULL, &doc, &r->lines, &why);
	mk_str number;
	uint64_t line = 0;
	mk_str rest;

	r->doc = doc;
	if (code == ERR_OK) {
		return ERR_OK;
	}
	if (code != ERR_INVALID) {
		return err_set(err, code, "%s", why.msg);
	}
	/* The reader's messages begin with the line: "yaml: line N: " or "line N: ". */
	rest = str_of(why.msg);
	if (str_starts(rest, STR("yaml: "))) {
		rest = str_sub(rest, 6, SIZE_MAX);
		config_error(r, STR(""), "%s", why.msg);
	} else {
		config_error(r, STR(""), "strict decoding error: yaml: unmarshal errors:\n  %s",
			     why.msg);
	}
	if (str_starts(rest, STR("line "))) {
		rest = str_sub(rest, 5, SIZE_MAX);
		if (str_split(&rest, ':', &number) && str_u64(number, &line) &&
		    r->problems->first != NULL) {
			r->problems->first->line = (int)line;
		}
	}
	return give_up(r, "", false, err);
}

/* Bytes to a document of known shape. */
static enum mk_code decode(struct config_run *r, struct mk_err *err)
{
	enum mk_code code = read_text(r, err);
	const struct config_problem *first;
	const char *prefix = "";

	if (code != ERR_OK) {
		return code;
	}
	if (json_type(r->doc) == JSON_OBJ) {
		check_header(r);
	}
	if (r->problems->n_errors > 0) {
		return give_up(r, "", false, err);
	}
	config_check_shape(r);
	if (r->problems->n_errors == 0) {
		return ERR_OK;
	}
	first = r->problems->first;
	while (first && first->warning) {
		first = first->next;
	}
	if (first && str_starts(first->text, STR("unknown field"))) {
		struct buf b;

		/* Unknown fields are reported together, without brackets. */
		buf_init(&b, (size_t)1 << 20);
		for (const struct config_problem *p = first; p != NULL; p = p->next) {
			if (!p->warning) {
				buf_printf(&b, "%s%s",
					   b.n ? ", " : "strict decoding error: ", p->text.p);
			}
		}
		err_set(err, ERR_INVALID, "%s", b.p ? b.p : "");
		buf_done(&b);
		return ERR_INVALID;
	}
	return give_up(r, prefix, false, err);
}

enum mk_code config_load(struct arena *a, const struct config_input *in, struct config *ret,
			 struct config_problems *problems, struct mk_err *err)
{
	struct config_run r = {.a = a, .in = in, .problems = problems};
	struct config c = {.v1beta1 = false};
	enum mk_code code;

	*problems = (struct config_problems){.first = NULL};
	problems->end = &problems->first;
	code = decode(&r, err);
	if (code != ERR_OK) {
		return code;
	}
	config_fill(&r, &c);
	config_check_gates(&r, &c);
	if (problems->n_errors > 0) {
		return give_up(&r, "", true, err);
	}
	config_validate(&r, &c);
	config_warn_core(&r, &c);
	if (problems->n_errors > 0) {
		return give_up(&r, "", true, err);
	}
	if (arena_failed(a)) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	*ret = c;
	return ERR_OK;
}

bool config_is_on(mk_str address)
{
	return address.n > 0 && !str_is(address, "0");
}
