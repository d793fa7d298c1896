/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a pass share. Everything lives in the arena of the pass. A unit is one tree: a
 * ClusterQuotaTree, or ClusterQueues with parents, also when they make a cycle.
 */
#ifndef MK_TREES_PASS_INT_H
#define MK_TREES_PASS_INT_H

#include "core/trees/status.h"

/* The version of ClusterQuotaTrees and ClusterQueueTrees. */
#define TREES_API NAME_GROUP "/v1alpha1"

struct trees_unit {
	mk_str name;            /* of the ClusterQuotaTree, or of the root */
	const struct json *top; /* the ClusterQuotaTree, or the root's ClusterQueue; or NULL */
	bool parents;           /* no ClusterQuotaTree */
	mk_str host;            /* the ClusterQuotaTree at which it is grafted; empty: none */
	bool force;
	bool deleted; /* it has a deletionTimestamp */
	bool wrong;
	struct validate_error *errors;
	size_t n_errors, size_errors;
	struct trees_judged judged; /* without a model: wrong, or grafted */
	struct compiled compiled;
	bool active; /* compiled and to be written */
	bool unsure; /* what it depends on is not known yet: nothing is said of it either */
	const struct trees_usage *usage; /* of the status; NULL: wrong, or grafted */
	struct json *state;              /* of a tree of parents, for ClusterQueueTree "default" */
	/* Cohorts and ClusterQueues that matter to its plan. */
	struct json **near;
	size_t n_near, size_near;
};

struct trees_work {
	struct arena *a;
	const struct trees_input *in;
	struct trees_plan *out;
	size_t size;         /* of out->writes */
	struct json **clean; /* the objects, ClusterQueues as their owners wrote them */
	struct api_set *all; /* of all trees */
	struct api_set *set; /* without those that are wrong */
	struct trees_unit *units;
	size_t n;
	struct map by_key;  /* "t/name", "p/name" to struct trees_unit */
	struct json **live; /* Cohorts and ClusterQueues as they are */
	size_t n_live;
	struct map live_index; /* "Cohort/name" to struct json */
	struct map wanted;     /* the same of what active units want, to struct trees_unit */
};

/* exclude.c: makes units and sets, and marks units that are wrong. ERR_NO_MEMORY. */
enum mk_code trees_exclude(struct trees_work *w, struct mk_err *err);
/* The unit that 'p', of the set of all, belongs to; NULL: none. */
struct trees_unit *trees_unit_of(struct trees_work *w, const struct api_place *p);
/* The unit of that name; NULL when there is none. */
struct trees_unit *trees_unit(struct trees_work *w, bool parents, mk_str name);
/* Keeps 'u' out by a fault that no rule of validate.h knows. */
void trees_fault(struct trees_work *w, struct trees_unit *u, mk_str path, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * one_tree.c: finds what units want of Cohorts and ClusterQueues, and which of them may be written.
 * ERR_NO_MEMORY.
 */
enum mk_code trees_prepare(struct trees_work *w, struct mk_err *err);
/* Writes what is next of 'u', which is neither deleted nor refused. ERR_NO_MEMORY. */
enum mk_code trees_write_next(struct trees_work *w, struct trees_unit *u, struct mk_err *err);

/* removal.c: what is next of a tree that is being deleted. */
void trees_remove(struct trees_work *w, struct trees_unit *u);
/* Takes a queue that was not made for the tree out of its Cohort: it keeps its nominal quotas. */
void trees_release(struct trees_work *w, struct trees_unit *u, const struct json *queue);
/* Deletes Cohorts of 'u', the lowest first, that nothing is in. Returns how many stay. */
size_t trees_delete_cohorts(struct trees_work *w, struct trees_unit *u, struct json **v, size_t n);

/* hierarchy.c: writes the status of ClusterQueueTree "default", after those of the trees. */
void trees_write_hierarchy(struct trees_work *w);

/* pass.c: appends a write. */
void trees_emit(struct trees_work *w, struct trees_unit *u, enum trees_verb verb,
		enum api_kind kind, mk_str name, struct json *body);
/* The same of what gets more, and nothing less. */
void trees_emit_more(struct trees_work *w, struct trees_unit *u, enum api_kind kind, mk_str name,
		     struct json *body);
/* Says in the status why nothing is written, as if the API server had; the first reason stays. */
void trees_refuse(struct trees_work *w, struct trees_unit *u, mk_str object, const char *reason,
		  const char *text);
/* An object with apiVersion, kind and the name and uid of 'live', or of no object (NULL). */
struct json *trees_body(struct arena *a, const char *version, enum api_kind kind, mk_str name,
			const struct json *live);
/* Is it of that kind, of Kueue's group? */
bool trees_is(const struct json *o, enum api_kind kind);
/* The live Cohort or ClusterQueue; NULL when there is none. */
struct json *trees_live(struct trees_work *w, enum api_kind kind, mk_str name);
/* Has the ClusterQuotaTree our finalizer? */
bool trees_has_finalizer(const struct json *tree);
/* Its apply with our finalizer, or without. */
void trees_emit_finalizer(struct trees_work *w, struct trees_unit *u, bool with);

#endif
