/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a reason: words of Kueue, Kubernetes and Go, and the sentence that they get. */
#include "core/engine/answers/mend.h"
#include "t/lib/tap.h"

/* One worker's reason with these words, or this detail, has a mend that begins so. */
static void mends(enum why why, const char *words, const char *detail, const char *begin)
{
	struct why_cluster w = {.why = why, .words = str_of(words), .detail = str_of(detail)};
	const char *found = mend_cluster(&w);
	bool good = begin ? found && str_starts(str_of(found), str_of(begin)) : !found;

	if (!ok(good, *words ? words : detail)) {
		printf("# expected \"%s\", found \"%s\"\n", begin ? begin : "nothing",
		       found ? found : "nothing");
	}
}

static void test_quota(void)
{
	mends(WHY_NO_QUOTA, "has no quota: LocalQueue lq doesn't exist", "",
	      "create this LocalQueue");
	mends(WHY_NO_QUOTA, "has no quota: LocalQueue lq is inactive", "",
	      "create this LocalQueue");
	mends(WHY_NO_QUOTA, "has no quota: ClusterQueue cq doesn't exist", "",
	      "create this ClusterQueue");
	mends(WHY_NO_QUOTA, "has no quota: ClusterQueue cq is inactive", "", "see the conditions");
	mends(WHY_NO_QUOTA, "has no quota: ClusterQueue cq is stopped", "", "resume");
	mends(WHY_NO_QUOTA,
	      "has no quota: couldn't assign flavors to pod set main: insufficient unused quota "
	      "for "
	      "cpu in flavor default, 4 more needed",
	      "", "wait until jobs end there");
	mends(WHY_NO_QUOTA,
	      "has no quota: couldn't assign flavors to pod set main: insufficient quota for cpu "
	      "in "
	      "flavor default, previously considered podsets requests (0) + current podset request "
	      "(8) > maximum capacity (4)",
	      "", "the job never fits there");
	mends(WHY_NO_QUOTA, "has no quota: Kueue there has not said why; is it running?", "",
	      "see whether Kueue runs");
	mends(WHY_NO_QUOTA, "has no quota: words of another Kueue", "", "see the ClusterQueue");
}

static void test_refusals(void)
{
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the Workload: namespaces \"t\" "
	      "not "
	      "found",
	      "", "create this namespace");
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the Workload: admission webhook "
	      "\"v.x.io\" denied the request: no",
	      "", "see this webhook");
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the Workload: "
	      "workloads.kueue.x-k8s.io is forbidden: User \"u\" cannot create resource",
	      "", "give our account");
	mends(WHY_RESTS, "is left out for now", "", "mend what the worker says");
}

static void test_links(void)
{
	static const char since[] = "is not connected since 2027-01-15T08:00:00Z";

	mends(WHY_NOT_CONNECTED, since, "dial tcp: lookup w9.example: no such host",
	      "correct the server's name");
	mends(WHY_NOT_CONNECTED, since,
	      "tls: failed to verify certificate: x509: certificate signed by unknown authority",
	      "correct certificate-authority-data");
	mends(WHY_NOT_CONNECTED, since, "Unauthorized", "put a valid token");
	mends(WHY_NOT_CONNECTED, since, "dial tcp 127.0.0.1:1: connect: connection refused",
	      "see whether the API server");
	mends(WHY_NOT_CONNECTED, since, "dial tcp 10.0.0.1:6443: i/o timeout",
	      "see whether the worker's API server answers");
	mends(WHY_NOT_CONNECTED, since, "", "see the conditions");
}

static void test_nothing_to_do(void)
{
	struct why_whole w = {.phase = PHASE_RACING, .words = STR("2 of 2 clusters are nominated")};

	mends(WHY_JOB_RUNS, "was chosen; the job runs", "", NULL);
	mends(WHY_NOT_CHOSEN, "was not chosen; nothing is left there", "", NULL);
	ok(!mend_whole(&w), "a race needs nobody");
	w = (struct why_whole){.phase = PHASE_BREAKER, .words = STR("the breaker is open")};
	ok(mend_whole(&w) != NULL, "an open breaker does");
}

int main(void)
{
	test_quota();
	test_refusals();
	test_links();
	test_nothing_to_do();
	return done_testing();
}
