/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each of the 33 rules for queue trees, as one change to a sound set of objects and the exact words
 * of what is then wrong: for every program that judges trees.
 */
#ifndef MK_T_LIB_QUOTA_CASES_H
#define MK_T_LIB_QUOTA_CASES_H

#include "t/lib/quota_objects.h"

/* A whole set, or one object of it. */
struct quota_row {
	const char *name;
	const char *base;
	const char *pointer; /* below the array of objects; NULL: no change */
	const char *value;   /* JSON; NULL: removed */
	const char *want;    /* the errors, a line each */
};

/* A change, judged with how things were. */
struct quota_change {
	const char *name;
	const char *base;
	const char *before_pointer, *before_value; /* first, to the state before */
	const char *pointer, *value;               /* then the change */
	int subject;                               /* index of what is written; -1: all */
	bool deleted;                              /* the subject is removed instead */
	bool by_controller;
	const char *want;
};

/* Of ClusterQuotaTrees, and of ClusterQueues with parents. */
extern const struct quota_row quota_tree_rows[], quota_queue_rows[];
extern const size_t n_quota_tree_rows, n_quota_queue_rows;
extern const struct quota_change quota_tree_changes[], quota_queue_changes[];
extern const size_t n_quota_tree_changes, n_quota_queue_changes;

/* Fills in what the changes of trees begin with; before they are read. */
void quota_cases_begin(void);

#endif
