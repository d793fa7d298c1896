/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews of queue trees that are no reviews, that are too large, and without memory. */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "t/lib/quota_objects.h"
#include "t/lib/trees_asked.h"

#define HEAD "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
#define TREE_KIND "\"kind\":{\"group\":\"kueue.x-k8s.io\",\"kind\":\"ClusterQuotaTree\"}"

static const struct {
	const char *text;
	enum mk_code code;
} hostile[] = {
	{"", ERR_INVALID},
	{"{", ERR_INVALID},
	{"[]", ERR_INVALID},
	{"{}", ERR_INVALID},
	{HEAD "}}", ERR_INVALID},
	{HEAD "\"uid\":7}}", ERR_INVALID},
	{HEAD "\"uid\":\"u-1\"}}", ERR_OK},
	{HEAD "\"uid\":\"u-1\",\"operation\":\"CONNECT\"," TREE_KIND "}}", ERR_OK},
	{HEAD "\"uid\":\"u-1\",\"operation\":\"CREATE\"," TREE_KIND "}}", ERR_INVALID},
	{HEAD "\"uid\":\"u-1\",\"operation\":\"CREATE\"," TREE_KIND ",\"object\":[]}}",
	 ERR_INVALID},
	{HEAD "\"uid\":\"u-1\",\"operation\":\"CREATE\"," TREE_KIND ",\"object\":{}}}",
	 ERR_INVALID},
	{HEAD "\"uid\":\"u-1\",\"operation\":\"CREATE\"," TREE_KIND
	      ",\"object\":{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
	      "\"metadata\":{\"name\":\"x\"}}}}",
	 ERR_INVALID},
	{HEAD
	 "\"uid\":\"u-1\",\"operation\":\"CREATE\"," TREE_KIND
	 ",\"object\":{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\""
	 ",\"metadata\":{\"name\":{}}}}}",
	 ERR_INVALID},
	{HEAD
	 "\"uid\":\"u-1\",\"operation\":\"CREATE\"," TREE_KIND
	 ",\"object\":{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\""
	 ",\"metadata\":{\"name\":\"x\",\"namespace\":7,\"annotations\":[1]}}}}",
	 ERR_INVALID},
	{HEAD "\"uid\":\"u-1\",\"operation\":\"DELETE\"," TREE_KIND "}}", ERR_OK},
	{HEAD
	 "\"uid\":\"u-1\",\"operation\":\"UPDATE\"," TREE_KIND
	 ",\"object\":{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\""
	 ",\"metadata\":{\"name\":\"x\"},\"spec\":[]},\"oldObject\":7}}",
	 ERR_OK},
};

static void hostile_reviews(void)
{
	struct arena a;
	struct trees_store *s;
	char *deep;
	size_t n;

	arena_init(&a, 0);
	s = asked_store(&a, objects_read(&a, weights_yaml));
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		is_int(asked_send(s, &a, ASKED_US, str_of(hostile[i].text)).code, hostile[i].code,
		       hostile[i].text);
	}
	n = sizeof(HEAD) - 1;
	deep = arena_alloc(&a, n + 100000);
	memcpy(deep, HEAD, n);
	memset(deep + n, '[', 100000);
	is_int(asked_send(s, &a, ASKED_US, (mk_str){deep, n + 100000}).code, ERR_INVALID,
	       "a hundred thousand brackets");
	deep = arena_alloc(&a, JSON_MAX_SIZE + 1);
	memset(deep, ' ', JSON_MAX_SIZE + 1);
	is_int(asked_send(s, &a, ASKED_US, (mk_str){deep, JSON_MAX_SIZE + 1}).code, ERR_TOO_BIG,
	       "more than can be read");
	trees_store_free(s);
	arena_done(&a);
}

/* A refusal is never longer than an API server shows. */
static void long_names(void)
{
	struct arena a;
	struct json *docs, *list;
	struct trees_store *s;
	struct answered got;
	char name[2000];

	arena_init(&a, 0);
	memset(name, 'X', sizeof(name));
	docs = objects_read(&a, weights_yaml);
	s = asked_store(&a, docs);
	list = json_at(docs, "/0/spec/hierarchies/company/weightedQuotas");
	for (int i = 0; i < 30; i++) {
		struct json *node = json_new_obj(&a);

		json_set_str(&a, node, "name",
			     arena_printf(&a, "%d%.*s", i, (int)sizeof(name), name));
		json_add(&a, list, node);
	}
	got = asked_judge(s, &a,
			  &(struct asked){.operation = "CREATE", .object = json_elem(docs, 0)});
	is_int(got.status, 422, "many long names are refused");
	ok(strlen(got.text) <= 16 * 1024, "... in 16 KiB at most");
	trees_store_free(s);
	arena_done(&a);
}

static void fails_anywhere(void)
{
	struct arena made;
	struct trees_store *s;
	struct json *docs, *new;
	mk_str text;
	bool fine = true, done = false;
	uint64_t n = 0;

	arena_init(&made, 0);
	docs = objects_read(&made, parents_yaml);
	new = objects_changed(&made, parents_yaml, "/1/spec/stopPolicy", "\"Hold\"");
	s = asked_store(&made, docs);
	text = asked_text(&made, &(struct asked){.operation = "UPDATE",
						 .object = json_elem(new, 1),
						 .old = json_elem(docs, 1)});
	while (!done && n < 5000) {
		struct trees_review got = {.allowed = true};
		mk_str answer = STR_NONE;
		enum mk_code code;
		struct arena a;

		arena_init(&a, 0);
		alloc_fail_after(++n);
		code = trees_review(s, STR(ASKED_US), text, &a, &answer, &got, NULL);
		alloc_fail_after(0);
		fine = fine && (code == ERR_OK || (code == ERR_NO_MEMORY && !answer.p));
		done = code == ERR_OK;
		arena_done(&a);
	}
	ok(fine && done && n > 10, "each failed allocation is an ordinary error");
	trees_store_free(s);
	arena_done(&made);
}

int main(void)
{
	hostile_reviews();
	long_names();
	fails_anywhere();
	return done_testing();
}
