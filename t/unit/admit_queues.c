/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What admission remembers of queues: no more than reviews need, bounded for each
 * namespace, and mended by lists.
 */
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include "core/admit/locals.h"
#include "core/admit/queues.h"
#include "core/base/alloc.h"

#define CHECKED "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"mk\"}]}}}"
#define OURS "{\"spec\":{\"controllerName\":\"kueue.x-k8s.io/multikueue\"}}"

static const uint16_t kinds[] = {KIND_CLUSTER_QUEUE, KIND_CHECK, KIND_LOCAL_QUEUE, KIND_WORKLOAD};

static struct arena arena;
static struct admit_queues *q;
static const struct json *far, *near, *cluster_queue, *check;

/*
 * Memory runs out at the allocation 'fail_at' of event 'fail_event', for the rest
 * of it or (fail_on) of the day.
 */
static int n_events, fail_event = -1;
static uint64_t fail_at;
static bool fail_on;

static void tell(enum event_type type, uint16_t kind, const char *ns, const char *name,
		 const struct json *obj)
{
	struct event ev = {
		.type = type, .kind = kind, .ns = str_of(ns), .name = str_of(name), .obj = obj};

	if (n_events == fail_event || (fail_on && fail_event >= 0 && n_events > fail_event)) {
		alloc_fail_after(n_events == fail_event ? fail_at : 1);
	}
	n_events++;
	admit_queues_event(q, &ev);
	alloc_fail_after(0);
}

static void tell_number(enum event_type type, const char *ns, int number)
{
	char name[32];

	snprintf(name, sizeof(name), "q%d", number);
	tell(type, KIND_LOCAL_QUEUE, ns, name, far);
}

/* A Workload of that name in LocalQueue 'queue' of namespace "ns". */
static void workload(const char *name, const char *queue, bool finished)
{
	struct arena a;
	struct json *v = NULL;
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"spec\":{\"queueName\":\"%s\"},\"status\":{\"conditions\":[{\"type\":"
		 "\"Admitted\","
		 "\"status\":\"True\"},{\"type\":\"Finished\",\"status\":\"%s\"}]}}",
		 queue, finished ? "True" : "False");
	arena_init(&a, 0);
	json_parse(&a, str_of(text), &v, NULL);
	tell(EV_OBSERVED, KIND_WORKLOAD, "ns", name, v);
	arena_done(&a);
}

static void list(uint16_t kind, enum event_type type)
{
	tell(type, kind, "", "", NULL);
}

/* All four kinds are listed; the queue "far" of the namespace "ns" leads away. */
static void list_all(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		list(kinds[i], EV_LIST_BEGIN);
		if (kinds[i] == KIND_CLUSTER_QUEUE) {
			tell(EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "cq", cluster_queue);
		} else if (kinds[i] == KIND_CHECK) {
			tell(EV_OBSERVED, KIND_CHECK, "", "mk", check);
		} else if (kinds[i] == KIND_LOCAL_QUEUE) {
			tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far", far);
		}
		list(kinds[i], EV_LIST_END);
	}
}

static void begin(void)
{
	q = admit_queues_new();
	list_all();
}

static void finish(void)
{
	admit_queues_free(q);
}

static enum admit_way ask(const char *ns, const char *name)
{
	return admit_queues_ask(q, str_of(ns), str_of(name));
}

static size_t n_rows(void)
{
	struct arena a;
	size_t n = 0;

	arena_init(&a, 0);
	(void)admit_queues_table(q, &a, &n);
	arena_done(&a);
	return n;
}

/* So many LocalQueues come and go in one namespace. */
static void churn(const char *ns, int n)
{
	for (int i = 0; i < n; i++) {
		tell_number(EV_OBSERVED, ns, i);
		tell_number(EV_GONE, ns, i);
	}
}

/* --- what no review needs --------------------------------------------------------------------- */

