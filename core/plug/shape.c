/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a descriptor says without code: is the job managed, what does its copy look like, which
 * fields follow it, and what Kueue calls its Workload.
 */
#include "core/api/names.h"
#include "core/base/hash.h"
#include "core/plug/internal.h"

static const char *type_name(const struct json *v)
{
	static const char *const names[] = {
		[JSON_ABSENT] = "nothing", [JSON_NULL] = "null",     [JSON_BOOL] = "a boolean",
		[JSON_INT] = "a number",   [JSON_REAL] = "a number", [JSON_STR] = "a string",
		[JSON_ARR] = "an array",   [JSON_OBJ] = "an object",
	};

	return names[json_type(v)];
}

/* "/spec/managedBy" as users write it: "spec.managedBy". */
static mk_str dotted(struct arena *a, const char *pointer)
{
	mk_str s = arena_dup(a, str_of(pointer + 1));
	char *copy = s.p ? arena_alloc(a, s.n + 1) : NULL;
	size_t n = 0;

	if (!copy) {
		return (mk_str){NULL, 0};
	}
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '~') {
			i++;
			copy[n++] = s.p[i] == '1' ? '/' : '~';
		} else {
			copy[n++] = s.p[i] == '/' ? '.' : s.p[i];
		}
	}
	return (mk_str){copy, n};
}

/* Every parent on the way to 'pointer' that is there must be an object. */
static enum mk_code check_parents(const struct json *obj, const char *pointer, struct arena *a,
				  struct mk_err *err)
{
	mk_str path = arena_dup(a, str_of(pointer));
	char *p = path.p ? arena_alloc(a, path.n + 1) : NULL;

	if (!p) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	for (size_t i = 1; i < path.n; i++) {
		if (path.p[i] != '/') {
			continue;
		}
		memcpy(p, path.p, i);
		p[i] = '\0';
		const struct json *parent = json_at(obj, p);

		if (parent && json_type(parent) != JSON_OBJ) {
			mk_str name = dotted(a, p);

			return err_set(err, ERR_INVALID, "%.*s: expected an object, found %s",
				       STR_ARG(name), type_name(parent));
		}
	}
	return ERR_OK;
}

enum mk_code plug_managed(const struct plug_adapter *ad, const struct json *local, struct arena *a,
			  bool *ret_managed, mk_str *ret_reason, struct mk_err *err)
{
	const char *pointer = ad->d->managed_by;

	if (!pointer) {
		*ret_managed = true;
		*ret_reason = (mk_str){"", 0};
		return ERR_OK;
	}
	enum mk_code code = check_parents(local, pointer, a, err);

	if (code != ERR_OK) {
		return code;
	}
	const struct json *v = json_at(local, pointer);
	mk_str name = dotted(a, pointer);

	if (v && json_type(v) != JSON_STR) {
		return err_set(err, ERR_INVALID, "%.*s: expected a string, found %s", STR_ARG(name),
			       type_name(v));
	}
	mk_str actual = json_str(v);
	mk_str reason = {"", 0};
	bool managed = str_is(actual, NAME_CONTROLLER);

	if (!managed) {
		reason = arena_printf(a, "Expecting %s%.*s to be \"%s\" not \"%.*s\"",
				      ad->is_instance ? "." : "", STR_ARG(name), NAME_CONTROLLER,
				      STR_ARG(actual));
		if (!reason.p) {
			return err_set(err, ERR_NO_MEMORY, "out of memory");
		}
	}
	*ret_managed = managed;
	*ret_reason = reason;
	return ERR_OK;
}

static void copy_member(struct arena *a, struct json *to, const struct json *from, const char *key)
{
	const struct json *v = json_get(from, key);

	if (v) {
		json_set(a, to, str_of(key), json_dup(a, v));
	}
}

static void drop(struct arena *a, struct json *obj, const char *pointer)
{
	if (pointer && json_at(obj, pointer)) {
		(void)json_put(a, obj, pointer, NULL);
	}
}

struct json *plug_skeleton(const struct plug_adapter *ad, const struct json *local, struct arena *a)
{
	static const char *const kept[] = {"name", "namespace", "labels", "annotations"};
	const struct json *from = json_get(local, "metadata");
	struct json *obj = json_new_obj(a), *meta = json_new_obj(a);

	if (!obj || !meta) {
		return NULL;
	}
	copy_member(a, obj, local, "apiVersion");
	copy_member(a, obj, local, "kind");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		copy_member(a, meta, from, kept[i]);
	}
	json_set(a, obj, STR("metadata"), meta);
	copy_member(a, obj, local, "spec");
	drop(a, obj, ad->d->managed_by);
	for (size_t i = 0; ad->d->strip && ad->d->strip[i]; i++) {
		drop(a, obj, ad->d->strip[i]);
	}
	return arena_failed(a) ? NULL : obj;
}

enum mk_code plug_forward(const struct plug_adapter *ad, const struct json *local,
			  struct json *draft, struct arena *a)
{
	enum mk_code code = ERR_OK;

