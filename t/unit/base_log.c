/* SPDX-License-Identifier: Apache-2.0 */
/* Log records: form, levels, escaping, rate limit, full pipes. */
#include "t/lib/pipe_text.h"
#include "t/lib/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"

static int pipe_out;
static struct arena a;

static int64_t fixed_time(void)
{
	return INT64_C(1767322984678);
}

static void test_form(int fd)
{
	struct mk_err err;
	struct json *v = NULL;
	char big[3000];
	mk_str line;

	log_set_output(fd, LOG_JSON);
	log_write(LOG_INFO, "net", "connected", LOG_STR("cluster", STR("east")),
		  LOG_INT("dur_ms", -5), LOG_BOOL("ok", true), LOG_END);
	is_str(pipe_text(pipe_out),
	       "{\"ts\":\"2026-01-02T03:03:04.678000Z\",\"level\":\"info\",\"mod\":\"net\",\"msg\":"
	       "\"connected\",\"cluster\":\"east\",\"dur_ms\":-5,\"ok\":true}\n",
	       "a JSON record");
	log_write(LOG_WARN, "net", "odd", LOG_STR("s", STR("a\"b\\c\nd\x01\x7f\xff\xc3\xa9")),
		  LOG_END);
	line = str_of(pipe_text(pipe_out));
	is_int(json_parse(&a, line, &v, NULL), ERR_OK, "hostile bytes leave it valid");
	is_str(json_str(json_get(v, "s")).p, "a\"b\\c\nd\x01\x7f\xef\xbf\xbd\xc3\xa9",
	       "... and readable");
	err_set(&err, ERR_TIMEOUT, "no answer");
	log_write(LOG_ERROR, "net", "failed", LOG_ERR(&err), LOG_END);
	is_str(strstr(pipe_text(pipe_out), "\"code\""),
	       "\"code\":\"timeout\",\"err\":\"no answer\"}\n", "an error");
	memset(big, 'x', sizeof(big));
	log_write(LOG_INFO, "net", "long", LOG_STR("a", ((mk_str){big, sizeof(big)})),
		  LOG_STR("b", ((mk_str){big, sizeof(big)})),
		  LOG_STR("c", ((mk_str){big, sizeof(big)})),
		  LOG_STR("d", ((mk_str){big, sizeof(big)})), LOG_INT("e", 1), LOG_END);
	line = str_of(pipe_text(pipe_out));
	ok(line.n <= 4096 && json_parse(&a, line, &v, NULL) == ERR_OK,
	   "a long record is one valid line");
	ok(json_get(v, "c") != NULL && !json_get(v, "d") && json_bool(json_get(v, "cut")),
	   "... and says that it was cut");
	is_int(json_str(json_get(v, "a")).n, 1024 + 3, "... and so do its values");
	log_set_output(fd, LOG_TEXT);
	log_write(LOG_INFO, "net", "connected", LOG_STR("cluster", STR("east")),
		  LOG_STR("why", STR("a b")), LOG_STR("none", STR("")), LOG_INT("n", 5), LOG_END);
	is_str(pipe_text(pipe_out),
	       "03:03:04.678 info  net: connected cluster=east why=\"a b\" none=\"\" n=5\n",
	       "a readable record");
	log_set_output(fd, LOG_AUTO);
	log_write(LOG_INFO, "net", "auto", LOG_END);
	ok(pipe_text(pipe_out)[0] == '{', "a pipe gets JSON");
}