static void test_names_come_and_go(void)
{
	char ns[32];

	begin();
	for (int i = 0; i < 300000; i++) {
		snprintf(ns, sizeof(ns), "ns-%d", i);
		tell_number(EV_OBSERVED, ns, 1);
		tell_number(EV_GONE, ns, 1);
	}
	ok(admit_queues_ready(q), "300,000 LocalQueues came and went: reviews are answered");
	is_int(ask("ns", "far"), ADMIT_LEADS_AWAY, "those that are there are known");
	is_int(ask("ns-299999", "q1"), ADMIT_LEADS_AWAY,
	       "what went a moment ago counts as what it was: an event may still mean it");
	is_int(ask("ns-0", "q1"), ADMIT_STAYS, "what went long ago is forgotten");
	is_int(n_rows(), LOCALS_IDLE_MAX + 1, "no more than so many that are gone are remembered");
	churn("ns", 5000);
	is_int(ask("ns", "q4999"), ADMIT_LEADS_AWAY, "one namespace: the last is remembered");
	is_int(ask("ns", "q4000"), ADMIT_STAYS, "but few");
	finish();
}

static void test_needed(void)
{
	begin();
	tell_number(EV_OBSERVED, "ns", 7);
	workload("a", "q7", false);
	workload("b", "q7", false);
	tell_number(EV_GONE, "ns", 7);
	churn("ns", 5);
	for (int i = 0; i < 3; i++) {
		churn("other", 20000);
		churn("ns", 200);
		tell_number(EV_OBSERVED, "ns", 7);
		tell_number(EV_GONE, "ns", 7);
	}
	tell_number(EV_GONE, "ns", 7);
	is_int(ask("ns", "q7"), ADMIT_LEADS_AWAY,
	       "a LocalQueue that was deleted is remembered while a Workload is in it");
	workload("a", "q7", true);
	churn("ns", 200);
	is_int(ask("ns", "q7"), ADMIT_LEADS_AWAY, "one Workload is over, another one is not");
	workload("b", "elsewhere", false);
	for (int i = 100; i < 200; i++) {
		tell_number(EV_OBSERVED, "ns", i);
		tell_number(EV_GONE, "ns", i);
	}
	is_int(ask("ns", "q7"), ADMIT_STAYS, "it has no queue any more: it is forgotten");
	finish();
}

static void test_needed_by_lists(void)
{
	begin();
	workload("early", "later", false);
	tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "later", far);
	tell(EV_GONE, KIND_LOCAL_QUEUE, "ns", "later", NULL);
	churn("ns", 200);
	is_int(ask("ns", "later"), ADMIT_LEADS_AWAY, "the Workload may be seen before its queue");
	list(KIND_WORKLOAD, EV_LIST_BEGIN);
	churn("ns", 200);
	is_int(ask("ns", "later"), ADMIT_LEADS_AWAY, "while Workloads are listed, nothing goes");
	list(KIND_WORKLOAD, EV_LIST_END);
	churn("ns", 200);
	is_int(ask("ns", "later"), ADMIT_STAYS, "a list without the Workload: it is forgotten");
	tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "later", far);
	workload("late", "later", false);
	list(KIND_LOCAL_QUEUE, EV_LIST_BEGIN);
	list(KIND_LOCAL_QUEUE, EV_LIST_END);
	churn("ns", 200);
	is_int(ask("ns", "later"), ADMIT_LEADS_AWAY, "not listed any more is the same as deleted");
	tell(EV_GONE, KIND_WORKLOAD, "ns", "late", NULL);
	churn("ns", 200);
	is_int(ask("ns", "later"), ADMIT_STAYS, "the Workload is deleted");
	finish();

	q = admit_queues_new();
	for (size_t i = 0; i < 3; i++) {
		list(kinds[i], EV_LIST_BEGIN);
		list(kinds[i], EV_LIST_END);
	}
	tell(EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "cq", cluster_queue);
	tell(EV_OBSERVED, KIND_CHECK, "", "mk", check);
	churn("ns", 200);
	is_int(ask("ns", "q0"), ADMIT_LEADS_AWAY,
	       "before Workloads are listed nothing is forgotten");
	list(KIND_WORKLOAD, EV_LIST_BEGIN);
	list(KIND_WORKLOAD, EV_LIST_END);
	is_int(n_rows(), LOCALS_SPACE_IDLE_MAX, "then all that no review needs");
	finish();
}

/* --- one tenant ------------------------------------------------------------------------------- */

