/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the thread of queue trees remembers of each tree from one pass to the next: when its status
 * was written, and what the API server refused. All else follows from what the cluster shows.
 */
#ifndef MK_DAEMON_TREES_MEMO_H
#define MK_DAEMON_TREES_MEMO_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "core/trees/pass.h"

struct trees_memo {
	struct list_node trees;
	struct map by_name; /* the same */
};

/* Remembers nothing yet. */
void trees_memo_init(struct trees_memo *m);
/* Forgets all trees. */
void trees_memo_clear(struct trees_memo *m);

/*
 * The API server refused 'w' of a tree: tried again after 10 s, doubling to 5 min, or as soon as
 * the ClusterQuotaTree of that name, or the ClusterQueue at the root, has another generation or
 * TREES_TAKE_OVER. False: out of memory.
 */
bool trees_memo_refused(struct trees_memo *m, const struct trees_write *w, mk_str reason,
			mk_str text, int64_t mono_ms);

/*
 * The refusals that are not to be tried again now, in 'a'; forgets those of trees that have
 * changed. NULL: out of memory.
 */
const struct trees_refusal *trees_memo_refusals(struct trees_memo *m, struct arena *a,
						struct json *const *objects, size_t n,
						int64_t mono_ms, size_t *ret_n);

/* A write of the tree was carried out. */
void trees_memo_done(struct trees_memo *m, mk_str tree);

/*
 * May a status of the tree be written now? At most one in 5 s; true counts as written. Else
 * *ret_ms is when.
 */
bool trees_memo_may_tell(struct trees_memo *m, mk_str tree, int64_t mono_ms, int64_t *ret_ms);

/* Monotonic ms at which a refusal is tried again; INT64_MAX: there is none. */
int64_t trees_memo_next_ms(const struct trees_memo *m);

#endif
