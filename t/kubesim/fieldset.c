/* SPDX-License-Identifier: Apache-2.0 */
/* Building and combining FieldsV1 sets. */
#include "t/kubesim/fieldset.h"

#include "t/kubesim/schema.h"

/* Where in an object a value stands, as far as list types depend on it. */
struct place {
	const char *kind;
	mk_str parent, field;
	bool dots; /* containers are members too: as an update owns them */
};

static struct place below(const struct place *p, mk_str field)
{
	struct place q = {p->kind, p->field, field, p->dots};

	return q;
}

static bool is_identity(const struct place *p, mk_str key)
{
	static const char *const root[] = {"apiVersion", "kind"};
	static const char *const meta[] = {"name",
					   "namespace",
					   "creationTimestamp",
					   "uid",
					   "generation",
					   "managedFields",
					   "resourceVersion",
					   "selfLink",
					   "deletionTimestamp",
					   "deletionGracePeriodSeconds"};

	if (p->field.n == 0) {
		return str_is(key, root[0]) || str_is(key, root[1]);
	}
	for (size_t i = 0;
	     p->parent.n == 0 && str_is(p->field, "metadata") && i < sizeof(meta) / sizeof(*meta);
	     i++) {
		if (str_is(key, meta[i])) {
			return true;
		}
	}
	return false;
}

/* The root has the empty field name; its members have the parent "". */
static bool is_granular(const struct place *p, const struct json *v)
{
	return json_type(v) == JSON_OBJ && !schema_atomic_object(p->parent, p->field);
}

static mk_str prefixed(struct arena *a, char prefix, mk_str name)
{
	char *p = arena_alloc(a, name.n + 3);

	if (!p) {
		return (mk_str){NULL, 0};
	}
	p[0] = prefix;
	p[1] = ':';
	if (name.n > 0) {
		memcpy(p + 2, name.p, name.n);
	}
	return (mk_str){p, name.n + 2};
}

static mk_str field_key(struct arena *a, mk_str name)
{
	return prefixed(a, 'f', name);
}

/* Path element of a list's element; {NULL, 0} when its keys are missing. */
static mk_str element_key(struct arena *a, const struct schema_rule *r, const struct json *e)
{
	mk_str k;

	if (r->list == SCHEMA_SET) {
		return prefixed(a, 'v', json_write(a, e));
	}
	k = schema_key(a, r, e);
	return k.n ? prefixed(a, 'k', k) : k;
}

static struct json *child(struct arena *a, struct json *node, mk_str key)
{
	struct json *c = json_getn(node, key);

	if (!c) {
		c = json_new_obj(a);
		json_set(a, node, key, c);
	}
	return c;
}

static void dot(struct arena *a, struct json *node)
{
	if (!json_get(node, ".")) {
		json_set(a, node, STR("."), json_new_obj(a));
	}
}

/* Puts all of 'v' below 'node'. */
static void add_all(struct arena *a, const struct place *p, const struct json *v, struct json *node)
{
	const struct schema_rule *rule = schema_list(p->kind, p->parent, p->field);
	struct json_iter it = json_iter(v);

	if (json_len(v) == 0) {
		return;
	}
	if (is_granular(p, v)) {
		if (p->dots && p->field.n > 0) {
			dot(a, node);
		}
		while (json_next(&it)) {
			struct place q = below(p, it.key);

			if (!is_identity(p, it.key)) {
				add_all(a, &q, it.val, child(a, node, field_key(a, it.key)));
			}
		}
		return;
	}
	if (json_type(v) != JSON_ARR || rule->list == SCHEMA_ATOMIC) {
		return;
	}
	if (p->dots) {
		dot(a, node);
	}
	while (json_next(&it)) {
		mk_str key = element_key(a, rule, it.val);

		if (key.n > 0) {
			struct json *c = child(a, node, key);

			if (rule->list == SCHEMA_MAP && !rule->whole) {
				dot(a, c);
				add_all(a, p, it.val, c);
			}
		}
	}
}

struct json *fieldset_of(struct arena *a, const char *kind, const struct json *object)
{
	struct place p = {.kind = kind};
	struct json *set = json_new_obj(a), *meta;

	add_all(a, &p, object, set);
	meta = json_get(set, "f:metadata");
	if (meta != NULL && json_len(meta) == 0) {
		json_set(a, set, STR("f:metadata"), NULL);
	}
	return json_len(set) > 0 ? set : NULL;
}

