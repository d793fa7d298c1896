/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas of dispatchers' sections: judged when a plugin is loaded, applied to the configuration;
 * see schema.h.
 */
#include "core/plug/schema.h"

#include <stdlib.h>

enum { SHOWN_MAX = 64 };

/* --- the schema itself ------------------------------------------------------------------------ */

/* The words, each with what it must be. */
enum word_shape {
	SHAPE_TYPE,
	SHAPE_SCHEMAS,
	SHAPE_NAMES,
	SHAPE_BOOL_OR_SCHEMA,
	SHAPE_SCHEMA,
	SHAPE_LIST,
	SHAPE_INT,
	SHAPE_ANY
};

static const struct {
	const char *word;
	enum word_shape shape;
} words[] = {
	{"type", SHAPE_TYPE},      {"properties", SHAPE_SCHEMAS},
	{"required", SHAPE_NAMES}, {"additionalProperties", SHAPE_BOOL_OR_SCHEMA},
	{"items", SHAPE_SCHEMA},   {"enum", SHAPE_LIST},
	{"minimum", SHAPE_INT},    {"maximum", SHAPE_INT},
	{"title", SHAPE_ANY},      {"description", SHAPE_ANY},
	{"default", SHAPE_ANY},
};

static const char *const types[] = {"object", "array",   "string", "integer",
				    "number", "boolean", "null"};

static bool is_type(mk_str name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (str_is(name, types[i])) {
			return true;
		}
	}
	return false;
}

static bool is_names(const struct json *v)
{
	struct json_iter it = json_iter(v);

	while (json_next(&it)) {
		if (json_type(it.val) != JSON_STR) {
			return false;
		}
	}
	return json_type(v) == JSON_ARR;
}

/*
 * What is expected of the word's value; NULL when it is that. Schemas inside are not looked into.
 */
static const char *misshapen(enum word_shape shape, const struct json *v)
{
	switch (shape) {
	case SHAPE_TYPE:
		return is_type(json_str(v)) ? NULL : "one of JSON Schema's types";
	case SHAPE_SCHEMAS:
	case SHAPE_SCHEMA:
		return json_type(v) == JSON_OBJ ? NULL : "an object";
	case SHAPE_NAMES:
		return is_names(v) ? NULL : "a list of strings";
	case SHAPE_BOOL_OR_SCHEMA:
		return json_type(v) == JSON_OBJ || json_type(v) == JSON_BOOL ? NULL
									     : "a bool or a schema";
	case SHAPE_LIST:
		return json_len(v) > 0 && json_type(v) == JSON_ARR ? NULL : "a list, not empty";
	case SHAPE_INT:
		return json_type(v) == JSON_INT ? NULL : "an integer";
	case SHAPE_ANY:
		break;
	}
	return NULL;
}

static enum mk_code judge(const struct json *schema, int depth, struct mk_err *err);

static enum mk_code judge_inside(enum word_shape shape, const struct json *v, int depth,
				 struct mk_err *err)
{
	struct json_iter it = json_iter(v);
	enum mk_code code = ERR_OK;

	if (shape == SHAPE_SCHEMA || (shape == SHAPE_BOOL_OR_SCHEMA && json_type(v) == JSON_OBJ)) {
		return judge(v, depth + 1, err);
	}
	while (shape == SHAPE_SCHEMAS && code == ERR_OK && json_next(&it)) {
		code = judge(it.val, depth + 1, err);
		if (code != ERR_OK) {
			err_wrap(err, "%.*s", STR_ARG(str_cut(it.key, SHOWN_MAX)));
		}
	}
	return code;
}

static enum mk_code judge_word(mk_str word, const struct json *v, int depth, struct mk_err *err)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *expected;
		enum mk_code code;

		if (!str_is(word, words[i].word)) {
			continue;
		}
		expected = misshapen(words[i].shape, v);
		if (expected) {
			return err_set(err, ERR_INVALID, "%s: expected %s, found a %s",
				       words[i].word, expected, json_type_word(v));
		}
		code = judge_inside(words[i].shape, v, depth, err);
		if (code != ERR_OK) {
			err_wrap(err, "%s", words[i].word);
		}
		return code;
	}
	return err_set(err, ERR_INVALID, "expected a known word, found \"%.*s\"",
		       STR_ARG(str_cut(word, SHOWN_MAX)));
}

