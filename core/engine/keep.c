/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which text of an object is kept beside its facts: what bodies and plugins are made from, and nothing of what only takes
 * memory.
 */
#include "core/base/alloc.h"
#include "core/engine/state.h"

enum { BLOB_MAX = 4 * 1024 * 1024 };

static bool is_admission_entry(const struct json *entry)
{
	return str_is(json_str(json_get(entry, "manager")), NAME_ADMISSION) &&
	       str_is(json_str(json_get(entry, "operation")), "Apply") &&
	       str_is(json_str(json_get(entry, "subresource")), "status");
}

/* What is kept of an object: a tree that shares with it all but the way to what is left out. NULL: out of memory. */
static struct json *kept_of(struct arena *a, const struct json *obj, bool status_only,
			    bool admission)
{
	struct json *o = json_share(a, obj);
	struct json *meta;
	struct json_iter entries;

	json_own(a, o);
	meta = json_get(o, "metadata");
	json_own(a, meta);
	if (arena_failed(a)) {
		return NULL; /* what is not our own must not be changed */
	}
	entries = json_iter(json_get(meta, "managedFields"));
	json_set(a, meta, STR("managedFields"), NULL);
	while (admission && json_next(&entries)) {
		if (is_admission_entry(entries.val)) {
			struct json *list = json_new_arr(a);

			json_add(a, list, json_share(a, entries.val));
			json_set(a, meta, STR("managedFields"), list);
			break;
		}
	}
	if (status_only) {
		json_set(a, o, STR("spec"), NULL);
	}
	return arena_failed(a) ? NULL : o;
}

/* The object's text, in the scratch arena; of a clone only metadata and status. NULL: out of memory. */
static mk_str text_of(struct engine *e, const struct json *obj, bool status_only, bool admission)
{
	return json_write(&e->scratch, kept_of(&e->scratch, obj, status_only, admission));
}

/* It is known by its facts alone, and nothing can be made of it: that is no reason to read the others of its kind again. */
static void say_too_big(const struct table *t, struct facts *f)
{
	f->flags = (f->flags & ~(uint32_t)F_MANAGED) | F_UNUSABLE;
	if (t->kind >= KIND_FIRST_JOB) {
		f->s[S_REASON] = STR("it is larger than 4 MiB");
	}
}

enum keep { KEEP_NONE, KEEP_STATUS, KEEP_ALL };

static enum keep what_of(const struct engine *e, const struct table *t, const struct facts *f)
{
	bool remote = t->cluster != CLUSTER_MANAGER;
	bool ours = (f->flags & F_ORIGIN) || str_is(f->s[S_MANAGER_ID], e->manager_id);

	if (t->kind >= KIND_FIRST_JOB) {
		return (remote ? ours : facts_is(f, F_MANAGED)) ? KEEP_ALL : KEEP_NONE;
	}
	if (t->kind == KIND_WORKLOAD && remote && !facts_is(f, F_FINISHED) &&
	    facts_is(f, F_BLOCKED)) {
		return KEEP_STATUS; /* its gate may be opened */
	}
	if (t->kind == KIND_WORKLOAD && remote && facts_is(f, F_HELD)) {
		return KEEP_STATUS; /* its finalizers are a list to be written back */
	}
	if (t->kind == KIND_WORKLOAD && facts_is(f, F_FINISHED)) {
		return KEEP_NONE;
	}
	if (t->kind == KIND_WORKLOAD && remote) {
		return facts_is(f, F_ADMITTED) ? KEEP_STATUS : KEEP_NONE;
	}
	if (t->kind == KIND_WORKLOAD) {
		return f->n_checks > 0 ? KEEP_ALL : KEEP_NONE;
	}
	if (t->kind == KIND_CLUSTER_QUEUE) {
		return remote ? KEEP_NONE : KEEP_ALL;
	}
	return t->kind == KIND_CHECK || t->kind == KIND_CLUSTER || t->kind == KIND_PROFILE
		       ? KEEP_STATUS
		       : KEEP_NONE;
}

bool keep_text(struct engine *e, const struct table *t, struct facts *f, const struct json *obj,
	       char **ret_text, size_t *ret_n)
{
	enum keep what = what_of(e, t, f);
	mk_str text;

	*ret_text = NULL;
	*ret_n = 0;
	if (what == KEEP_NONE) {
		return true;
	}
	text = text_of(e, obj, what == KEEP_STATUS, t->kind == KIND_WORKLOAD);
	if (text.n > BLOB_MAX) {
		say_too_big(t, f);
		return true;
	}
	*ret_text = text.p ? mk_strndup(text) : NULL;
	*ret_n = text.n;
	return *ret_text;
}
