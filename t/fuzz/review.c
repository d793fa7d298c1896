/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: reviews that an API server sends to the webhook, with queues of which one leads
 * away. The first line of the input is a LocalQueue, a ClusterQueue or an AdmissionCheck as a user
 * may write it; the rest is the review. What is answered allows, and a patch in it is a JSON patch.
 */
#include "core/admit/review.h"
#include "core/base/base64.h"
#include "t/fuzz/fuzz.h"

static void event(struct admit_queues *q, enum event_type type, uint16_t kind, const char *ns,
		  const char *name, mk_str text)
{
	struct event ev = {.type = type, .kind = kind, .ns = str_of(ns), .name = str_of(name)};
	struct json *obj = NULL;
	struct arena a;

	arena_init(&a, 0);
	if (text.n == 0 || json_parse(&a, text, &obj, NULL) == ERR_OK) {
		ev.obj = obj;
		admit_queues_event(q, &ev);
	}
	arena_done(&a);
}

static struct admit_queues *queues_new(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};
	struct admit_queues *q = admit_queues_new();

	for (size_t i = 0; i < 3; i++) {
		event(q, EV_LIST_BEGIN, kinds[i], "", "", STR(""));
	}
	event(q, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far",
	      STR("{\"spec\":{\"clusterQueue\":\"far\"}}"));
	event(q, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "far",
	      STR("{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}"
		  "}}"));
	event(q, EV_OBSERVED, KIND_CHECK, "", "mk",
	      STR("{\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"}}"));
	for (size_t i = 0; i < 3; i++) {
		event(q, EV_LIST_END, kinds[i], "", "", STR(""));
	}
	return q;
}

static void judge(struct arena *a, mk_str answer)
{
	struct json *doc = NULL, *ops = NULL;
	mk_str patch = {NULL, 0};
	struct json_iter it;

	FUZZ_MUST(json_parse(a, answer, &doc, NULL) == ERR_OK);
	FUZZ_MUST(json_bool(json_at(doc, "/response/allowed")));
	if (!json_at(doc, "/response/patch")) {
		return;
	}
	FUZZ_MUST(base64_decode(a, json_str_at(doc, "/response/patch"), &patch, NULL) == ERR_OK);
	FUZZ_MUST(json_parse(a, patch, &ops, NULL) == ERR_OK && json_type(ops) == JSON_ARR);
	it = json_iter(ops);
	while (json_next(&it)) {
		FUZZ_MUST(json_str(json_get(it.val, "op")).n > 0);
		FUZZ_MUST(json_str(json_get(it.val, "path")).n > 0);
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"far", "far", "mk"};
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};
	mk_str text = {(const char *)data, size}, first = {(const char *)data, 0};
	enum admit_rule rule = ADMIT_N_RULES;
	mk_str answer = {NULL, 0};
	struct admit_queues *q;
	const char *stop;
	struct arena a;

	if (size < 2 || size > 65536) {
		return 0;
	}
	q = queues_new();
	stop = memchr(text.p, '\n', text.n);
	if (stop != NULL) {
		first.n = (size_t)(stop - text.p);
		text = (mk_str){stop + 1, size - first.n - 1};
	}
	if (first.n > 1) {
		size_t k = (unsigned char)first.p[0] % 3;

		event(q, EV_OBSERVED, kinds[k], k == 0 ? "ns" : "", names[k],
		      (mk_str){first.p + 1, first.n - 1});
	}
	arena_init(&a, 0);
	if (admit_review(q, text, &a, &answer, &rule, NULL) == ERR_OK) {
		FUZZ_MUST(rule < ADMIT_N_RULES);
		judge(&a, answer);
	}
	arena_done(&a);
	admit_queues_free(q);
	return 0;
}
