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
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the Workload: Internal error "
	      "occurred: failed calling webhook \"mworkload.kb.io\": connection refused",
	      "", "see whether Kueue runs on the worker");
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the Workload: Internal error "
	      "occurred: failed calling webhook \"m.x.io\": connection refused",
	      "", "see whether the service behind this webhook");
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the job: an object of this name "
	      "is "
	      "there and not ours",
	      "", "delete the object of this name");
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" refused the job: Job is invalid", "",
	      "mend what the worker says about the job");
	mends(WHY_RESTS,
	      "is left out for now: worker cluster \"w2\" changes the Workload as it is created",
	      "", "see the webhooks and policies");
	mends(WHY_RESTS,
	      "is left out for now: the job was removed on worker cluster \"w2\" 3 times in a row, "
	      "by another client",
	      "", "find who deletes it there");
	mends(WHY_RESTS, "is left out for now", "", "mend what the worker says");
	mends(WHY_KIND_NOT_SERVED, "cannot say whether it serves batch/v1, Kind=Job", "",
	      "see the API server");
	mends(WHY_KIND_NOT_SERVED, "does not serve batch/v1, Kind=Job", "", "install this kind");
	mends(WHY_NOT_NOMINATED, "is not nominated yet by dispatcher \"d\"", "", "wait for");
	mends(WHY_NOT_NOMINATED, "is not named by the MultiKueueConfig", "", "name it in");
	mends(WHY_AT_GATE, "waits at its preemption gate until its turn comes", "", "wait: one");
	mends(WHY_CHANGED, "the clone is not as we made it", "", "see the webhooks and policies");
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
	mends(WHY_NOT_CONNECTED, since,
	      "failed to get server groups: the server has asked for the client to provide "
	      "credentials",
	      "put a valid token");
	mends(WHY_NOT_CONNECTED, since,
	      "load client config failed: insecure TLS verification is not allowed for cluster w1",
	      "correct the worker's kubeconfig");
	mends(WHY_NOT_CONNECTED, since, "Secret \"w7\" not found", "create or correct this Secret");
	mends(WHY_NOT_CONNECTED, since,
	      "tls: failed to verify certificate: x509: certificate has expired or is not yet "
	      "valid",
	      "renew the certificate");
	mends(WHY_NOT_CONNECTED, since, "http2: client connection lost (no answer to a PING)",
	      "see whether the worker's API server answers");
	mends(WHY_NOT_CONNECTED, since, "dial tcp: lookup w9.example: i/o timeout",
	      "see whether the DNS server");
	mends(WHY_NOT_CONNECTED, since,
	      "failed to get server groups: the server could not find the requested resource",
	      "correct the server's address");
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
