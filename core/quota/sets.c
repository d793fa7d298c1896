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
static void split(const struct quota *q, uint32_t ref, const struct quota_work *w, quota_order *cmp,
		  uint32_t *lo, uint32_t *hi)
{
	while (ref != 0) {
		struct quota_work *root = quota_work_of(q, ref);

		if (cmp(root, w) < 0) {
			*lo = ref;
			lo = &root->right;
			ref = root->right;
		} else {
			*hi = ref;
			hi = &root->left;
			ref = root->left;
		}
	}
	*lo = 0;
	*hi = 0;
}

void quota_set_add(const struct quota *q, uint32_t *root, struct quota_work *w, quota_order *cmp)
{
	struct quota_work *at = quota_work_of(q, *root);

	while (at != NULL && at->hash >= w->hash) {
		root = cmp(w, at) < 0 ? &at->left : &at->right;
		at = quota_work_of(q, *root);
	}
	split(q, *root, w, cmp, &w->left, &w->right);
	*root = w->self;
}

void quota_set_del(const struct quota *q, uint32_t *root, struct quota_work *w, quota_order *cmp)
{
	struct quota_work *a = quota_work_of(q, w->left);
	struct quota_work *b = quota_work_of(q, w->right);

	while (*root != 0 && *root != w->self) {
		struct quota_work *at = quota_work_of(q, *root);

		root = cmp(w, at) < 0 ? &at->left : &at->right;
	}
	while (a != NULL && b != NULL) {
		if (a->hash >= b->hash) {
			*root = a->self;
			root = &a->right;
			a = quota_work_of(q, a->right);
		} else {
			*root = b->self;
			root = &b->left;
			b = quota_work_of(q, b->left);
		}
	}
	*root = quota_ref(a != NULL ? a : b);
	w->left = 0;
	w->right = 0;
}

struct quota_work *quota_set_first(const struct quota *q, uint32_t root)
{
	struct quota_work *w = quota_work_of(q, root);

	while (w != NULL && w->left != 0) {
		w = quota_work_of(q, w->left);
	}
	return w;
}

struct quota_work *quota_set_after(const struct quota *q, uint32_t root, const struct quota_work *w,
				   quota_order *cmp)
{
	struct quota_work *best = NULL;
	struct quota_work *at = quota_work_of(q, root);

	while (at != NULL) {
		if (cmp(at, w) > 0) {
			best = at;
			at = quota_work_of(q, at->left);
		} else {
			at = quota_work_of(q, at->right);
		}
	}
	return best;
}

void quota_set_each(struct quota *q, uint32_t root,
		    void (*fn)(struct quota *q, void *ctx, struct quota_work *w), void *ctx)
{
	struct quota_work *w = quota_work_of(q, root);

	while (w != NULL) {
		struct quota_work *right = quota_work_of(q, w->right);

		quota_set_each(q, w->left, fn, ctx);
		fn(q, ctx, w);
		w = right;
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
