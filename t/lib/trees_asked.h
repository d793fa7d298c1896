/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the validating webhook of queue trees, for tests. */
#ifndef MK_T_LIB_TREES_ASKED_H
#define MK_T_LIB_TREES_ASKED_H

#include "core/trees/review.h"

/* The controller's user name. */
#define ASKED_US "system:serviceaccount:kueue-system:multikueued"

struct asked {
	const char *operation;
	const struct json *object, *old; /* NULL: none */
	const char *user;
	const char *account;
	const char *part; /* subResource */
};

/* The answer to one review. */
struct answered {
	enum mk_code code;
	bool allowed;
	int64_t status;
	const char *text;     /* of the refusal */
	const char *warnings; /* a line each */
	const char *err;
};

/* The AdmissionReview. */
mk_str asked_text(struct arena *a, const struct asked *q);
/* What is answered to such a text; tells when the answer and what is returned differ. */
struct answered asked_send(struct trees_store *s, struct arena *a, const char *account,
			   mk_str text);
/* Both; without an account of its own the controller is ASKED_US. */
struct answered asked_judge(struct trees_store *s, struct arena *a, const struct asked *q);

/* By the object's word. */
enum api_kind asked_kind(const struct json *obj);
/* A whole store with those of 'docs' that it takes. */
struct trees_store *asked_store(struct arena *a, const struct json *docs);

#endif
