/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many workers at once: how many are read in at a time, that those that do not answer keep no other
 * waiting, and that those whose Secrets come late do not all come in one turn.
 */
#include "t/lib/kube_fake.h"

enum { WORKERS = 100, AT_ONCE = 32 };

static struct fake f;

static void connect_all(void)
{
	fake_init(&f, 1);
	fake_manager(&f);
	for (cluster_id c = 1; c <= WORKERS; c++) {
		fake_connect(&f, c, "s1");
		fake_watch(&f, c, KIND_WORKLOAD, "o=m");
	}
	fake_story(&f);
}

/* Workers that have an open call like this. */
static unsigned open_calls(const char *part)
{
	unsigned n = 0;

	for (cluster_id c = 1; c <= WORKERS; c++) {
		n += fake_find(&f, c, part) != NULL;
	}
	return n;
}

static void version_of(cluster_id c)
{
	fake_answer(&f, c, "GET /version", 200, VERSION_DOC);
}

/* What follows the version, to the end. */
static void read_in(cluster_id c)
{
	fake_answer(&f, c, "GET /api/v1/namespaces/kube-system", 200,
		    "{\"kind\":\"Namespace\",\"metadata\":{\"uid\":\"worker-uid\"}}");
	fake_answer(&f, c, "GET /apis/kueue.x-k8s.io/v1beta2", 200, KUEUE_DOC);
	fake_answer(&f, c, "GET /apis/batch/v1", 200, BATCH_DOC);
	fake_empty(&f, c, "/workloads?", KUEUE, "Workload", 500);
}

#define IDENTITY "GET /api/v1/namespaces/kube-system"

static void test_all_answer(void)
{
	unsigned most = 0, up = 0;
	bool in_order = true;

	connect_all();
	is_int(open_calls("GET /version"), WORKERS, "C-2.10: all are asked at once");
	for (cluster_id c = WORKERS; c >= 1; c--) {
		version_of(c);
	}
	is_int(open_calls(IDENTITY), AT_ONCE, "but a part of them is read in at a time");
	for (cluster_id c = WORKERS; c >= 1; c--) {
		unsigned now = open_calls(IDENTITY);

		most = now > most ? now : most;
		in_order = in_order && fake_find(&f, c, IDENTITY) != NULL;
		read_in(c);
		fake_wait(&f, 0);
		up += kube_is_up(f.k, c);
	}
	ok(most == AT_ONCE && in_order, "never more, in the order of their answers");
	is_int(up, WORKERS, "and all of them in the end");
	fake_done(&f);
}

static void test_some_do_not(void)
{
	connect_all();
	for (cluster_id c = 1; c <= WORKERS; c++) {
		if (c > 60) {
			version_of(c);
		}
	}
	is_int(open_calls(IDENTITY), AT_ONCE, "who has not answered keeps no other waiting");
	/* 61 … 92 are read in, 93 … 100 wait. */
	fake_end(&f, fake_token(&f, 61, IDENTITY), TRANSPORT_LOST, ERR_UNAVAILABLE, "lost");
	fake_wait(&f, 0);
	ok(fake_find(&f, 93, IDENTITY) != NULL, "one that fails gives its place to the next");
	kube_do(f.k, &(struct op){.type = OP_DISCONNECT, .cluster = 62}, NULL);
	kube_do(f.k, &(struct op){.type = OP_DISCONNECT, .cluster = 95}, NULL);
	fake_wait(&f, 0);
	ok(fake_find(&f, 94, IDENTITY) != NULL, "so does one that is let go");
	kube_do(f.k, &(struct op){.type = OP_DISCONNECT, .cluster = 63}, NULL);
	fake_wait(&f, 0);
	ok(fake_find(&f, 96, IDENTITY) != NULL, "and who was let go while it waited is passed by");
	version_of(1);
	ok(!fake_find(&f, 1, IDENTITY), "who answers late waits at the end");
	fake_done(&f);
}

/* Time passes with each question: a slice is spent when it has begun. */
static int64_t fleeting_us(void)
{
	static int64_t now;

	return ++now;
}

/* A kubeconfig with its keys takes a millisecond or so to read. */
static void test_late_secrets(void)
{
	uint64_t secrets;
	unsigned turns = 0;

	fake_init(&f, 1);
	secrets = fake_manager_but_secrets(&f);
	for (cluster_id c = 1; c <= WORKERS; c++) {
		fake_connect(&f, c, "s1");
	}
	f.slice.clock_us = fleeting_us;
	fake_secrets(&f, secrets);
	is_int(open_calls("GET /version"), 0, "the end of the list of Secrets connects nobody");
	for (; kube_next_ms(f.k) <= f.mono && turns < 2 * WORKERS; turns++) {
		kube_run(f.k);
		if (turns == 0) {
			is_int(open_calls("GET /version"), 1,
			       "a turn connects as many as it has time for");
		}
	}
	is_int(open_calls("GET /version"), WORKERS, "and all are connected in the end");
	fake_done(&f);
}

int main(void)
{
	test_late_secrets();
	test_all_answer();
	test_some_do_not();
	return done_testing();
}