static void test_levels(void)
{
	enum log_level level = LOG_OFF;
	char name[16];
	bool room = true;

	log_write(LOG_DEBUG, "net", "hidden", LOG_END);
	is_str(pipe_text(pipe_out), "", "debug is off");
	log_set_level("net", LOG_DEBUG);
	log_write(LOG_DEBUG, "net", "shown", LOG_END);
	ok(strstr(pipe_text(pipe_out), "shown") != NULL, "on for a module");
	log_write(LOG_DEBUG, "other", "hidden", LOG_END);
	is_str(pipe_text(pipe_out), "", "off for another");
	log_set_level(NULL, LOG_ERROR);
	log_write(LOG_WARN, "other", "hidden", LOG_END);
	is_str(pipe_text(pipe_out), "", "the default level");
	log_write(LOG_INFO, "net", "shown", LOG_END);
	ok(strstr(pipe_text(pipe_out), "shown") != NULL, "a module keeps its own");
	log_set_level("net", LOG_OFF);
	log_write(LOG_ERROR, "net", "hidden", LOG_END);
	is_str(pipe_text(pipe_out), "", "a module switched off");
	ok(log_level_parse(STR("warn"), &level) && level == LOG_WARN, "a level's word");
	ok(!log_level_parse(STR("WARN"), &level) && level == LOG_WARN, "no level's word");
	ok(!log_set_level("a-name-that-is-longer-than-it-may-be", LOG_INFO), "too long a name");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		room = log_set_level(name, LOG_INFO);
	}
	ok(!room, "too many modules");
	log_set_level(NULL, LOG_INFO);
	log_set_level("net", LOG_INFO);
}

static void many(int n)
{
	for (int i = 0; i < n; i++) {
		log_write(LOG_INFO, "net", "again", LOG_INT("i", i), LOG_END);
	}
}

static size_t lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++) {
		n += *text == '\n';
	}
	return n;
}

static void test_rate(void)
{
	const char *text;
	size_t n;

	many(1000);
	text = pipe_text(pipe_out);
	n = lines(text);
	ok(n >= 20 && n < 100, "a burst is limited");
	/*
	 * The bucket of this site is empty now; half a second brings one
	 * record, which tells the count.
	 */
	for (int64_t end = clock_mono_ms() + 10000; clock_mono_ms() < end;) {
		many(1);
		text = pipe_text(pipe_out);
		if (*text != '\0') {
			break;
		}
		poll(NULL, 0, 20);
	}
	ok(strstr(text, "\"dropped\":") != NULL, "the next record tells how many were dropped");
	log_write(LOG_INFO, "net", "elsewhere", LOG_END);
	ok(strstr(pipe_text(pipe_out), "elsewhere") != NULL, "another site is not limited");
}

static void test_full_pipe(int fd)
{
	int64_t start;
	int n = 0;
	char fill[4096];

	memset(fill, '\n', sizeof(fill));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, fill, sizeof(fill)) > 0) {
		n++;
	}
	fcntl(fd, F_SETFL, 0);
	ok(n > 0, "the pipe is full");
	start = clock_mono_ms();
	for (int i = 0; i < 100; i++) {
		log_emit(NULL, LOG_INFO, "net", "nobody reads", NULL);
	}
	ok(clock_mono_ms() - start < 2000, "a hundred records do not wait for a reader");
	(void)pipe_text(pipe_out);
	log_emit(NULL, LOG_INFO, "net", "back", NULL);
	ok(strstr(pipe_text(pipe_out), "\"msg\":\"back\",\"lost\":100}") != NULL,
	   "the loss is told");
	log_last(LOG_ERROR, "daemon", "the end",
		 (struct log_field[]){LOG_INT("n", INT64_MIN), LOG_END});
	is_str(pipe_text(pipe_out),
	       "{\"ts\":\"2026-01-02T03:03:04.678000Z\",\"level\":\"error\",\"mod\":\"daemon\","
	       "\"msg\":\"the end\",\"n\":-9223372036854775808}\n",
	       "last words have the form of any other");
	log_set_output(fd, LOG_TEXT);
	log_last(LOG_WARN, "daemon", "the end", NULL);
	is_str(pipe_text(pipe_out), "03:03:04.678 warn  daemon: the end\n", "as text too");
	log_set_output(-1, LOG_JSON);
	log_emit(NULL, LOG_INFO, "net", "nowhere", NULL);
	ok(true, "a closed descriptor does no harm");
}

int main(void)
{
	int fd[2];

	arena_init(&a, 0);
	if (pipe(fd) != 0) {
		return 1;
	}
	pipe_out = fd[0];
	log_set_time(fixed_time);
	test_form(fd[1]);
	test_levels();
	test_rate();
	test_full_pipe(fd[1]);
	log_set_output(2, LOG_AUTO);
	close(fd[0]);
	close(fd[1]);
	arena_done(&a);
	return done_testing();
}
