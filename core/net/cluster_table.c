/* SPDX-License-Identifier: Apache-2.0 */
/* Open clusters by number; see cluster_table.h. */
#include "core/net/cluster_table.h"

#include <string.h>

#include "core/base/alloc.h"

enum { MAX_CLUSTERS = 8192 };

/* Index of the first cluster whose number is not below 'id'. */
static size_t index_of(const struct cluster_table *t, uint32_t id)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].id < id) {
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	return lo;
}

void cluster_table_done(struct cluster_table *t)
{
	mk_free(t->v);
	*t = (struct cluster_table){.n = 0};
}

void *cluster_table_get(const struct cluster_table *t, uint32_t id)
{
	size_t i = index_of(t, id);

	return i < t->n && t->v[i].id == id ? t->v[i].cluster : NULL;
}

enum mk_code cluster_table_reserve(struct cluster_table *t, struct mk_err *err)
{
	size_t size = t->size ? t->size * 2 : 8;
	struct cluster_slot *grown;

	if (t->n >= MAX_CLUSTERS) {
		return err_set(err, ERR_TOO_BIG, "more than %d clusters", MAX_CLUSTERS);
	}
	if (t->n < t->size) {
		return ERR_OK;
	}
	grown = mk_realloc(t->v, size * sizeof(*grown));
	if (!grown) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	t->v = grown;
	t->size = size;
	return ERR_OK;
}

void cluster_table_add(struct cluster_table *t, uint32_t id, void *cluster)
{
	size_t i = index_of(t, id);

	memmove(t->v + i + 1, t->v + i, (t->n - i) * sizeof(*t->v));
	t->v[i] = (struct cluster_slot){.id = id, .cluster = cluster};
	t->n++;
}

void cluster_table_remove(struct cluster_table *t, uint32_t id)
{
	size_t i = index_of(t, id);

	if (i < t->n && t->v[i].id == id) {
		t->n--;
		memmove(t->v + i, t->v + i + 1, (t->n - i) * sizeof(*t->v));
	}
}
