/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease machine against a Lease that behaves: contenders in virtual
 * time, losses, releases, clock skew.
 */
#include "core/base/json.h"
#include "core/kube/lease.h"
#include "t/lib/tap.h"

#define LABELS "\"labels\":{\"app.kubernetes.io/managed-by\":\"multikueued\"}"

/* The API server's one Lease. */
static struct {
	bool exists;
	uint64_t rv;
	char spec[1024];
	int writes;
} api;

static struct arena arena;

static mk_str api_body(void)
{
	return arena_printf(
		&arena,
		"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":%s}",
		(unsigned long long)api.rv, api.spec);
}

/* Executes a request as the server would: optimistic lock, merge, six-digit times. */
static int api_do(const struct lease_request *r, mk_str *ret_body)
{
	struct json *doc = NULL;
	struct json *spec = NULL;
	mk_str rv;

	*ret_body = STR("{\"kind\":\"Status\"}");
	if (strcmp(r->method, "GET") == 0) {
		*ret_body = api.exists ? api_body() : *ret_body;
		return api.exists ? 200 : 404;
	}
	json_parse(&arena, (mk_str){r->body, r->body_n}, &doc, NULL);
	rv = json_str_at(doc, "/metadata/resourceVersion");
	if (strcmp(r->method, "POST") == 0 && api.exists) {
		return 409;
	}
	if (strcmp(r->method, "PATCH") == 0) {
		uint64_t n = 0;

		if (!api.exists) {
			return 404;
		}
		if (!str_u64(rv, &n) || n != api.rv) {
			return 409;
		}
		json_parse(&arena, str_of(api.spec), &spec, NULL);
	}
	if (json_str_at(doc, "/spec/renewTime").n != strlen("2026-01-02T03:04:05.123456Z")) {
		return 422;
	}
	spec = json_merge(&arena, spec, json_get(doc, "spec"));
	snprintf(api.spec, sizeof(api.spec), "%s", json_write(&arena, spec).p);
	api.exists = true;
	api.rv++;
	api.writes++;
	*ret_body = api_body();
	return strcmp(r->method, "POST") == 0 ? 201 : 200;
}

static struct lease make(const char *identity, uint64_t seed, int64_t now)
{
	struct lease l;
	struct lease_options o = {.ns = STR("kueue-system"),
				  .name = STR("mk"),
				  .identity = str_of(identity),
				  .seed = seed};

	ok(lease_init(&l, &o, now, NULL) == ERR_OK, "a contender");
	return l;
}

/* Does what is due at 'now' until nothing is. 'wall' may differ from 'now' as it likes. */
static void turn(struct lease *l, int64_t now, int64_t wall)
{
	struct lease_request r;

	while (lease_next(l, now, wall, &r)) {
		mk_str body;
		int http = api_do(&r, &body);

		lease_reply(l, now, http, body);
	}
}

static void reset(void)
{
	memset(&api, 0, sizeof(api));
	api.rv = 10;
}

