/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of queue trees between passes; see trees_memo.h. */
#include "core/daemon/trees_memo.h"

#include "core/base/alloc.h"
#include "core/base/backoff.h"

enum {
	STATUS_MS = 5000,
	STEP_MS = 10 * 1000,
	STEP_MAX_MS = 300 * 1000,
	OLD_MS = 600 * 1000,
	TEXT_MAX = 4096, /* of what a server said */
};

struct memo {
	struct list_node in_memo;
	int64_t told_ms; /* 0: never */
	int64_t due_ms, step_ms;
	bool refused;
	bool parents; /* the tree is that of a ClusterQueue */
	int64_t generation;
	bool takes_over;
	struct arena words; /* of the refusal */
	struct trees_refusal refusal;
	mk_str tree;
	char *owned_tree;
};

void trees_memo_init(struct trees_memo *m)
{
	list_init(&m->trees);
	map_init(&m->by_name);
}

static void drop(struct trees_memo *m, struct memo *t)
{
	(void)map_del(&m->by_name, t->tree);
	list_del(&t->in_memo);
	arena_done(&t->words);
	mk_free(t->owned_tree);
	mk_free(t);
}

void trees_memo_clear(struct trees_memo *m)
{
	while (!list_empty(&m->trees)) {
		drop(m, LIST_ENTRY(m->trees.next, struct memo, in_memo));
	}
	map_done(&m->by_name);
	map_init(&m->by_name);
}

/* A tree of which nothing was told for long is as one that was never told of. */
static void forget_old(struct trees_memo *m, int64_t mono_ms)
{
	struct list_node *next;

	for (struct list_node *n = m->trees.next; n != &m->trees; n = next) {
		struct memo *t = LIST_ENTRY(n, struct memo, in_memo);

		next = n->next;
		if (!t->refused && mono_ms - t->told_ms > OLD_MS) {
			drop(m, t);
		}
	}
}

static struct memo *find(const struct trees_memo *m, mk_str tree)
{
	return map_get(&m->by_name, tree);
}

static struct memo *find_or_make(struct trees_memo *m, mk_str tree)
{
	struct memo *t = find(m, tree);
	char *name;

	if (t) {
		return t;
	}
	t = mk_calloc(1, sizeof(*t));
	name = mk_malloc(tree.n + 1);
	if (!t || !name || !map_put(&m->by_name, tree, t)) {
		mk_free(t);
		mk_free(name);
		return NULL;
	}
	memcpy(name, str_chars(tree), tree.n);
	name[tree.n] = '\0';
	t->owned_tree = name;
	t->tree = (mk_str){name, tree.n};
	arena_init(&t->words, TEXT_MAX * 4);
	list_add_tail(&m->trees, &t->in_memo);
	return t;
}

bool trees_memo_refused(struct trees_memo *m, const struct trees_write *w, mk_str reason,
			mk_str text, int64_t mono_ms)
{
	struct memo *t = find_or_make(m, w->tree);
	struct arena *a;

	if (!t) {
		return false;
	}
	a = &t->words;
	arena_clear(a);
	t->refusal = (struct trees_refusal){
		.tree = t->tree,
		.object = arena_printf(a, "%s/%.*s", api_kind_name(w->kind), STR_ARG(w->name)),
		.reason = arena_dup(a, str_cut(reason, TEXT_MAX)),
		.text = arena_dup(a, str_cut(text, TEXT_MAX))};
	t->step_ms = t->step_ms == 0 ? STEP_MS : backoff_ms(t->step_ms, 1, STEP_MAX_MS);
	t->due_ms = mono_ms + t->step_ms;
	t->refused = !arena_failed(a);
	t->parents = w->parents;
	t->generation = -1; /* that of the next pass */
	return t->refused;
}

/* Is the tree another one than when it was refused? */
static bool is_changed(struct memo *t, const struct json *tree)
{
	int64_t generation = json_int(json_at(tree, "/metadata/generation"), 0);
	bool takes_over = trees_takes_over(tree);
	bool changed =
		t->generation >= 0 && (t->generation != generation || t->takes_over != takes_over);

	t->generation = generation;
	t->takes_over = takes_over;
	return changed;
}

static void forget_changed(struct trees_memo *m, struct json *const *objects, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mk_str kind = json_str(json_get(objects[i], "kind"));
		bool is_queue = str_is(kind, "ClusterQueue");
		struct memo *t = is_queue || str_is(kind, "ClusterQuotaTree")
					 ? find(m, json_str_at(objects[i], "/metadata/name"))
					 : NULL;

		if (t && t->refused && t->parents == is_queue && is_changed(t, objects[i])) {
			t->refused = false;
			t->step_ms = 0;
		}
	}
}

const struct trees_refusal *trees_memo_refusals(struct trees_memo *m, struct arena *a,
						struct json *const *objects, size_t n,
						int64_t mono_ms, size_t *ret_n)
{
	struct trees_refusal *v;
	size_t size = 0;

	forget_old(m, mono_ms);
	forget_changed(m, objects, n);
	for (LIST_EACH(node, &m->trees)) {
		size++;
	}
	*ret_n = 0;
	v = arena_array(a, size + 1, sizeof(*v));
	for (LIST_EACH(node, &m->trees)) {
		const struct memo *t = LIST_ENTRY(node, struct memo, in_memo);

		if (v && t->refused && t->due_ms > mono_ms) {
			v[(*ret_n)++] = t->refusal;
		}
	}
	return v;
}

void trees_memo_done(struct trees_memo *m, mk_str tree)
{
	struct memo *t = find(m, tree);

	if (t) {
		t->refused = false;
		t->step_ms = 0;
	}
}

bool trees_memo_may_tell(struct trees_memo *m, mk_str tree, int64_t mono_ms, int64_t *ret_ms)
{
	struct memo *t = find_or_make(m, tree);

	if (!t || (t->told_ms > 0 && mono_ms - t->told_ms < STATUS_MS)) {
		*ret_ms = t ? t->told_ms + STATUS_MS : mono_ms + STATUS_MS;
		return false;
	}
	t->told_ms = mono_ms;
	return true;
}

int64_t trees_memo_next_ms(const struct trees_memo *m)
{
	int64_t next = INT64_MAX;

	for (LIST_EACH(n, &m->trees)) {
		const struct memo *t = LIST_ENTRY(n, struct memo, in_memo);

		if (t->refused && t->due_ms < next) {
			next = t->due_ms;
		}
	}
	return next;
}
