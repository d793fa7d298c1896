/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that an object makes part of a tree; see mentions.h. */
#include "core/trees/mentions.h"

static void add(struct buf *out, enum trees_mention what, mk_str name)
{
	char c = (char)what;

	if (name.n > 0) {
		buf_add(out, (mk_str){&c, 1});
		buf_add(out, name);
		buf_add(out, (mk_str){"", 1});
	}
}

static void add_tree(struct buf *out, const struct api_tree *tree, const struct json *obj)
{
	mk_str enforcement = json_str_at(obj, "/spec/enforcement");

	if (!trees_compiles(enforcement)) {
		add(out, TREES_IDLE, enforcement);
	}
	if (tree->graft_tree.set) {
		add(out, TREES_HOST, tree->graft_tree.v);
	}
	for (size_t g = 0; g < tree->n_groups; g++) {
		add(out, TREES_PARENT, tree->groups[g].key);
		for (size_t i = 0; i < tree->groups[g].n; i++) {
			add(out, TREES_CHILD, tree->groups[g].nodes[i].name);
		}
	}
}

static void add_queue(struct buf *out, const struct api_queue *q)
{
	if (q->parent.set) {
		add(out, TREES_PARENT, q->parent.v);
		add(out, TREES_CHILD, q->name);
	}
	for (size_t i = 0; i < q->children.n; i++) {
		add(out, TREES_PARENT, q->name);
		add(out, TREES_CHILD, q->children.v[i]);
	}
}

bool trees_compiles(mk_str enforcement)
{
	return enforcement.n == 0 || str_is(enforcement, "Compile");
}

bool trees_mentions_read(struct arena *a, enum api_kind kind, const struct json *obj,
			 struct buf *out)
{
	struct api_set *set;
	enum mk_code code;

	if (kind != API_TREE && kind != API_QUEUE) {
		return true;
	}
	set = api_set_new(a);
	if (!set) {
		return false;
	}
	code = api_set_add(set, obj, 0, NULL);
	if (code == ERR_INVALID) {
		return true;
	}
	if (code != ERR_OK || api_set_link(set, API_NONE, NULL) != ERR_OK) {
		return false;
	}
	if (set->n_trees > 0) {
		add_tree(out, set->trees[0], obj);
	}
	if (set->n_queues > 0) {
		add_queue(out, set->queues[0]);
	}
	return !out->failed;
}

bool trees_mentions_next(mk_str *left, char *what, mk_str *name)
{
	mk_str one;

	if (!str_split(left, '\0', &one) || one.n == 0) {
		return false;
	}
	*what = one.p[0];
	*name = str_sub(one, 1, SIZE_MAX);
	return true;
}

mk_str trees_mentions_get(mk_str packed, enum trees_mention what)
{
	mk_str name;
	char c;

	while (trees_mentions_next(&packed, &c, &name)) {
		if (c == (char)what) {
			return name;
		}
	}
	return STR("");
}

void trees_mentions_find(mk_str packed, mk_str name, bool *child, bool *parent)
{
	mk_str one;
	char what;

	while (trees_mentions_next(&packed, &what, &one)) {
		if ((what == TREES_PARENT || what == TREES_CHILD) && str_eq(one, name)) {
			*(what == TREES_PARENT ? parent : child) = true;
		}
	}
}
