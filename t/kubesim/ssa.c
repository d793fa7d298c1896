/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging of applied objects, pruning, conflicts, and the bookkeeping of managers. Trees may share
 * values with the live object (json_share): what is changed is made its own first.
 */
#include "t/kubesim/ssa.h"

#include <stdlib.h>

#include "t/kubesim/fieldset.h"
#include "t/kubesim/schema.h"

enum { MAX_MANAGERS = 256 };

/* --- merging ---------------------------------------------------------------------------------- */
struct place {
	const char *kind;
	mk_str parent, field;
};

static struct json *find_element(struct arena *a, const struct schema_rule *r,
				 const struct json *list, mk_str key)
{
	struct json_iter it = json_iter(list);

	while (json_next(&it)) {
		if (str_eq(r->list == SCHEMA_SET ? json_write(a, it.val) : schema_key(a, r, it.val),
			   key)) {
			return it.val;
		}
	}
	return NULL;
}

static size_t index_of(const struct json *list, const struct json *e)
{
	struct json_iter it = json_iter(list);
	size_t i = 0;

	while (json_next(&it) && it.val != e) {
		i++;
	}
	return i;
}

static void merge_object(struct arena *a, const struct place *p, struct json *into,
			 const struct json *from);

static void merge_list(struct arena *a, const struct place *p, const struct schema_rule *r,
		       struct json *into, const struct json *from)
{
	struct json_iter it = json_iter(from);

	json_own(a, into);
	while (json_next(&it)) {
		struct json *mine = schema_find(a, r, into, it.val);

		if (!mine) {
			json_add(a, into, json_dup(a, it.val));
		} else if (r->whole) {
			json_remove(into, index_of(into, mine));
			json_add(a, into, json_dup(a, it.val));
		} else if (r->list == SCHEMA_MAP) {
			merge_object(a, p, mine, it.val);
		}
	}
}

static void merge_object(struct arena *a, const struct place *p, struct json *into,
			 const struct json *from)
{
	struct json_iter it = json_iter(from);

	json_own(a, into);
	while (json_next(&it)) {
		struct place q = {p->kind, p->field, it.key};
		struct json *mine = json_getn(into, it.key);
		const struct schema_rule *r = schema_list(q.kind, q.parent, q.field);

		if (json_type(it.val) == JSON_NULL) {
			continue;
		}
		if (json_type(mine) == JSON_OBJ && json_type(it.val) == JSON_OBJ &&
		    !schema_atomic_object(q.parent, q.field)) {
			merge_object(a, &q, mine, it.val);
		} else if (json_type(mine) == JSON_ARR && json_type(it.val) == JSON_ARR &&
			   r->list != SCHEMA_ATOMIC) {
			merge_list(a, &q, r, mine, it.val);
		} else {
			json_set(a, into, it.key, json_dup(a, it.val));
		}
	}
}

static const char *check(struct arena *a, const struct place *p, const struct json *v)
{
	const struct schema_rule *r = schema_list(p->kind, p->parent, p->field);
	struct json_iter it = json_iter(v);
	struct json *seen = json_new_obj(a);
	bool list = json_type(v) == JSON_ARR;
	const char *why = NULL;

	if (list && r->list == SCHEMA_ATOMIC) {
		return NULL;
	}
	while (!why && json_next(&it)) {
		struct place q = list ? *p : (struct place){p->kind, p->field, it.key};
		mk_str key;

		if (list) {
			key = r->list == SCHEMA_SET ? json_write(a, it.val)
						    : schema_key(a, r, it.val);
			if (key.n == 0) {
				return "element: associative list with keys has an element that "
				       "omits a key field";
			}
			if (json_getn(seen, key) != NULL) {
				return "duplicate entries for key";
			}
			json_set(a, seen, key, json_new_null(a));
		}
		if (json_type(it.val) == JSON_OBJ || json_type(it.val) == JSON_ARR) {
			why = check(a, &q, it.val);
		}
	}
	return why;
}

const char *ssa_precheck(struct arena *a, const char *kind, const struct json *config)
{
	struct place p = {.kind = kind};

	return check(a, &p, config);
}

/* --- pruning ---------------------------------------------------------------------------------- */
/* An element that holds nothing but its keys. */
static bool only_keys(const struct schema_rule *r, const struct json *e)
{
	size_t n = 0;

	for (size_t i = 0; i < 3 && r->keys[i] != NULL; i++) {
		n += json_get(e, r->keys[i]) != NULL;
	}
	return json_len(e) <= n;
}

