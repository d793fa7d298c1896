/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that give credentials, as real processes: what they get, what becomes
 * of what they say, and their end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/daemon/descriptors.h"
#include "core/daemon/exec_plugin.h"
#include "t/lib/tap.h"

enum { WAIT_MS = 40000, LIMIT_MS = 1000, LIMIT_MAX_MS = 32000, LEFT_S = 20, HELD_MS = 8000 };

static char dir[64], self[4096];
static struct loop *loop;
static struct exec_plugins *x;
static unsigned n_done;
static uint64_t last_id;
static enum mk_code last_code;
static char out[4096], text[8192];
static size_t n_out;

static void done(void *ctx, uint64_t id, enum mk_code code, mk_str o, mk_str t)
{
	(void)ctx;
	n_done++;
	last_id = id;
	last_code = code;
	n_out = o.n;
	snprintf(out, sizeof(out), "%.*s", (int)(o.n < 4000 ? o.n : 4000), o.n ? o.p : "");
	snprintf(text, sizeof(text), "%.*s", STR_ARG(t));
}

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static unsigned i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

/* A script "p" of the shell. */
static const char *script(const char *body)
{
	const char *path = in_dir("p");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10 || write(fd, body, strlen(body)) < 0) {
		printf("Bail out! cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	return path;
}

static bool wait_for(unsigned n)
{
	int64_t end = clock_mono_ms() + WAIT_MS;

	while (n_done < n && clock_mono_ms() < end) {
		loop_turn(loop, 50);
	}
	return n_done >= n;
}

/* Runs the program to its end. */
static void run(const struct kube_program *p)
{
	static uint64_t id = 100;

	n_done = 0;
	if (!exec_plugins_run(x, ++id, p) || n_done != 0 || !wait_for(1) || last_id != id) {
		snprintf(text, sizeof(text), "no answer came, or not in time");
		last_code = ERR_BUG;
	}
}

static void run_script(const char *body)
{
	run(&(struct kube_program){.command = str_of(script(body))});
}

static void what_it_gets(void)
{
	static const mk_str args[] = {{"a b", 3}, {"$HOME;*", 7}, {"", 0}};
	static const mk_str env[] = {{"MK_TEST", 7}, {"new", 3}, {"OTHER", 5}, {"x=y", 3}};
	struct kube_program p = {.args = args, .n_args = 3, .env = env, .n_env = 4};
	int leak = open("/dev/null", O_RDONLY); /* without close-on-exec, as a library may do it */

	setenv("MK_TEST", "old", 1);
	setenv("MK_KEPT", "kept", 1);
	p.command = str_of(script("echo \"$#,$1,$2,$3,$MK_TEST,$MK_KEPT,$OTHER\"\n"
				  "env | grep -c ^MK_TEST=\n"
				  "if read -r line; then echo input; fi\n"
				  "ls /proc/$$/fd | tr '\\n' ' '\n"));
	run(&p);
	is_int(last_code, ERR_OK, "C-2.4c: a program runs");
	ok(strstr(out, "3,a b,$HOME;*,,new,kept,x=y\n1\n") == out,
	   "without a shell: arguments and variables as they are, once each, beside our own");
	ok(!strstr(out, "input"), "it has no input");
	/* 10 or 255 is the shell's, for the script itself. */
	ok(!strstr(out, "0 1 10 2 \n") && (strstr(out, "0 1 2 ") || strstr(out, "0 1 10 2 ")),
	   "and none of our descriptors");
	close(leak);
	p = (struct kube_program){.command = STR("true")};
	run(&p);
	is_int(last_code, ERR_OK, "a name without a slash is looked up in PATH");
}

static void its_descriptors(void)
{
	struct rlimit old, few, now;

	getrlimit(RLIMIT_NOFILE, &old);
	few = (struct rlimit){.rlim_cur = 200, .rlim_max = old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	descriptors_raise();
	getrlimit(RLIMIT_NOFILE, &now);
	ok(now.rlim_cur == (old.rlim_max < DESCRIPTORS_MAX ? old.rlim_max : DESCRIPTORS_MAX),
	   "we may have many descriptors");
	run_script("i=0; while [ $(ulimit -n) != 200 ] && [ $i -lt 100 ]; do\n"
		   "i=$((i+1)); sleep 0.05; done; ulimit -n\n");
	is_str(out, "200\n", "a program has the limit that we had");
	setrlimit(RLIMIT_NOFILE, &old);
}

static void does_not_start(void)
{
	if (tap_emulated()) {
		ok(true, "no such program # SKIP the emulator does not say why: SKIP-CI-OK");
		return;
	}
	run(&(struct kube_program){.command = STR("/no/such/program")});
	is_str(text, "exec: executable /no/such/program not found", "there is no such program");
	is_int(last_code, ERR_NOT_FOUND, "which is said apart");
	run(&(struct kube_program){.command = STR("/etc/passwd")});
	is_str(text, "exec: fork/exec /etc/passwd: permission denied", "a file that is none");
}

static void how_it_fails(void)
{
	char want[600];

	run_script("echo out; printf 'who are\\n\"you\"?\\001\\n' >&2; exit 3\n");
	snprintf(want, sizeof(want),
		 "exec: executable %s failed with exit code 3: \"who are\\n\\\"you\\\"??\"",
		 in_dir("p"));
	is_str(text, want, "an exit code, with what it wrote to standard error");
	ok(last_code == ERR_UNAVAILABLE && n_out == 0,
	   "what it wrote to standard output is nothing");
	run_script("kill -9 $$\n");
	snprintf(want, sizeof(want), "exec: executable %s was ended by signal 9", in_dir("p"));
	is_str(text, want, "a signal");
	run_script("i=0; while [ $i -lt 400 ]; do echo line $i >&2; i=$((i+1)); done; exit 1\n");
	ok(strstr(text, "line 399\"") && !strstr(text, "line 300\\n"),
	   "of much on standard error the end is quoted");
}

/*
 * By the clock that timers go by, which is behind by a tick at most:
 * before whatever they count from.
 */
static int64_t early_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Runs one that does not end, with that limit; how long it was let run. */
static int64_t run_into(int64_t limit_ms)
{
	struct exec_plugin_options hurried = {.loop = loop, .limit_ms = limit_ms, .done = done};
	struct exec_plugins *all = x;
	int64_t begin = early_us();
	struct timespec t;

	x = exec_plugins_new(&hurried, NULL);
	run_script("echo waiting >&2; sleep 1000; echo done\n");
	clock_gettime(CLOCK_MONOTONIC, &t);
	exec_plugins_free(x);
	x = all;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 - begin;
}

/* A program that waits for what only we can do, in between two turns of the loop. */
static void not_waited_for(void)
{
	char body[600];
	const char *begun = in_dir("begun"), *go = in_dir("go");
	int64_t end = clock_mono_ms() + WAIT_MS;
	int fd;

	snprintf(body, sizeof(body),
		 ": >%s; i=0; while [ ! -e %s ] && [ $i -lt 400 ]; do i=$((i+1)); sleep 0.1; done\n"
		 "[ -e %s ] && echo told\n",
		 begun, go, go);
	n_done = 0;
	exec_plugins_run(x, 8, &(struct kube_program){.command = str_of(script(body))});
	while (access(begun, F_OK) != 0 && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	fd = open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ok(n_done == 0 && wait_for(1) && strcmp(out, "told\n") == 0,
	   "the loop never waits for one");
	close(fd);
	unlink(begun);
	unlink(go);
}

static void its_limits(void)
{
	char want[300];
	int64_t limit_ms = LIMIT_MS, took_us;

	run_script("head -c 1048576 /dev/zero | tr '\\0' a\n");
	ok(last_code == ERR_OK && n_out == 1048576, "1 MiB is taken");
	run_script("head -c 1048577 /dev/zero | tr '\\0' a; exec sleep 1000\n");
	snprintf(want, sizeof(want), "exec: executable %s wrote more than 1 MiB", in_dir("p"));
	is_str(text, want, "more ends the program");
	took_us = run_into(limit_ms);
	while (!strstr(text, "waiting") && limit_ms < LIMIT_MAX_MS) {
		/* The machine was too busy for it to say so in time. */
		limit_ms *= 2;
		took_us = run_into(limit_ms);
	}
	snprintf(want, sizeof(want), "exec: executable %s did not end within %lld s: \"waiting\"",
		 in_dir("p"), (long long)limit_ms / 1000);
	is_str(text, want, "so does the time");
	ok(took_us >= limit_ms * 1000, "not before it is over");
	not_waited_for();
}

static const char *read_file(const char *path, char line[static 32])
{
	FILE *f = fopen(path, "r");

	line[0] = '\0';
	if (f) {
		if (!fgets(line, 32, f)) {
			line[0] = '\0';
		}
		fclose(f);
	}
	return line;
}

/* Is the process whose number is in the file still there? */
static bool lives(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[32] = "";
	bool there = f && fgets(line, sizeof(line), f);

	if (f) {
		fclose(f);
	}
	return there && kill((pid_t)strtol(line, NULL, 10), 0) == 0;
}

static bool dies(const char *path)
{
	int64_t end = clock_mono_ms() + WAIT_MS;

	while (lives(path) && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	return !lives(path);
}

/* The script has written its child's number. */
static bool appears(const char *path)
{
	int64_t end = clock_mono_ms() + WAIT_MS;

	while (!lives(path) && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	return lives(path);
}

static void its_children(void)
{
	char body[600];
	const char *pid = in_dir("pid");

	snprintf(body, sizeof(body),
		 "sleep 1000 & echo $! >%s.tmp; mv %s.tmp %s; echo here; exit 0\n", pid, pid, pid);
	run_script(body);
	ok(last_code == ERR_OK && strcmp(out, "here\n") == 0,
	   "a child that keeps the pipe open does not delay the answer");
	ok(dies(pid), "and is ended with it");
	unlink(pid);
	snprintf(body, sizeof(body), "sleep 1000 & echo $! >%s.tmp; mv %s.tmp %s; wait\n", pid, pid,
		 pid);
	n_done = 0;
	exec_plugins_run(x, 7, &(struct kube_program){.command = str_of(script(body))});
	ok(appears(pid), "one that runs");
	exec_plugins_cancel(x, 7);
	exec_plugins_cancel(x, 7);
	ok(dies(pid) && n_done == 0, "cancelled: it is ended with its children, without an answer");
}

/* This program, run as one that leaves its process group and says its number in the file. */
static int leave(const char *path)
{
	char number[32], next[300];
	int n = snprintf(number, sizeof(number), "%d\n", (int)getpid()), fd;

	if (setpgid(0, getpgid(getppid())) != 0) {
		return 1;
	}
	snprintf(next, sizeof(next), "%s.tmp", path);
	fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, number, (size_t)n) != n || rename(next, path) != 0) {
		return 1;
	}
	sleep(LEFT_S);
	return 0;
}

static void it_leaves_its_group(void)
{
	struct exec_plugin_options hurried = {.loop = loop, .limit_ms = LIMIT_MS, .done = done};
	struct exec_plugins *all = x;
	const char *pid = in_dir("pid");
	const mk_str args[] = {STR("leave"), str_of(pid)};
	struct kube_program p = {.command = str_of(self), .args = args, .n_args = 2};
	int64_t begin;

	if (tap_emulated()) {
		ok(true, "one that leaves its process group # SKIP this program cannot start "
			 "itself under the emulator: SKIP-CI-OK");
		return;
	}
	unlink(pid);
	n_done = 0;
	exec_plugins_run(x, 9, &p);
	ok(appears(pid), "one that leaves its process group");
	begin = clock_mono_ms();
	exec_plugins_cancel(x, 9);
	ok(dies(pid) && n_done == 0, "is ended when cancelled");
	ok(clock_mono_ms() - begin < LEFT_S * 1000 / 2, "at once");
	unlink(pid);
	x = exec_plugins_new(&hurried, NULL);
	begin = clock_mono_ms();
	run(&p);
	ok(strstr(text, "did not end within 1 s"), "and when its time is over");
	ok(clock_mono_ms() - begin < LEFT_S * 1000 / 2, "at once");
	exec_plugins_free(x);
	x = all;
	unlink(pid);
}

/*
 * This program, run as one that SIGKILL does not end: a child of its own holds it as a debugger
 * does, whose affair its end is then. The child's number goes to the file; "-" when it may not.
 */
static int held(const char *path)
{
	char number[32], next[300];
	int n = 0, fd;
	pid_t child;

	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	child = fork();
	if (child != 0) {
		sleep(2 * LEFT_S);
		return child < 0;
	}
	(void)setsid();
	n = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0
		    ? snprintf(number, sizeof(number), "%d\n", (int)getpid())
		    : snprintf(number, sizeof(number), "-\n");
	snprintf(next, sizeof(next), "%s.tmp", path);
	fd = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, number, (size_t)n) != n || rename(next, path) != 0) {
		return 1;
	}
	sleep(2 * LEFT_S);
	return 0;
}

static bool may_hold(const char *path)
{
	int64_t end = clock_mono_ms() + WAIT_MS;
	char first = '-';
	int fd;

	while (access(path, F_OK) != 0 && clock_mono_ms() < end) {
		loop_turn(loop, 20);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!read(fd, &first, 1);
		close(fd);
	}
	return first != '-';
}

static void cannot_be_killed(void)
{
	struct exec_plugin_options o = {.loop = loop, .limit_ms = HELD_MS, .done = done};
	struct exec_plugins *one = exec_plugins_new(&o, NULL);
	const char *pid = in_dir("held");
	const mk_str args[] = {STR("held"), str_of(pid)};
	char line[4096] = "";
	int fds[2];
	int64_t begin;

	unlink(pid);
	n_done = 0;
	exec_plugins_run(
		one, 1, &(struct kube_program){.command = str_of(self), .args = args, .n_args = 2});
	if (!may_hold(pid)) {
		ok(true, "one that cannot be killed # SKIP no process may hold another one here");
		exec_plugins_free(one);
		return;
	}
	ok(wait_for(1) && strstr(text, "did not end within 8 s"),
	   "one that cannot be killed: its caller gets an answer");
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
		ok(false, "no pipe");
		return;
	}
	log_set_output(fds[1], LOG_JSON);
	log_set_level(NULL, LOG_WARN);
	begin = clock_mono_ms();
	exec_plugins_free(one);
	ok(clock_mono_ms() - begin < LEFT_S * 1000 / 2, "and the end is bounded");
	ok(clock_mono_ms() - begin >= EXEC_PLUGIN_END_MS, "it is waited for a moment");
	ok(read(fds[0], line, sizeof(line) - 1) > 0 && strstr(line, "cannot be ended") &&
		   strstr(line, self),
	   "and named in the log");
	log_set_level(NULL, LOG_OFF);
	log_set_output(2, LOG_AUTO);
	close(fds[0]);
	close(fds[1]);
	begin = strtol(read_file(pid, line), NULL, 10);
	if (begin > 1) {
		kill((pid_t)begin, SIGKILL);
	}
	ok(waitpid(-1, NULL, 0) > 0, "its holder goes: so does it");
	unlink(pid);
}

