/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of which no text is kept, since they are too big or nested too deep. */
#include "t/lib/engine_pods.h"
#include "t/lib/engine_world.h"

/* "x" in the spec becomes a string of 5 MiB. */
static void swell(struct world *w, struct object *o)
{
	enum { N = 5 * 1024 * 1024 };
	char *text = malloc(N + 64);
	size_t n = (size_t)snprintf(text, 64, "{\"spec\":{\"x\":\"");

	memset(text + n, 'x', N);
	snprintf(text + n + N, 64, "\"}}");
	w_patch(w, o, text);
	free(text);
}

/* A job of which no text is kept: an Event tells, and the others of its kind do not wait for it. */
static void too_big(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	const char *log;

	w_settle(w);
	w_take(w);
	swell(w, w_find(w, 0, JOB, "ns", "j"));
	a_job(w, "k");
	w_later(w, 60000);
	log = w_take(w);
	ok(!strstr(log, "watch_close 0 Job"), "the jobs are not listed anew");
	ok(w_times(log, "get 0 Job") < 5, "nor is it asked for again and again");
	is_int((long long)w_times(log, "event 0 Event wl-j"), 1, "an Event tells");
	is_str(check_state(w, wl), "Pending", "it is no reason to reject");
	admit(w, 1, "wl-k");
	w_later(w, 1000);
	ok(w_find(w, 1, JOB, "ns", "k") != NULL, "others run");
	w_patch(w, w_find(w, 0, JOB, "ns", "j"), "{\"spec\":{\"x\":null}}");
	admit(w, 1, "wl-j");
	w_later(w, 1000);
	ok(w_find(w, 1, JOB, "ns", "j") != NULL, "and so does it, once it is smaller");
	w_free(w);
}

/* How many Events say that a job cannot be handled; the log has bodies. */
static int said(const char *log)
{
	int n = 0;

	for (; log; log = strstr(log + 1, "The job cannot be handled")) {
		n++;
	}
	return n - 1;
}

/* The same of a worker's copy: it is asked for at leisure, and it goes with its Workload. */
static void copy_too_big(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	w->full = true;
	swell(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 60000);
	log = w_take(w);
	is_int(said(log), 1, "an Event tells");
	ok(strstr(log, "The job cannot be handled: the status of its copy on worker cluster "
		       "\\\"w2\\\" cannot be copied: it is larger than 4 MiB") != NULL,
	   "with the worker's name");
	ok(!strstr(log, "watch_close 2 Job"), "the worker's jobs are not listed anew");
	ok(w_times(log, "get 2 Job") < 20, "it is not asked for without end");
	w_del(w, wl);
	w_later(w, 40000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"), "it goes with its Workload");
	w_free(w);
}

/* "x" in the spec becomes 200 objects, one in the other; and 'patch' is applied. */
static void deepen(struct world *w, struct object *o, const char *patch)
{
	struct json *v = NULL, *p = NULL, *inner;
	struct arena a;

	arena_init(&a, 0);
	json_parse(&a, str_of(o->text), &v, NULL);
	json_parse(&a, str_of(patch), &p, NULL);
	v = json_merge(&a, v, p);
	inner = json_get(v, "spec");
	for (int i = 0; i < 200; i++) {
		struct json *next = json_new_obj(&a);

		json_set(&a, inner, STR("x"), next);
		inner = next;
	}
	w_store(w, o, v, &a);
	w_tell(w, o, EV_OBSERVED, VIA_WATCH);
	arena_done(&a);
}

/* A job of which a part is not read: nothing is made of it. */
static void too_deep(void)
{
	struct world *w = w_new(2);
	struct object *wl = a_job(w, "j");
	const char *log;

	w_settle(w);
	w_take(w);
	w->full = true;
	deepen(w, w_find(w, 0, JOB, "ns", "j"), "{}");
	a_job(w, "k");
	w_later(w, 60000);
	log = w_take(w);
	ok(!strstr(log, "watch_close 0 Job"), "too deep: the jobs are not listed anew");
	is_int(said(log), 1, "too deep: an Event tells");
	ok(strstr(log, "The job cannot be handled: it is nested more than 120 levels deep") != NULL,
	   "too deep: in these words");
	is_str(check_state(w, wl), "Pending", "too deep: it is no reason to reject");
	admit(w, 1, "wl-j");
	admit(w, 1, "wl-k");
	w_later(w, 1000);
	ok(w_find(w, 1, JOB, "ns", "k") != NULL, "too deep: others run");
	ok(!w_find(w, 1, JOB, "ns", "j"), "too deep: no copy is made of what was read");
	w_free(w);
}

static void copy_too_deep(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w);
	const char *log;

	w->full = true;
	deepen(w, w_find(w, 2, JOB, "ns", "j"), "{}");
	w_later(w, 60000);
	log = w_take(w);
	is_int(said(log), 1, "copy too deep: an Event tells");
	ok(strstr(log, "of its copy on worker cluster \\\"w2\\\" cannot be copied: it is nested") !=
		   NULL,
	   "copy too deep: with the worker's name");
	ok(!strstr(log, "patch 2 Job") && !strstr(log, "merge 2 Job"),
	   "copy too deep: it is not written to");
	w_del(w, wl);
	w_later(w, 40000);
	ok(!w_find(w, 2, JOB, "ns", "j") && !clone_of(w, 2, "wl-j"),
	   "copy too deep: it goes with its Workload");
	w_free(w);
}

