/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client may do, as the manager's API server says, for servers of our own. A bearer token is
 * sent to it in a TokenReview, and the user that it names, or one that is known already, in a
 * SubjectAccessReview. Answers are remembered by a digest of the question: a yes for a minute, a no
 * for half a minute; how many are remembered, and how many asked about at once, is bounded.
 *
 * Life: access_new -> (access_ask for each request, access_run when access_next_ms has come or
 * something was asked)* -> access_free. One thread; sends nothing outside of access_run.
 */
#ifndef MK_SERVE_ACCESS_H
#define MK_SERVE_ACCESS_H

#include "core/kube/kube.h"

struct access;

/* Borrowed for the life of what they are given to. */
struct access_options {
	struct kube *kube;
	const char *module; /* of the log */
	size_t rows;        /* questions that are remembered */
};

/* NULL: out of memory. */
struct access *access_new(const struct access_options *o);
/* After kube_free: answers may be on their way before. NULL is fine. */
void access_free(struct access *m);

/* Who asks for what; borrowed for the call. */
struct access_question {
	mk_str token;            /* of the client; "": 'user' is known */
	const struct json *user; /* {username, uid, groups, extra} of a review */
	/* "resourceAttributes" or "nonResourceAttributes", and these */
	const char *attributes;
	const struct json *about; /* NULL, with a token only: who has the token is all */
};

enum { ACCESS_WAIT = 0 };

/*
 * 200: may; 401: no such token; 403: may not; 500: the API server did not say within nine seconds;
 * 503: too many are asked about already. ACCESS_WAIT: ask again after an access_run that returned
 * true. *ret_user: the user's name, where it is known, for a message; borrowed until the next call.
 */
int access_ask(struct access *m, const struct access_question *q, int64_t mono_ms,
	       mk_str *ret_user);

/* Sends what is due. True: something was decided since the last call. */
bool access_run(struct access *m, int64_t mono_ms);

/* Monotonic ms of the next access_run; INT64_MAX = none. */
int64_t access_next_ms(const struct access *m);

/* The token of an Authorization header, "Bearer <token>", or nothing. Borrowed. */
mk_str access_bearer(mk_str authorization);

#endif