static void many(void)
{
	const char *p = script("echo x\n");
	bool good = true;

	n_done = 0;
	for (uint64_t i = 0; i < 40; i++) {
		good = good &&
		       exec_plugins_run(x, 1000 + i,
					&(struct kube_program){.command = i % 10 == 3 ? STR("/none")
										      : str_of(p)});
	}
	ok(good && wait_for(40), "many wait their turn, and all are answered");
}

int main(int argc, char **argv)
{
	struct exec_plugin_options o = {.done = done};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int probe = pidfd_open(getpid(), 0);

	if (argc == 3 && strcmp(argv[1], "leave") == 0) {
		return leave(argv[2]);
	}
	if (argc == 3 && strcmp(argv[1], "held") == 0) {
		return held(argv[2]);
	}
	self[n > 0 ? n : 0] = '\0';
	if (probe < 0 && errno == ENOSYS) {
		printf("1..0 # SKIP valgrind has no pidfd_open, which each program needs\n");
		return 0;
	}
	close(probe);
	snprintf(dir, sizeof(dir), "/tmp/mk_exec_XXXXXX");
	if (!mkdtemp(dir)) {
		printf("Bail out! no directory\n");
		return 1;
	}
	log_set_level(NULL, LOG_OFF);
	signal(SIGCHLD, SIG_IGN);
	loop = loop_new(NULL);
	o.loop = loop;
	x = exec_plugins_new(&o, NULL);
	what_it_gets();
	its_descriptors();
	does_not_start();
	how_it_fails();
	its_limits();
	its_children();
	it_leaves_its_group();
	many();
	cannot_be_killed();
	exec_plugins_run(x, 1,
			 &(struct kube_program){.command = STR("sleep"),
						.args = &(mk_str){"1000", 4},
						.n_args = 1});
	loop_turn(loop, 50);
	exec_plugins_free(x);
	ok(true, "the end: what runs is ended");
	loop_free(loop);
	unlink(in_dir("p"));
	unlink(in_dir("pid"));
	rmdir(dir);
	return done_testing();
}
