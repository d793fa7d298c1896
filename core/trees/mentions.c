/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that an object makes part of a tree; see mentions.h. */
#include "core/trees/mentions.h"

static void add(struct buf *out, const char *what, mk_str name)
{
	if (name.n > 0) {
		buf_add(out, str_of(what));
		buf_add(out, name);
		buf_add(out, (mk_str){"", 1});
	}
}

static void add_tree(struct buf *out, const struct api_tree *tree)
{
	for (size_t g = 0; g < tree->n_groups; g++) {
		add(out, "P", tree->groups[g].key);
		for (size_t i = 0; i < tree->groups[g].n; i++) {
			add(out, "C", tree->groups[g].nodes[i].name);
		}
	}
}

static void add_queue(struct buf *out, const struct api_queue *q)
{
	if (q->parent.set) {
		add(out, "P", q->parent.v);
		add(out, "C", q->name);
	}
	for (size_t i = 0; i < q->children.n; i++) {
		add(out, "P", q->name);
		add(out, "C", q->children.v[i]);
	}
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
		add_tree(out, set->trees[0]);
	}
	if (set->n_queues > 0) {
		add_queue(out, set->queues[0]);
	}
	return !out->failed;
}

void trees_mentions_find(mk_str packed, mk_str name, bool *child, bool *parent)
{
	mk_str one;

	while (str_split(&packed, '\0', &one)) {
		if (str_eq(str_sub(one, 1, SIZE_MAX), name)) {
			*(one.p[0] == 'P' ? parent : child) = true;
		}
	}
}
