/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line of a process that crashes: in a hook, while a plugin is loaded, outside of any, on
 * another thread, by a signal from elsewhere. Each situation is a child with its log in a pipe.
 */
#include "t/lib/parse_json.h"
#include "t/lib/tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/daemon/crash.h"

static struct arena a;
static void (*deed)(void); /* what the hook does */
static struct plug *plug;

static void segfault(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile int *)page = 1;
}

static void abort_it(void)
{
	abort();
}

static void fpe(void)
{
	raise(SIGFPE);
}

static void bus(void)
{
	raise(SIGBUS);
}

static void ill(void)
{
	raise(SIGILL);
}

static int deeper(volatile char *above, int n)
{
	volatile char room[4096];

	room[0] = above[0];
	return n == 0 ? room[0] : deeper(room, n + 1) + room[0];
}

static void use_up_stack(void)
{
	volatile char first[1] = {1};

	(void)deeper(first, 1);
}

static void *on_thread(void *fn)
{
	(void)fn;
	segfault();
	return NULL;
}

/* While a hook runs on the main thread. */
static void crash_elsewhere(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, on_thread, NULL) == 0) {
		pthread_join(t, NULL);
	}
}

/* The parent sends the signal when it has read this. */
static void wait_for_signal(void)
{
	log_emit(NULL, LOG_INFO, "test", "ready", NULL);
	for (;;) {
		pause();
	}
}

static void leave(void)
{
	exit(0);
}

static void tell_stuck(void)
{
	crash_tell_stuck(plug, 8123);
	crash_abort();
}

static int do_it(mk_call *c, const mk_view *v, mk_val draft)
{
	(void)c;
	(void)v;
	(void)draft;
	deed();
	return MK_KEEP;
}

static int pick_it(mk_call *c, const mk_dispatch *d, mk_pick *pick)
{
	(void)c;
	(void)d;
	(void)pick;
	deed();
	return MK_KEEP;
}

static const mk_adapter adapter = {.struct_size = sizeof(mk_adapter),
				   .group = "ex.io",
				   .version = "v1",
				   .kind = "Widget",
				   .remote = do_it,
				   .status = do_it};
static const mk_dispatcher dispatcher = {
	.struct_size = sizeof(mk_dispatcher), .name = "ex.io/picky", .nominate = pick_it};
static const void *const kinds[] = {&adapter};
static const void *const names[] = {&dispatcher};
static const mk_factory adapters = {sizeof(mk_factory), 1, MK_FACTORY_ADAPTER, kinds};
static const mk_factory dispatchers = {sizeof(mk_factory), 1, MK_FACTORY_DISPATCHER, names};
static const mk_factory *const factories[] = {&adapters, &dispatchers, NULL};
static const mk_entry entry = MK_ENTRY("test.crash", "1.2.3", factories);

enum where { OUTSIDE, IN_REMOTE, IN_STATUS, IN_NOMINATE };

static void call(enum where where)
{
	const struct plug_view v = {
		.local = parse_json(&a, "{\"metadata\":{\"name\":\"job\",\"namespace\":\"team\"}}"),
		.remote = parse_json(&a, "{\"status\":{}}"),
		.workload =
			parse_json(&a, "{\"metadata\":{\"name\":\"wl\",\"namespace\":\"team\"}}"),
		.cluster = STR("east")};
	const struct plug_question q = {.workload = v.workload, .clusters = parse_json(&a, "[]")};
	struct plug_result r;
	struct plug_pick pick;

	if (where == IN_REMOTE) {
		(void)plug_remote(plug, 0, &v, parse_json(&a, "{\"metadata\":{}}"), &a, &r, NULL);
	} else if (where == IN_STATUS) {
		(void)plug_status(plug, 0, &v, parse_json(&a, "{}"), &a, &r, NULL);
	} else if (where == IN_NOMINATE) {
		(void)plug_nominate(plug, 0, &q, &a, &pick, NULL);
	} else {
		deed();
	}
}

static int status;
static char said[16384];

/*
 * What a child said before it ended; 'sent' is sent to it when it is ready, 0 = nothing. NULL: no
 * line, as when a sanitizer speaks for it.
 */
static struct json *crash(enum where where, void (*what)(void), int sent)
{
	int fd[2];
	size_t n = 0;
	const char *last;
	struct json *line = NULL;

	if (pipe(fd) != 0) {
		return NULL;
	}
	pid_t child = fork();

	if (child == 0) {
		const struct rlimit none = {0, 0}, small = {1024 * 1024, 1024 * 1024};

		close(fd[0]);
		setrlimit(RLIMIT_CORE, &none);
		setrlimit(RLIMIT_STACK, &small);
		log_set_output(fd[1], LOG_JSON);
		deed = what;
		call(where);
		_exit(0);
	}
	close(fd[1]);
	for (;;) {
		ssize_t k = read(fd[0], said + n, sizeof(said) - 1 - n);

		if (k <= 0) {
			break;
		}
		n += (size_t)k;
		said[n] = '\0';
		if (sent != 0 && strstr(said, "ready")) {
			kill(child, sent);
		}
	}
	said[n] = '\0';
	close(fd[0]);
	waitpid(child, &status, 0);
	last = n > 1 ? memrchr(said, '\n', n - 1) : NULL;
	(void)json_parse(&a, str_of(last ? last + 1 : said), &line, NULL);
	return line;
}

