/* SPDX-License-Identifier: Apache-2.0 */
/* Files, or a cluster, as living trees: what show, explain, top, simulate and diff look at. */
#ifndef MK_CLI_TREE_WORLD_H
#define MK_CLI_TREE_WORLD_H

#include "core/cli/tree/tree.h"
#include "core/quota/api_build.h"

struct world_work {
	struct api_work work;
	size_t tree; /* index in world.models, or API_NONE: its queue is in no tree */
};

/* What a model was made of; the last three are Kueue's own, of a cluster only. */
enum world_origin {
	WORLD_TREE,     /* a ClusterQuotaTree */
	WORLD_PARENTS,  /* ClusterQueues with a parent */
	WORLD_COMPILED, /* Cohorts that a tree was compiled to which is not in the cluster */
	WORLD_COHORTS,
	WORLD_ALONE, /* a ClusterQueue in no Cohort */
};

struct world {
	struct tree_input in;
	struct api_models models;
	enum world_origin *origins; /* one per model */
	struct quota **trees;       /* one per model */
	struct world_work *works;
	size_t n_works;
	struct api_faults notes; /* odd things on the way: path is an object, text says what */
};

/*
 * Reads the files of option 'name', or without any 'live' of the cluster, refuses what is not valid
 * (told on stderr), builds the trees and puts the Workloads that are there into them. 'before' (may
 * be NULL): judged as a change from there. CLI_OK, or what to exit with; call world_close either
 * way.
 */
enum cli_exit world_open(struct cli *c, const struct cli_args *args, const char *name,
			 enum tree_live live, const struct world *before, struct world *w);
void world_close(struct world *w);

/*
 * The tree that has queue 'name', and its node there in *ret_node (may be NULL); API_NONE when none
 * has.
 */
size_t world_find(const struct world *w, mk_str name, size_t *ret_node);

/* "note: …" lines on stderr: of the world and of its models, and of trees that are degraded. */
void world_print_notes(struct cli *c, const struct world *w);

/*
 * "note: …" on stderr for each tree that Kueue enforces (spec.enforcement Compile, or Cohorts):
 * what it does in its own way, so that it may choose differently; or that Kueue cannot.
 */
void world_print_kueue(struct cli *c, const struct world *w);

/* What model 'i' is, in words ("ClusterQuotaTree"), and in one for data ("tree"). */
const char *world_what(const struct world *w, size_t i);
const char *world_origin(const struct world *w, size_t i);
/* The kind of its root. */
const char *world_kind(const struct world *w, size_t i);
/* Does Kueue decide, and no queue tree: are there no policies and fences? */
bool world_is_kueues(const struct world *w, size_t i);

/* Adds the Workloads below a node: those that hold quota, and those that wait. */
void world_count(const struct quota *q, size_t node, size_t *ret_admitted, size_t *ret_pending);

/* Has the tree a flavor for that resource? */
bool world_covers(const struct quota *q, mk_str resource);

/* Why workload 'w' does not fit, as 'row' of its decision says; in the arena of the cli. */
mk_str world_why(struct cli *c, const struct quota *q, const struct api_work *w,
		 const struct quota_row *row);

/* Amount 'v' of a resource as text; in the arena of the cli. */
mk_str world_amount(struct cli *c, int64_t v, mk_str resource);

/* "fifo", "fair", "capacity". */
const char *world_policy(enum quota_policy policy);

#endif
