/* SPDX-License-Identifier: Apache-2.0 */
/* A server without streaming lists, of which several kinds are watched from the start. */
#include "t/lib/kube_fake.h"

static struct fake f;

#define REFUSED "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"code\":422}"

/* Both streams are on their way when the first one is refused. */
static void test_both_fall_back(void)
{
	fake_init(&f, 1);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_watch(&f, 1, KIND_FIRST_JOB, "");
	fake_handshake(&f, 1, "w");
	fake_story(&f);
	ok(fake_answer(&f, 1, "/jobs?watch=1", 422, REFUSED) &&
		   fake_answer(&f, 1, "/workloads?watch=1", 422, REFUSED),
	   "two streaming lists are refused");
	ok(!strstr(fake_story(&f), "down"), "the second one is no failure of the link");
	ok(fake_find(&f, 1, "/workloads?limit=500") && fake_find(&f, 1, "/jobs?limit=500"),
	   "both kinds are read in pages at once");
	fake_done(&f);
}

/* A list in pages that is refused is a failure, as before. */
static void test_pages_refused(void)
{
	fake_init(&f, 2);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_watch(&f, 1, KIND_WORKLOAD, "");
	fake_handshake(&f, 1, "w");
	fake_answer(&f, 1, "/workloads?watch=1", 422, REFUSED);
	fake_story(&f);
	fake_answer(&f, 1, "/workloads?limit=500", 422, REFUSED);
	ok(strstr(fake_story(&f), "link 1 down") != NULL, "refused pages are one");
	fake_done(&f);
}

int main(void)
{
	test_both_fall_back();
	test_pages_refused();
	return done_testing();
}
