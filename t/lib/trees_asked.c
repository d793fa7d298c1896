/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews made and read; see trees_asked.h. */
#include "t/lib/trees_asked.h"

#include "t/lib/tap.h"

static const enum api_kind six[] = {API_QUEUE, API_TREE,   API_STATUS,
				    API_LQ,    API_FLAVOR, API_COHORT};

mk_str asked_text(struct arena *a, const struct asked *q)
{
	const struct json *obj = q->object ? q->object : q->old;
	mk_str api = json_str(json_get(obj, "apiVersion"));
	ptrdiff_t slash = str_index(api, '/');
	struct json *doc = json_new_obj(a);

	json_set_str(a, doc, "apiVersion", STR("admission.k8s.io/v1"));
	json_set_str(a, doc, "kind", STR("AdmissionReview"));
	json_put(a, doc, "/request/uid", json_new_str(a, STR("u-1")));
	json_put(a, doc, "/request/operation", json_new_str(a, str_of(q->operation)));
	json_put(a, doc, "/request/kind/group",
		 json_new_str(a, str_sub(api, 0, slash > 0 ? (size_t)slash : 0)));
	json_put(a, doc, "/request/kind/kind", json_dup(a, json_get(obj, "kind")));
	json_put(a, doc, "/request/userInfo/username",
		 json_new_str(a, str_of(q->user ? q->user : "jane")));
	json_put(a, doc, "/request/object", q->object ? json_dup(a, q->object) : json_new_null(a));
	json_put(a, doc, "/request/oldObject", q->old ? json_dup(a, q->old) : json_new_null(a));
	if (q->part) {
		json_put(a, doc, "/request/subResource", json_new_str(a, str_of(q->part)));
	}
	return json_write(a, doc);
}

struct answered asked_send(struct trees_store *s, struct arena *a, const char *account, mk_str text)
{
	struct trees_review got = {.allowed = false};
	struct answered out = {.err = ""};
	struct json *doc = NULL;
	struct json_iter it;
	struct mk_err err = {.code = ERR_OK};
	mk_str answer = STR_NONE;
	mk_str lines = STR("");

	out.code = trees_review(s, str_of(account), text, a, &answer, &got, &err);
	if (out.code != ERR_OK) {
		out.err = arena_dup(a, str_of(err.msg)).p;
		return out;
	}
	json_parse(a, answer, &doc, NULL);
	out.allowed = json_bool(json_at(doc, "/response/allowed"));
	out.status = json_int(json_at(doc, "/response/status/code"), 0);
	out.text = str_chars(json_str_at(doc, "/response/status/message"));
	it = json_iter(json_at(doc, "/response/warnings"));
	while (json_next(&it)) {
		lines = arena_printf(a, "%.*s%s%.*s", STR_ARG(lines), lines.n > 0 ? "\n" : "",
				     STR_ARG(json_str(it.val)));
	}
	out.warnings = str_chars(lines);
	if (out.allowed != got.allowed || !str_is(got.text, out.text) ||
	    !str_is(json_str_at(doc, "/response/uid"), "u-1")) {
		ok(false, "the answer is what the caller is told");
	}
	return out;
}

struct answered asked_judge(struct trees_store *s, struct arena *a, const struct asked *q)
{
	return asked_send(s, a, q->account ? q->account : ASKED_US, asked_text(a, q));
}

enum api_kind asked_kind(const struct json *obj)
{
	for (int k = 0; k < API_OTHER; k++) {
		if (str_is(json_str(json_get(obj, "kind")), api_kind_name((enum api_kind)k))) {
			return (enum api_kind)k;
		}
	}
	return API_OTHER;
}

/* A whole store with those of 'docs' that it takes. */
struct trees_store *asked_store(struct arena *a, const struct json *docs)
{
	struct trees_store *s = trees_store_new();
	struct json_iter it = json_iter(docs);
	uint64_t rv = 0;

	for (size_t i = 0; i < 6; i++) {
		trees_store_list(s, six[i]);
	}
	while (json_next(&it)) {
		trees_store_put(s, asked_kind(it.val), json_str_at(it.val, "/metadata/namespace"),
				json_str_at(it.val, "/metadata/name"), ++rv, json_write(a, it.val));
	}
	for (size_t i = 0; i < 6; i++) {
		trees_store_listed(s, six[i]);
	}
	return s;
}
