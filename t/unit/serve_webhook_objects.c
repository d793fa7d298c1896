/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of admission: when they are read and written, and that what fails is
 * tried again, but not in a loop.
 */
#include "t/lib/admit_tell.h"
#include "t/lib/kube_fake.h"

#include "core/serve/webhook_bodies.h"
#include "core/serve/webhook_objects.h"

#define MAP "/api/v1/namespaces/kueue-system/configmaps/multikueue-queues"
#define SECRET "/api/v1/namespaces/kueue-system/secrets/certs"
#define EMPTY "{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"7\"}}"
#define FULL                                                                \
	"{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"8\"}," \
	"\"data\":{\"ns.far\":\"far\"}}"

static struct fake f;
static struct admit_queues *queues;
static struct webhook_objects *w;
static const mk_str names[] = {{"webhook.kueue-system.svc", 24}};
static int n_certificates; /* that were read */
static bool usable = true; /* are they? */

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

/* One queue that leads away. */
static void fill(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK};

	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far",
		   "{\"spec\":{\"clusterQueue\":\"far\"}}");
	admit_tell(
		queues, EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "far",
		"{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}}"
		"}");
	admit_tell(queues, EV_OBSERVED, KIND_CHECK, "", "mk",
		   "{\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"}}");
	for (size_t i = 0; i < 3; i++) {
		admit_queues_event(queues, &(struct event){.type = EV_LIST_END, .kind = kinds[i]});
	}
}

static bool on_certificate(void *ctx, mk_str cert, mk_str key)
{
	(void)ctx;
	n_certificates += cert.n > 0 && key.n > 0;
	return usable;
}

static mk_str also; /* a validating configuration, or none */

static void begin(bool own_authority)
{
	struct webhook_objects_options o = {.module = "webhook",
					    .trusting_kind = KIND_WEBHOOKS,
					    .trusting = STR(WEBHOOK_CONFIGURATION),
					    .also_kind = KIND_VALIDATING,
					    .also = also,
					    .namespace_ = STR("kueue-system"),
					    .own_authority = own_authority,
					    .secret = STR("certs"),
					    .names = names,
					    .n_names = 1,
					    .on_certificate = on_certificate};

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

/* --- the table -------------------------------------------------------------------------------- */

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
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "more",
		   "{\"spec\":{\"clusterQueue\":\"far\"}}");
	is_int(waits(), 1000, "a new queue is written within a second");
	later(1000);
	run(true);
	fake_answer(&f, 0, "GET " MAP, 200, FULL);
	fake_answer(&f, 0, "PATCH " MAP, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
	ok(waits() <= 0, "another writer was first: read again at once");
	finish();
}

/* A server that refuses it is not to be asked at the speed of the wire. */
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
	fake_end(&f, fake_token(&f, 0, "GET " MAP), TRANSPORT_OK, ERR_OK, "");
	ok(waits() >= 5000, "a read without an answer waits");
	finish();
	begin(false);
	run(true);
	fake_answer(&f, 0, "GET " MAP, 200, FULL);
	later(60000);
	admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "another",
		   "{\"spec\":{\"clusterQueue\":\"far\"}}");
	f.send_code = ERR_NO_MEMORY;
	run(true);
	is_int(waits(), 5000, "a request that could not be sent waits");
	finish();
}

/* --- the Secret ------------------------------------------------------------------------------- */

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

/* A Secret with an authority and a certificate of it, as the leader writes it. */
static const char *good_secret(struct arena *a)
{
	struct serving_input in = {.names = names, .n_names = 1, .now_ms = 1800000000000};
	struct serving_certs made;
	struct json *o;
	bool change = false;

	serving_certs_plan(a, &in, &made, &change, NULL);
	o = webhook_bodies_secret(a, STR("certs"), (mk_str){NULL, 0}, &made);
	json_set_str(a, json_get(o, "metadata"), "resourceVersion", STR("5"));
	return json_write(a, o).p;
}