/* --- comparison ------------------------------------------------------------------------------- */
static void compare(struct arena *a, const struct place *p, const struct json *from,
		    const struct json *to, struct json *changed, struct json *removed);

static void drop_empty(struct arena *a, struct json *node, mk_str key)
{
	if (json_len(json_getn(node, key)) == 0) {
		json_set(a, node, key, NULL);
	}
}

/* One member or element that is on one side only or differs. 'q' is the place of the value. */
static void compare_child(struct arena *a, const struct place *q, mk_str key,
			  const struct json *from, const struct json *to, struct json *changed,
			  struct json *removed)
{
	const struct schema_rule *rule = schema_list(q->kind, q->parent, q->field);
	bool element = key.p[0] != 'f', whole = element && rule->whole;

	if (!from || !to) {
		struct json *c = child(a, from ? removed : changed, key);

		if (key.p[0] == 'k' && !whole) {
			dot(a, c);
		}
		if (!element || (key.p[0] == 'k' && !whole)) {
			add_all(a, q, from ? from : to, c);
		}
		return;
	}
	if (json_type(from) == json_type(to) &&
	    ((is_granular(q, to) && !whole) ||
	     (json_type(to) == JSON_ARR && !element && rule->list != SCHEMA_ATOMIC))) {
		compare(a, q, from, to, child(a, changed, key), child(a, removed, key));
		drop_empty(a, changed, key);
		drop_empty(a, removed, key);
		return;
	}
	if (json_type(from) == JSON_NULL && json_type(to) == JSON_ARR) {
		/* a typed list that was nil: its elements are new, the list is not */
		compare(a, q, json_new_arr(a), to, child(a, changed, key), removed);
		drop_empty(a, changed, key);
		return;
	}
	(void)child(a, changed, key);
}

static void compare(struct arena *a, const struct place *p, const struct json *from,
		    const struct json *to, struct json *changed, struct json *removed)
{
	const struct schema_rule *rule = schema_list(p->kind, p->parent, p->field);
	struct json_iter it = json_iter(to);
	bool list = json_type(to) == JSON_ARR;

	for (int side = 0; side < 2; side++) {
		while (json_next(&it)) {
			const struct json *there = side ? to : from;
			const struct json *other = list ? schema_find(a, rule, there, it.val)
							: json_getn(there, it.key);
			struct place q = list ? *p : below(p, it.key);
			mk_str key;

			if ((other != NULL && (side == 1 || json_equal(other, it.val))) ||
			    (!list && is_identity(p, it.key))) {
				continue;
			}
			key = list ? element_key(a, rule, it.val) : field_key(a, it.key);
			if (key.n > 0) {
				compare_child(a, &q, key, side ? it.val : other,
					      side ? NULL : it.val, changed, removed);
			}
		}
		it = json_iter(from);
	}
}

void fieldset_compare(struct arena *a, const char *kind, const struct json *from,
		      const struct json *to, struct json **ret_changed, struct json **ret_removed)
{
	struct place p = {.kind = kind, .dots = true};
	struct json *changed = json_new_obj(a), *removed = json_new_obj(a);

	compare(a, &p, from, to, changed, removed);
	*ret_changed = json_len(changed) > 0 ? changed : NULL;
	*ret_removed = json_len(removed) > 0 ? removed : NULL;
}

/* --- algebra ---------------------------------------------------------------------------------- */
bool fieldset_is_empty(const struct json *x)
{
	return json_len(x) == 0;
}

bool fieldset_is_member(const struct json *node)
{
	return node != NULL && (json_len(node) == 0 || json_get(node, ".") != NULL);
}

static struct json *minus(struct arena *a, const struct json *x, const struct json *y)
{
	bool member = fieldset_is_member(x) && !fieldset_is_member(y);
	struct json *n = json_new_obj(a);
	struct json_iter it = json_iter(x);

	if (member && json_len(x) > 0) {
		dot(a, n);
	}
	while (json_next(&it)) {
		const struct json *other = json_getn(y, it.key);

		if (!str_is(it.key, ".")) {
			json_set(a, n, it.key,
				 other ? minus(a, it.val, other) : json_dup(a, it.val));
		}
	}
	return json_len(n) > (json_get(n, ".") != NULL) ? n : (member ? json_new_obj(a) : NULL);
}

struct json *fieldset_minus(struct arena *a, const struct json *x, const struct json *y)
{
	struct json *n;

