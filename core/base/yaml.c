/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml's events to JSON values, with an explicit stack. Scalars are resolved in yaml_scalar.c.
 * A container is filled before it is put into its parent.
 */
#include "core/base/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/base/alloc.h"
#include "core/base/json_impl.h"
#include "core/base/map.h"
#include "core/base/yaml_impl.h"

struct yaml_lines_entry {
	const struct json *value;
	size_t line;
};

enum { INDEX_MIN = 32 };

/* An open container. */
struct frame {
	struct json *container;
	size_t line; /* where it stands: of its key, or of itself */
	mk_str key;  /* of the value that comes next */
	size_t key_line;
	bool is_map;
	bool has_key;
	bool indexed;
	struct map index; /* the members by key, once they are many */
};

struct reader {
	struct arena *a;
	yaml_parser_t parser;
	bool allow_duplicates;
	size_t began; /* the line of the document that was read last */
	struct frame stack[YAML_MAX_DEPTH];
	size_t depth;
	struct json *root; /* of the document that was read last */
	bool want_lines;
	struct yaml_lines_entry *lines; /* heap; owned */
	size_t n_lines, size_lines;
	struct mk_err *err;
};

static enum mk_code no_memory(struct reader *r)
{
	return err_set(r->err, ERR_NO_MEMORY, "out of memory");
}

static enum mk_code refuse(struct reader *r, size_t line, const char *what)
{
	return err_set(r->err, ERR_INVALID, "yaml: line %zu: %s", line, what);
}

static enum mk_code note_line(struct reader *r, const struct json *v, size_t line)
{
	if (!r->want_lines) {
		return ERR_OK;
	}
	if (r->n_lines == r->size_lines) {
		size_t size = r->size_lines ? r->size_lines * 2 : 64;
		struct yaml_lines_entry *p = mk_realloc(r->lines, size * sizeof(*p));

		if (!p) {
			return no_memory(r);
		}
		r->lines = p;
		r->size_lines = size;
	}
	r->lines[r->n_lines++] = (struct yaml_lines_entry){v, line};
	return ERR_OK;
}

static struct json *find_member(const struct frame *f)
{
	return f->indexed ? map_get(&f->index, f->key) : json_getn(f->container, f->key);
}

/*
 * An object with many members gets an index, since a search one by one for each new key would take
 * quadratic time.
 */
static bool index_member(struct frame *f, struct json *v)
{
	if (f->indexed) {
		return map_put(&f->index, f->key, v);
	}
	if (json_len(f->container) >= INDEX_MIN) {
		struct json_iter it = json_iter(f->container);

		map_init(&f->index);
		f->indexed = true;
		while (json_next(&it)) {
			if (!map_put(&f->index, it.key, it.val)) {
				return false;
			}
		}
	}
	return true;
}

static enum mk_code put_member(struct reader *r, struct frame *f, struct json *v)
{
	struct json *old = find_member(f);

	f->has_key = false;
	if (old != NULL && !r->allow_duplicates) {
		mk_str shown = str_cut(f->key, 200);

		return err_set(r->err, ERR_INVALID, "line %zu: key \"%.*s\" already set in map",
			       f->key_line, STR_ARG(shown));
	}
	if (old != NULL) {
		/* The last one wins, in the place of the first. */
		val_of(old)->tag = val_of(v)->tag;
		val_of(old)->uni = val_of(v)->uni;
		return note_line(r, old, f->key_line);
	}
	json_append(r->a, f->container, f->key, v);
	if (arena_failed(r->a) || !index_member(f, v)) {
		return no_memory(r);
	}
	return ERR_OK;
}

/* Takes a complete value: into the open container, as its next key, or as the document. */
static enum mk_code take_value(struct reader *r, struct json *v, size_t line)
{
	struct frame *f = r->depth > 0 ? &r->stack[r->depth - 1] : NULL;
	enum mk_code code;

	if (!v) {
		return no_memory(r);
	}
	if (!f) {
		r->root = v;
		return note_line(r, v, line);
	}
	if (!f->is_map) {
		json_add(r->a, f->container, v);
		return note_line(r, v, line);
	}
	code = note_line(r, v, f->key_line);
	return code == ERR_OK ? put_member(r, f, v) : code;
}

static enum mk_code take_key(struct reader *r, struct frame *f, const yaml_event_t *e, size_t line)
{
	mk_str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
	bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct json *v;

	if (plain && str_is(text, "<<")) {
		return refuse(r, line, "merge keys are not allowed");
	}
	v = yaml_scalar(r->a, text, plain);
	if (!v) {
		return no_memory(r);
	}
	/* Other scalars become what JSON can have as a key: 1 is "1", yes is "true". */
	if (json_type(v) == JSON_STR) {
		f->key = json_str(v);
	} else if (json_type(v) == JSON_NULL) {
		return refuse(r, line, "null is not allowed as a key");
	} else {
		f->key = json_write(r->a, v);
	}
	if (!f->key.p) {
		return no_memory(r);
	}
	f->key_line = line;
	f->has_key = true;
	return ERR_OK;
}

