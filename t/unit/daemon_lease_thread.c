/* SPDX-License-Identifier: Apache-2.0 */
/* The lease thread against a server with one Lease: lead, renew, release, lose, and the watch over
 * the main loop. */
#include "t/lib/tap.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/daemon/lease_thread.h"
#include "core/net/transport_curl.h"
#include "t/lib/net_h2server.h"

enum { PATIENCE_MS = 60 * 1000, STOPPED_MS = WATCHDOG_ABORT_MS + 500 };

static struct loop *loop;
static struct h2_server srv;
static struct net_fence fence;
static struct watchdog *dog;
static int wakes;
static atomic_int stuck;
static _Atomic int64_t fence_when_stuck = -1;

/* The record. */
static bool exists;
static unsigned rv, renewals;
static char holder[64];
static bool stop_us; /* with the next renewal in the air */
static bool refuses;

/* The lease thread wakes up as we do, and we give no sign of life for a while. */
static void stop_once(void)
{
	if (stop_us) {
		stop_us = false;
		raise(SIGSTOP);
		nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
	}
}

static void put_lease(struct h2_stream *s)
{
	buf_printf(&s->out,
		   "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"%u\"},\"spec\":{"
		   "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"leaseTransitions\":1}}",
		   rv, holder);
}

static void take_holder(struct h2_stream *s)
{
	static const char key[] = "\"holderIdentity\":\"";
	const char *at = s->in.n ? strstr(s->in.p, key) : NULL;

	if (at) {
		snprintf(holder, sizeof(holder), "%.*s", (int)strcspn(at + strlen(key), "\""),
			 at + strlen(key));
	}
}

static const char *on_lease(struct h2_stream *s)
{
	char want[64];

	if (refuses) {
		buf_printf(&s->out, "{\"kind\":\"Status\",\"code\":403,\"message\":\"leases "
				    "\\\"lock\\\" is forbidden\"}");
		return "403";
	}
	if (strcmp(s->method, "POST") == 0) {
		exists = true;
		rv = 1;
		take_holder(s);
		put_lease(s);
		return "201";
	}
	if (!exists) {
		buf_printf(&s->out, "{\"kind\":\"Status\",\"code\":404}");
		return "404";
	}
	if (strcmp(s->method, "PATCH") == 0) {
		stop_once();
		snprintf(want, sizeof(want), "\"resourceVersion\":\"%u\"", rv);
		if (!strstr(s->in.p, want)) {
			buf_printf(&s->out, "{\"kind\":\"Status\",\"code\":409}");
			return "409";
		}
		rv++;
		renewals++;
		take_holder(s);
	}
	put_lease(s);
	return "200";
}

static void on_wake(void *ctx)
{
	(void)ctx;
	wakes++;
}

static void on_stuck(void)
{
	atomic_store(&fence_when_stuck, net_fence_left_ms(&fence));
	atomic_fetch_add(&stuck, 1);
}

static struct lease_thread *start_with(const char *identity, int64_t lease_ms, int64_t renew_ms)
{
	struct endpoint e = {.host = STR("127.0.0.1"),
			     .port = srv.port,
			     .ca_pem = str_of(srv.ca_pem),
			     .allow_loopback = true};
	struct lease_thread_options o = {
		.lease = {.ns = STR("ns"),
			  .name = STR("lock"),
			  .identity = str_of(identity),
			  .lease_ms = lease_ms,
			  .renew_ms = renew_ms,
			  .retry_ms = 300,
			  .seed = 7},
		.endpoint = &e,
		.user_agent = "test",
		.fence = &fence,
		.loop = loop,
		.watchdog = dog,
	};

	watchdog_beat(dog);
	return lease_thread_start(&o, NULL);
}

static struct lease_thread *start(const char *identity)
{
	return start_with(identity, 15000, 10000);
}

/* Turns the loop, beating if asked to, until the state is 'want'. */
static bool until_state(struct lease_thread *t, enum lease_state want, bool beating)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (lease_thread_state(t) != want && clock_mono_ms() < end) {
		if (beating) {
			watchdog_beat(dog);
		}
		loop_turn(loop, 20);
	}
	return lease_thread_state(t) == want;
}

static void until_renewals(unsigned want)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (renewals < want && clock_mono_ms() < end) {
		watchdog_beat(dog);
		loop_turn(loop, 20);
	}
}

