/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews in and out; see admission.h. */
#include "core/api/admission.h"

enum { UID_MAX = 256 };

#define VERSION "admission.k8s.io/v1"

enum mk_code admission_read(struct arena *a, mk_str text, struct json **ret_request,
			    struct mk_err *err)
{
	struct json *doc = NULL;
	struct json *request;
	mk_str uid;
	enum mk_code code = json_parse(a, text, &doc, err);

	if (code != ERR_OK) {
		return code;
	}
	request = json_get(doc, "request");
	uid = json_str(json_get(request, "uid"));
	if (!str_is(json_str(json_get(doc, "apiVersion")), VERSION) ||
	    !str_is(json_str(json_get(doc, "kind")), "AdmissionReview") ||
	    json_type(request) != JSON_OBJ) {
		return err_set(err, ERR_INVALID,
			       "expected an AdmissionReview of " VERSION " with a request");
	}
	if (uid.n == 0 || uid.n > UID_MAX) {
		return err_set(err, ERR_INVALID, "the request has no uid, or a long one");
	}
	*ret_request = request;
	return ERR_OK;
}

struct json *admission_response(struct arena *a, const struct json *request, bool allowed)
{
	struct json *response = json_new_obj(a);

	json_set_str(a, response, "uid", json_str(json_get(request, "uid")));
	json_set_bool(a, response, "allowed", allowed);
	return response;
}

mk_str admission_write(struct arena *a, struct json *response)
{
	struct json *out = json_new_obj(a);

	json_set_str(a, out, "apiVersion", STR(VERSION));
	json_set_str(a, out, "kind", STR("AdmissionReview"));
	json_set(a, out, STR("response"), response);
	return json_write(a, out);
}
