/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ClusterQueues an object makes part of a tree, and what else tells whether they are written,
 * packed so that a text can carry it: for each enum trees_mention, a name, and a NUL.
 */
#ifndef MK_TREES_MENTIONS_H
#define MK_TREES_MENTIONS_H

#include "core/quota/api.h"

enum trees_mention {
	TREES_PARENT = 'P', /* a queue that has children */
	TREES_CHILD = 'C',  /* one that is a child */
	TREES_HOST = 'H',   /* the tree at which this one is grafted */
	TREES_IDLE = 'I',   /* an enforcement for which nothing is written but the status */
};

/* May a tree with that enforcement be compiled? */
bool trees_compiles(mk_str enforcement);

/*
 * What a ClusterQuotaTree or ClusterQueue says, appended to 'out'; other kinds say nothing. False:
 * out of memory, or 'out' is full.
 */
bool trees_mentions_read(struct arena *a, enum api_kind kind, const struct json *obj,
			 struct buf *out);

/* The first of *left, which it is taken off; false: there is none. */
bool trees_mentions_next(mk_str *left, char *what, mk_str *name);
/* The name of the first of that sort; empty: there is none. */
mk_str trees_mentions_get(mk_str packed, enum trees_mention what);

/* Is 'name' in it, as what is a child, as what has children? Sets what is true. */
void trees_mentions_find(mk_str packed, mk_str name, bool *child, bool *parent);

#endif
