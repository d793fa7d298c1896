/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written to the objects of admission: the table of queues, the
 * trust of the webhooks, the Secret.
 */
#include "t/lib/admit_tell.h"
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include "core/serve/webhook_bodies.h"

static struct arena arena;
static struct admit_queues *queues;

static void test_table(void)
{
	const char *local = "{\"spec\":{\"clusterQueue\":\"cq\"}}";
	const struct json *body;
	size_t rounds = 0;
	struct json *map = parse_json(&arena, "{\"metadata\":{\"resourceVersion\":\"7\"}}");

	admit_tell(queues, EV_OBSERVED, KIND_CHECK, "", "mk",
		   "{\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"}}");
	admit_tell(
		queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "cq",
		"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}}"
		"}");
	ok(!webhook_bodies_table(&arena, queues, map), "no queues, no data: nothing is written");
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "b", "y", local);
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "a", "x.z", local);
	body = webhook_bodies_table(&arena, queues, map);
	is_str(json_write(&arena, body).p,
	       "{\"metadata\":{\"name\":\"multikueue-queues\",\"resourceVersion\":\"7\"},\"data\":{"
	       "\"a.x.z\":\"cq\",\"b.y\":\"cq\"}}",
	       "queues are added, in order");
	body = webhook_bodies_table(
		&arena, queues,
		parse_json(&arena, "{\"data\":{\"z.old\":\"cq\",\"b.y\":\"other\",\"a.x."
				   "z\":\"cq\",\"a.a\":7}}"));
	is_str(json_write(&arena, json_get(body, "data")).p,
	       "{\"a.a\":null,\"b.y\":\"cq\",\"z.old\":null}",
	       "what is wrong is mended, whatever the order, and what is right left alone");
	ok(!webhook_bodies_table(
		   &arena, queues,
		   parse_json(&arena, "{\"data\":{\"b.y\":\"cq\",\"a.x.z\":\"cq\"}}")),
	   "the table as it should be: nothing is written");
	for (int i = 0; i < 1200; i++) {
		char name[16];

		snprintf(name, sizeof(name), "q%d", i);
		admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "many", name, local);
	}
	body = webhook_bodies_table(&arena, queues, map);
	while (body && rounds < 10) {
		rounds++;
		json_merge(&arena, map, body);
		body = webhook_bodies_table(&arena, queues, map);
	}
	is_int(rounds, 3, "1202 rows take three writes");
	is_int(json_len(json_get(map, "data")), 1202, "and are all there then");
}

static void test_bundle(void)
{
	const struct json *two = parse_json(
		&arena,
		"{\"metadata\":{\"name\":\"multikueue-mutating-webhook-configuration\","
		"\"resourceVersion\":\"9\"},\"webhooks\":[{\"name\":\"a\","
		"\"clientConfig\":{\"caBundle\":\"eA==\",\"url\":\"u\"}},{\"name\":\"b\"}]}");

	const struct json *service =
		parse_json(&arena, "{\"kind\":\"APIService\",\"metadata\":{\"name\":\"v1.x\","
				   "\"resourceVersion\":\"9\"},\"spec\":{\"caBundle\":\"eA==\"}}");

	is_int(webhook_bodies_trusted(two).n, 0, "webhooks that differ: none is sure");
	is_str(webhook_bodies_trusted(
		       parse_json(&arena,
				  "{\"webhooks\":[{\"clientConfig\":{\"caBundle\":\"eA==\"}},"
				  "{\"clientConfig\":{\"caBundle\":\"eA==\"}}]}"))
		       .p,
	       "eA==", "webhooks that agree");
	is_int(webhook_bodies_trusted(parse_json(&arena, "{\"webhooks\":7}")).n, 0, "no webhooks");
	is_str(json_write(&arena, webhook_bodies_bundle(&arena, two, STR("eQ=="))).p,
	       "{\"metadata\":{\"name\":\"multikueue-mutating-webhook-configuration\","
	       "\"resourceVersion\":\"9\"},\"apiVersion\":\"admissionregistration.k8s.io/v1\","
	       "\"kind\":\"MutatingWebhookConfiguration\",\"webhooks\":[{\"name\":\"a\","
	       "\"clientConfig\":{\"caBundle\":\"eQ==\"}},{\"name\":\"b\",\"clientConfig\":{"
	       "\"caBundle\":\"eQ==\"}}]}",
	       "each gets the bundle and nothing else");
	is_str(json_write(
		       &arena,
		       webhook_bodies_bundle(
			       &arena,
			       parse_json(
				       &arena,
				       "{\"kind\":\"ValidatingWebhookConfiguration\",\"metadata\":"
				       "{\"name\":\"v\",\"resourceVersion\":\"3\"},\"webhooks\":["
				       "{\"name\":\"a\"}]}"),
			       STR("eQ==")))
		       .p,
	       "{\"metadata\":{\"name\":\"v\",\"resourceVersion\":\"3\"},\"apiVersion\":"
	       "\"admissionregistration.k8s.io/v1\",\"kind\":\"ValidatingWebhookConfiguration\","
	       "\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"caBundle\":\"eQ==\"}}]}",
	       "... those of a validating configuration as well");
	is_str(webhook_bodies_trusted(service).p, "eA==", "that of an APIService");
	is_str(json_write(&arena, webhook_bodies_bundle(&arena, service, STR("eQ=="))).p,
	       "{\"metadata\":{\"name\":\"v1.x\",\"resourceVersion\":\"9\"},\"apiVersion\":"
	       "\"apiregistration.k8s.io/v1\",\"kind\":\"APIService\",\"spec\":{\"caBundle\":"
	       "\"eQ==\"}}",
	       "which gets the bundle and nothing else");
}

static void test_secret(void)
{
	struct serving_certs c = {STR("a"), STR("b"), STR("c"), STR("d")};
	struct json *body;
	mk_str key;

	is_str(json_write(&arena, webhook_bodies_secret(&arena, STR("s"), STR("5"), &c)).p,
	       "{\"metadata\":{\"name\":\"s\",\"resourceVersion\":\"5\",\"labels\":{"
	       "\"app.kubernetes.io/managed-by\":\"multikueued\"}},\"data\":{\"ca.crt\":\"YQ==\","
	       "\"ca.key\":\"Yg==\",\"tls.crt\":\"Yw==\",\"tls.key\":\"ZA==\"}}",
	       "a Secret that is there is patched in the version that was read");
	is_str(json_str_at(webhook_bodies_secret(&arena, STR("s"), STR(""), &c), "/kind").p,
	       "Secret", "one that is not is created");
	ok(webhook_bodies_foreign(parse_json(&arena, "{\"data\":{\"x\":\"eA==\"}}")),
	   "data without our label");
	ok(!webhook_bodies_foreign(parse_json(&arena, "{\"metadata\":{}}")),
	   "nothing in it: ours to fill");
	ok(!webhook_bodies_foreign(webhook_bodies_secret(&arena, STR("s"), STR(""), &c)),
	   "what we write is ours");
	body = webhook_bodies_secret(&arena, STR("s"), STR(""), &c);
	key = json_str_at(body, "/data/tls.key");
	webhook_bodies_wipe(body);
	webhook_bodies_wipe(NULL);
	ok(key.n == 4 && memcmp(key.p, "\0\0\0\0", 4) == 0, "and is wiped when it was sent");
}

int main(void)
{
	arena_init(&arena, 0);
	queues = admit_queues_new();
	test_table();
	test_bundle();
	test_secret();
	admit_queues_free(queues);
	arena_done(&arena);
	return done_testing();
}
