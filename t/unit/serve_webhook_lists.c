/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that admission asks for: after a lack of memory the API server is asked for them anew, and
 * a counter shows namespaces that have too many queues.
 */
#include "t/lib/admit_tell.h"
#include "t/lib/kube_fake.h"

#include "core/admit/locals.h"
#include "core/base/alloc.h"
#include "core/serve/webhook_lists.h"

static struct fake f;
static struct admit_queues *queues;
static struct webhook_lists lists;

#define LOCAL "{\"spec\":{\"clusterQueue\":\"cq\"}}"

static void begin(void)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE, KIND_CHECK,
					 KIND_WORKLOAD};

	queues = admit_queues_new();
	for (size_t i = 0; i < 4; i++) {
		admit_tell(queues, EV_LIST_BEGIN, kinds[i], "", "", "{}");
		admit_tell(queues, EV_LIST_END, kinds[i], "", "", "{}");
	}
	fake_init(&f, 7);
	fake_manager(&f);
	fake_story(&f);
	webhook_lists_init(&lists);
}

static void finish(void)
{
	fake_done(&f);
	admit_queues_free(queues);
	metric_clear();
}

/* Lets 'ms' pass and runs; is a list of checks on the wire now that was not there before? */
static bool asks_after(int64_t ms)
{
	struct fake_call *before = fake_find(&f, 0, "/admissionchecks?");
	uint64_t token = before != NULL ? before->token : 0;
	struct fake_call *now;

	f.mono += ms;
	f.wall += ms;
	kube_set_now(f.k, f.mono, f.wall);
	webhook_lists_run(&lists, f.k, queues, f.mono);
	now = fake_find(&f, 0, "/admissionchecks?");
	return now != NULL && now->token != token && strstr(now->path, "sendInitialEvents=true");
}

static void lose_one(void)
{
	struct event ev = {.type = EV_OBSERVED, .kind = KIND_CHECK, .name = STR("lost")};

	alloc_fail_after(1);
	admit_queues_event(queues, &ev);
	alloc_fail_after(0);
}

static void test_memory(void)
{
	uint64_t t;

	begin();
	ok(!asks_after(0), "nothing is missing: nothing is asked for");
	is_int(webhook_lists_next_ms(&lists, queues), INT64_MAX, "nor looked at again");
	lose_one();
	ok(!admit_queues_ready(queues), "a check was lost for lack of memory: no answers");
	ok(webhook_lists_next_ms(&lists, queues) <= f.mono, "at once");
	ok(asks_after(0), "the checks are listed anew");
	is_str(fake_story(&f), "stale 0 AdmissionCheck\n",
	       "and reviews do not rely on them before the list is there");
	ok(!asks_after(1000), "asked for once");
	is_int(webhook_lists_next_ms(&lists, queues), f.mono + 4000, "and again when none comes");
	ok(asks_after(4000), "after five seconds");
	ok(!asks_after(9000) && asks_after(1000), "then ten");
	for (int i = 0; i < 20; i++) {
		(void)asks_after(300000);
	}
	ok(!asks_after(299000) && asks_after(1000), "and five minutes at last");
	t = fake_stream(&f, 0, "/admissionchecks?");
	fake_line(&f, t, "ADDED", KUEUE, "AdmissionCheck", "", "mk", 501);
	fake_mark(&f, t, KUEUE, "AdmissionCheck", 600);
	is_str(fake_story(&f),
	       "list_begin 0 AdmissionCheck\n"
	       "observed 0 AdmissionCheck mk uid=u-mk rv=501 via=list\n"
	       "list_end 0 AdmissionCheck rv=600\n",
	       "it comes");
	admit_tell(queues, EV_LIST_BEGIN, KIND_CHECK, "", "", "{}");
	admit_tell(queues, EV_LIST_END, KIND_CHECK, "", "", "{}");
	ok(admit_queues_ready(queues) && !asks_after(1000), "reviews are answered again");
	lose_one();
	ok(!asks_after(0), "soon after, the next one waits its turn");
	admit_tell(queues, EV_LIST_BEGIN, KIND_CHECK, "", "", "{}");
	admit_tell(queues, EV_LIST_END, KIND_CHECK, "", "", "{}");
	(void)asks_after(1200000);
	lose_one();
	ok(asks_after(0), "after a calm time it is at once");
	finish();
}

static double over(void)
{
	(void)asks_after(0);
	return metric_get(lists.over, METRIC_NONE);
}

static void test_over(void)
{
	char name[32];

	begin();
	for (int i = 0; i <= LOCALS_SPACE_MAX; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		admit_tell(queues, EV_OBSERVED, KIND_LOCAL_QUEUE, "greedy", name, LOCAL);
	}
	is_int(over(), 1, "a namespace with too many LocalQueues is counted");
	admit_tell(queues, EV_LIST_BEGIN, KIND_LOCAL_QUEUE, "", "", "{}");
	admit_tell(queues, EV_LIST_END, KIND_LOCAL_QUEUE, "", "", "{}");
	is_int(over(), 0, "until it has fewer");
	finish();
}

int main(void)
{
	test_memory();
	test_over();
	return done_testing();
}
