/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups that hang: they have a limit, few run at once, one name is looked up once, and neither
 * the loop nor other clusters wait for them. The names are looked up by a function of the test's
 * that hangs as long as it is told to.
 */
#include "t/lib/tap.h"

#include <netinet/in.h>
#include <pthread.h>

#include "core/base/clock.h"
#include "core/net/resolver.h"
#include "core/net/transport_net.h"
#include "t/lib/net_h2server.h"
#include "t/lib/net_turn.h"

enum { PATIENCE_MS = 20000, STALL_US = 200000 };

/* What the test's getaddrinfo does and did; under the lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool hang;
	int calls, inside, most_inside;
} dns = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static struct loop *loop;

/*
 * "hang..." hangs while dns.hang; "none", "again" and "memory" fail; others are
 * 127.0.0.1, or "six" 2001:db8::1.
 */
static int fake(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	struct addrinfo h = *hints;

	pthread_mutex_lock(&dns.lock);
	dns.calls++;
	dns.inside++;
	dns.most_inside = dns.inside > dns.most_inside ? dns.inside : dns.most_inside;
	while (dns.hang && strncmp(host, "hang", 4) == 0) {
		pthread_cond_wait(&dns.change, &dns.lock);
	}
	dns.inside--;
	pthread_mutex_unlock(&dns.lock);
	if (strcmp(host, "none") == 0) {
		return EAI_NONAME;
	}
	if (strcmp(host, "fail") == 0) {
		return EAI_FAIL;
	}
	if (strcmp(host, "again") == 0) {
		return EAI_AGAIN;
	}
	if (strcmp(host, "memory") == 0) {
		return EAI_MEMORY;
	}
	h.ai_flags |= AI_NUMERICHOST;
	return getaddrinfo(strcmp(host, "six") == 0 ? "2001:db8::1" : "127.0.0.1", port, &h, ret);
}

static void set_hang(bool on)
{
	pthread_mutex_lock(&dns.lock);
	dns.hang = on;
	dns.calls = on ? 0 : dns.calls;
	dns.most_inside = on ? 0 : dns.most_inside;
	pthread_cond_broadcast(&dns.change);
	pthread_mutex_unlock(&dns.lock);
}

static int dns_inside(void)
{
	int n;

	pthread_mutex_lock(&dns.lock);
	n = dns.inside;
	pthread_mutex_unlock(&dns.lock);
	return n;
}

/* Turns the loop until so many lookups are running. */
static bool until_inside(int want)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;

	while (dns_inside() != want && clock_mono_ms() < end) {
		loop_turn(loop, 5);
	}
	return dns_inside() == want;
}

/* --- the resolver itself ---------------------------------------------------------------------- */

static struct asked {
	struct lookup l;
	int answers;
	enum mk_code code;
	char addresses[256];
} q[40];
static int n_answers;

static void answered(void *ctx, enum mk_code code, const char *addresses)
{
	struct asked *a = ctx;

	n_answers++;
	a->answers++;
	a->code = code;
	snprintf(a->addresses, sizeof(a->addresses), "%s", addresses ? addresses : "");
}

static struct resolver *start(unsigned threads, int64_t limit_ms)
{
	memset(q, 0, sizeof(q));
	n_answers = 0;
	return resolver_new(&(struct resolver_options){
		.loop = loop, .max_threads = threads, .limit_ms = limit_ms, .getaddrinfo = fake});
}

static enum mk_code ask(struct resolver *r, int i, const char *host)
{
	return resolver_ask(r, &q[i].l, host, answered, &q[i]);
}

