/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an HTTP answer of an API server means: the one table from status, Status.reason and (where
 * nothing else tells) message to an error code and an outcome. Retry policy depends on the code
 * alone.
 */
#ifndef MK_KUBE_STATUS_H
#define MK_KUBE_STATUS_H

#include "core/base/json.h"
#include "core/model/event.h"

enum { STATUS_TEXT_MAX = 1024 };

struct status_in {
	int http;
	mk_str content_type;
	mk_str body;
	int64_t retry_after_ms; /* of the header; -1 = none */
	bool is_write;
	const char
		*verb; /* for texts without a Status: "get"; NULL leaves "(get workloads…)" out */
	const char *resource; /* "workloads.kueue.x-k8s.io"; NULL as for verb */
};

struct status {
	enum mk_code code; /* ERR_OK for 2xx */
	enum op_outcome outcome;
	int http;
	int64_t retry_after_ms; /* header, else details.retryAfterSeconds, else -1 */
	mk_str reason;          /* Status.reason, or "" */
	/* Status.message, or Go's generic words for the code; at most STATUS_TEXT_MAX bytes */
	mk_str text;
	/* 404 of a server that has no such path: the kind. reason is then "KindNotServed" */
	bool not_served;
	/* 504 ResourceVersionTooLarge: the store is behind the resourceVersion asked for */
	bool rv_too_large;
	bool permanent;         /* a 500 that repeating cannot cure */
	const struct json *obj; /* the object of a 2xx answer; NULL for a Status or none */
};

/*
 * Never fails: an answer that cannot be read becomes ERR_UNAVAILABLE, or OUTCOME_UNKNOWN for a
 * write. Results live in 'a'.
 */
void status_read(struct arena *a, const struct status_in *in, struct status *ret);

/* The same for a Status that came as the object of a watch's ERROR event. */
void status_of_error(struct arena *a, const struct json *status, struct status *ret);

/*
 * Go's words for an answer without a Status, e.g. `the server is currently unable to handle the
 * request`. In 'a'.
 */
mk_str status_generic_text(struct arena *a, int http, mk_str body);

#endif
