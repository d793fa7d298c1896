/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AdmissionReviews of admission.k8s.io/v1, as an API server sends them to a webhook and reads them
 * back. The text is not trusted: it may be anything.
 */
#ifndef MK_API_ADMISSION_H
#define MK_API_ADMISSION_H

#include "core/base/json.h"

/*
 * The request of a review, an object with a uid; in 'a'. ERR_INVALID: no AdmissionReview with one;
 * ERR_TOO_BIG; ERR_NO_MEMORY.
 */
enum mk_code admission_read(struct arena *a, mk_str text, struct json **ret_request,
			    struct mk_err *err);

/* The response to it, to which more may be added. */
struct json *admission_response(struct arena *a, const struct json *request, bool allowed);
/* The text of the review with that response. {NULL, 0} when out of memory. */
mk_str admission_write(struct arena *a, struct json *response);

#endif