/*
 * Removes what 'gone' names from 'v', and containers that this leaves empty, unless 'kept' (what
 * other managers own) names them.
 */
static void prune(struct arena *a, const struct place *p, struct json *v, const struct json *gone,
		  const struct json *kept)
{
	const struct schema_rule *r = schema_list(p->kind, p->parent, p->field);
	struct json_iter it = json_iter(gone);

	json_own(a, v);
	while (json_next(&it)) {
		const struct json *held = json_getn(kept, it.key);
		mk_str key = str_sub(it.key, 2, it.key.n);
		bool field = it.key.p[0] == 'f';
		struct place q = field ? (struct place){p->kind, p->field, key} : *p;
		struct json *at;

		if (str_is(it.key, ".")) {
			continue;
		}
		at = field ? json_getn(v, key) : find_element(a, r, v, key);
		if (!at) {
			continue;
		}
		if (json_len(it.val) > 0) {
			prune(a, &q, at, it.val, held);
		}
		if (held != NULL) {
			continue;
		}
		if (field) {
			if (fieldset_is_member(it.val) || json_len(at) == 0) {
				json_set(a, v, key, NULL);
			}
		} else if (fieldset_is_member(it.val) ||
			   (r->list == SCHEMA_MAP && only_keys(r, at))) {
			json_remove(v, index_of(v, at));
		}
	}
}

/* --- managers --------------------------------------------------------------------------------- */
struct manager {
	struct json *entry; /* as stored; 'fields' are what counts; NULL = none yet */
	struct json *fields;
};

struct managers {
	struct manager m[MAX_MANAGERS];
	size_t n;
	size_t own; /* index of the writer's entry; n when there is none */
};

static bool is_own(const struct ssa_writer *w, const char *operation, const struct json *e)
{
	return str_eq(json_str(json_get(e, "manager")), w->manager) &&
	       str_is(json_str(json_get(e, "operation")), operation) &&
	       str_is(json_str(json_get(e, "apiVersion")), w->api_version) &&
	       str_eq(json_str(json_get(e, "subresource")), w->subresource);
}

static void read_managers(const struct ssa_writer *w, const char *operation,
			  const struct json *list, struct managers *ret)
{
	struct json_iter it = json_iter(list);

	ret->n = 0;
	while (json_next(&it) && ret->n < MAX_MANAGERS - 1) {
		if (json_get(it.val, "fieldsV1") != NULL) {
			ret->m[ret->n++] = (struct manager){it.val, json_get(it.val, "fieldsV1")};
		}
	}
	for (ret->own = 0; ret->own < ret->n; ret->own++) {
		if (is_own(w, operation, ret->m[ret->own].entry)) {
			return;
		}
	}
	ret->m[ret->n++] = (struct manager){NULL, NULL};
}

static struct json *entry_new(struct arena *a, const struct ssa_writer *w, const char *operation,
			      mk_str time)
{
	struct json *e = json_new_obj(a);

	json_set_str(a, e, "manager", w->manager);
	json_set_str(a, e, "operation", str_of(operation));
	json_set_str(a, e, "apiVersion", str_of(w->api_version));
	json_set_str(a, e, "time", time);
	json_set_str(a, e, "fieldsType", STR("FieldsV1"));
	json_set(a, e, STR("fieldsV1"), json_new_null(a)); /* its place */
	if (w->subresource.n > 0) {
		json_set_str(a, e, "subresource", w->subresource);
	}
	return e;
}

static int by_order(const void *x, const void *y)
{
	static const char *const keys[] = {"operation", "time", "manager", "subresource"};
	const struct json *a = ((const struct manager *)x)->entry;
	const struct json *b = ((const struct manager *)y)->entry;
	int d = 0;

	for (size_t i = 0; d == 0 && i < 4; i++) {
		d = str_cmp(json_str(json_get(a, keys[i])), json_str(json_get(b, keys[i])));
	}
	return d;
}

/* A copy of 'entry' with these fields. */
static struct json *entry_with(struct arena *a, const struct json *entry, struct json *fields)
{
	struct json_iter it = json_iter(entry);
	struct json *e;

	if (json_get(entry, "fieldsV1") == fields) {
		return json_share(a, entry);
	}
	e = json_new_obj(a);
	while (json_next(&it)) {
		json_set(a, e, it.key, str_is(it.key, "fieldsV1") ? fields : json_share(a, it.val));
	}
	return e;
}

