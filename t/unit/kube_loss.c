/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that repeat, and answers that say less than they seem to: what brings a link or a kind down, and what must not. */
#include "t/unit/kube_fake.h"

static struct fake f;

#define W "/workloads?"

static uint64_t up(uint64_t seed)
{
	fake_init(&f, seed);
	fake_manager(&f);
	fake_worker(&f);
	fake_story(&f);
	return fake_token(&f, 1, W);
}

/* Time goes on while the server answers its probes. */
static void wait_probed(int64_t ms)
{
	for (int64_t i = 0; i < ms; i += 500) {
		for (uint32_t c = 0; c < 2; c++) {
			if (fake_find(&f, c, "GET /version") != NULL) {
				fake_answer(&f, c, "GET /version", 200, VERSION_DOC);
			}
		}
		fake_wait(&f, 500);
	}
}

enum answer_of_watch { LOST, LIMITED, ENDED };

/* For 'ms' every attempt at the watch of Workloads ends so. */
static void fails_for(int64_t ms, enum answer_of_watch how)
{
	for (int64_t i = 0; i < ms && kube_is_up(f.k, 1); i += 500) {
		uint64_t t = fake_find(&f, 1, W) != NULL ? fake_token(&f, 1, W) : 0;

		if (t != 0 && how == LIMITED) {
			fake_answer(&f, 1, W, 429, "{\"kind\":\"Status\"}");
		} else if (t != 0 && how == ENDED) {
			fake_head(&f, t, 200, "application/json", -1);
			fake_end(&f, t, TRANSPORT_OK, MK_OK, "");
		} else if (t != 0) {
			fake_end(&f, t, TRANSPORT_LOST, MK_UNAVAILABLE, "reset");
		}
		wait_probed(500);
	}
}

/* Something before the server cuts every watch, and lets all the rest through. */
static void test_lost_again_and_again(void)
{
	static const enum answer_of_watch ways[] = {LOST, LIMITED, ENDED};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		fake_end(&f, up(31), TRANSPORT_LOST, MK_UNAVAILABLE, "reset");
		fails_for(25000, ways[i]);
		ok(kube_is_up(f.k, 1), "a core watch may fail for a while");
		fails_for(75000, ways[i]);
		ok(strstr(fake_story(&f), "link 1 down code=unavailable "
					  "reason=ClientConnectionFailed text=\"the watch of "
					  "workloads.kueue.x-k8s.io fails\"") != NULL,
		   "but not for ever, in spite of good probes");
		fake_done(&f);
	}
}

/* Every stream is cut, and every one goes on before that: the link is not broken. */
static void test_goes_on_between(void)
{
	uint64_t t = up(32);

	fake_many(&f, t, 500);
	for (int i = 0; i < 20; i++) {
		fake_end(&f, fake_token(&f, 1, W), TRANSPORT_LOST, MK_UNAVAILABLE, "reset");
		for (int s = 0; s < 140 && fake_find(&f, 1, "watch=1") == NULL; s++) {
			if (fake_find(&f, 1, "/workloads?limit=1&") != NULL) {
				fake_answer(&f, 1, "/workloads?limit=1&", 200,
					    "{\"kind\":\"WorkloadList\",\"metadata\":{"
					    "\"resourceVersion\":\"501\"},\"items\":[]}");
			} else {
				wait_probed(500);
			}
		}
		fake_stream(&f, 1, "watch=1");
		wait_probed(3000);
	}
	ok(kube_is_up(f.k, 1), "streams that go on in between keep the link");
	fake_done(&f);
}

/* The normal end of a watch, every few minutes. */
static void test_normal_ends(void)
{
	up(33);
	for (int i = 0; i < 6; i++) {
		uint64_t t = fake_stream(&f, 1, W);

		wait_probed(310000);
		fake_end(&f, t, TRANSPORT_OK, MK_OK, "");
	}
	ok(kube_is_up(f.k, 1), "streams that the server closes in their time keep the link");
	fake_done(&f);
}

/* A job kind is not what a link stands on. */
static void test_job_watch_is_lost(void)
{
	up(34);
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	for (int i = 0; i < 200; i++) {
		if (fake_find(&f, 1, "/jobs?") != NULL) {
			fake_end(&f, fake_token(&f, 1, "/jobs?"), TRANSPORT_LOST, MK_UNAVAILABLE,
				 "reset");
		}
		wait_probed(500);
	}
	ok(kube_is_up(f.k, 1), "a watch of jobs that is lost for ever keeps the link");
	fake_done(&f);
}

int main(void)
{
	test_lost_again_and_again();
	test_goes_on_between();
	test_normal_ends();
	test_job_watch_is_lost();
	return done_testing();
}