static void test_alone(void)
{
	struct lease l;
	struct lease_request r;

	reset();
	l = make("a", 1, 0);
	ok(lease_next(&l, 0, 1800000000000, &r), "a request is due at once");
	is_str(r.method, "GET", "it looks first");
	is_str(r.path, "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/mk",
	       "at the Lease");
	is_int(r.timeout_ms, 5000, "with a short timeout");
	ok(!lease_next(&l, 0, 0, &r), "one at a time");
	is_int(lease_next_ms(&l, 0), INT64_MAX, "only the answer brings news");
	lease_reply(&l, 0, 404, STR(""));
	ok(lease_next(&l, 0, 1800000000123, &r), "then it creates");
	is_str(r.method, "POST", "with a POST");
	is_str(r.path, "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases",
	       "to the collection");
	is_str(r.body,
	       "{\"apiVersion\":\"coordination.k8s.io/"
	       "v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"mk\",\"namespace\":"
	       "\"kueue-system\"," LABELS "},\"spec\":{\"holderIdentity\":\"a\","
	       "\"leaseDurationSeconds\":15,"
	       "\"renewTime\":"
	       "\"2027-01-15T08:00:00.123000Z\",\"acquireTime\":\"2027-01-15T08:00:00.123000Z\","
	       "\"leaseTransitions\":0}}",
	       "a Lease of ours");
	{
		mk_str body;
		int http = api_do(&r, &body);

		lease_reply(&l, 50, http, body);
	}
	is_int(lease_get_state(&l, 50), LEASE_LEADER, "it leads");
	is_int(lease_until_ms(&l), 10000, "for 10 s from when it asked, not from when it heard");
	is_int(lease_next_ms(&l, 50), 2000, "the next renewal is 2 s after the last");
	ok(!lease_next(&l, 1999, 0, &r) && lease_next(&l, 2000, 1800000002123, &r), "not before");
	is_str(r.method, "PATCH", "by a patch");
	is_str(r.content_type, "application/merge-patch+json", "a merge patch");
	is_str(r.body,
	       "{\"metadata\":{\"resourceVersion\":\"11\"," LABELS
	       "},\"spec\":{\"holderIdentity\":\"a\","
	       "\"leaseDurationSeconds\":15,"
	       "\"renewTime\":\"2027-01-15T08:00:02.123000Z\",\"acquireTime\":\"2027-01-15T08:00:"
	       "00.123000Z\","
	       "\"leaseTransitions\":0}}",
	       "guarded by the version, and with the time it took over");
	lease_reply(&l, 2100, 0, STR(""));
	is_int(lease_until_ms(&l), 10000, "no answer: nothing is won");
	turn(&l, 4200, 1800000004123);
	is_int(lease_until_ms(&l), 14200, "it looks, and renews");
	lease_release(&l, 5000);
	turn(&l, 5000, 1800000005000);
	is_int(lease_get_state(&l, 5000), LEASE_RELEASED, "released");
	ok(strstr(api.spec, "\"holderIdentity\":\"\"") != NULL &&
		   strstr(api.spec, "\"leaseDurationSeconds\":1,") != NULL,
	   "the record says so");
	is_int(lease_next_ms(&l, 5000), INT64_MAX, "the end");
	ok(!lease_next(&l, 99000, 0, &r), "nothing more is sent");
}

/*
 * Two contenders in steps of 10 ms with a cut between one of them and the
 * server; wall clocks far apart.
 */
static void test_two(void)
{
	struct lease a = {.next_ms = 0};
	struct lease b = {.next_ms = 0};
	int both = 0;
	int64_t lost_at = 0;
	int64_t won_at = 0;

	reset();
	a = make("a", 1, 0);
	b = make("b", 2, 0);
	for (int64_t now = 0; now < 120000; now += 10) {
		bool cut = now >= 60000;
		struct lease_request r;

		arena_clear(&arena);
		if (!cut) {
			turn(&a, now, 1800000000000 + now);
		} else if (lease_next(&a, now, 0, &r)) {
			lease_reply(&a, now, 0, STR("")); /* every request is lost */
		}
		turn(&b, now, 1500000000000 + now); /* ten years behind */
		both += lease_get_state(&a, now) == LEASE_LEADER &&
			lease_get_state(&b, now) == LEASE_LEADER;
		if (lost_at == 0 && lease_get_state(&a, now) == LEASE_LOST) {
			lost_at = now;
		}
		if (won_at == 0 && lease_get_state(&b, now) == LEASE_LEADER) {
			won_at = now;
		}
	}
	is_int(both, 0, "never two leaders");
	ok(lost_at > 67000 && lost_at <= 70010, "the cut one gives up 10 s after its last success");
	ok(won_at >= lost_at + 3000 && won_at < 80000,
	   "the other takes over after 15 s, with a margin");
	is_int(lease_get_state(&b, 120000 - 10), LEASE_LEADER,
	       "and keeps it, whatever its clock says");
	ok(strstr(api.spec, "\"leaseTransitions\":1") != NULL, "one transition");
}