static void test_tenant(void)
{
	char name[ADMIT_SPACE_MAX];

	begin();
	for (int i = 0; i < 300000; i++) {
		tell_number(EV_OBSERVED, "greedy", i);
	}
	ok(admit_queues_ready(q), "300,000 LocalQueues in one namespace: reviews are answered");
	is_int(ask("ns", "far"), ADMIT_LEADS_AWAY, "other namespaces notice nothing");
	is_int(ask("ns", "none"), ADMIT_STAYS, "nor of queues that do not exist");
	is_int(ask("greedy", "q0"), ADMIT_LEADS_AWAY, "there those that have room are known");
	is_int(ask("greedy", "q299999"), ADMIT_UNSURE, "of others it is not said that they stay");
	is_int(admit_queues_over(q, name), 1, "it is told");
	is_str(name, "greedy", "with the namespace's name");
	ok(!admit_queues_wants_list(q, KIND_LOCAL_QUEUE), "a list would change nothing");
	for (int i = 0; i < 1000; i++) {
		tell_number(EV_GONE, "greedy", i);
	}
	ok(admit_queues_wants_list(q, KIND_LOCAL_QUEUE), "there is room again: a list is wanted");
	list(KIND_LOCAL_QUEUE, EV_LIST_BEGIN);
	ok(!admit_queues_wants_list(q, KIND_LOCAL_QUEUE), "which comes");
	is_int(ask("greedy", "q299999"), ADMIT_UNSURE, "before its end nothing is sure");
	tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far", far);
	for (int i = 299000; i < 300000; i++) {
		tell_number(EV_OBSERVED, "greedy", i);
	}
	list(KIND_LOCAL_QUEUE, EV_LIST_END);
	is_int(ask("greedy", "q299999"), ADMIT_LEADS_AWAY, "then all are known");
	is_int(ask("greedy", "none"), ADMIT_STAYS, "and what does not exist is none of ours");
	is_int(admit_queues_over(q, name), 0, "nothing is told any more");
	finish();
}

static void test_all_full(void)
{
	char ns[32];
	int spaces = LOCALS_MAX / LOCALS_SPACE_MAX;

	begin();
	for (int i = 0; i < spaces + 1; i++) {
		snprintf(ns, sizeof(ns), "t%d", i);
		for (int k = 0; k < LOCALS_SPACE_MAX; k++) {
			tell_number(EV_OBSERVED, ns, k);
		}
	}
	ok(admit_queues_ready(q), "no room at all is left: reviews are answered");
	is_int(ask("t0", "none"), ADMIT_STAYS, "where all is known");
	is_int(ask(ns, "q0"), ADMIT_UNSURE, "and not guessed where it is not");
	for (int i = 0; i < spaces / 2; i++) {
		snprintf(ns, sizeof(ns), "t%d", i);
		for (int k = 0; k < LOCALS_SPACE_MAX; k++) {
			tell_number(EV_GONE, ns, k);
		}
	}
	ok(admit_queues_wants_list(q, KIND_LOCAL_QUEUE), "room again for all: a list is wanted");
	finish();

	begin();
	for (int i = 0; i <= 200000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "cq%d", i);
		tell(EV_OBSERVED, KIND_CLUSTER_QUEUE, "", name, cluster_queue);
	}
	is_int(ask("ns", "far"), ADMIT_NOT_READY,
	       "ClusterQueues are the administrator's: all wait");
	ok(admit_queues_wants_list(q, KIND_CLUSTER_QUEUE), "for a list");
	list_all();
	is_int(ask("ns", "far"), ADMIT_LEADS_AWAY, "that has fewer");
	finish();
}

/* --- out of memory ---------------------------------------------------------------------------- */

/* A day in the life of a few queues. */
static void day(void)
{
	list_all();
	for (int i = 0; i < 20; i++) {
		tell_number(EV_OBSERVED, "ns", i);
	}
	tell_number(EV_OBSERVED, "other", 0);
	workload("a", "q3", false);
	workload("b", "q4", false);
	workload("b", "q5", false);
	workload("c", "unseen", false);
	tell_number(EV_GONE, "ns", 3);
	tell_number(EV_OBSERVED, "other", 0);
	tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "q9", near);
	tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "q9", far);
	workload("a", "q3", true);
	workload("d", "q6", false);
}