static enum mk_code judge(const struct json *schema, int depth, struct mk_err *err)
{
	struct json_iter it = json_iter(schema);
	enum mk_code code = ERR_OK;

	if (json_type(schema) != JSON_OBJ) {
		return err_set(err, ERR_INVALID, "expected an object, found a %s",
			       json_type_word(schema));
	}
	if (depth > SCHEMA_MAX_DEPTH) {
		return err_set(err, ERR_INVALID, "expected at most %d levels, found more",
			       SCHEMA_MAX_DEPTH);
	}
	while (code == ERR_OK && json_next(&it)) {
		code = judge_word(it.key, it.val, depth, err);
	}
	return code;
}

enum mk_code schema_read(struct arena *a, mk_str text, const struct json **ret, struct mk_err *err)
{
	struct json *schema = NULL;
	enum mk_code code;

	if (text.n > SCHEMA_MAX_SIZE) {
		return err_set(err, ERR_TOO_BIG, "expected at most %d bytes, found %zu",
			       SCHEMA_MAX_SIZE, text.n);
	}
	code = json_parse(a, text, &schema, err);
	if (code == ERR_OK) {
		code = judge(schema, 1, err);
	}
	if (code == ERR_OK) {
		*ret = schema;
	}
	return code;
}

/* --- values ----------------------------------------------------------------------------------- */

struct check {
	struct arena *a;
	schema_fault_fn *fault;
	void *ctx;
	size_t n;
};

static void tell(struct check *c, mk_str pointer, mk_str text)
{
	c->n++;
	if (!arena_failed(c->a)) {
		c->fault(c->ctx, pointer, text);
	}
}

static mk_str shown(struct check *c, const struct json *v)
{
	mk_str text = json_write(c->a, v);
	mk_str head = str_cut(text, SHOWN_MAX);

	return head.n < text.n ? arena_printf(c->a, "%.*s...", STR_ARG(head)) : text;
}

static bool has_type(const struct json *v, mk_str name)
{
	switch (json_type(v)) {
	case JSON_OBJ:
		return str_is(name, "object");
	case JSON_ARR:
		return str_is(name, "array");
	case JSON_STR:
		return str_is(name, "string");
	case JSON_INT:
		return str_is(name, "integer") || str_is(name, "number");
	case JSON_REAL:
		return str_is(name, "number");
	case JSON_BOOL:
		return str_is(name, "boolean");
	case JSON_NULL:
		return str_is(name, "null");
	case JSON_ABSENT:
		break;
	}
	return false;
}

/* Is 'v', a number, before 'bound' (or past it)? Integers are compared as such, however large. */
static bool is_beyond(struct check *c, const struct json *v, const struct json *bound,
		      bool below_it)
{
	if (json_type(v) == JSON_INT) {
		int64_t limit = json_int(bound, INT64_MAX);
		/* What does not fit is larger than all that does. */
		int64_t n = json_int(v, INT64_MAX);

		return below_it ? n < limit : n > limit;
	}
	if (json_type(v) == JSON_REAL) {
		mk_str text = json_write(c->a, v);
		double n = text.p ? strtod(text.p, NULL) : 0.0;
		double limit = (double)json_int(bound, INT64_MAX);

		return below_it ? n < limit : n > limit;
	}
	return false;
}

static void check_bounds(struct check *c, const struct json *schema, const struct json *v,
			 mk_str pointer)
{
	const struct json *least = json_get(schema, "minimum"), *most = json_get(schema, "maximum");

	if (least && is_beyond(c, v, least, true)) {
		tell(c, pointer,
		     arena_printf(c->a,
				  "Invalid value: %.*s: must be greater than or equal to %.*s",
				  STR_ARG(shown(c, v)), STR_ARG(shown(c, least))));
	}
	if (most && is_beyond(c, v, most, false)) {
		tell(c, pointer,
		     arena_printf(c->a, "Invalid value: %.*s: must be less than or equal to %.*s",
				  STR_ARG(shown(c, v)), STR_ARG(shown(c, most))));
	}
}

