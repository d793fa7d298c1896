/* SPDX-License-Identifier: Apache-2.0 */
/* A queue tree as a pass judges it, for the tests of core/trees. */
#ifndef MK_T_LIB_TREES_SCENE_H
#define MK_T_LIB_TREES_SCENE_H

#include "core/quota/compile.h"
#include "core/trees/status.h"

#define SCENE_NOW INT64_C(1768478400000) /* 2026-01-15T12:00:00Z */

struct scene {
	struct arena a;
	struct json *docs; /* all objects; the tree is the first of them */
	struct quota *q;
	struct compiled compiled;
	struct trees_judged j; /* by scene_judge; may be changed then */
};

/* Reads the documents of 'yaml'. Give the scene to scene_close. */
void scene_open(struct scene *s, const char *yaml);
/* The same of a file. */
void scene_open_file(struct scene *s, const char *path);
/* Puts JSON 'value' at 'pointer' of the documents: "/0" is the tree. NULL removes. */
void scene_put(struct scene *s, const char *pointer, const char *value);
/* Adds a ClusterQueue that reclaims as 'reclaim' says; 'status': members of its status. */
void scene_queue(struct scene *s, const char *name, const char *reclaim, const char *status);
/* Validates, builds and compiles: s->j is that of a tree of which everything is written. */
void scene_judge(struct scene *s);
/* The body of the status at SCENE_NOW, or NULL. */
struct json *scene_status(struct scene *s);
/* Takes the status of a body for the live one. */
void scene_take(struct scene *s, const struct json *body);
void scene_close(struct scene *s);

/* "STATUS REASON: MESSAGE" of a condition of 'body'; in the scene. */
mk_str scene_condition(struct scene *s, const struct json *body, const char *type);

#endif
