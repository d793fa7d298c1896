/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered sets of workloads: treaps whose links live in the workload, so that moving between sets allocates nothing. */
#include "core/quota/quota_impl.h"

static int cmp_uid(const struct quota_work *a, const struct quota_work *b)
{
	return str_cmp((mk_str){quota_uid(a), a->uid_len}, (mk_str){quota_uid(b), b->uid_len});
}

/* Who comes first in a queue: higher priority, earlier, smaller uid. */
int quota_by_turn(const struct quota_work *a, const struct quota_work *b)
{
	if (a->priority != b->priority) {
		return a->priority > b->priority ? -1 : 1;
	}
	if (a->time_ms != b->time_ms) {
		return a->time_ms < b->time_ms ? -1 : 1;
	}
	return cmp_uid(a, b);
}

/* Who is given up first: lower priority, admitted later, smaller uid. */
int quota_by_worth(const struct quota_work *a, const struct quota_work *b)
{
	if (a->priority != b->priority) {
		return a->priority < b->priority ? -1 : 1;
	}
	if (a->since_ms != b->since_ms) {
		return a->since_ms > b->since_ms ? -1 : 1;
	}
	return cmp_uid(a, b);
}

/* Splits at 'w', which is in neither half. */
static void split(struct quota_work *root, const struct quota_work *w, quota_order *cmp,
		  struct quota_work **lo, struct quota_work **hi)
{
	while (root != NULL) {
		if (cmp(root, w) < 0) {
			*lo = root;
			lo = &root->right;
			root = root->right;
		} else {
			*hi = root;
			hi = &root->left;
			root = root->left;
		}
	}
	*lo = NULL;
	*hi = NULL;
}

void quota_set_add(struct quota_work **root, struct quota_work *w, quota_order *cmp)
{
	while (*root != NULL && (*root)->hash >= w->hash) {
		root = cmp(w, *root) < 0 ? &(*root)->left : &(*root)->right;
	}
	split(*root, w, cmp, &w->left, &w->right);
	*root = w;
}

void quota_set_del(struct quota_work **root, struct quota_work *w, quota_order *cmp)
{
	struct quota_work *a = w->left;
	struct quota_work *b = w->right;

	while (*root != NULL && *root != w) {
		root = cmp(w, *root) < 0 ? &(*root)->left : &(*root)->right;
	}
	while (a != NULL && b != NULL) {
		if (a->hash >= b->hash) {
			*root = a;
			root = &a->right;
			a = a->right;
		} else {
			*root = b;
			root = &b->left;
			b = b->left;
		}
	}
	*root = a != NULL ? a : b;
	w->left = NULL;
	w->right = NULL;
}

struct quota_work *quota_set_first(struct quota_work *root)
{
	while (root != NULL && root->left != NULL) {
		root = root->left;
	}
	return root;
}

struct quota_work *quota_set_after(struct quota_work *root, const struct quota_work *w,
				   quota_order *cmp)
{
	struct quota_work *best = NULL;

	while (root != NULL) {
		if (cmp(root, w) > 0) {
			best = root;
			root = root->left;
		} else {
			root = root->right;
		}
	}
	return best;
}

void quota_set_each(struct quota_work *root, void (*fn)(void *ctx, struct quota_work *w), void *ctx)
{
	while (root != NULL) {
		struct quota_work *right = root->right;

		quota_set_each(root->left, fn, ctx);
		fn(ctx, root);
		root = right;
	}
}

bool quota_room(void **p, size_t *size, size_t n, size_t item)
{
	size_t want = *size < 16 ? 16 : *size * 2;
	void *bigger;

	if (n < *size) {
		return true;
	}
	bigger = mk_realloc(*p, want * item);
	if (bigger == NULL) {
		return false;
	}
	*p = bigger;
	*size = want;
	return true;
}
