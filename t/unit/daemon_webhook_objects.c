/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of admission: when they are read and written, and that what fails is tried again, but not in a loop. */
#define FAKE_CLUSTERS 4
#define FAKE_MAX 512
#include "t/unit/kube_fake.h"

#include "core/daemon/webhook_objects.h"

#define MAP "/api/v1/namespaces/kueue-system/configmaps/multikueue-queues"
#define SECRET "/api/v1/namespaces/kueue-system/secrets/certs"
#define EMPTY "{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"7\"}}"
#define FULL                                                                \
	"{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"8\"}," \
	"\"data\":{\"ns.far\":\"far\"}}"

static struct fake f;
static struct admit_queues *queues;
static struct webhook_objects *w;

static void run(bool leads)
{
	webhook_objects_run(w, f.mono, f.wall, leads);
}

/* How long it waits by itself. */
static int64_t waits(void)
{
	return webhook_objects_next_ms(w) - f.mono;
}

static void later(int64_t ms)
{
	f.mono += ms;
	f.wall += ms;
}

static bool asked(const char *call)
{
	return fake_find(&f, 0, call) != NULL;
}

static void observe(uint16_t kind, const char *ns, const char *name, const char *text)
{
	struct arena a;
	struct json *obj = NULL;
	struct event ev = {
		.type = EV_OBSERVED, .kind = kind, .ns = str_of(ns), .name = str_of(name)};

	arena_init(&a, 0);
	json_parse(&a, str_of(text), &obj, NULL);
	ev.obj = obj;
	admit_queues_event(queues, &ev);
	arena_done(&a);
}

/* One queue that leads away. */
static void fill(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};

	observe(KIND_LOCAL_QUEUE, "ns", "far", "{\"spec\":{\"clusterQueue\":\"far\"}}");
	observe(KIND_CLUSTER_QUEUE, "", "far",
		"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}}"
		"}");
	observe(KIND_CHECK, "", "mk",
		"{\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"}}");
	for (size_t i = 0; i < 3; i++) {
		admit_queues_event(queues, &(struct event){.type = EV_LIST_END, .kind = kinds[i]});
	}
}

static void begin(bool own_authority)
{
	static const mk_str names[] = {{"webhook.kueue-system.svc", 24}};
	struct webhook_objects_options o = {.namespace_ = STR("kueue-system"),
					    .own_authority = own_authority,
					    .secret = STR("certs"),
					    .names = names,
					    .n_names = 1};

	queues = admit_queues_new();
	fill();
	fake_init(&f, 7);
	fake_manager(&f);
	o.kube = f.k;
	o.queues = queues;
	w = webhook_objects_new(&o);
}

static void finish(void)
{
	fake_done(&f);
	webhook_objects_free(w);
	admit_queues_free(queues);
}

/* --- the table ---------------------------------------------------------------------------------------- */

static void test_table(void)
{
	begin(false);
	run(true);
	fake_answer(&f, 0, "GET " MAP, 200, EMPTY);
	ok(asked("PATCH " MAP), "a queue that is not in the table is written");
	fake_answer(&f, 0, "PATCH " MAP, 200, FULL);
	ok(waits() <= 0, "and looked at again at once");
	run(true);
	fake_answer(&f, 0, "GET " MAP, 200, FULL);
	is_int(waits(), 60000, "as it should be: a look every minute");
	observe(KIND_LOCAL_QUEUE, "ns", "more", "{\"spec\":{\"clusterQueue\":\"far\"}}");
	is_int(waits(), 1000, "a new queue is written within a second");
	later(1000);
	run(true);
	fake_answer(&f, 0, "GET " MAP, 200, FULL);
	fake_answer(&f, 0, "PATCH " MAP, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
	ok(waits() <= 0, "somebody else was first: read again at once");
	finish();
}

/* Whoever refuses it is not to be asked at the speed of the wire. */
static void test_table_refused(void)
{
	static const int refusals[] = {403, 422, 429, 500, 503};
	char name[64];

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		begin(false);
		run(true);
		fake_answer(&f, 0, "GET " MAP, 200, EMPTY);
		fake_answer(&f, 0, "PATCH " MAP, refusals[i],
			    "{\"kind\":\"Status\",\"message\":\"no\"}");
		snprintf(name, sizeof(name), "a write that is refused with %d waits", refusals[i]);
		is_int(waits(), 5000, name);
		run(true);
		ok(!asked("GET " MAP), "and nothing is asked meanwhile");
		finish();
	}
	begin(false);
	run(true);
	fake_end(&f, fake_token(&f, 0, "GET " MAP), TRANSPORT_OK, MK_OK, "");
	ok(waits() >= 5000, "a read without an answer waits");
	finish();
	begin(false);
	run(true);
	fake_answer(&f, 0, "GET " MAP, 200, FULL);
	later(60000);
	observe(KIND_LOCAL_QUEUE, "ns", "another", "{\"spec\":{\"clusterQueue\":\"far\"}}");
	f.send_code = MK_NO_MEMORY;
	run(true);
	is_int(waits(), 5000, "a request that could not be sent waits");
	finish();
}

/* --- the Secret --------------------------------------------------------------------------------------- */

static void secret_event(void)
{
	webhook_objects_event(w, &(struct event){.type = EV_OBSERVED,
						 .kind = KIND_SECRET,
						 .ns = STR("kueue-system"),
						 .name = STR("certs")});
}

static void test_late_answer(void)
{
	begin(true);
	run(false);
	secret_event();
	fake_answer(&f, 0, "GET " SECRET, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
	ok(waits() <= 0, "a Secret that came while it was asked for is read again at once");
	run(false);
	secret_event();
	fake_answer(&f, 0, "GET " SECRET, 500, "{\"kind\":\"Status\"}");
	ok(waits() <= 0, "so it is when that answer is a failure");
	run(false);
	fake_answer(&f, 0, "GET " SECRET, 500, "{\"kind\":\"Status\"}");
	is_int(waits(), 5000, "a failure without news waits");
	later(5000);
	run(false);
	fake_answer(&f, 0, "GET " SECRET, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
	is_int(waits(), 600000, "and no news are no reason to ask");
	secret_event();
	ok(waits() <= 0, "news are");
	finish();
}

int main(void)
{
	test_table();
	test_table_refused();
	test_late_answer();
	return done_testing();
}
