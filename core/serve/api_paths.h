/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of the aggregated API: what a request asks for, which right that takes, and the
 * documents by which clients discover what there is. docs/visibility.md has it for users.
 */
#ifndef MK_SERVE_API_PATHS_H
#define MK_SERVE_API_PATHS_H

#include "core/serve/call.h"

/* A resource of the API, as discovery has it. */
struct api_resource {
	const char *plural, *singular, *kind;
	bool namespaced;
	bool has_get; /* one can be asked for by name */
};

enum api_what {
	API_NOTHING,   /* no such path */
	API_HEALTH,    /* for each client, known or not */
	API_GROUPS,    /* /apis */
	API_GROUP,     /* /apis/GROUP */
	API_RESOURCES, /* /apis/GROUP/VERSION */
	API_LIST,
	API_ONE,
};

/* What a request asks for. Texts live in the arena. */
struct api_target {
	enum api_what what;
	const struct api_resource *resource; /* API_LIST, API_ONE */
	mk_str ns;                           /* "": of all namespaces, or the resource has none */
	mk_str name;                         /* API_ONE */
};

/* Takes 'path' apart; API_NOTHING also when memory is out. */
struct api_target api_target_of(struct arena *a, mk_str path);

/* The resourceAttributes of a SubjectAccessReview: is the target readable? In 'a'. */
struct json *api_attributes(struct arena *a, const struct api_target *t);

/* The refusal of a user who may not: "workloads.visibility… is forbidden: User …". In 'a'. */
mk_str api_forbidden(struct arena *a, const struct api_target *t, mk_str user);

/* Answers API_GROUPS, API_GROUP or API_RESOURCES. */
void api_discover(struct call *c, const struct api_target *t);

/* How an answer is to be written, by the header Accept. */
enum api_form { API_JSON, API_TABLE, API_UNKNOWN };
enum api_form api_form_of(mk_str headers);

#endif