/* The status of the copy on w2, with a message of 'n' bytes. */
static void say_status(struct world *w, int active, const char *type, size_t n)
{
	char *text = malloc(n + 256);
	int at = snprintf(text, 256,
			  "{\"status\":{\"active\":%d,\"conditions\":[{\"type\":\"%s\","
			  "\"status\":\"True\",\"message\":\"",
			  active, type);

	memset(text + at, 'm', n);
	snprintf(text + (size_t)at + n, 64, "\"}]}}");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), text);
	free(text);
}

/* The copy on w2 has ended, with a status that cannot be copied as it is. */
static void ends_at_home(struct world *w, struct object *wl, struct object *job, const char *what)
{
	printf("# %s\n", what);
	w_later(w, 2000);
	is_str(w_str(w, job, "/status/conditions/0/type"), "Complete",
	       "an end that cannot be copied as it is comes home");
	is_str(w_str(w, job, "/status/succeeded"), "7", "with its counts");
	ok(strlen(w_str(w, job, "/status")) < 4096, "... without the rest");
	w_patch(w, clone_of(w, 2, "wl-j"),
		"{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
		"\"reason\":\"Succeeded\",\"message\":\"done\"}]}}");
	w_later(w, 60000);
	ok(is_finished(w, wl), "its Workload is Finished");
	ok(!w_find(w, 2, JOB, "ns", "j"), "and the copy goes");
}

/* A worker's status that would fill the manager's etcd. */
static void status_too_large(void)
{
	enum { BELOW = 250 * 1024, ABOVE = 300 * 1024 };
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 0, JOB, "ns", "j");
	const char *log;
	unsigned n;

	w_settle(w);
	say_status(w, 1, "Odd", 10);
	w_later(w, 2000);
	w_take(w);
	w->full = true;
	say_status(w, 2, "Odd", ABOVE);
	w_later(w, 5000);
	log = w_take(w);
	is_int(said(log), 1, "a status over the limit: an Event tells");
	ok(strstr(log, "it is larger than 256 KiB (multiKueue.jobStatusSize)") != NULL,
	   "with the limit");
	is_str(w_str(w, job, "/status/active"), "1", "the last status below it stays");
	is_str(check_message(w, wl),
	       "The workload was admitted on \"w2\"; the status of its copy on worker cluster "
	       "\"w2\" cannot be copied: it is larger than 256 KiB (multiKueue.jobStatusSize)",
	       "the check says so, too");
	w->full = false;
	say_status(w, 3, "Odd", 10);
	w_later(w, 2000);
	is_str(w_str(w, job, "/status/active"), "3", "the next one below it is copied");
	w_later(w, 10 * 60000);
	is_str(check_message(w, wl), "The workload was admitted on \"w2\"",
	       "and the check says no more");
	w_take(w);
	for (int i = 0; i < 60; i++) {
		say_status(w, 4 + i, "Odd", BELOW);
		w_later(w, 1000);
	}
	n = (unsigned)w_times(w_take(w), "merge 0 Job j job_status");
	printf("# %u of 60 large ones are written\n", n);
	ok(n >= 5 && n <= 10, "large ones are written less often");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"succeeded\":7}}");
	say_status(w, 0, "Complete", ABOVE);
	ends_at_home(w, wl, job, "over the limit");
	w_free(w);
}

/* The same of copies of which no text is kept. */
static void large_end(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 0, JOB, "ns", "j");

	w_settle(w);
	swell(w, w_find(w, 2, JOB, "ns", "j"));
	w_later(w, 5000);
	ok(strstr(check_message(w, wl), "\"w2\" cannot be copied: it is larger than 4 MiB"),
	   "over 4 MiB: the check says so");
	w_patch(w, w_find(w, 2, JOB, "ns", "j"), "{\"status\":{\"succeeded\":7}}");
	say_status(w, 0, "Complete", 10);
	ends_at_home(w, wl, job, "over 4 MiB");
	w_free(w);
}

static void deep_end(void)
{
	struct world *w = w_new(2);
	struct object *wl = running_job(w), *job = w_find(w, 0, JOB, "ns", "j");

	w_settle(w);
	deepen(w, w_find(w, 2, JOB, "ns", "j"),
	       "{\"status\":{\"succeeded\":7,\"conditions\":[{\"type\":\"Complete\",\"status\":"
	       "\"True\"}]}}");
	ends_at_home(w, wl, job, "too deep");
	w_free(w);
}

/* A worker that changes an end again and again. */
static void restless_end(void)
{
	struct world *w = w_new(2);

	running_job(w);
	w_settle(w);
	say_status(w, 0, "Complete", 10);
	w_later(w, 2000);
	w_take(w);
	for (int i = 0; i < 100; i++) {
		say_status(w, i, "Complete", 10);
		w_later(w, 100);
	}
	is_int(w_times(w_take(w), "merge 0 Job j job_status"), 10,
	       "an end that is changed is written once a second");
	w_free(w);
}

int main(void)
{
	too_big();
	copy_too_big();
	too_deep();
	copy_too_deep();
	status_too_large();
	large_end();
	deep_end();
	restless_end();
	return done_testing();
}
