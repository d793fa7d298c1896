/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict decoding: the document against the schema. Types first, as Go does it (a wrong type hides
 * unknown fields); within each pass everything is found. Null stands for "not there" everywhere.
 */
#include "core/base/timefmt.h"
#include "core/config/config_impl.h"
#include "core/config/config_schema.h"

#include <stdlib.h>

struct shape {
	struct config_run *r;
	bool types; /* this pass looks at types, else at unknown fields */
};

/* Whose keys stand in an object, and so who may have added one since. */
enum owner {
	OWNER_KUEUE,
	OWNER_BOTH, /* multiKueue, and what Kueue has in it */
	OWNER_US,   /* what only we read */
};

/* Where a value stands, for Go's words: struct name, and the path without indexes. */
struct at {
	enum owner owner;
	mk_str pointer;
	mk_str go_path;
	const char *go_struct;
};

static const char *elem_word(enum config_type t)
{
	return t == CT_BOOL ? "bool" : t == CT_INT ? "int" : t == CT_INT32 ? "int32" : "string";
}

/* The Go type that a message names. */
static const char *go_type(struct arena *a, const struct config_field *f, bool v1beta1)
{
	const char *package = v1beta1 ? "v1beta1" : "v1beta2";

	switch (f->type) {
	case CT_BOOL:
		return "bool";
	case CT_INT:
		return "int";
	case CT_INT32:
		return "int32";
	case CT_FLOAT32:
		return "float32";
	case CT_FLOAT64:
		return "float64";
	case CT_NANOS:
		return "time.Duration";
	case CT_OBJ:
		return arena_printf(a, "%s.%s", package, f->sub->go_type).p;
	case CT_ANY_OBJ:
		return "map[string]interface {}";
	case CT_LIST:
		return f->elem == CT_OBJ ? arena_printf(a, "[]%s.%s", package, f->sub->go_type).p
					 : arena_printf(a, "[]%s", elem_word(f->elem)).p;
	case CT_MAP:
		return f->elem == CT_ANY_OBJ
			       ? "map[string]map[string]interface {}"
			       : arena_printf(a, "map[string]%s", elem_word(f->elem)).p;
	case CT_STR:
	case CT_WORD:
	case CT_DURATION:
	case CT_QUANTITY:
		break;
	}
	return "string";
}

static const char *wanted(enum config_type t)
{
	switch (t) {
	case CT_BOOL:
		return "true or false";
	case CT_INT:
	case CT_INT32:
		return "a whole number";
	case CT_FLOAT32:
	case CT_FLOAT64:
		return "a number";
	case CT_DURATION:
		return "a duration in quotes or with a unit, such as 1m30s";
	case CT_NANOS:
		return "a whole number of nanoseconds";
	case CT_QUANTITY:
		return "a quantity";
	case CT_OBJ:
	case CT_ANY_OBJ:
	case CT_MAP:
		return "a map";
	case CT_LIST:
		return "a list";
	case CT_STR:
	case CT_WORD:
		break;
	}
	return "a string";
}

static bool is_numeric(enum config_type t)
{
	return t == CT_INT || t == CT_INT32 || t == CT_FLOAT32 || t == CT_FLOAT64 || t == CT_NANOS;
}

#define HEADER_ERROR "couldn't get version/kind; json parse error: "

