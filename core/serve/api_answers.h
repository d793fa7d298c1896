/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of the engine as objects of Kubernetes: each has the fields that /v1/ gives it, and
 * apiVersion, kind and metadata beside them; lists are paged by limit and continue, and written as
 * a Table where the client asks for one.
 */
#ifndef MK_SERVE_API_ANSWERS_H
#define MK_SERVE_API_ANSWERS_H

#include "core/serve/api_paths.h"
#include "core/serve/visibility.h"

struct api_answers;

/* Borrowed for the life of what they are given to. */
struct api_answers_options {
	struct visibility visibility;
	/* Appends the object of /status. */
	void (*status)(void *ctx, struct buf *out);
	void *ctx;
};

/* NULL: out of memory. */
struct api_answers *api_answers_new(const struct api_answers_options *o);
void api_answers_free(struct api_answers *s); /* NULL is fine */

/* Answers a request for 't', API_LIST or API_ONE, of a user who may. */
void api_answers_put(struct api_answers *s, struct call *c, const struct api_target *t);

#endif