static enum mk_code on_scalar(struct reader *r, const yaml_event_t *e, size_t line)
{
	struct frame *f = r->depth > 0 ? &r->stack[r->depth - 1] : NULL;
	mk_str text = {(const char *)e->data.scalar.value, e->data.scalar.length};
	bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (e->data.scalar.anchor != NULL) {
		return refuse(r, line, "anchors are not allowed");
	}
	if (e->data.scalar.tag != NULL) {
		return refuse(r, line, "tags are not allowed");
	}
	if (f != NULL && f->is_map && !f->has_key) {
		return take_key(r, f, e, line);
	}
	if (plain && yaml_is_infinite(text)) {
		return refuse(r, line, "infinity and NaN are not allowed");
	}
	return take_value(r, yaml_scalar(r->a, text, plain), line);
}

static enum mk_code on_start(struct reader *r, bool is_map, const void *anchor, const void *tag,
			     size_t line)
{
	struct frame *parent = r->depth > 0 ? &r->stack[r->depth - 1] : NULL;
	struct frame *f;

	if (anchor != NULL) {
		return refuse(r, line, "anchors are not allowed");
	}
	if (tag != NULL) {
		return refuse(r, line, "tags are not allowed");
	}
	if (parent != NULL && parent->is_map && !parent->has_key) {
		return refuse(r, line, "a list or map is not allowed as a key");
	}
	if (r->depth == YAML_MAX_DEPTH) {
		return refuse(r, line, "nested too deep");
	}
	f = &r->stack[r->depth];
	*f = (struct frame){.is_map = is_map, .line = line};
	f->container = is_map ? json_new_obj(r->a) : json_new_arr(r->a);
	if (!f->container) {
		return no_memory(r);
	}
	r->depth++;
	return ERR_OK;
}

static enum mk_code on_end(struct reader *r)
{
	struct frame *f = &r->stack[--r->depth];

	if (f->indexed) {
		map_done(&f->index);
		f->indexed = false;
	}
	return take_value(r, f->container, f->line);
}

static enum mk_code syntax_error(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR) {
		return no_memory(r);
	}
	/* The reader knows bytes only, not lines. */
	if (p->error == YAML_READER_ERROR) {
		return err_set(r->err, ERR_INVALID, "yaml: %s at byte %zu",
			       p->problem ? p->problem : "bad input", p->problem_offset);
	}
	return refuse(r, p->problem_mark.line + 1, p->problem ? p->problem : "bad input");
}

static enum mk_code on_event(struct reader *r, const yaml_event_t *e)
{
	size_t line = e->start_mark.line + 1;

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(r, e, line);
	case YAML_SEQUENCE_START_EVENT:
		return on_start(r, false, e->data.sequence_start.anchor, e->data.sequence_start.tag,
				line);
	case YAML_MAPPING_START_EVENT:
		return on_start(r, true, e->data.mapping_start.anchor, e->data.mapping_start.tag,
				line);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_end(r);
	case YAML_ALIAS_EVENT:
		return refuse(r, line, "aliases are not allowed");
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return ERR_OK;
}

/* Reads one document into r->root; *ret_end says that the stream ended instead. */
static enum mk_code read_document(struct reader *r, bool *ret_end)
{
	enum mk_code code = ERR_OK;
	bool done = false;

	r->root = NULL;
	*ret_end = false;
	while (code == ERR_OK && !done) {
		yaml_event_t e;

		if (!yaml_parser_parse(&r->parser, &e)) {
			return syntax_error(r);
		}
		if (e.type == YAML_DOCUMENT_START_EVENT) {
			r->began = e.start_mark.line + 1;
		}
		code = on_event(r, &e);
		*ret_end = e.type == YAML_STREAM_END_EVENT;
		done = *ret_end || e.type == YAML_DOCUMENT_END_EVENT;
		yaml_event_delete(&e);
	}
	return code;
}

/* For only_one: what follows the first document must be empty. */
static enum mk_code refuse_more(struct reader *r)
{
	enum mk_code code = ERR_OK;
	bool end = false;

	while (code == ERR_OK && !end) {
		code = read_document(r, &end);
		if (code == ERR_OK && r->root != NULL && json_type(r->root) != JSON_NULL) {
			code = refuse(r, r->began,
				      "expected one document, found another: give each a file of "
				      "its own");
		}
	}
	return code;
}

