/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 33 rules for queue trees over a set of API objects: the same code for webhook, controller and
 * command line. All errors are found at once; none is reported where an earlier fault of the same
 * value explains it. A set is judged whole, or for one object that a user wants to write.
 */
#ifndef MK_QUOTA_VALIDATE_H
#define MK_QUOTA_VALIDATE_H

#include "core/quota/api.h"

enum {
	VALIDATE_MAX_LEVELS = 16,
	VALIDATE_MAX_CHILDREN = 10000,
	VALIDATE_MAX_RESOURCES = 64, /* and flavors */
	VALIDATE_SHOWN = 20,
};

struct validate_input {
	const struct api_set *now; /* linked; with the object under judgement in its new form */
	const struct api_set
		*before; /* linked; how things were, for rules about changes; or NULL */
	/*
	 * Index in 'now' of the object that is written (link the set with it as 'newest'), or
	 * API_NONE: all of them.
	 */
	size_t subject;
	/* Index in 'before' of an object that is deleted (and 'now' has no more), or API_NONE. */
	size_t deleted;
	bool by_controller; /* the writer is the controller's account */
};

struct validate_error {
	const struct api_object *object;
	struct api_fault fault;
};

/* By object in the order of the set (deleted ones last), then by path, then by rule. */
struct validate_errors {
	struct validate_error *v;
	size_t n;
};

/* Finds what is wrong; everything in *ret lives in 'a'. ERR_NO_MEMORY. */
enum mk_code validate(struct arena *a, const struct validate_input *in, struct validate_errors *ret,
		      struct mk_err *err);

/*
 * `<path>: <text>`; rules without a path give the text alone. In 'a'; {NULL, 0} when out of memory.
 */
mk_str validate_line(struct arena *a, const struct api_fault *fault);

/* The first 20 of 'n' errors, a line each, then `and %d more`: what a webhook answers. In 'a'. */
mk_str validate_text(struct arena *a, const struct validate_error *v, size_t n);

/*
 * For tests: the order of paths: member names and map keys bytewise, list indexes as numbers,
 * parents first. <0, 0, >0.
 */
int validate_cmp_paths(mk_str x, mk_str y);

#endif