static void wrong_type(struct shape *s, const struct json *v, const struct config_field *f,
		       const struct at *at)
{
	struct arena *a = s->r->a;
	const char *what = json_type_word(v);
	mk_str shown = json_write(a, v);

	if (f->type == CT_QUANTITY) {
		config_error(s->r, at->pointer,
			     "quantities must match the regular expression "
			     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
		return;
	}
	/* Go shows the number when the kind of number is the trouble. */
	if (is_numeric(f->type) && (json_type(v) == JSON_INT || json_type(v) == JSON_REAL)) {
		what = arena_printf(a, "number %s", shown.p ? shown.p : "").p;
	}
	if (at->go_path.n == 0) {
		config_error(s->r, at->pointer,
			     HEADER_ERROR
			     "json: cannot unmarshal %s into Go value of type struct { "
			     "APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind "
			     "string \"json:\\\"kind,omitempty\\\"\" }",
			     what);
	} else if (str_is(at->pointer, "/apiVersion") || str_is(at->pointer, "/kind")) {
		/* Kueue reads the header on its own before anything else. */
		config_error(s->r, at->pointer,
			     HEADER_ERROR
			     "json: cannot unmarshal %s into Go struct field .%s of type string",
			     what, at->go_path.p);
	} else {
		config_error(s->r, at->pointer,
			     "json: cannot unmarshal %s into Go struct field %s.%s of type %s",
			     what, at->go_struct, at->go_path.p, go_type(a, f, s->r->v1beta1));
	}
	shown = str_cut(shown, 60);
	config_hint(s->r, "expected %s, found %s %.*s", wanted(f->type), json_type_word(v),
		    STR_ARG(shown));
}

static bool fits(const struct json *v, enum config_type t)
{
	int64_t i = json_int(v, INT64_MIN);

	switch (t) {
	case CT_STR:
	case CT_DURATION:
		return json_type(v) == JSON_STR;
	case CT_WORD:
		return json_type(v) == JSON_STR || (json_type(v) == JSON_BOOL && !json_bool(v));
	case CT_BOOL:
		return json_type(v) == JSON_BOOL;
	case CT_INT:
	case CT_NANOS:
		return json_type(v) == JSON_INT && i == json_int(v, INT64_MAX);
	case CT_INT32:
		return json_type(v) == JSON_INT && i >= INT32_MIN && i <= INT32_MAX;
	case CT_FLOAT32:
	case CT_FLOAT64:
		return json_type(v) == JSON_INT || json_type(v) == JSON_REAL;
	case CT_QUANTITY:
		return json_type(v) == JSON_STR || json_type(v) == JSON_INT ||
		       json_type(v) == JSON_REAL;
	case CT_OBJ:
	case CT_ANY_OBJ:
	case CT_MAP:
		return json_type(v) == JSON_OBJ;
	case CT_LIST:
		return json_type(v) == JSON_ARR;
	}
	return false;
}

static void check_obj(struct shape *s, const struct json *v, const struct config_schema *schema,
		      const struct at *at);

static void check(struct shape *s, const struct json *v, const struct config_field *f,
		  const struct at *at)
{
	struct config_field elem = {.name = f->name, .type = f->elem, .sub = f->sub, .in = f->in};
	struct json_iter it = json_iter(v);
	struct mk_err err;
	int64_t ns;

	if (json_type(v) == JSON_NULL) {
		return;
	}
	if (!fits(v, f->type)) {
		if (s->types) {
			wrong_type(s, v, f, at);
		}
		return;
	}
	if (f->type == CT_DURATION && s->types && !duration_parse_ns(json_str(v), &ns, &err)) {
		config_error(s->r, at->pointer, "%s", err.msg);
		config_hint(s->r, "expected %s, found %s", wanted(f->type),
			    config_quote(s->r->a, str_cut(json_str(v), 60)));
	}
	if (f->type == CT_OBJ) {
		check_obj(s, v, f->sub, at);
	}
	for (size_t i = 0; (f->type == CT_LIST || f->type == CT_MAP) && json_next(&it); i++) {
		struct at below = *at;

		below.pointer = f->type == CT_LIST
					? config_index(s->r->a, at->pointer, i)
					: json_pointer_child(s->r->a, at->pointer, it.key);
		check(s, it.val, &elem, &below);
	}
}

static unsigned int version_of(const struct config_run *r)
{
	return r->v1beta1 ? CV_V1BETA1 : CV_V1BETA2;
}

/* In whatever version; NULL: in none. */
static const struct config_field *find_field(const struct config_schema *schema, mk_str key)
{
	for (size_t i = 0; i < schema->n; i++) {
		if (str_is(key, schema->fields[i].name)) {
			return &schema->fields[i];
		}
	}
	return NULL;
}

/*
 * A key that a newer Kueue may have is left to it. An error is what can only be a mistake: a slip
 * in a key under multiKueue, or in its own name, one of the other version there, and anything
 * unknown where only our keys stand, since a wall that was not understood would keep less away.
 */
static bool is_mistake(const struct config_schema *schema, mk_str key, mk_str near,
		       enum owner owner)
{
	switch (owner) {
	case OWNER_KUEUE:
		return str_is(near, "multiKueue");
	case OWNER_BOTH:
		return near.n > 0 || find_field(schema, key);
	case OWNER_US:
	default:
		return true;
	}
}

/* With the key that was meant, or all that may stand there. */
static void unknown(struct config_run *r, const struct config_schema *schema, mk_str key,
		    const struct at *at)
{
	const char *path = config_quote(r->a, config_path(r->a, r->doc, at->pointer));
	struct str_guess g = {.word = key};
	mk_str all = STR("");

	for (size_t i = 0; i < schema->n; i++) {
		const struct config_field *f = &schema->fields[i];

		if ((f->in & version_of(r)) != 0) {
			str_guess_try(&g, str_of(f->name));
			all = arena_printf(r->a, "%.*s%s%s", STR_ARG(all), all.n ? ", " : "",
					   f->name);
		}
	}
	if (is_mistake(schema, key, g.best, at->owner)) {
		config_error(r, at->pointer, "unknown field %s", path);
	} else {
		config_warning(r, at->pointer,
			       "unknown field %s has no effect here; a newer Kueue may have it",
			       path);
	}
	if (g.best.p) {
		config_hint(r, "did you mean %.*s? Keys here: %.*s", STR_ARG(g.best), STR_ARG(all));
	} else {
		config_hint(r, "expected one of: %.*s", STR_ARG(all));
	}
}

/* One member of an object of this schema. */
static void check_member(struct shape *s, const struct config_member *m,
			 const struct config_schema *schema, const struct at *at)
{
	struct arena *a = s->r->a;
	const struct config_field *f = find_field(schema, m->key);
	bool is_known = f && (f->in & version_of(s->r)) != 0;
	/* The struct that Go embeds shows in its paths. */
	const char *embedded = is_known && f->embedded ? "ControllerManager." : "";
	struct at below = {
		.pointer = json_pointer_child(a, at->pointer, m->key),
		.go_path = arena_printf(a, "%.*s%s%s%.*s", STR_ARG(at->go_path),
					at->go_path.n ? "." : "", embedded, STR_ARG(m->key)),
		.go_struct = schema->go_type,
		.owner = at->owner,
	};

	if (!is_known) {
		if (!s->types) {
			unknown(s->r, schema, m->key, &below);
		}
		return;
	}
	if (at->pointer.n == 0 && str_is(m->key, "multiKueue")) {
		below.owner = OWNER_BOTH;
	} else if ((f->in & CV_OURS) != 0) {
		below.owner = OWNER_US;
	}
	check(s, m->val, f, &below);
}

/* In the order of the keys, not of the file: Kueue reports them so. */
static void check_obj(struct shape *s, const struct json *v, const struct config_schema *schema,
		      const struct at *at)
{
	const struct config_member *m = config_members(s->r->a, v);

	for (size_t i = 0; m != NULL && i < json_len(v); i++) {
		check_member(s, &m[i], schema, at);
	}
}

void config_check_shape(struct config_run *r)
{
	struct config_field root = {.type = CT_OBJ, .sub = &config_root_schema};
	struct shape s = {.r = r, .types = true};
	struct at at = {.pointer = STR(""), .go_path = STR(""), .go_struct = ""};

	check(&s, r->doc, &root, &at);
	if (r->problems->n_errors == 0) {
		s.types = false;
		check(&s, r->doc, &root, &at);
	}
}