static void answers(void)
{
	static const struct {
		const char *host, *addresses;
		enum mk_code code;
	} cases[] = {
		{"good", "127.0.0.1", ERR_OK}, {"six", "[2001:db8::1]", ERR_OK},
		{"none", "", ERR_NOT_FOUND},   {"again", "", ERR_UNAVAILABLE},
		{"fail", "", ERR_UNAVAILABLE}, {"memory", "", ERR_NO_MEMORY},
	};
	struct resolver *r = start(4, 10000);
	char longest[300];

	for (int i = 0; i < 6; i++) {
		is_int(ask(r, i, cases[i].host), ERR_OK, cases[i].host);
		is_int(q[i].answers, 0, "no answer inside the call");
	}
	ok(turn_until(loop, &n_answers, 6), "all are answered");
	for (int i = 0; i < 6; i++) {
		is_int(q[i].code, cases[i].code, cases[i].host);
		is_str(q[i].addresses, cases[i].addresses, "its addresses");
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	is_int(ask(r, 7, longest), ERR_INVALID, "longer than a name can be");
	resolver_free(r);
	resolver_free(NULL);
}

/*
 * Two threads, and five names of which four hang: all end in time, and
 * what hangs keeps its two places.
 */
static void cap_and_limit(void)
{
	struct resolver *r = start(2, 300);
	int64_t began = clock_mono_ms();
	char name[16];

	set_hang(true);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "hang%d", i);
		ask(r, i, name);
	}
	ask(r, 4, "hang0"); /* the same name again */
	ask(r, 5, "good");
	ok(turn_until(loop, &n_answers, 6), "every caller gets an answer");
	ok(clock_mono_ms() - began >= 300, "not before the limit");
	is_int(q[0].code, ERR_TIMEOUT, "a name that hangs: time is up");
	is_int(q[5].code, ERR_TIMEOUT, "also for who waited for a place");
	is_int(dns_inside(), 2, "two lookups still hang");
	ask(r, 0, "hang0");
	ask(r, 5, "good");
	resolver_cancel(r, &q[5].l);
	ask(r, 6, "good");
	set_hang(false);
	ok(turn_until(loop, &q[0].answers, 2), "the one that hung answers at last");
	is_str(q[0].addresses, "127.0.0.1", "those who ask then, too");
	ok(turn_until(loop, &q[6].answers, 1), "then the others get their turn");
	is_int(q[5].answers, 1, "but not who was cancelled");
	pthread_mutex_lock(&dns.lock);
	is_int(dns.most_inside, 2, "never more than two at once");
	is_int(dns.calls, 3, "each name once; the others were not wanted any more");
	pthread_mutex_unlock(&dns.lock);
	resolver_free(r);
}

/* Freed while one hangs and others wait: no callback, and the thread ends later by itself. */
static void freed_while_hanging(void)
{
	struct resolver *r = start(1, 10000);

	set_hang(true);
	ask(r, 0, "hang");
	ask(r, 1, "good");
	ok(until_inside(1), "one hangs");
	resolver_free(r);
	set_hang(false);
	ok(until_inside(0), "its thread goes on without us");
	is_int(n_answers, 0, "no caller is told");
}

/* --- below the transport ---------------------------------------------------------------------- */

static struct h2_server srv;
static struct net_fence fence;
static struct transport_net *tc;
static enum transport_choice choice;
static const struct transport *tr;
static struct {
	int ends, status;
	enum transport_end end;
	enum mk_code code;
	char text[256];
} seen[64];

static void on_head(void *ctx, uint64_t token, const struct transport_head *h)
{
	(void)ctx;
	seen[token].status = h->status;
}

static void on_chunk(void *ctx, uint64_t token, mk_str bytes)
{
	(void)ctx;
	(void)token;
	(void)bytes;
}

static void on_end(void *ctx, uint64_t token, enum transport_end end, enum mk_code code,
		   mk_str text)
{
	(void)ctx;
	seen[token].ends++;
	seen[token].end = end;
	seen[token].code = code;
	snprintf(seen[token].text, sizeof(seen[token].text), "%.*s", STR_ARG(text));
}

static const struct transport_sink sink = {
	.on_head = on_head, .on_chunk = on_chunk, .on_end = on_end};

static void open_to(uint32_t id, const char *host)
{
	struct endpoint e = {.host = str_of(host),
			     .port = srv.port,
			     .ca_pem = str_of(srv.ca_pem),
			     .tls_server_name = STR("api.test"),
			     .allow_loopback = true};

	is_int(tr->open(tr->ctx, id, &e, NULL), ERR_OK, host);
}

static enum mk_code send_to(uint32_t id, enum transport_class cls, int64_t timeout_ms,
			    uint64_t token)
{
	struct transport_request r = {.method = cls == TRANSPORT_WRITE ? "DELETE" : "GET",
				      .path = STR("/version"),
				      .cls = cls,
				      .timeout_ms = timeout_ms};

	return tr->send(tr->ctx, id, &r, token, NULL);
}

static void begin(void)
{
	struct transport_options o = {
		.loop = loop, .fence = &fence, .user_agent = "mk/test", .getaddrinfo = fake};

	memset(seen, 0, sizeof(seen));
	tc = transport_net_new(&o, choice, NULL);
	transport_net_set_sink(tc, &sink);
	tr = transport_net_get(tc);
}

static void note_stall(void *ctx, int64_t us)
{
	int64_t *most = ctx;

	*most = us > *most ? us : *most;
}

/*
 * Twelve clusters whose names hang, one whose name does not, one by address: the last two go on.
 * Returns the longest time that the loop stood.
 */