static bool names(struct lease_thread *t, const char *who)
{
	struct lease_view v;

	lease_thread_view(t, &v);
	return strcmp(v.holder, who) == 0 && strcmp(v.ns, "ns") == 0 && strcmp(v.name, "lock") == 0;
}

static void test_lead_and_release(void)
{
	struct lease_thread *t = start("me");

	is_int(net_fence_left_ms(&fence), 0, "the fence is down at first");
	ok(until_state(t, LEASE_LEADER, true), "leads when no other does");
	ok(net_fence_left_ms(&fence) > 5000 && net_fence_left_ms(&fence) <= 10000,
	   "the fence is up for what is left of 10 s");
	loop_turn(loop, 50);
	ok(wakes > 0, "and the loop was woken");
	is_str(holder, "me", "the record names us");
	ok(names(t, "me"), "which its view shows");
	until_renewals(3);
	ok(renewals >= 3, "renews");
	lease_thread_release(t);
	is_int(net_fence_left_ms(&fence), 0, "release: the fence falls at once");
	ok(until_state(t, LEASE_RELEASED, true), "then the record is given back");
	is_str(holder, "", "and names no holder");
	is_int(net_fence_left_ms(&fence), 0, "the fence stays down");
	lease_thread_free(t);
}

static void test_lose(void)
{
	struct lease_thread *t = start("me");

	ok(until_state(t, LEASE_LEADER, true), "leads again");
	snprintf(holder, sizeof(holder), "other");
	rv += 5;
	ok(until_state(t, LEASE_LOST, true), "another holder: lost");
	is_int(net_fence_left_ms(&fence), 0, "the fence is down");
	lease_thread_free(t);
	t = start("standby");
	for (int i = 0; i < 50; i++) {
		watchdog_beat(dog);
		loop_turn(loop, 20);
	}
	is_int(lease_thread_state(t), LEASE_STANDBY, "while another leads we stand by");
	is_str(holder, "other", "and leave the record alone");
	ok(names(t, "other"), "whom we wait for can be seen");
	lease_thread_free(t);
}

/* The log says whose right is missing and on what, and which holder is waited for. */
static void test_log(void)
{
	FILE *f = tmpfile();
	char text[8192] = "";
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	struct lease_thread *t;
	ssize_t n = 0;

	if (!ok(f != NULL, "a file for the log")) {
		return;
	}
	log_set_output(fileno(f), LOG_JSON);
	refuses = true;
	t = start("standby");
	while (!strstr(text, "waiting for it") && clock_mono_ms() < end) {
		watchdog_beat(dog);
		loop_turn(loop, 20);
		n = pread(fileno(f), text, sizeof(text) - 1, 0); /* the place to write at stays */
		text[n > 0 ? n : 0] = '\0';
		refuses = refuses && !strstr(text, "refused");
	}
	lease_thread_free(t);
	log_set_output(2, LOG_AUTO);
	fclose(f);
	ok(strstr(text,
		  "\"msg\":\"request refused; trying again\",\"verb\":\"GET\",\"ns\":\"ns\","
		  "\"name\":\"lock\",\"http\":403,\"err\":\"leases \\\"lock\\\" is forbidden\"") !=
		   NULL,
	   "a refusal is logged with the server's words");
	ok(strstr(text, "\"msg\":\"another process holds the lease: waiting for it\",\"ns\":\"ns\","
			"\"name\":\"lock\",\"holder\":\"other\"") != NULL,
	   "a standby says whom it waits for");
}

/* With a Lease that is over before the main loop counts as hung, too. */
static void test_stuck(int64_t lease_ms, int64_t renew_ms)
{
	struct lease_thread *t;
	int64_t end;
	int64_t begun;

	snprintf(holder, sizeof(holder), "%s", "");
	atomic_store(&stuck, 0);
	t = start_with("me", lease_ms, renew_ms);
	ok(until_state(t, LEASE_LEADER, true), "leads once more");
	begun = clock_mono_ms();
	end = begun + PATIENCE_MS;
	while (atomic_load(&stuck) == 0 && clock_mono_ms() < end) {
		unsigned before = renewals;

		loop_turn(loop, 20); /* the server answers, but no heartbeat is given */
		if (clock_mono_ms() - begun > 6000 && renewals != before) {
			ok(false, "a renewal without a heartbeat for 6 s");
			break;
		}
	}
	is_int(atomic_load(&stuck), 1, "without a heartbeat it is ended");
	ok(clock_mono_ms() - begun >= WATCHDOG_ABORT_MS - 100, "not before 8 s");
	is_int(atomic_load(&fence_when_stuck), 0, "and its fence is down");
	lease_thread_free(t);
}

