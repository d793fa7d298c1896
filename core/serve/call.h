/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the visibility API while it is answered: its answer as JSON, its refusal as a Status
 * object of Kubernetes, and the parameters of its query.
 */
#ifndef MK_SERVE_CALL_H
#define MK_SERVE_CALL_H

#include "core/api/names.h"
#include "core/base/json.h"
#include "core/net/http_server.h"

struct call {
	const struct http_request *rq;
	struct http_answer *answer;
	struct arena a; /* of the answer */
};

/* Writes 'v'; a 500 without a body when memory is out. */
void call_put(struct call *c, const struct json *v);
/* Answers with a Status. */
void call_refuse(struct call *c, int code, const char *reason, mk_str message);

/*
 * 's' without %XX, NUL-terminated, in 'a'. False: a '%' that begins no such code, or out of memory.
 */
bool call_decode(struct arena *a, mk_str s, mk_str *ret);

/* A parameter of a query: a text or a number. */
struct call_param {
	const char *name;
	mk_str *text;
	/* 'text' NULL: a number from 'least' on; what is larger than 'most' counts as that */
	uint64_t *number, least, most;
};

/* Reads the query; 'params' ends with a NULL name. False: 400 was answered. */
bool call_query(struct call *c, const struct call_param *params);

#endif
