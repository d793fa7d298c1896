/* SPDX-License-Identifier: Apache-2.0 */
/* Single requests: what goes out, what comes back, and that an answer comes exactly once. */
#include "t/lib/kube_fake.h"

static struct fake f;
static struct kube_reply last;
static char last_text[256], last_reason[64], last_obj[256];
static uint64_t last_id;
static int n_replies;

static void on_reply(void *ctx, uint64_t id, const struct kube_reply *r)
{
	mk_str obj = r->obj != NULL ? json_write(&f.arena, r->obj) : (mk_str){NULL, 0};

	(void)ctx;
	last = *r;
	last_id = id;
	fake_copy(last_text, sizeof(last_text), r->text);
	fake_copy(last_reason, sizeof(last_reason), r->reason);
	fake_copy(last_obj, sizeof(last_obj), obj);
	n_replies++;
}

static enum mk_code send(enum kube_verb verb, uint16_t kind, const char *name, const char *body)
{
	static uint64_t id;
	struct kube_request r = {.cluster = 1,
				 .verb = verb,
				 .kind = kind,
				 .ns = STR("n"),
				 .name = str_of(name),
				 .subresource = verb == KUBE_APPLY ? "status" : "",
				 .field_manager = verb == KUBE_APPLY ? "kueue-admission" : NULL,
				 .body = str_of(body),
				 .timeout_ms = 30000};

	return kube_send(f.k, &r, ++id, on_reply, NULL, NULL);
}