static void test_races(void)
{
	struct lease l;
	struct lease_request r;

	/* Another daemon creates the Lease between our GET and our POST. */
	reset();
	l = make("a", 1, 0);
	ok(lease_next(&l, 0, 0, &r), "look");
	lease_reply(&l, 0, 404, STR(""));
	api.exists = true;
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15}");
	turn(&l, 0, 0);
	is_int(lease_get_state(&l, 0), LEASE_STANDBY, "lost the race to create");
	ok(lease_next_ms(&l, 0) >= 2000 && lease_next_ms(&l, 0) <= 4400,
	   "looks again after 2 s and a bit");
	for (int64_t now = 0; now < 14000; now += 100) {
		turn(&l, now, now);
	}
	is_int(lease_get_state(&l, 14000), LEASE_STANDBY, "waits as long as the record may live");
	for (int64_t now = 14000; now < 24000; now += 100) {
		turn(&l, now, now);
	}
	is_int(lease_get_state(&l, 24000), LEASE_LEADER, "then takes it");
	/* Another daemon takes it from a leader that slept. */
	api.rv++;
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"y\",\"leaseDurationSeconds\":15}");
	turn(&l, 26000, 26000);
	is_int(lease_get_state(&l, 26000), LEASE_LOST, "another holder: lost at once");
	is_int(lease_until_ms(&l), 0, "no writes");
	is_int(lease_next_ms(&l, 26000), INT64_MAX, "no more requests");
}

static void test_records(void)
{
	struct lease l;
	struct lease_request r;
	mk_str body;

	/* The record vanishes under a leader. */
	reset();
	l = make("a", 1, 0);
	turn(&l, 0, 0);
	api.exists = false;
	turn(&l, 2000, 0);
	turn(&l, 4000, 0);
	is_int(lease_get_state(&l, 4000), LEASE_LOST,
	       "a deleted record: lost, since another may create it");

	/* Who renews a record that is gone looks at once. */
	reset();
	l = make("a", 1, 0);
	turn(&l, 0, 0);
	api.exists = false;
	turn(&l, 2000, 0);
	is_int(lease_get_state(&l, 2000), LEASE_LOST, "a renewal that finds no record: lost");

	/* A record of ours from a former life is taken at once. */
	reset();
	api.exists = true;
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-01-"
		 "01T00:00:00.000000Z\","
		 "\"leaseTransitions\":4}");
	l = make("a", 1, 0);
	turn(&l, 0, 0);
	is_int(lease_get_state(&l, 0), LEASE_LEADER, "our own record");
	ok(strstr(api.spec, "2026-01-01T00:00:00.000000Z") != NULL &&
		   strstr(api.spec, "\"leaseTransitions\":4") != NULL,
	   "is no transition");

	/* An answer that comes after the deadline does not lead. */
	ok(lease_next(&l, 2000, 0, &r), "a renewal");
	api_do(&r, &body);
	lease_reply(&l, 12500, 200, body);
	is_int(lease_get_state(&l, 12500), LEASE_LOST, "too late");
}

/* When it leads, in steps of 100 ms; -1: not within a minute. */
static int64_t leads_at(struct lease *l, int64_t from)
{
	for (int64_t now = from; now < from + 60000; now += 100) {
		turn(l, now, now);
		if (lease_get_state(l, now) == LEASE_LEADER) {
			return now;
		}
	}
	return -1;
}

/* A standby that has seen another holder's record. */
static struct lease sees_another(void)
{
	struct lease l;

	reset();
	api.exists = true;
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15}");
	l = make("a", 1, 0);
	turn(&l, 0, 0);
	return l;
}

/* The store goes back under two contenders: the one that leads learns of it last. */
static void test_restored(void)
{
	struct lease l;
	int64_t at;

	l = sees_another();
	api.exists = false;
	at = leads_at(&l, 5000);
	ok(at >= 20000 && at < 25000,
	   "a record that was seen and is gone: its holder may lead as long as it said");

	l = sees_another();
	api.rv = 9;
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}");
	at = leads_at(&l, 5000);
	ok(at >= 20000 && at < 25000,
	   "a record that says less than it did: another may have taken it since");
	api.rv = 50;
	l = make("a", 1, 0);
	is_int(leads_at(&l, 5000), 5000, "a newer one at once: it was given back");
}

/*
 * Who leads finds its own record older than it wrote it. A standby may
 * have counted from that one on.
 */
static void test_renews_what_went_back(void)
{
	struct lease l;
	char old[sizeof(api.spec)];

	reset();
	l = make("a", 1, 0);
	turn(&l, 0, 1000);
	snprintf(old, sizeof(old), "%s", api.spec);
	turn(&l, 2000, 3000);
	is_int((int)api.rv, 12, "made and renewed");
	api.rv = 11;
	snprintf(api.spec, sizeof(api.spec), "%s", old);
	turn(&l, 4000, 5000);
	is_int((int)api.rv, 12, "the older record is renewed at once");
	is_int(lease_until_ms(&l), 14000, "and the lead goes on");
}

