/* SPDX-License-Identifier: Apache-2.0 */
/* Which Kueue stands beside the daemon: signs in a schema, and the thread that asks for it. */
#include "t/lib/tap.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/daemon/beside.h"
#include "core/net/transport_curl.h"
#include "t/lib/net_h2server.h"

enum { PATIENCE_MS = 60 * 1000 };

#define SETS(more)                                                                            \
	"{\"components\":{\"schemas\":{\"io.x-k8s.kueue.v1beta2.Workload\":{\"properties\":{" \
	"\"spec\":{\"properties\":{\"podSets\":{" more "}}}}}}}}"
#define SLICES(more)                                                                             \
	",\"items\":{\"properties\":{\"topologyRequest\":{\"properties\":{\"podSetSliceSize\":{" \
	"\"type\":\"integer\"" more "}}}}}"

static struct loop *loop;
static struct h2_server srv;
static struct net_fence fence;
static const char *status = "200", *text = "{}";
static unsigned asked, unavailable;

static int seen_in(const char *s)
{
	struct json *doc = NULL;
	struct arena a;
	int minor;

	arena_init(&a, 1024 * 1024);
	minor = json_parse(&a, str_of(s), &doc, NULL) == ERR_OK ? kueue_seen_in(doc) : -1;
	arena_done(&a);
	return minor;
}

static void test_signs(void)
{
	struct kueue_view v = {.takes = 19};

	is_int(seen_in(SETS("\"maxItems\":8")), 17, "8 PodSets: before 0.18");
	is_int(seen_in(SETS("\"maxItems\":10" SLICES(""))), 18, "10 PodSets: 0.18");
	is_int(seen_in(SETS("\"maxItems\":18" SLICES(""))), 19, "18 PodSets: 0.19");
	is_int(seen_in(SETS("\"maxItems\":18" SLICES(",\"minimum\":1"))), 20,
	       "sizes of slices have a minimum: 0.20");
	is_int(seen_in(SETS("")), 0, "no limit of PodSets: not known");
	is_int(seen_in(SETS("\"maxItems\":\"18\"")), 0, "a limit that is no number: not known");
	is_int(seen_in(SETS("\"maxItems\":-1")), 0, "a negative limit: not known");
	is_int(seen_in("[1]"), 0, "another document: not known");
	is_int(kueue_seen_in(NULL), 0, "no document: not known");
	is_str(kueue_seen_text(17), "0.17 or before", "in words: an old one");
	is_str(kueue_seen_text(18), "0.18", "... 0.18");
	is_str(kueue_seen_text(19), "0.19", "... 0.19");
	is_str(kueue_seen_text(20), "0.20 or later", "... a new one");
	is_str(kueue_seen_text(0), "not known", "... none");
	ok(!kueue_seen_differs(&v), "what is not known does not differ");
	v.seems = 19;
	ok(!kueue_seen_differs(&v), "the same does not differ");
	v.seems = 18;
	ok(kueue_seen_differs(&v), "another one differs");
}

static const char *answer(struct h2_stream *s)
{
	asked++;
	if (asked <= unavailable) {
		buf_printf(&s->out, "{\"kind\":\"Status\",\"code\":503}");
		return "503";
	}
	if (strcmp(s->path, KUEUE_SEEN_PATH) != 0) {
		return "400";
	}
	buf_printf(&s->out, "%s", text);
	return status;
}

/* What is logged when a server answers so, in 'log'; the view then. */
static struct kueue_view ask(const struct config_multikueue *c, char log[static 4096])
{
	struct endpoint e = {.host = STR("127.0.0.1"),
			     .port = srv.port,
			     .ca_pem = str_of(srv.ca_pem),
			     .allow_loopback = true};
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	FILE *f = tmpfile();
	struct kueue_view v = {.takes = 0};
	struct beside *b;
	ssize_t n = 0;

	log[0] = '\0';
	if (!ok(f != NULL, "a file for the log")) {
		return v;
	}
	log_set_output(fileno(f), LOG_JSON);
	asked = 0;
	b = beside_start(c, &e, "test");
	while (b && !strstr(log, "beside the daemon") && clock_mono_ms() < end) {
		loop_turn(loop, 20);
		n = pread(fileno(f), log, 4095, 0); /* the place to write at stays */
		log[n > 0 ? n : 0] = '\0';
	}
	v = beside_view(b);
	beside_free(b);
	log_set_output(2, LOG_AUTO);
	fclose(f);
	return v;
}

static void test_answers(void)
{
	struct config_multikueue c = {.kueue_minor = 19};
	char log[4096];
	struct kueue_view v;

	text = SETS("\"maxItems\":18" SLICES(""));
	v = ask(&c, log);
	ok(v.seems == 19 && v.takes == 19 && !v.named, "the same Kueue: seen");
	ok(strstr(log, "\"level\":\"info\"") && strstr(log, "\"taken_for\":\"0.19\"") &&
		   strstr(log, "\"configured\":false") && strstr(log, "\"seems\":\"0.19\""),
	   "... and one line says so");
	is_int(asked, 1, "... asked for once");

	c = (struct config_multikueue){.kueue_minor = 20, .kueue_named = true};
	unavailable = 1;
	v = ask(&c, log);
	ok(v.seems == 19 && v.takes == 20 && v.named, "another Kueue: seen");
	ok(strstr(log, "\"level\":\"warn\"") && strstr(log, "\"taken_for\":\"0.20\"") &&
		   strstr(log, "set multiKueue.kueueVersion"),
	   "... and a warning says what to do");
	is_int(asked, 2, "... though the server was not ready at first");
	unavailable = 0;

	status = "404";
	v = ask(&c, log);
	ok(v.seems == 0 && strstr(log, "\"level\":\"info\"") &&
		   strstr(log, "\"seems\":\"not known\"") && strstr(log, "v1beta2: 404"),
	   "no schema: not known, and why");
	status = "200";
	text = "<html>";
	ok(ask(&c, log).seems == 0 && strstr(log, "\"seems\":\"not known\""), "no JSON: not known");
	is_int(asked, 1, "... and not asked for again");
}

/* A server that does not answer holds up nothing. */
static void test_end(void)
{
	struct config_multikueue c = {.kueue_minor = 19};
	struct endpoint e = {.host = STR("127.0.0.1"), .port = 1, .allow_loopback = true};
	struct endpoint bad = {.host = STR("a b"), .port = 1};
	int64_t begun = clock_mono_ms();
	struct beside *b = beside_start(&c, &e, "test");

	ok(b && beside_view(b).seems == 0 && beside_view(b).takes == 19,
	   "before an answer: not known");
	beside_free(b);
	ok(clock_mono_ms() - begun < PATIENCE_MS / 2, "ends without an answer");
	log_set_level(NULL, LOG_OFF);
	ok(!beside_start(&c, &bad, "test"), "a bad endpoint: cannot be asked");
	ok(beside_view(NULL).takes == 0, "... which the view shows");
	beside_free(NULL);
}

int main(void)
{
	struct transport_options to = {.fence = &fence, .user_agent = "test"};
	struct transport_curl *tc;

	loop = loop_new(NULL);
	to.loop = loop;
	tc = loop ? transport_curl_new(&to, NULL) : NULL; /* starts libcurl */
	if (!tc || !h2_server_start(&srv, loop_base(loop))) {
		return 1;
	}
	srv.hook = answer;
	test_signs();
	test_answers();
	test_end();
	h2_server_stop(&srv);
	loop_turn(loop, 0);
	transport_curl_free(tc);
	loop_free(loop);
	return done_testing();
}