static int64_t others_go_on(void)
{
	int64_t stall_us = 0;
	char host[16];

	begin();
	set_hang(true);
	loop_on_stall(loop, note_stall, &stall_us);
	for (uint32_t i = 0; i < 12; i++) {
		snprintf(host, sizeof(host), "hang%u", i);
		open_to(i + 1, host);
		send_to(i + 1, TRANSPORT_READ, 60000, i + 1);
		send_to(i + 1, TRANSPORT_WATCH, 0, i + 21);
	}
	ok(until_inside(12), "twelve names hang, each is looked up once");
	open_to(50, "good");
	open_to(51, "127.0.0.1");
	send_to(50, TRANSPORT_READ, 60000, 50);
	send_to(51, TRANSPORT_READ, 60000, 51);
	ok(turn_until(loop, &seen[50].ends, 1) && turn_until(loop, &seen[51].ends, 1),
	   "others are answered meanwhile");
	is_int(seen[50].status, 200, "the one that was looked up");
	is_int(seen[51].status, 200, "the one that needs no name");
	loop_on_stall(loop, NULL, NULL);
	tr->cancel(tr->ctx, 1, 1);
	tr->close(tr->ctx, 2);
	tr->reset(tr->ctx, 3);
	ok(turn_until(loop, &seen[3].ends, 1) && turn_until(loop, &seen[23].ends, 1),
	   "a reset ends who waits");
	is_int(seen[3].end, TRANSPORT_NOT_SENT, "and nothing was sent");
	is_int(seen[1].ends + seen[2].ends, 0, "cancelled and closed: no word");
	set_hang(false);
	for (uint64_t i = 4; i <= 12; i++) {
		turn_until(loop, &seen[i].ends, 1);
	}
	is_int(seen[4].status, 200, "when the name is known, the request goes out");
	transport_net_free(tc);
	return stall_us;
}

/* Time spent waiting counts: a write's limit is what is left of the lease. */
static void waiting_counts(void)
{
	begin();
	set_hang(true);
	net_fence_set(&fence, INT64_MAX);
	open_to(1, "hang");
	send_to(1, TRANSPORT_WRITE, 50, 1);
	send_to(1, TRANSPORT_WRITE, 20000, 2);
	ok(until_inside(1), "the name hangs");
	for (int64_t end = clock_mono_ms() + 60; clock_mono_ms() < end;) {
		loop_turn(loop, 10);
	}
	set_hang(false);
	ok(turn_until(loop, &seen[1].ends, 1) && turn_until(loop, &seen[2].ends, 1), "both end");
	is_int(seen[1].end, TRANSPORT_NOT_SENT, "the one whose time went by was not sent");
	is_int(seen[1].code, ERR_TIMEOUT, "for want of time");
	is_str(seen[1].text, "dial tcp: lookup hang: i/o timeout", "in Go's words");
	is_int(seen[2].status, 200, "the other one was");
	transport_net_free(tc);
}

/* No such name: told as such; and tried anew with each request, for names may come to be. */
static void no_such_name(void)
{
	int before;

	begin();
	open_to(1, "none");
	pthread_mutex_lock(&dns.lock);
	before = dns.calls;
	pthread_mutex_unlock(&dns.lock);
	send_to(1, TRANSPORT_READ, 5000, 1);
	ok(turn_until(loop, &seen[1].ends, 1), "it ends");
	is_str(seen[1].text, "dial tcp: lookup none: no such host", "in Go's words");
	is_int(seen[1].code, ERR_UNAVAILABLE, "code");
	send_to(1, TRANSPORT_READ, 5000, 2);
	turn_until(loop, &seen[2].ends, 1);
	pthread_mutex_lock(&dns.lock);
	is_int(dns.calls, before + 2, "looked up each time");
	pthread_mutex_unlock(&dns.lock);
	open_to(2, "good");
	send_to(2, TRANSPORT_READ, 5000, 3);
	turn_until(loop, &seen[3].ends, 1);
	send_to(2, TRANSPORT_READ, 5000, 4);
	turn_until(loop, &seen[4].ends, 1);
	pthread_mutex_lock(&dns.lock);
	is_int(dns.calls, before + 3, "what is known is not looked up for each request");
	pthread_mutex_unlock(&dns.lock);
	is_int(seen[4].status, 200, "and leads there");
	transport_net_free(tc);
}

int main(void)
{
	loop = loop_new(NULL);
	if (!loop || !h2_server_start(&srv, loop_base(loop))) {
		printf("Bail out! no loop or no free port\n");
		return 1;
	}
	answers();
	cap_and_limit();
	freed_while_hanging();
	/*
	 * On a busy machine a callback may be put aside for a while; a lookup that
	 * stalls the loop does so each time.
	 */
	for (int c = 0; c < 2; c++) {
		int64_t stall_us = INT64_MAX;

		choice = c == 0 ? TRANSPORT_AUTO : TRANSPORT_CURL;
		for (int i = 0; i < 5 && stall_us >= STALL_US; i++) {
			int64_t us = others_go_on();

			stall_us = us < stall_us ? us : stall_us;
		}
		ok(stall_us < STALL_US, "the loop never stood for 200 ms");
		waiting_counts();
		no_such_name();
	}
	h2_server_stop(&srv);
	loop_turn(loop, 10);
	loop_free(loop);
	return done_testing();
}
