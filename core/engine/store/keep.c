/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of an object's text is kept; see keep.h. */
#include "core/engine/store/keep.h"

#include "core/engine/store/kept.h"
#include "core/engine/store/reduce.h"

enum { TEXT_MAX = 4 * 1024 * 1024 };

const struct json *keep_admission_entry(const struct json *managed_fields)
{
	struct json_iter it = json_iter(managed_fields);

	while (json_next(&it)) {
		if (str_is(json_str(json_get(it.val, "manager")), NAME_ADMISSION) &&
		    str_is(json_str(json_get(it.val, "operation")), "Apply") &&
		    str_is(json_str(json_get(it.val, "subresource")), "status")) {
			return it.val;
		}
	}
	return NULL;
}

/*
 * The part of an object that is kept: a tree that shares all with it except the nodes on the way to
 * what is left out. NULL: out of memory.
 */
static struct json *kept_of(struct arena *a, const struct json *obj, bool status_only,
			    bool admission)
{
	struct json *o = json_share(a, obj);
	struct json *meta;
	const struct json *entry;

	json_own(a, o);
	meta = json_get(o, "metadata");
	json_own(a, meta);
	if (arena_failed(a)) {
		return NULL; /* a shared node must not be changed */
	}
	entry = admission ? keep_admission_entry(json_get(meta, "managedFields")) : NULL;
	json_set(a, meta, STR("managedFields"), NULL);
	if (entry) {
		struct json *list = json_new_arr(a);

		json_add(a, list, json_share(a, entry));
		json_set(a, meta, STR("managedFields"), list);
	}
	if (status_only) {
		json_set(a, o, STR("spec"), NULL);
	}
	return arena_failed(a) ? NULL : o;
}

/*
 * Did the parser cut something that is kept (nesting)? A cut in a part that is left out marks
 * metadata and the object as well, so their members are looked at.
 */
static bool is_cut(const struct json *kept, bool status_only)
{
	struct json_iter it = json_iter(json_get(kept, "metadata"));
	bool cut = false;

	while (json_next(&it)) {
		cut |= json_is_cut(it.val);
	}
	it = json_iter(kept);
	while (json_next(&it)) {
		bool out = str_is(it.key, "metadata") || (status_only && str_is(it.key, "spec"));

		cut |= !out && json_is_cut(it.val);
	}
	return cut;
}

/*
 * The record keeps only facts, and no body can be made from it. That is no reason to list all
 * objects of the kind again.
 */
static void say_unusable(const struct table *t, struct facts *f, mk_str why)
{
	f->flags = (f->flags & ~(uint32_t)F_MANAGED) | F_UNUSABLE;
	if (t->kind >= KIND_FIRST_JOB) {
		f->s[S_REASON] = why;
	}
}

enum keep { KEEP_NONE, KEEP_STATUS, KEEP_ALL };

/* Is the local Workload Finished, and the status hook still to be called for it? */
static bool is_owing(const struct engine *e, const struct record *r)
{
	const struct wl *w = wl_find(e, r->ns, r->name);

	return w && w->owes;
}

/* Its check may be gone while its job runs: clones of its name show that. */
static bool may_be_ours(const struct engine *e, const struct record *r, const struct facts *f)
{
	return f->n_checks > 0 || f->s[S_CLUSTER].n > 0 ||
	       store_peers(&e->store, KIND_WORKLOAD, r->ns, r->name) != NULL;
}

static enum keep what_of(const struct engine *e, const struct record *r, const struct facts *f)
{
	const struct table *t = r->table;
	bool remote = t->cluster != CLUSTER_MANAGER;
	bool ours = (f->flags & F_ORIGIN) || str_is(f->s[S_MANAGER_ID], e->manager_id);