static enum mk_code reader_init(struct reader *r, struct arena *a, mk_str text,
				const struct yaml_options *options, struct mk_err *err)
{
	*r = (struct reader){.a = a, .err = err};
	r->allow_duplicates = options != NULL && options->allow_duplicates;
	if (text.n > YAML_MAX_SIZE) {
		return err_set(err, ERR_TOO_BIG, "longer than %d bytes", (int)YAML_MAX_SIZE);
	}
	if (!yaml_parser_initialize(&r->parser)) {
		return no_memory(r);
	}
	if (str_starts(text, STR("\xEF\xBB\xBF"))) {
		text = str_sub(text, 3, SIZE_MAX);
	}
	/* Set by hand, so that nothing is guessed from the first bytes. */
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)(text.n ? text.p : ""),
				     text.n);
	return ERR_OK;
}

static void reader_done(struct reader *r)
{
	for (size_t i = 0; i < r->depth; i++) {
		if (r->stack[i].indexed) {
			map_done(&r->stack[i].index);
		}
	}
	mk_free(r->lines);
	yaml_parser_delete(&r->parser);
}

static int cmp_lines(const void *x, const void *y)
{
	const struct yaml_lines_entry *a = x;
	const struct yaml_lines_entry *b = y;
	uintptr_t pa = (uintptr_t)a->value;
	uintptr_t pb = (uintptr_t)b->value;

	return (pa > pb) - (pa < pb);
}

static enum mk_code keep_lines(struct reader *r, struct json *root, struct yaml_lines *ret)
{
	struct yaml_lines_entry *entries = arena_array(r->a, r->n_lines, sizeof(*entries));

	if (!entries) {
		return no_memory(r);
	}
	if (r->n_lines > 0) {
		memcpy(entries, r->lines, r->n_lines * sizeof(*entries));
		qsort(entries, r->n_lines, sizeof(*entries), cmp_lines);
	}
	*ret = (struct yaml_lines){.root = root, .entries = entries, .n = r->n_lines};
	return ERR_OK;
}

enum mk_code yaml_parse(struct arena *a, mk_str text, const struct yaml_options *options,
			struct json **ret, struct yaml_lines *ret_lines, struct mk_err *err)
{
	struct reader *r = mk_malloc(sizeof(*r));
	struct json *root;
	enum mk_code code;
	bool end;

	if (!r) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	code = reader_init(r, a, text, options, err);
	if (code != ERR_OK) {
		mk_free(r);
		return code;
	}
	r->want_lines = ret_lines != NULL;
	code = read_document(r, &end);
	root = code == ERR_OK && !r->root ? json_new_null(a) : r->root;
	if (code == ERR_OK && (!root || arena_failed(a))) {
		code = no_memory(r);
	}
	if (code == ERR_OK && ret_lines != NULL) {
		code = keep_lines(r, root, ret_lines);
	}
	if (code == ERR_OK && options != NULL && options->only_one) {
		code = refuse_more(r);
	}
	if (code == ERR_OK) {
		*ret = root;
	}
	reader_done(r);
	mk_free(r);
	return code;
}

enum mk_code yaml_documents(struct arena *a, mk_str text, const struct yaml_options *options,
			    struct json **ret, struct mk_err *err)
{
	struct reader *r = mk_malloc(sizeof(*r));
	struct json *all = json_new_arr(a);
	enum mk_code code;
	bool end = false;

	if (!r || !all) {
		mk_free(r);
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	code = reader_init(r, a, text, options, err);
	if (code != ERR_OK) {
		mk_free(r);
		return code;
	}
	while (code == ERR_OK && !end) {
		code = read_document(r, &end);
		if (code == ERR_OK && r->root != NULL && json_type(r->root) != JSON_NULL) {
			json_add(a, all, r->root);
		}
		if (code == ERR_OK && json_len(all) > YAML_MAX_DOCUMENTS) {
			code = err_set(err, ERR_TOO_BIG, "more than %d documents",
				       (int)YAML_MAX_DOCUMENTS);
		}
	}
	if (code == ERR_OK && arena_failed(a)) {
		code = no_memory(r);
	}
	if (code == ERR_OK) {
		*ret = all;
	}
	reader_done(r);
	mk_free(r);
	return code;
}

static int line_of(const struct yaml_lines *lines, const struct json *v)
{
	size_t lo = 0;
	size_t hi = lines->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (lines->entries[mid].value == v) {
			return (int)lines->entries[mid].line;
		}
		if ((uintptr_t)lines->entries[mid].value < (uintptr_t)v) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return 0;
}

int yaml_line(const struct yaml_lines *lines, mk_str pointer)
{
	char path[1024];

	if (!lines || pointer.n >= sizeof(path)) {
		return 0;
	}
	if (pointer.n > 0) {
		memcpy(path, pointer.p, pointer.n);
	}
	path[pointer.n] = '\0';
	for (;;) {
		const struct json *v = json_at(lines->root, path);
		int line = v ? line_of(lines, v) : 0;
		char *slash = strrchr(path, '/');

		if (line > 0 || !slash) {
			return line;
		}
		*slash = '\0';
	}
}