/* The store went back and came to the same version again: the number alone says nothing. */
static void test_same_version_again(void)
{
	struct lease l = sees_another();
	int64_t at;

	turn(&l, 10000, 10000);
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15,\"renewTime\":"
		 "\"2026-01-02T03:04:05.000000Z\"}");
	at = leads_at(&l, 14000);
	ok(at >= 29000, "its age is counted from the record, not from its version");
}

static void test_release(void)
{
	struct lease l;
	struct lease_request r;
	mk_str body;

	reset();
	l = make("a", 1, 0);
	lease_release(&l, 0);
	is_int(lease_get_state(&l, 0), LEASE_RELEASED, "nothing to release");
	l = make("a", 1, 0);
	ok(lease_next(&l, 0, 0, &r), "a request in flight");
	lease_release(&l, 0);
	is_int(lease_get_state(&l, 0), LEASE_STANDBY, "waits for its answer");
	lease_reply(&l, 10, 404, STR(""));
	is_int(lease_get_state(&l, 10), LEASE_RELEASED, "then is done");
	l = make("a", 1, 0);
	turn(&l, 0, 0);
	ok(lease_next(&l, 2000, 0, &r), "a renewal in flight");
	lease_release(&l, 2000);
	api_do(&r, &body);
	lease_reply(&l, 2010, 200, body);
	ok(lease_next(&l, 2010, 0, &r) && strstr(r.body, "\"holderIdentity\":\"\"") != NULL,
	   "then the release");
	lease_reply(&l, 2020, 0, STR(""));
	is_int(lease_get_state(&l, 2020), LEASE_RELEASED, "done even without an answer");
	lease_reply(&l, 2030, 200, STR("{}"));
	is_int(lease_get_state(&l, 2030), LEASE_RELEASED, "a stray answer changes nothing");
}

static void test_odd(void)
{
	struct lease l;
	struct lease_request r;
	char big[300];
	struct lease_options o = {
		.ns = STR("n"), .name = STR("m"), .identity = STR("i"), .renew_ms = 20000};

	is_int(lease_init(&l, &o, 0, NULL), ERR_INVALID, "renew deadline over the lease");
	o.renew_ms = 2400;
	is_int(lease_init(&l, &o, 0, NULL), ERR_INVALID, "or not over 1.2 retries");
	o.renew_ms = 0;
	o.retry_ms = -1;
	is_int(lease_init(&l, &o, 0, NULL), ERR_INVALID, "a negative retry");
	o.retry_ms = 0;
	o.identity = STR("");
	is_int(lease_init(&l, &o, 0, NULL), ERR_INVALID, "no identity");
	memset(big, 'x', sizeof(big));
	o.identity = (mk_str){big, sizeof(big)};
	is_int(lease_init(&l, &o, 0, NULL), ERR_INVALID, "a long identity");
	reset();
	l = make("a\"\\", 1, 0);
	turn(&l, 0, 0);
	is_int(lease_get_state(&l, 0), LEASE_LEADER, "an identity that needs escaping");
	l = make("a", 1, 0);
	ok(lease_next(&l, 0, 0, &r), "look");
	lease_reply(&l, 0, 200, STR("<html>"));
	ok(!lease_next(&l, 1000, 0, &r) && lease_next(&l, 5000, 0, &r), "nonsense: later again");
	lease_reply(&l, 5000, 500, STR(""));
	ok(!lease_next(&l, 6000, 0, &r), "an error: later again");
	reset();
	api.exists = true;
	snprintf(api.spec, sizeof(api.spec),
		 "{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":999999999}");
	l = make("a", 1, 0);
	for (int64_t now = 0; now < 25000; now += 100) {
		turn(&l, now, now);
	}
	is_int(lease_get_state(&l, 25000), LEASE_LEADER,
	       "a record that claims for ever lives 15 s");
}

int main(void)
{
	arena_init(&arena, 0);
	test_alone();
	test_two();
	test_races();
	test_records();
	test_restored();
	test_renews_what_went_back();
	test_same_version_again();
	test_release();
	test_odd();
	arena_done(&arena);
	return done_testing();
}
