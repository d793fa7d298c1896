/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes that a worker decides (mk_adapter.scale). The groups come from objects of a worker and of
 * users: each field may be missing or have the wrong type.
 */
#include "core/plug/internal.h"

enum { MAX_GROUPS = 64 };

struct size {
	mk_str name; /* of the pod set */
	int64_t pods;
};

/* By name, each once. */
struct sizes {
	struct size v[MAX_GROUPS];
	size_t n;
};

bool plug_scales(const struct plug_adapter *ad, const struct json *local)
{
	return ad->d->scale && json_bool(json_at(local, ad->d->scale->enabled));
}

int plug_child(const struct plug *p, const struct plug_adapter *ad)
{
	const mk_scale *s = ad->d->scale;

	for (size_t i = 0; s && s->child && i < p->n_adapters; i++) {
		const struct plug_adapter *other = &p->adapters[i]->pub;

		if (str_is(other->group, s->group) && str_is(other->version, s->version) &&
		    str_is(other->kind, s->kind)) {
			return (int)i;
		}
	}
	return -1;
}

/* A number of units or pods as the API has it, 32 bits: products of such numbers fit. */
static int64_t number_at(const struct json *group, const char *pointer)
{
	int64_t n = pointer ? json_int(json_at(group, pointer), 1) : 1;

	return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

static int64_t pods_of(const mk_scale *s, const struct json *group)
{
	int64_t times = number_at(group, s->times);
	int64_t n = number_at(group, s->count) * (times > 1 ? times : 1);

	return n > INT32_MAX ? INT32_MAX : n;
}

static mk_str lower(struct arena *a, mk_str s)
{
	char *to = arena_alloc_raw(a, s.n + 1);

	if (!to) {
		return STR_NONE;
	}
	for (size_t i = 0; i < s.n; i++) {
		to[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + ('a' - 'A') : s.p[i]);
	}
	to[s.n] = '\0';
	return (mk_str){to, s.n};
}

/* Of two with one name the later counts. False: there are too many. */
static bool add(struct sizes *all, mk_str name, int64_t pods)
{
	size_t i = all->n;

	while (i > 0 && str_cmp(all->v[i - 1].name, name) > 0) {
		i--;
	}
	if (i > 0 && str_eq(all->v[i - 1].name, name)) {
		all->v[i - 1].pods = pods;
		return true;
	}
	if (all->n == MAX_GROUPS) {
		return false;
	}
	memmove(&all->v[i + 1], &all->v[i], (all->n - i) * sizeof(all->v[0]));
	all->v[i] = (struct size){name, pods};
	all->n++;
	return true;
}

static const struct json *group_named(const struct json *groups, const char *pointer, mk_str name)
{
	struct json_iter it = json_iter(groups);

	while (json_next(&it)) {
		if (str_eq(json_str_at(it.val, pointer), name)) {
			return it.val;
		}
	}
	return NULL;
}

/* The sizes in the annotation; false: it is none of ours. */
static bool told(struct arena *a, mk_str text, struct sizes *ret)
{
	struct json *list = NULL;
	struct json_iter it;

	if (text.n == 0 || json_parse(a, text, &list, NULL) != ERR_OK ||
	    json_type(list) != JSON_ARR) {
		return false;
	}
	it = json_iter(list);
	while (json_next(&it)) {
		if (!add(ret, json_str(json_get(it.val, "name")),
			 json_int(json_get(it.val, "count"), -1))) {
			return false;
		}
	}
	return true;
}

static bool same(const struct sizes *x, const struct sizes *y)
{
	bool is = x->n == y->n;

	for (size_t i = 0; is && i < x->n; i++) {
		is = str_eq(x->v[i].name, y->v[i].name) && x->v[i].pods == y->v[i].pods;
	}
	return is;
}

static mk_str text_of(struct arena *a, const struct sizes *all)
{
	struct json *list = json_new_arr(a);

	for (size_t i = 0; i < all->n; i++) {
		struct json *one = json_new_obj(a);

		json_set(a, one, STR("name"), json_new_str(a, all->v[i].name));
		json_set(a, one, STR("count"), json_new_int(a, all->v[i].pods));
		json_add(a, list, one);
	}
	return json_write(a, list);
}

static enum mk_code check_number(const struct json *groups, const char *pointer, const char *where,
				 struct mk_err *err)
{
	size_t n = json_len(groups);

	return n <= MAX_GROUPS
		       ? ERR_OK
		       : err_set(err, ERR_INVALID, "%s%s: expected at most %d groups, found %zu",
				 where, pointer, MAX_GROUPS, n);
}

enum mk_code plug_sizes(const struct plug_adapter *ad, const struct json *local,
			const struct json *holder, struct arena *a, struct json **ret,
			struct mk_err *err)
{
	const mk_scale *s = ad->d->scale;
	const struct json *notes = json_at(local, "/metadata/annotations");
	const struct json *declared = json_at(local, s->declared);
	const struct json *groups = json_at(holder, s->groups);
	struct json_iter it = json_iter(json_type(declared) == JSON_ARR ? declared : NULL);
	struct sizes now = {.n = 0}, before = {.n = 0};
	mk_str revision;

	*ret = NULL;
	if (check_number(declared, s->declared, "", err) != ERR_OK ||
	    check_number(groups, s->groups, "its copy: ", err) != ERR_OK) {
		return ERR_INVALID;
	}
	while (json_type(groups) == JSON_ARR && json_next(&it)) {
		mk_str name = json_str_at(it.val, s->name);
		const struct json *group = name.n ? group_named(groups, s->name, name) : NULL;

		if (group) {
			(void)add(&now, lower(a, name), pods_of(s, group));
		}
	}
	if (now.n > 0 &&
	    !(told(a, json_str(json_get(notes, s->sizes)), &before) && same(&now, &before))) {
		revision = arena_printf(
			a, "%.*s-%lld", STR_ARG(json_str_at(holder, "/metadata/uid")),
			(long long)json_int(json_at(holder, "/metadata/generation"), 0));
		*ret = json_new_obj(a);
		json_set_str(a, *ret, s->sizes, text_of(a, &now));
		json_set_str(a, *ret, s->revision, revision);
	}
	if (arena_failed(a)) {
		*ret = NULL;
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	return ERR_OK;
}