/* What the lists say after that day. */
static void next_lists(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!admit_queues_wants_list(q, kinds[i])) {
			continue;
		}
		list(kinds[i], EV_LIST_BEGIN);
		if (kinds[i] == KIND_CLUSTER_QUEUE) {
			tell(EV_OBSERVED, KIND_CLUSTER_QUEUE, "", "cq", cluster_queue);
		} else if (kinds[i] == KIND_CHECK) {
			tell(EV_OBSERVED, KIND_CHECK, "", "mk", check);
		} else if (kinds[i] == KIND_WORKLOAD) {
			workload("b", "q5", false);
			workload("c", "unseen", false);
			workload("d", "q6", false);
		} else {
			tell(EV_OBSERVED, KIND_LOCAL_QUEUE, "ns", "far", far);
			tell_number(EV_OBSERVED, "other", 0);
			for (int n = 0; n < 20; n++) {
				if (n != 3) {
					tell_number(EV_OBSERVED, "ns", n);
				}
			}
		}
		list(kinds[i], EV_LIST_END);
	}
}

static bool all_known(void)
{
	return ask("ns", "far") == ADMIT_LEADS_AWAY && ask("ns", "q0") == ADMIT_LEADS_AWAY &&
	       ask("ns", "q9") == ADMIT_LEADS_AWAY && ask("ns", "q19") == ADMIT_LEADS_AWAY &&
	       ask("other", "q0") == ADMIT_LEADS_AWAY;
}

/*
 * Who is in which queue is known as well: what one is in stays when it is
 * deleted, what none is in goes.
 */
static bool uses_known(void)
{
	tell_number(EV_GONE, "ns", 5);
	tell_number(EV_GONE, "ns", 6);
	for (int i = 100; i < 200; i++) {
		tell_number(EV_OBSERVED, "ns", i);
		tell_number(EV_GONE, "ns", i);
	}
	return ask("ns", "q5") == ADMIT_LEADS_AWAY && ask("ns", "q6") == ADMIT_LEADS_AWAY &&
	       ask("ns", "q3") == ADMIT_STAYS;
}

static bool wants_any(void)
{
	bool wants = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		wants |= admit_queues_wants_list(q, kinds[i]);
	}
	return wants;
}

static bool guessed, silent, uncured;

/* One day, with memory as it is set up. False: it ran out. */
static bool live_through(void)
{
	bool well;

	n_events = 0;
	q = admit_queues_new();
	day();
	fail_event = -1;
	well = !wants_any();
	guessed |= admit_queues_ready(q) && !all_known();
	silent |= well && !(admit_queues_ready(q) && all_known());
	next_lists();
	uncured |= wants_any() || !all_known() || !uses_known();
	admit_queues_free(q);
	return well;
}

static void test_memory(void)
{
	int n_day, n_failed = 0;

	ok(live_through(), "a day with enough memory");
	q = admit_queues_new();
	n_events = 0;
	day();
	n_day = n_events;
	admit_queues_free(q);
	for (int e = 0; e < n_day; e++) {
		bool well = false;

		for (fail_at = 1; !well && fail_at < 100; fail_at++) {
			fail_event = e;
			fail_on = false;
			well = live_through();
			n_failed += !well;
			fail_event = e;
			fail_on = true;
			(void)live_through();
		}
	}
	fail_on = false;
	printf("# %d failures in %d events\n", n_failed, n_day);
	ok(n_failed > 50, "each allocation of each event failed once");
	ok(!guessed, "no queue that leads away was ever said to stay");
	ok(!silent, "after a loss a list is wanted");
	ok(!uncured, "and is cured by it");
}

int main(void)
{
	arena_init(&arena, 0);
	far = parse_json(&arena, "{\"spec\":{\"clusterQueue\":\"cq\"}}");
	near = parse_json(&arena, "{\"spec\":{\"clusterQueue\":\"x\"}}");
	cluster_queue = parse_json(&arena, CHECKED);
	check = parse_json(&arena, OURS);
	test_names_come_and_go();
	test_needed();
	test_needed_by_lists();
	test_tenant();
	test_all_full();
	test_memory();
	arena_done(&arena);
	return done_testing();
}