static void check_enum(struct check *c, const struct json *list, const struct json *v,
		       mk_str pointer)
{
	struct json_iter it = json_iter(list);
	mk_str all = STR("");

	while (json_next(&it)) {
		if (json_equal(it.val, v)) {
			return;
		}
		all = arena_printf(c->a, "%.*s%s%.*s", STR_ARG(all), all.n ? ", " : "",
				   STR_ARG(shown(c, it.val)));
	}
	if (list) {
		tell(c, pointer,
		     arena_printf(c->a, "Unsupported value: %.*s: supported values: %.*s",
				  STR_ARG(shown(c, v)), STR_ARG(all)));
	}
}

static void check_value(struct check *c, const struct json *schema, const struct json *v,
			mk_str pointer);

/* A key that is none of 'known': the one that was meant, and all that there are. */
static void tell_unknown(struct check *c, const struct json *known, mk_str key, mk_str place)
{
	struct str_guess g = {.word = key};
	struct json_iter it = json_iter(known);
	mk_str all = STR("");

	while (json_next(&it)) {
		str_guess_try(&g, it.key);
		all = arena_printf(c->a, "%.*s%s%.*s", STR_ARG(all), all.n ? ", " : "",
				   STR_ARG(it.key));
	}
	tell(c, place,
	     arena_printf(c->a, "Forbidden: no such key%s%.*s%s%s%.*s%s",
			  g.best.p ? ": did you mean " : "", STR_ARG(g.best), g.best.p ? "?" : "",
			  all.n ? " (keys here: " : "", STR_ARG(all), all.n ? ")" : ""));
}

static void check_members(struct check *c, const struct json *schema, const struct json *v,
			  mk_str pointer)
{
	const struct json *known = json_get(schema, "properties");
	const struct json *others = json_get(schema, "additionalProperties");
	struct json_iter it = json_iter(v);

	while (json_next(&it)) {
		const struct json *of = json_getn(known, it.key);
		mk_str place = json_pointer_child(c->a, pointer, it.key);

		if (of) {
			check_value(c, of, it.val, place);
		} else if (json_type(others) == JSON_OBJ) {
			check_value(c, others, it.val, place);
		} else if (json_type(others) == JSON_BOOL && !json_bool(others)) {
			tell_unknown(c, known, it.key, place);
		}
	}
	it = json_iter(json_get(schema, "required"));
	while (json_next(&it)) {
		if (!json_getn(v, json_str(it.val))) {
			tell(c, json_pointer_child(c->a, pointer, json_str(it.val)),
			     STR("Required value"));
		}
	}
}

static void check_elements(struct check *c, const struct json *schema, const struct json *v,
			   mk_str pointer)
{
	const struct json *items = json_get(schema, "items");
	struct json_iter it = json_iter(v);

	for (size_t i = 0; items && json_next(&it); i++) {
		check_value(c, items, it.val, arena_printf(c->a, "%.*s/%zu", STR_ARG(pointer), i));
	}
}

/* As deep as the schema, which is bounded. */
static void check_value(struct check *c, const struct json *schema, const struct json *v,
			mk_str pointer)
{
	const struct json *type = json_get(schema, "type");

	if (type && !has_type(v, json_str(type))) {
		tell(c, pointer,
		     arena_printf(c->a, "Invalid value: %.*s: must be of type %.*s",
				  STR_ARG(shown(c, v)), STR_ARG(json_str(type))));
		return;
	}
	check_enum(c, json_get(schema, "enum"), v, pointer);
	check_bounds(c, schema, v, pointer);
	if (json_type(v) == JSON_OBJ) {
		check_members(c, schema, v, pointer);
	} else if (json_type(v) == JSON_ARR) {
		check_elements(c, schema, v, pointer);
	}
}

size_t schema_check(struct arena *a, const struct json *schema, const struct json *value,
		    mk_str pointer, schema_fault_fn *fault, void *ctx)
{
	struct check c = {.a = a, .fault = fault, .ctx = ctx};

	check_value(&c, schema, value, pointer);
	return c.n;
}