	if (t->kind >= KIND_FIRST_JOB) {
		return (remote ? ours : facts_is(f, F_MANAGED)) ? KEEP_ALL : KEEP_NONE;
	}
	if (t->kind == KIND_WORKLOAD && remote) {
		/*
		 * Writes to a clone need its finalizers, or its status while it may be stopped or
		 * its gate opened.
		 */
		bool live = !facts_is(f, F_FINISHED) && (f->flags & (F_BLOCKED | F_ADMITTED));

		return live || facts_is(f, F_HELD) ? KEEP_STATUS : KEEP_NONE;
	}
	if (t->kind == KIND_WORKLOAD) {
		return (!facts_is(f, F_FINISHED) || is_owing(e, r)) && may_be_ours(e, r, f)
			       ? KEEP_ALL
			       : KEEP_NONE;
	}
	if (t->kind == KIND_CLUSTER_QUEUE) {
		return remote || !e->o.gates.quota_automation ? KEEP_NONE : KEEP_ALL;
	}
	return t->kind == KIND_CHECK || t->kind == KIND_CLUSTER || t->kind == KIND_PROFILE
		       ? KEEP_STATUS
		       : KEEP_NONE;
}

/* What to keep of an object that a get asked for, when nothing else wants its text. */
static enum keep at_least(const struct table *t, enum keep what)
{
	if (what != KEEP_NONE || (t->kind != KIND_WORKLOAD && t->kind < KIND_FIRST_JOB)) {
		return what;
	}
	return t->kind == KIND_WORKLOAD && t->cluster != CLUSTER_MANAGER ? KEEP_STATUS : KEEP_ALL;
}

/* The object's text as it came, perhaps without its spec. {NULL, 0}: out of memory. */
static mk_str cut_out(struct engine *e, const struct event *ev, bool status_only)
{
	mk_str spec = status_only ? ev->raw_spec : STR_NONE;
	size_t before, after;
	char *text;

	if (spec.n == 0) {
		return ev->raw;
	}
	before = (size_t)(spec.p - ev->raw.p);
	after = ev->raw.n - before - spec.n;
	text = arena_alloc_raw(&e->scratch, before + after);
	if (!text) {
		return STR_NONE;
	}
	memcpy(text, ev->raw.p, before);
	memcpy(text + before, ev->raw.p + before + spec.n, after);
	return (mk_str){text, before + after};
}

/* How a copy ended that is unusable: it is what its job waits for. False: out of memory. */
static bool keep_end(struct engine *e, const struct record *r, const struct facts *f,
		     const struct json *obj, struct kept **ret)
{
	struct models *models;
	struct json *cut;

	if (r->table->cluster == CLUSTER_MANAGER || r->table->kind < KIND_FIRST_JOB || !obj ||
	    !facts_is(f, F_ENDED)) {
		return true;
	}
	models = store_models(&e->store, r->table);
	cut = reduce_object(&e->scratch, obj);
	*ret = cut && models ? kept_new(models, json_write(&e->scratch, cut), &e->scratch) : NULL;
	return *ret;
}

bool keep_text(struct engine *e, const struct record *r, struct facts *f, const struct event *ev,
	       bool asked, struct kept **ret)
{
	const struct table *t = r->table;
	enum keep usual = what_of(e, r, f), what = asked ? at_least(t, usual) : usual;
	bool status_only = what == KEEP_STATUS;
	const struct json *kept = ev->obj;
	struct models *models;
	mk_str text;

	*ret = NULL;
	if (what == KEEP_NONE) {
		return true;
	}
	if (!ev->raw.p) {
		kept = kept_of(&e->scratch, kept, status_only, t->kind == KIND_WORKLOAD);
	}
	if (kept && is_cut(kept, status_only)) {
		say_unusable(t, f, STR("it is nested more than 120 levels deep"));
		return keep_end(e, r, f, ev->obj, ret);
	}
	text = ev->raw.p ? cut_out(e, ev, status_only) : json_write(&e->scratch, kept);
	if (text.n > TEXT_MAX) {
		say_unusable(t, f, STR("it is larger than 4 MiB"));
		return keep_end(e, r, f, ev->obj, ret);
	}
	models = store_models(&e->store, t);
	*ret = text.p && models ? kept_new(models, text, &e->scratch) : NULL;
	return *ret;
}