	if (fieldset_is_empty(x) || fieldset_is_empty(y)) {
		return fieldset_is_empty(x) ? NULL : json_dup(a, x);
	}
	n = minus(a, x, y);
	return fieldset_is_empty(n) ? NULL : n;
}

static struct json *common(struct arena *a, const struct json *x, const struct json *y)
{
	bool member = fieldset_is_member(x) && fieldset_is_member(y);
	struct json *n = json_new_obj(a);
	struct json_iter it = json_iter(x);

	if (member) {
		dot(a, n);
	}
	while (json_next(&it)) {
		const struct json *other = json_getn(y, it.key);

		if (!str_is(it.key, ".") && other != NULL) {
			json_set(a, n, it.key, common(a, it.val, other));
		}
	}
	return json_len(n) > (json_get(n, ".") != NULL) ? n : (member ? json_new_obj(a) : NULL);
}

struct json *fieldset_common(struct arena *a, const struct json *x, const struct json *y)
{
	struct json *n;

	if (fieldset_is_empty(x) || fieldset_is_empty(y)) {
		return NULL;
	}
	n = common(a, x, y);
	return fieldset_is_empty(n) ? NULL : n;
}

static bool meets(const struct json *x, const struct json *y)
{
	struct json_iter it = json_iter(x);

	if (fieldset_is_member(x) && fieldset_is_member(y)) {
		return true;
	}
	while (json_next(&it)) {
		const struct json *other = json_getn(y, it.key);

		if (other != NULL && meets(it.val, other)) {
			return true;
		}
	}
	return false;
}

bool fieldset_meets(const struct json *x, const struct json *y)
{
	return !fieldset_is_empty(x) && !fieldset_is_empty(y) && meets(x, y);
}

static void merge(struct arena *a, struct json *into, const struct json *y)
{
	bool member = fieldset_is_member(into) || fieldset_is_member(y);
	struct json_iter it = json_iter(y);

	if (member && json_len(y) > 0) {
		dot(a, into);
	}
	while (json_next(&it)) {
		struct json *mine = json_getn(into, it.key);

		if (str_is(it.key, ".")) {
			continue;
		}
		if (!mine) {
			json_set(a, into, it.key, json_dup(a, it.val));
		} else {
			merge(a, mine, it.val);
		}
	}
	if (member && json_len(into) > 0) {
		dot(a, into);
	}
}

struct json *fieldset_union(struct arena *a, const struct json *x, const struct json *y)
{
	struct json *n;

	if (fieldset_is_empty(x)) {
		return json_dup(a, fieldset_is_empty(y) ? NULL : y);
	}
	n = json_dup(a, x);
	if (!fieldset_is_empty(y)) {
		merge(a, n, y);
	}
	return n;
}

/* --- paths as messages show them -------------------------------------------------------------- */
static mk_str extend(struct arena *a, mk_str path, mk_str key)
{
	struct json *k = NULL;
	struct json_iter it;
	mk_str text = str_sub(key, 2, key.n), inner = STR("");

	if (key.p[0] == 'f') {
		return arena_printf(a, "%.*s.%.*s", STR_ARG(path), STR_ARG(text));
	}
	if (key.p[0] == 'v' || json_parse(a, text, &k, NULL) != ERR_OK) {
		return arena_printf(a, "%.*s[=%.*s]", STR_ARG(path), STR_ARG(text));
	}
	it = json_iter(k);
	while (json_next(&it)) {
		inner = arena_printf(a, "%.*s%s%.*s=%s", STR_ARG(inner), inner.n ? "," : "",
				     STR_ARG(it.key), json_write(a, it.val).p);
	}
	return arena_printf(a, "%.*s[%.*s]", STR_ARG(path), STR_ARG(inner));
}

static void each(struct arena *a, const struct json *node, mk_str path,
		 void (*fn)(void *ctx, mk_str path), void *ctx)
{
	struct json_iter it = json_iter(node);

	if (path.n > 0 && fieldset_is_member(node)) {
		fn(ctx, path);
	}
	while (json_next(&it)) {
		if (!str_is(it.key, ".")) {
			each(a, it.val, extend(a, path, it.key), fn, ctx);
		}
	}
}

void fieldset_each(struct arena *a, const struct json *set, void (*fn)(void *ctx, mk_str path),
		   void *ctx)
{
	each(a, set, STR(""), fn, ctx);
}