/* Writes the list into the object; entries without fields are dropped. */
static void write_managers(struct arena *a, struct managers *m, struct json *tree)
{
	struct json *list = json_new_arr(a);
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->m[i].entry != NULL && !fieldset_is_empty(m->m[i].fields)) {
			m->m[n++] = m->m[i];
		}
	}
	qsort(m->m, n, sizeof(m->m[0]), by_order);
	for (size_t i = 0; i < n; i++) {
		json_add(a, list, entry_with(a, m->m[i].entry, m->m[i].fields));
	}
	json_set(a, json_get(tree, "metadata"), STR("managedFields"), n > 0 ? list : NULL);
}

/* Does a manager other than the writer own some of these? */
static bool disturbs(const struct managers *m, const struct json *fields)
{
	for (size_t i = 0; i < m->n; i++) {
		if (i != m->own && fieldset_meets(m->m[i].fields, fields)) {
			return true;
		}
	}
	return false;
}

/* All but the writer lose these fields. */
static void take_away(struct arena *a, struct managers *m, const struct json *fields)
{
	for (size_t i = 0; i < m->n; i++) {
		if (i != m->own && fieldset_meets(m->m[i].fields, fields)) {
			m->m[i].fields = fieldset_minus(a, m->m[i].fields, fields);
		}
	}
}

/* Gives the writer 'fields'; a changed set brings a new time. */
static void set_own(struct arena *a, const struct ssa_writer *w, const char *operation,
		    struct managers *m, struct json *fields)
{
	struct manager *own = &m->m[m->own];

	if (!own->entry || !json_equal(own->fields, fields)) {
		own->entry = entry_new(a, w, operation, w->time);
	}
	own->fields = fields;
}

/*
 * Does the writer own the fields already, and no other manager? The common case: nothing to record.
 */
static bool owns_alone(struct arena *a, const struct managers *m, const struct json *fields)
{
	return !disturbs(m, fields) && m->m[m->own].entry != NULL &&
	       !fieldset_minus(a, fields, m->m[m->own].fields);
}

static void keep_managed(struct arena *a, struct json *tree, const struct json *managed)
{
	const struct json *has = json_at(tree, "/metadata/managedFields");

	if (json_len(has) != json_len(managed) || !json_equal(has, managed)) {
		json_set(a, json_get(tree, "metadata"), STR("managedFields"),
			 json_len(managed) > 0 ? json_share(a, managed) : NULL);
	}
}

void ssa_update(struct arena *a, const struct ssa_writer *w, const struct json *live,
		const struct json *managed, struct json *tree)
{
	struct json *changed, *removed, *own;
	struct managers m;

	fieldset_compare(a, w->kind, live, tree, &changed, &removed);
	if (!changed && !removed) {
		keep_managed(a, tree, managed);
		return;
	}
	read_managers(w, "Update", managed, &m);
	if (!removed && owns_alone(a, &m, changed)) {
		keep_managed(a, tree, managed);
		return;
	}
	take_away(a, &m, changed);
	take_away(a, &m, removed);
	own = fieldset_union(a, m.m[m.own].fields, changed);
	own = fieldset_minus(a, own, removed);
	set_own(a, w, "Update", &m, own);
	write_managers(a, &m, tree);
}

/* --- apply ------------------------------------------------------------------------------------ */
struct conflicts {
	struct arena *a;
	struct json *list;
	mk_str who;
};

static void add_conflict(void *ctx, mk_str path)
{
	struct conflicts *c = ctx;
	struct json *o = json_new_obj(c->a);

	json_set_str(c->a, o, "reason", STR("FieldManagerConflict"));
	json_set_str(c->a, o, "message", arena_printf(c->a, "conflict with %.*s", STR_ARG(c->who)));
	json_set_str(c->a, o, "field", path);
	json_add(c->a, c->list, o);
}

static mk_str describe(struct arena *a, const struct json *e)
{
	mk_str manager = json_str(json_get(e, "manager"));
	mk_str sub = json_str(json_get(e, "subresource"));
	mk_str who = arena_printf(a, "\"%.*s\"", STR_ARG(manager));

	if (sub.n > 0) {
		who = arena_printf(a, "%.*s with subresource \"%.*s\"", STR_ARG(who), STR_ARG(sub));
	}
	if (str_is(json_str(json_get(e, "operation")), "Update")) {
		who = arena_printf(a, "%.*s using %.*s", STR_ARG(who),
				   STR_ARG(json_str(json_get(e, "apiVersion"))));
	}
	return who;
}