static void test_out(void)
{
	struct fake_call *c = NULL;

	send(KUBE_CREATE, KIND_FIRST_JOB, "", "{\"a\":1}");
	c = fake_find(&f, 1, "POST ");
	is_str(c->path, "/apis/batch/v1/namespaces/n/jobs", "create");
	ok(strcmp(c->content_type, "application/json") == 0 && strcmp(c->body, "{\"a\":1}") == 0 &&
		   c->cls == TRANSPORT_WRITE && c->timeout_ms == 30000 && !c->gzip,
	   "with its body, as a write");
	fake_answer(&f, 1, "POST ", 201, "{\"kind\":\"Job\",\"metadata\":{\"name\":\"x\"}}");
	is_int(last.outcome, OUTCOME_APPLIED, "applied");
	is_str(last_obj, "{\"kind\":\"Job\",\"metadata\":{\"name\":\"x\"}}", "with the object");
	is_int(last.http, 201, "and the status");

	send(KUBE_APPLY, KIND_WORKLOAD, "w", "{}");
	c = fake_find(&f, 1, "PATCH ");
	is_str(c->path,
	       "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w/"
	       "status?fieldManager=kueue-admission&force=true",
	       "apply");
	is_str(c->content_type, "application/apply-patch+yaml", "as such");
	fake_answer(&f, 1, "PATCH ", 409,
		    "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"m\"}");
	ok(last.outcome == OUTCOME_REFUSED && last.code == ERR_CONFLICT &&
		   strcmp(last_reason, "Conflict") == 0 && strcmp(last_text, "m") == 0 && !last.obj,
	   "a conflict");

	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	c = fake_find(&f, 1, "PATCH ");
	is_str(c->path, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w", "merge");
	is_str(c->content_type, "application/merge-patch+json", "as such");
	fake_answer(&f, 1, "PATCH ", 200, "{}");

	send(KUBE_DELETE, KIND_WORKLOAD, "w", "{}");
	fake_answer(&f, 1, "DELETE /apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w", 200,
		    "{\"kind\":\"Status\",\"status\":\"Success\"}");
	ok(last.outcome == OUTCOME_APPLIED && !last.obj, "delete");

	send(KUBE_GET, KIND_NAMESPACE, "w", "");
	c = fake_find(&f, 1, "GET /api/v1/namespaces/n/namespaces/w");
	ok(c != NULL && c->cls == TRANSPORT_READ && c->content_type[0] == '\0', "get");
	fake_answer(&f, 1, "GET /api/v1/namespaces/n/namespaces/w", 404,
		    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
	is_int(last.code, ERR_NOT_FOUND, "not found");
	is_int(last_id, 5, "each with its number");
	is_int(n_replies, 5, "each once");
}

static void test_losses(void)
{
	n_replies = 0;
	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	fake_end(&f, fake_token(&f, 1, "PATCH "), TRANSPORT_NOT_SENT, ERR_FENCED, "fenced");
	ok(last.outcome == OUTCOME_REFUSED && last.code == ERR_FENCED,
	   "fenced: certainly not done");
	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	fake_end(&f, fake_token(&f, 1, "PATCH "), TRANSPORT_NOT_SENT, ERR_DENIED, "certificate");
	ok(last.outcome == OUTCOME_REFUSED && last.code == ERR_UNAVAILABLE,
	   "a bad certificate is no refusal of this request");
	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	fake_end(&f, fake_token(&f, 1, "PATCH "), TRANSPORT_LOST, ERR_TIMEOUT, "timed out");
	ok(last.outcome == OUTCOME_UNKNOWN && last.code == ERR_UNKNOWN,
	   "a write that was lost: unknown");
	ok(fake_answer(&f, 1, PROBE, 200, VERSION_DOC), "and the link is asked");
	send(KUBE_GET, KIND_WORKLOAD, "w", "");
	fake_end(&f, fake_token(&f, 1, "workloads/w"), TRANSPORT_LOST, ERR_TIMEOUT, "timed out");
	ok(last.outcome == OUTCOME_REFUSED && last.code == ERR_TIMEOUT,
	   "a read that was lost did nothing");
	fake_answer(&f, 1, PROBE, 200, VERSION_DOC);
	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	fake_head(&f, fake_token(&f, 1, "PATCH "), 200, "application/json", -1);
	fake_chunk(&f, fake_token(&f, 1, "PATCH "), "{\"kind\":");
	fake_end(&f, fake_token(&f, 1, "PATCH "), TRANSPORT_LOST, ERR_UNAVAILABLE, "cut");
	is_int(last.outcome, OUTCOME_UNKNOWN, "cut in the answer: unknown");
	fake_answer(&f, 1, PROBE, 200, VERSION_DOC);
	is_int(n_replies, 5, "each once");
	send(KUBE_MERGE, KIND_FIRST_JOB, "j", "{}");
	fake_story(&f);
	fake_answer(&f, 1, "PATCH ", 404, "404 page not found\n");
	ok(last.code == ERR_UNAVAILABLE && strcmp(last_reason, "KindNotServed") == 0,
	   "a kind that is not served any more");
	is_str(fake_story(&f),
	       "unserved 1 Job.batch code=not_found text=\"no matches for kind \\\"Job\\\" in "
	       "version \\\"batch/v1\\\"\"\n",
	       "is told");
	is_int(send(KUBE_CREATE, KIND_FIRST_JOB, "", "{}"), ERR_NOT_FOUND,
	       "and refused at once the next time");
	is_int(send(KUBE_MERGE, KIND_FIRST_JOB, "j", "{}"), ERR_UNAVAILABLE,
	       "which does not say that an object is gone");
	is_int(send(KUBE_GET, KIND_FIRST_JOB, "j", ""), ERR_UNAVAILABLE, "... neither to a read");
}

#define JOB_PATH "PATCH /apis/batch/v1/namespaces/n/jobs/j"
#define JOBS_ALONE                                                                    \
	"{\"kind\":\"APIResourceList\",\"groupVersion\":\"batch/v1\",\"resources\":[" \
	"{\"name\":\"jobs\",\"kind\":\"Job\",\"namespaced\":true}]}"

static bool sends_status(const char *path)
{
	struct kube_request r = {.cluster = 1,
				 .verb = KUBE_MERGE,
				 .kind = KIND_FIRST_JOB,
				 .ns = STR("n"),
				 .name = STR("j"),
				 .subresource = "status",
				 .body = STR("{\"status\":{}}"),
				 .timeout_ms = 30000};
	const struct fake_call *c;

	if (kube_send(f.k, &r, 77, on_reply, NULL, NULL) != ERR_OK) {
		return false;
	}
	c = fake_find(&f, 1, "PATCH ");
	return c && strcmp(c->path, path) == 0;
}

/* A kind's status may be a part of the object: discovery says so. */
static void test_status(void)
{
	fake_done(&f);
	fake_init(&f, 1);
	fake_manager(&f);
	fake_worker(&f);
	ok(sends_status("/apis/batch/v1/namespaces/n/jobs/j/status"),
	   "a kind with a status of its own: there");
	fake_answer(&f, 1, JOB_PATH, 404,
		    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
	is_int(last.code, ERR_NOT_FOUND, "it is not there any more");
	ok(fake_answer(&f, 1, "GET /apis/batch/v1", 200, JOBS_ALONE),
	   "discovery is asked at once, whose answer says why");
	is_str(kube_subresource(f.k, 1, KIND_FIRST_JOB, "status"), "",
	       "rights that are missing are those on the object");
	ok(sends_status("/apis/batch/v1/namespaces/n/jobs/j"),
	   "without one it is written on the object");
	fake_answer(&f, 1, JOB_PATH, 404,
		    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
	ok(last.code == ERR_NOT_FOUND && !fake_find(&f, 1, "GET /apis/batch/v1"),
	   "then a 404 says that the object is gone, and no more");
	ok(sends_status("/apis/batch/v1/namespaces/n/jobs/j"), "still so");
	fake_answer(&f, 1, JOB_PATH, 200, "{}");
	is_str(kube_subresource(f.k, 1, KIND_WORKLOAD, "status"), "status",
	       "Kueue's own kinds have theirs");
	fake_done(&f);
	fake_init(&f, 1);
	fake_manager(&f);
	fake_worker(&f);
}

static void test_too_long(void)
{
	size_t n = 1024 * 1024;
	char *big = malloc(n + 1);
	uint64_t t = 0;

	if (!big) {
		return;
	}
	memset(big, ' ', n);
	big[n] = '\0';
	n_replies = 0;
	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	t = fake_token(&f, 1, "PATCH ");
	fake_head(&f, t, 200, "application/json", -1);
	for (int i = 0; i < 9; i++) {
		fake_chunk(&f, t, big);
	}
	free(big);
	ok(n_replies == 1 && last.outcome == OUTCOME_UNKNOWN,
	   "an answer without end is cut off: unknown");
	fake_end(&f, t, TRANSPORT_OK, ERR_OK, "");
	is_int(n_replies, 1, "once");
}

static void test_misuse(void)
{
	struct kube_request r = {
		.cluster = 7, .verb = KUBE_GET, .kind = KIND_WORKLOAD, .name = STR("x")};

	is_int(kube_send(f.k, &r, 1, on_reply, NULL, NULL), ERR_UNAVAILABLE,
	       "a cluster that is not there");
	is_int(send(KUBE_GET, 250, "x", ""), ERR_BUG, "a kind that is not");
	is_int(send(KUBE_GET, KIND_WORKLOAD, "", ""), ERR_BUG, "no name");
	is_int(send(KUBE_GET, KIND_WORKLOAD, "..", ""), ERR_INVALID, "a name that is a path");
	f.send_code = ERR_NO_MEMORY;
	is_int(send(KUBE_GET, KIND_WORKLOAD, "x", ""), ERR_NO_MEMORY, "a transport that cannot");
	f.send_code = ERR_OK;
}

static void test_close(void)
{
	struct op op = {.type = OP_DISCONNECT, .cluster = 1};

	n_replies = 0;
	send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
	send(KUBE_GET, KIND_WORKLOAD, "w", "");
	kube_do(f.k, &op, NULL);
	is_int(n_replies, 0, "closing gives no answer inside the call");
	is_int(kube_next_ms(f.k), f.mono, "but is due at once");
	kube_run(f.k);
	is_int(n_replies, 2, "then all");
	is_int(last.code, ERR_UNAVAILABLE, "a read");
	is_int(send(KUBE_GET, KIND_WORKLOAD, "w", ""), ERR_UNAVAILABLE,
	       "nothing goes out any more");
}

/* Any allocation may fail: nothing is lost, nothing is told twice. */
static void test_no_memory(void)
{
	bool clean = true;

	fake_done(&f);
	for (uint64_t n = 1; n < 60; n++) {
		int before = 0;
		enum mk_code code = ERR_OK;

		fake_init(&f, 2);
		fake_manager(&f);
		fake_worker(&f);
		before = n_replies;
		alloc_fail_after(n);
		code = send(KUBE_MERGE, KIND_WORKLOAD, "w", "{}");
		alloc_fail_after(0);
		if (code == ERR_OK) {
			fake_answer(&f, 1, "PATCH ", 200, "{}");
		}
		clean = clean && (code == ERR_OK || code == ERR_NO_MEMORY) &&
			n_replies - before == (code == ERR_OK ? 1 : 0);
		fake_done(&f);
	}
	ok(clean, "out of memory while sending");
	for (uint64_t n = 1; n < 200; n++) {
		fake_init(&f, 2);
		fake_manager(&f);
		alloc_fail_after(n);
		fake_connect(&f, 1, "s1");
		fake_watch(&f, 1, KIND_WORKLOAD, "");
		if (fake_find(&f, 1, "GET /version") != NULL) {
			fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
		}
		alloc_fail_after(0);
		fake_wait(&f, 1000);
		fake_done(&f);
	}
	ok(true, "and while connecting");
	fake_init(&f, 2);
}

int main(void)
{
	fake_init(&f, 1);
	fake_manager(&f);
	fake_worker(&f);
	test_out();
	test_losses();
	test_status();
	test_too_long();
	test_misuse();
	test_close();
	test_no_memory();
	fake_done(&f);
	return done_testing();
}