static const char *text_of(const struct json *line, const char *key)
{
	mk_str s = json_str(json_get(line, key));

	return s.p ? s.p : "";
}

static void is_about(const struct json *line, const char *hook, const char *kind, const char *name)
{
	is_str(text_of(line, "level"), "error", "level");
	is_str(text_of(line, "mod"), "plug", "module");
	is_str(text_of(line, "plugin"), "test.crash", "plugin");
	is_str(text_of(line, "version"), "1.2.3", "version");
	is_str(text_of(line, "hook"), hook, "hook");
	is_str(text_of(line, "kind"), kind, "kind");
	is_str(text_of(line, "ns"), "team", "namespace");
	is_str(text_of(line, "name"), name, "name");
	is_str(text_of(line, "workload"), "wl", "Workload");
}

static void test_hooks(void)
{
	static const struct {
		void (*what)(void);
		int signo;
		const char *name;
	} all[] = {{segfault, SIGSEGV, "SIGSEGV"}, {use_up_stack, SIGSEGV, "SIGSEGV"},
		   {abort_it, SIGABRT, "SIGABRT"}, {fpe, SIGFPE, "SIGFPE"},
		   {bus, SIGBUS, "SIGBUS"},        {ill, SIGILL, "SIGILL"}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct json *line = crash(IN_REMOTE, all[i].what, 0);

		is_str(text_of(line, "msg"), "a plugin crashed in its hook: the process ends",
		       all[i].name);
		is_str(text_of(line, "signal"), all[i].name, "the line has the signal");
		is_about(line, "remote", "ex.io/v1, Kind=Widget", "job");
		is_str(text_of(line, "cluster"), "east", "cluster");
		ok(WIFSIGNALED(status) && WTERMSIG(status) == all[i].signo, "it ends by it");
		ok(strchr(said, '\n') == said + strlen(said) - 1, "one line");
	}
	is_about(crash(IN_STATUS, segfault, 0), "status", "ex.io/v1, Kind=Widget", "job");
	is_about(crash(IN_NOMINATE, segfault, 0), "nominate", "ex.io/picky", "wl");
}

static void test_not_a_plugin(void)
{
	struct json *line = crash(OUTSIDE, segfault, 0);

	is_str(text_of(line, "msg"), "the daemon crashed, not in a plugin: the process ends",
	       "a crash outside of hooks");
	ok(line && !json_get(line, "plugin"), "no plugin is blamed");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "it ends by the signal");
	line = crash(IN_REMOTE, crash_elsewhere, 0);
	is_str(text_of(line, "msg"), "the daemon crashed, not in a plugin: the process ends",
	       "a crash of another thread while a hook runs");
	ok(line && !json_get(line, "plugin"), "no plugin is blamed");
	line = crash(IN_REMOTE, wait_for_signal, SIGSEGV);
	is_str(text_of(line, "msg"), "another process sent a signal of a crash: the process ends",
	       "a signal from elsewhere");
	is_int(json_int(json_get(line, "pid"), 0), getpid(), "who sent it");
	ok(line && !json_get(line, "plugin"), "no plugin is blamed");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "it ends by the signal");
}

static void test_stuck(void)
{
	struct json *line = crash(IN_STATUS, tell_stuck, 0);

	is_str(text_of(line, "msg"),
	       "the main loop is stuck in the hook of a plugin: the process ends",
	       "a hook that hangs");
	is_about(line, "status", "ex.io/v1, Kind=Widget", "job");
	is_int(json_int(json_get(line, "dur_ms"), 0), 8123, "how long");
	ok(strchr(said, '\n') == said + strlen(said) - 1, "one line, though SIGABRT ends it");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "it ends by SIGABRT");
	line = crash(IN_NOMINATE, leave, 0);
	is_str(text_of(line, "msg"), "a plugin called exit(): the process ends",
	       "exit() in a hook");
	is_about(line, "nominate", "ex.io/picky", "wl");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "it does not look like a good end");
	line = crash(OUTSIDE, tell_stuck, 0);
	is_str(text_of(line, "msg"), "the main loop is stuck, not in a plugin: the process ends",
	       "a loop that hangs elsewhere");
	ok(line && !json_get(line, "plugin"), "no plugin is blamed");
}

int main(void)
{
	struct mk_err err = {0};

	arena_init(&a, 0);
	plug = plug_new(&err);
	if (!plug || plug_add(plug, &entry, "", &err) != ERR_OK) {
		printf("Bail out! %s\n", err.msg);
		return 1;
	}
	crash_install();
	crash_watch(plug);
	test_stuck();
	if (CRASH_IS_SANITIZED) {
		stack_t old = {.ss_size = 0};
		struct sigaction act;

		sigaltstack(NULL, &old);
		sigaction(SIGSEGV, NULL, &act);
		ok(old.ss_size != 64 * 1024 && !text_of(crash(OUTSIDE, segfault, 0), "msg")[0],
		   "a sanitizer's reports are left alone");
	} else {
		test_hooks();
		test_not_a_plugin();
	}
	crash_watch(NULL);
	plug_free(plug);
	arena_done(&a);
	return tap_done();
}