/* Nothing but the heartbeat counts: no Lease is there. */
static void test_stuck_alone(void)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	atomic_store(&stuck, 0);
	net_fence_set(&fence, INT64_MAX);
	watchdog_beat(dog);
	while (atomic_load(&stuck) == 0 && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	is_int(atomic_load(&stuck), 1, "without leader election, too");
	is_int(atomic_load(&fence_when_stuck), 0, "... with its fence down");
	watchdog_stop(dog);
}

static void test_options(void)
{
	struct endpoint e = {.host = STR("127.0.0.1"), .port = 1};
	struct lease_thread_options o = {.lease = {.ns = STR("a"),
						   .name = STR("b"),
						   .identity = STR("c"),
						   .lease_ms = 1000,
						   .renew_ms = 2000,
						   .retry_ms = 100},
					 .endpoint = &e,
					 .user_agent = "t",
					 .fence = &fence,
					 .watchdog = dog,
					 .loop = loop};
	struct mk_err err;

	ok(!lease_thread_start(&o, &err) && err.code == ERR_INVALID,
	   "durations in the wrong order");
	o.lease.lease_ms = 3000;
	e.host = STR("a b");
	ok(!lease_thread_start(&o, &err) && err.code == ERR_INVALID, "a bad endpoint");
}

static struct transport_curl *begin(void)
{
	struct transport_options to = {.fence = &fence, .user_agent = "test"};
	struct transport_curl *tc;

	loop = loop_new(NULL);
	to.loop = loop;
	tc = loop ? transport_curl_new(&to, NULL) : NULL; /* starts libcurl */
	if (!tc || !h2_server_start(&srv, loop_base(loop))) {
		return NULL;
	}
	srv.hook = on_lease;
	loop_on_wake(loop, on_wake, NULL);
	dog = watchdog_start(&(struct watchdog_options){.fence = &fence, .on_stuck = on_stuck},
			     NULL);
	return dog ? tc : NULL;
}

static void end(struct transport_curl *tc)
{
	watchdog_free(dog);
	h2_server_stop(&srv);
	loop_turn(loop, 0);
	transport_curl_free(tc);
	loop_free(loop);
}

/* A process that leads, is stopped as a whole in the middle of a renewal, and goes on. */
static int be_stopped(void)
{
	struct transport_curl *tc = begin();
	struct lease_thread *t = tc ? start_with("me", 600 * 1000, 300 * 1000) : NULL;
	unsigned before;

	if (!t || !until_state(t, LEASE_LEADER, true)) {
		return 9;
	}
	stop_us = true;
	before = renewals;
	until_renewals(before + 2);
	lease_thread_free(t);
	end(tc);
	return renewals < before + 2 ? 8 : atomic_load(&stuck);
}

/* The other tests take as long as it has to be stopped. */
static void test_stopped(pid_t child, int64_t since_ms)
{
	int64_t rest = since_ms + STOPPED_MS - clock_boot_ms();
	int status = -1;

	if (rest > 0) {
		nanosleep(&(struct timespec){rest / 1000, rest % 1000 * 1000000}, NULL);
	}
	kill(child, SIGCONT);
	waitpid(child, &status, 0);
	ok(WIFEXITED(status), "a process that was stopped during a renewal goes on");
	is_int(WEXITSTATUS(status), 0, "and is not taken for one whose main loop is stuck");
}

int main(void)
{
	struct transport_curl *tc;
	int64_t stopped_ms;
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		_exit(be_stopped());
	}
	waitpid(child, &status, WUNTRACED);
	ok(WIFSTOPPED(status), "a process is stopped during a renewal");
	stopped_ms = clock_boot_ms();
	tc = begin();
	if (!tc || !WIFSTOPPED(status)) {
		printf("Bail out! no loop or no free port, or the other process ended (%d)\n",
		       status);
		return 1;
	}
	test_lead_and_release();
	test_lose();
	test_log();
	test_stuck(15000, 10000);
	test_stuck(4000, 3000);
	test_stuck_alone();
	test_options();
	end(tc);
	test_stopped(child, stopped_ms);
	return done_testing();
}
