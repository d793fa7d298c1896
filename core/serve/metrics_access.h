/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which clients may read metrics: the manager's API server is asked, as Kueue does. A bearer token
 * is sent to it in a TokenReview, and the user that it names in a SubjectAccessReview for the path
 * /metrics with the method as verb. Answers are remembered: a yes for a minute, a no for half a
 * minute, by a digest of the token. No request passes without a token.
 *
 * Life: metrics_access_new -> (metrics_access_ask for each request, metrics_access_run when
 * metrics_access_next_ms has come or something was asked)* -> metrics_access_free. One thread;
 * sends nothing outside of metrics_access_run.
 */
#ifndef MK_SERVE_METRICS_ACCESS_H
#define MK_SERVE_METRICS_ACCESS_H

#include "core/kube/kube.h"
#include "core/net/http_server.h"

struct metrics_access;

/* 'k' is borrowed for its life. NULL: out of memory. */
struct metrics_access *metrics_access_new(struct kube *k);
/* After kube_free: answers may be on their way before. NULL is fine. */
void metrics_access_free(struct metrics_access *m);

/*
 * May this request be answered? HTTP_NO fills 'a' in: 401 without a known token, 403 for a user
 * without the right, 500 when the API server did not say within nine seconds, 503 when too many are
 * asked about already. HTTP_WAIT: ask again after a metrics_access_run that returned true.
 */
enum http_verdict metrics_access_ask(struct metrics_access *m, const struct http_request *rq,
				     struct http_answer *a, int64_t mono_ms);

/* Sends what is due. True: something was decided since the last call. */
bool metrics_access_run(struct metrics_access *m, int64_t mono_ms);

/* Monotonic ms of the next metrics_access_run; INT64_MAX = none. */
int64_t metrics_access_next_ms(const struct metrics_access *m);

#endif
