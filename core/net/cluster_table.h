/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport's open clusters by their numbers: a table in ascending order, as numbers are never
 * used again and therefore grow. What a cluster is, the transport knows. Zeroed memory is an empty
 * table. Not thread-safe.
 */
#ifndef MK_NET_CLUSTER_TABLE_H
#define MK_NET_CLUSTER_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct cluster_table {
	struct cluster_slot {
		uint32_t id;
		void *cluster;
	} * v;
	size_t n, size;
};

/* The table must be empty. */
void cluster_table_done(struct cluster_table *t);

/* NULL: 'id' is not open. */
void *cluster_table_get(const struct cluster_table *t, uint32_t id);

/* Makes room for one more. ERR_TOO_BIG, ERR_NO_MEMORY. */
enum mk_code cluster_table_reserve(struct cluster_table *t, struct mk_err *err);
/* After cluster_table_reserve: cannot fail. 'id' must not be open. */
void cluster_table_add(struct cluster_table *t, uint32_t id, void *cluster);
/* Fine when it is not open. */
void cluster_table_remove(struct cluster_table *t, uint32_t id);

#endif