static struct json *find_conflicts(struct arena *a, const struct managers *m,
				   const struct json *changed)
{
	struct conflicts c = {.a = a, .list = json_new_arr(a)};

	for (size_t i = 0; i < m->n; i++) {
		if (i != m->own && fieldset_meets(m->m[i].fields, changed)) {
			c.who = describe(a, m->m[i].entry);
			fieldset_each(a, fieldset_common(a, m->m[i].fields, changed), add_conflict,
				      &c);
		}
	}
	return json_len(c.list) > 0 ? c.list : NULL;
}

void ssa_apply(struct arena *a, const struct ssa_writer *w, const struct json *live,
	       const struct json *config, struct json *tree, struct json **ret_conflicts)
{
	struct place root = {.kind = w->kind};
	struct json *changed, *removed, *applied = fieldset_of(a, w->kind, config);
	struct json *owned = NULL, *gone;
	struct managers m;

	*ret_conflicts = NULL;
	read_managers(w, "Apply", json_at(live, "/metadata/managedFields"), &m);
	merge_object(a, &root, tree, config);
	gone = fieldset_minus(a, m.m[m.own].fields, applied);
	if (gone != NULL) {
		/* what another manager still owns stays */
		owned = json_dup(a, applied);
		for (size_t i = 0; i < m.n; i++) {
			if (i != m.own) {
				owned = fieldset_union(a, owned, m.m[i].fields);
			}
		}
		gone = fieldset_minus(a, gone, owned);
	}
	if (gone != NULL) {
		prune(a, &root, tree, gone, owned);
	}
	fieldset_compare(a, w->kind, live, tree, &changed, &removed);
	*ret_conflicts = w->force ? NULL : find_conflicts(a, &m, changed);
	if (*ret_conflicts != NULL) {
		return;
	}
	if (!disturbs(&m, changed) && !disturbs(&m, removed) &&
	    json_equal(m.m[m.own].fields, applied)) {
		return; /* the list in the tree is right as it is */
	}
	take_away(a, &m, changed);
	take_away(a, &m, removed);
	set_own(a, w, "Apply", &m, applied);
	write_managers(a, &m, tree);
}

/* --- strategic merge -------------------------------------------------------------------------- */
static void strategic(struct arena *a, const struct place *p, struct json *into,
		      const struct json *patch);

static void strategic_list(struct arena *a, const struct place *p, const struct schema_rule *r,
			   struct json *into, const struct json *patch)
{
	struct json_iter it = json_iter(patch);

	while (json_next(&it)) {
		mk_str key =
			r->list == SCHEMA_SET ? json_write(a, it.val) : schema_key(a, r, it.val);
		struct json *mine = find_element(a, r, into, key);
		bool gone = str_is(json_str(json_get(it.val, "$patch")), "delete");

		if (gone && mine != NULL) {
			json_remove(into, index_of(into, mine));
		} else if (!gone && !mine) {
			json_add(a, into, json_dup(a, it.val));
		} else if (mine != NULL && r->list == SCHEMA_MAP) {
			strategic(a, p, mine, it.val);
		}
	}
}

static void strategic(struct arena *a, const struct place *p, struct json *into,
		      const struct json *patch)
{
	struct json_iter it = json_iter(patch);

	while (json_next(&it)) {
		struct place q = {p->kind, p->field, it.key};
		struct json *mine = json_getn(into, it.key);
		const struct schema_rule *r = schema_list(q.kind, q.parent, q.field);

		if (str_starts(it.key, STR("$"))) {
			continue;
		}
		if (json_type(it.val) == JSON_NULL) {
			json_set(a, into, it.key, NULL);
		} else if (json_type(it.val) == JSON_OBJ) {
			if (json_type(mine) != JSON_OBJ) {
				json_set(a, into, it.key, json_new_obj(a));
				mine = json_getn(into, it.key);
			}
			strategic(a, &q, mine, it.val);
		} else if (json_type(it.val) == JSON_ARR && json_type(mine) == JSON_ARR &&
			   r->list != SCHEMA_ATOMIC) {
			strategic_list(a, &q, r, mine, it.val);
		} else {
			json_set(a, into, it.key, json_dup(a, it.val));
		}
	}
}

void ssa_strategic(struct arena *a, const char *kind, struct json *tree, const struct json *patch)
{
	struct place root = {.kind = kind};

	strategic(a, &root, tree, patch);
}