/* An authority that could not be kept in memory is not an authority that is missing. */
static void test_memory(void)
{
	struct arena a;
	const char *text;
	int written = 0;
	int waited = 0;
	bool done = false;

	arena_init(&a, 0);
	text = good_secret(&a);
	for (uint64_t n = 1; n < 400 && !done; n++) {
		begin(true);
		run(true);
		n_certificates = 0;
		alloc_fail_after(n);
		fake_answer(&f, 0, "GET " SECRET, 200, text);
		done = alloc_fail_after(0) < n;
		run(true);
		written += asked("PATCH " SECRET) || asked("POST /api/v1/");
		waited += n_certificates == 0 && waits() <= 5000;
		if (done) {
			is_int(n_certificates, 1, "with memory it is used");
		}
		finish();
	}
	ok(done && waited > 2, "out of memory while a Secret is read: it is read again soon");
	is_int(written, 0, "and a good authority is never replaced");
	arena_done(&a);
}

/* What is wiped behind a request must have left with it. */
static void test_new_authority(void)
{
	static const char *const keys[] = {SERVING_CA, SERVING_CA_KEY, SERVING_CERT, SERVING_KEY};
	const struct fake_call *c;
	struct json *o = NULL;
	struct arena a;

	arena_init(&a, 0);
	begin(true);
	run(true);
	fake_answer(&f, 0, "GET " SECRET, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
	run(true);
	c = fake_find(&f, 0, "POST /api/v1/namespaces/kueue-system/secrets");
	ok(c && json_parse(&a, str_of(c->body), &o, NULL) == ERR_OK, "a missing Secret is made");
	for (size_t i = 0; i < 4; i++) {
		mk_str pem = {NULL, 0};

		base64_decode(&a, json_str(json_get(json_get(o, "data"), keys[i])), &pem, NULL);
		ok(str_starts(pem, STR("-----BEGIN ")), keys[i]);
	}
	fake_answer(&f, 0, "POST /api/v1/namespaces/kueue-system/secrets", 201, c ? c->body : "");
	run(true);
	n_certificates = 0;
	fake_answer(&f, 0, "GET " SECRET, 200, c ? c->body : "");
	run(true);
	is_int(n_certificates, 1, "it is read again and used");
	ok(!asked("PATCH " SECRET), "and is as it should be");
	finish();
	arena_done(&a);
}

static void test_refused_certificate(void)
{
	struct arena a;
	const char *text;

	arena_init(&a, 0);
	text = good_secret(&a);
	begin(true);
	n_certificates = 0;
	usable = false;
	for (int i = 1; i <= 2; i++) {
		run(false);
		fake_answer(&f, 0, "GET " SECRET, 200, text);
		is_int(n_certificates, i, "a certificate that could not be used is tried again");
		is_int(waits(), 60000, "after a minute");
		later(60000);
	}
	usable = true;
	run(false);
	fake_answer(&f, 0, "GET " SECRET, 200, text);
	is_int(n_certificates, 3, "until it can");
	is_int(waits(), 600000, "then its watch tells of changes");
	secret_event();
	run(false);
	fake_answer(&f, 0, "GET " SECRET, 200, text);
	is_int(n_certificates, 3, "the same one is not put in use twice");
	finish();
	arena_done(&a);
}

/* --- whom API servers trust ------------------------------------------------------------------- */

#define HOOKS "/apis/admissionregistration.k8s.io/v1/"
#define MUTATING HOOKS "mutatingwebhookconfigurations/" WEBHOOK_CONFIGURATION
#define VALIDATING HOOKS "validatingwebhookconfigurations/" WEBHOOK_VALIDATING

/* A configuration of that kind with that bundle. */
static const char *hooks(struct arena *a, const char *kind, mk_str bundle)
{
	return arena_printf(a,
			    "{\"kind\":\"%s\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":"
			    "\"3\"},\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"caBundle\":"
			    "\"%.*s\"}}]}",
			    kind, STR_ARG(bundle))
		.p;
}

/* Both are watched, by name: what is made anew, or changed, is looked at and repaired at once. */
static void test_changed(struct arena *a, mk_str bundle)
{
	static const char watches[2][200] = {
		HOOKS
		"mutatingwebhookconfigurations?fieldSelector=metadata.name%3D" WEBHOOK_CONFIGURATION
		"&watch=1",
		HOOKS
		"validatingwebhookconfigurations?fieldSelector=metadata.name%3D" WEBHOOK_VALIDATING
		"&watch=1"};
	struct event ev = {.type = EV_OBSERVED,
			   .cluster = CLUSTER_MANAGER,
			   .kind = KIND_WEBHOOKS,
			   .name = STR("of another program")};

	ok(asked(watches[0]) && asked(watches[1]), "each is watched, and no other object");
	webhook_objects_event(w, &ev);
	is_int(waits(), 60000, "one of another name is none of ours");
	ev.name = STR(WEBHOOK_CONFIGURATION);
	webhook_objects_event(w, &ev);
	ok(waits() <= 0, "one that was made anew is due at once");
	run(true);
	webhook_objects_event(w, &ev);
	fake_answer(&f, 0, "GET " MUTATING, 200,
		    hooks(a, "MutatingWebhookConfiguration", STR("eA==")));
	ok(asked("PATCH " MUTATING), "... and gets the authority");
	fake_answer(&f, 0, "PATCH " MUTATING, 200,
		    hooks(a, "MutatingWebhookConfiguration", bundle));
	run(true);
	fake_answer(&f, 0, "GET " MUTATING, 200, hooks(a, "MutatingWebhookConfiguration", bundle));
	run(true);
	ok(!asked("PATCH " MUTATING) && waits() == 60000, "... once");
	ev.type = EV_GONE;
	ev.kind = KIND_VALIDATING;
	ev.name = STR(WEBHOOK_VALIDATING);
	webhook_objects_event(w, &ev);
	ok(waits() <= 0, "the same for one that goes");
}

static void test_two_configurations(void)
{
	struct arena a;
	struct json *o = NULL;
	const char *text;
	mk_str bundle;

	arena_init(&a, 0);
	text = good_secret(&a);
	json_parse(&a, str_of(text), &o, NULL);
	bundle = json_str(json_get(json_get(o, "data"), SERVING_CA));
	also = STR(WEBHOOK_VALIDATING);
	begin(true);
	run(false);
	ok(!asked("GET " MUTATING) && !asked("GET " VALIDATING), "a standby looks at neither");
	run(true);
	fake_answer(&f, 0, "GET " SECRET, 200, text);
	run(true);
	ok(asked("GET " MUTATING) && asked("GET " VALIDATING), "the leader looks at both");
	fake_answer(&f, 0, "GET " MUTATING, 200, hooks(&a, "MutatingWebhookConfiguration", bundle));
	ok(!asked("PATCH " MUTATING), "what is as it should be is left alone");
	fake_answer(&f, 0, "GET " VALIDATING, 200,
		    hooks(&a, "ValidatingWebhookConfiguration", STR("eA==")));
	ok(asked("PATCH " VALIDATING), "the other gets the authority");
	fake_answer(&f, 0, "PATCH " VALIDATING, 200,
		    hooks(&a, "ValidatingWebhookConfiguration", bundle));
	run(true);
	fake_answer(&f, 0, "GET " VALIDATING, 200,
		    hooks(&a, "ValidatingWebhookConfiguration", bundle));
	ok(!asked("PATCH " VALIDATING), "... once");
	run(true); /* the certificate is judged by what is trusted now */
	fake_answer(&f, 0, "GET " MAP, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
	is_int(waits(), 60000, "then nothing is due for a minute");
	test_changed(&a, bundle);
	finish();

	begin(true);
	run(true);
	fake_answer(&f, 0, "GET " SECRET, 200, text);
	run(true);
	fake_answer(&f, 0, "GET " VALIDATING, 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
	ok(!asked("PATCH " VALIDATING), "one that is missing is not made");
	finish();

	also = STR_NONE;
	begin(true);
	run(true);
	fake_answer(&f, 0, "GET " SECRET, 200, text);
	run(true);
	ok(asked("GET " MUTATING) && !asked("GET " VALIDATING), "without queue trees there is one");
	finish();
	arena_done(&a);
}

int main(void)
{
	test_two_configurations();
	test_table();
	test_table_refused();
	test_late_answer();
	test_new_authority();
	test_memory();
	test_refused_certificate();
	return done_testing();
}