	for (size_t i = 0; ad->d->forward && ad->d->forward[i]; i++) {
		const struct json *v = json_at(local, ad->d->forward[i]);

		if (!v) {
			drop(a, draft, ad->d->forward[i]);
		} else if (json_put(a, draft, ad->d->forward[i], json_dup(a, v)) == ERR_INVALID) {
			code = ERR_INVALID;
		}
	}
	return arena_failed(a) ? ERR_NO_MEMORY : code;
}

struct json *plug_status_draft(const struct plug_adapter *ad, const struct json *local,
			       const struct json *remote, struct arena *a)
{
	const struct json *theirs = json_get(remote, "status"), *ours = json_get(local, "status");
	const mk_move *m = ad->d->status_map;
	const struct json *base = m ? ours : theirs;
	struct json *draft = json_type(base) == JSON_OBJ ? json_dup(a, base) : json_new_obj(a);

	for (; m && m->from && draft; m++) {
		const struct json *v = json_at(theirs, m->from);

		if (!v) {
			drop(a, draft, m->to);
		} else {
			/* a scalar of the user's on the way: that value is not copied */
			(void)json_put(a, draft, m->to, json_dup(a, v));
		}
	}
	return arena_failed(a) ? NULL : draft;
}

bool is_among(mk_str s, const char *const *values)
{
	for (size_t i = 0; values && values[i]; i++) {
		if (str_is(s, values[i])) {
			return true;
		}
	}
	return false;
}

static bool has_end(const mk_end *end, const struct json *job)
{
	static const char *const yes[] = {"True", NULL};
	struct json_iter it = json_iter(json_at(job, "/status/conditions"));

	if (!end->condition) {
		mk_str s = json_str_at(job, end->pointer);

		return end->values ? is_among(s, end->values) : s.n > 0;
	}
	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "type")), end->condition) &&
		    is_among(json_str(json_get(it.val, "status")),
			     end->values ? end->values : yes)) {
			return true;
		}
	}
	return false;
}

bool plug_ended(const struct plug_adapter *ad, const struct json *job)
{
	static const mk_end usual[] = {
		{.condition = "Complete"},  {.condition = "Failed"},   {.condition = "Completed"},
		{.condition = "Succeeded"}, {.condition = "Finished"}, {NULL, NULL, NULL},
	};
	const mk_end *end = ad->d->ends ? ad->d->ends : usual;

	for (; end->condition || end->pointer; end++) {
		if (has_end(end, job)) {
			return true;
		}
	}
	return false;
}

bool plug_suspended(const struct plug_adapter *ad, const struct json *job)
{
	if (ad->d->suspend) {
		return json_bool(json_at(job, ad->d->suspend));
	}
	return json_bool(json_at(job, "/spec/suspend")) ||
	       json_bool(json_at(job, "/spec/runPolicy/suspend"));
}

bool plug_suspends(const struct plug_adapter *ad, const struct json *job)
{
	if (ad->d->suspend) {
		return json_type(json_at(job, ad->d->suspend)) == JSON_BOOL;
	}
	return json_type(json_at(job, "/spec/suspend")) == JSON_BOOL ||
	       json_type(json_at(job, "/spec/runPolicy/suspend")) == JSON_BOOL;
}

void plug_suspend(const struct plug_adapter *ad, struct json *job, struct arena *a)
{
	const char *const pointers[] = {"/spec/suspend", "/spec/runPolicy/suspend"};

	for (size_t i = 0; i < (ad->d->suspend ? 1 : 2); i++) {
		const char *pointer = ad->d->suspend ? ad->d->suspend : pointers[i];

		if (json_type(json_at(job, pointer)) == JSON_BOOL) {
			(void)json_put(a, job, pointer, json_new_bool(a, true));
		}
	}
}

mk_str plug_workload_name(struct arena *a, mk_str kind, mk_str group, mk_str owner, mk_str uid,
			  mk_str extra)
{
	enum { MAX = 253, HASH = 5 };
	const mk_str none = {NULL, 0};
	mk_str text =
		arena_printf(a, "%.*s\n%.*s\n%.*s\n%.*s%s%.*s", STR_ARG(kind), STR_ARG(group),
			     STR_ARG(owner), STR_ARG(uid), extra.n ? "\n" : "", STR_ARG(extra));
	mk_str digest = text.p ? sha1_hex(a, text) : none;
	size_t n = kind.n + 1 + owner.n;
	char *name = digest.p && n < SIZE_MAX - HASH - 2 ? arena_alloc(a, n + HASH + 2) : NULL;

	if (!name || digest.n < HASH) {
		return none;
	}
	for (size_t i = 0; i < kind.n; i++) {
		name[i] = (char)(kind.p[i] >= 'A' && kind.p[i] <= 'Z' ? kind.p[i] + ('a' - 'A')
								      : kind.p[i]);
	}
	name[kind.n] = '-';
	if (owner.n) {
		memcpy(name + kind.n + 1, owner.p, owner.n);
	}
	n = n > MAX - HASH - 1 ? MAX - HASH - 1 : n;
	name[n++] = '-';
	memcpy(name + n, digest.p, HASH);
	n += HASH;
	name[n] = '\0';
	return (mk_str){name, n};
}
