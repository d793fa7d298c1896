/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs in files, on a real directory: what is told, when, and what is not read at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/daemon/file_path.h"
#include "core/daemon/files.h"
#include "t/lib/tap.h"

enum { WAIT_MS = 10000 };

static char dir[64];
static struct loop *loop;
static char last[1024]; /* what was told last: the text, or "! " and the problem */
static unsigned n_told, n_refuse;

static const char *in_dir(const char *name)
{
	static char path[8][256];
	static unsigned i;

	i = (i + 1) % 8;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static enum mk_code told(void *ctx, mk_str path, mk_str text, mk_str problem)
{
	(void)ctx;
	(void)path;
	if (n_refuse > 0) {
		n_refuse--;
		return ERR_NO_MEMORY;
	}
	n_told++;
	snprintf(last, sizeof(last), "%s%.*s", problem.n ? "! " : "",
		 (int)(problem.n      ? problem.n
		       : text.n < 100 ? text.n
				      : 100),
		 problem.n ? problem.p : text.p);
	return ERR_OK;
}

/* Runs the loop until something was told after the first 'n' times. */
static bool told_after(unsigned n)
{
	int64_t end = clock_mono_ms() + WAIT_MS;

	while (n_told <= n && clock_mono_ms() < end) {
		loop_turn(loop, 50);
	}
	return n_told > n;
}

/* Until 'want' is what was told last. */
static void is_told(const char *want, const char *what)
{
	int64_t end = clock_mono_ms() + WAIT_MS;

	while (strcmp(last, want) != 0 && clock_mono_ms() < end) {
		loop_turn(loop, 50);
	}
	is_str(last, want, what);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		printf("Bail out! cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
}

static int64_t (*clock_us)(void); /* NULL: the usual one */

static struct files *start(const char *directory)
{
	struct files_options o = {
		.loop = loop, .told = told, .directory = directory, .clock_us = clock_us};
	struct files *f = files_new(&o, NULL);

	n_told = 0;
	n_refuse = 0;
	last[0] = '\0';
	if (!f) {
		printf("Bail out! no files\n");
		exit(1);
	}
	return f;
}

static void plain(void)
{
	struct files *f = start(NULL);
	char want[300];
	unsigned n;

	put(in_dir("kc"), "one");
	files_watch(f, str_of(in_dir("kc")));
	is_told("one", "a file is read");
	put(in_dir("kc"), "two");
	is_told("two", "and again when it is written");
	put(in_dir("next"), "three");
	rename(in_dir("next"), in_dir("kc"));
	is_told("three", "and when another takes its place");
	unlink(in_dir("kc"));
	snprintf(want, sizeof(want), "! open %s: no such file or directory", in_dir("kc"));
	is_told(want, "it is gone: Go's words");
	put(in_dir("kc"), "four");
	is_told("four", "it is there again");
	n = n_told;
	put(in_dir("neighbour"), "x");
	put(in_dir("kc"), "four");
	files_watch(f, str_of(in_dir("kc")));
	ok(told_after(n), "asked again, it is told again");
	is_int(n_told, n + 1, "the same text, or a neighbour, is no news");
	n_refuse = 2;
	put(in_dir("kc"), "five");
	is_told("five", "what could not be taken is told again");
	files_unwatch(f, str_of(in_dir("kc")));
	n = n_told;
	put(in_dir("kc"), "six");
	files_watch(f, str_of(in_dir("other")));
	ok(told_after(n), "another file");
	is_int(n_told, n + 1, "what is not watched is not told");
	put(in_dir("neighbour"), "y");
	files_free(f);
	unlink(in_dir("kc"));
	unlink(in_dir("neighbour"));
}

static int64_t look_us;

/* Each look at the clock finds it two milliseconds later: two files are a slice. */
static int64_t slow_clock(void)
{
	look_us += 2000;
	return look_us;
}

/* Files that are due together are read over several turns of the loop. */
static void many(void)
{
	enum { MANY = 20, A_TURN = 2 };
	char path[MANY][256];
	struct files *f;
	unsigned most = 0, before = 0;

	clock_us = slow_clock;
	f = start(NULL);
	for (int i = 0; i < MANY; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/kc-%d", dir, i);
		put(path[i], "one");
		files_watch(f, str_of(path[i]));
	}
	n_refuse = 1; /* the first: it comes again when the others were read */
	for (int64_t end = clock_mono_ms() + WAIT_MS; n_told < MANY && clock_mono_ms() < end;) {
		loop_turn(loop, 50);
		most = n_told - before > most ? n_told - before : most;
		before = n_told;
	}
	is_int(n_told, MANY, "all files are read, one of them again");
	ok(most > 0 && most <= A_TURN, "few in one turn");
	files_free(f);
	clock_us = NULL;
	for (int i = 0; i < MANY; i++) {
		unlink(path[i]);
	}
}

static void not_there_yet(void)
{
	struct files *f = start(NULL);
	char want[300];

	files_watch(f, str_of(in_dir("a/b/kc")));
	snprintf(want, sizeof(want), "! open %s: no such file or directory", in_dir("a/b/kc"));
	is_told(want, "not even its directory is there");
	mkdir(in_dir("a"), 0700);
	mkdir(in_dir("a/b"), 0700);
	put(in_dir("a/b/kc"), "late");
	is_told("late", "it comes with its directories");
	rename(in_dir("a"), in_dir("z"));
	is_told(want, "a directory above it goes");
	rename(in_dir("z"), in_dir("a"));
	is_told("late", "and comes back");
	files_free(f);
	unlink(in_dir("a/b/kc"));
	rmdir(in_dir("a/b"));
	rmdir(in_dir("a"));
}

/* As kubelet does it: kc -> ..data/kc, ..data -> ..1; a new ..2 and ..data renamed over. */
static void swap(const char *version, const char *text)
{
	char path[128];

	mkdir(in_dir(version), 0700);
	snprintf(path, sizeof(path), "%s/kc", version);
	put(in_dir(path), text);
	if (symlink(version, in_dir("..tmp")) != 0) {
		printf("# %s\n", strerror(errno));
	}
	rename(in_dir("..tmp"), in_dir("..data"));
}

static void remove_version(const char *version)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/kc", version);
	unlink(in_dir(path));
	rmdir(in_dir(version));
}

static void volume(void)
{
	struct files *f = start(dir);

	swap("..1", "first");
	ok(symlink("..data/kc", in_dir("kc")) == 0, "a volume as kubelet makes it");
	files_watch(f, str_of(in_dir("kc")));
	is_told("first", "a symlink to a symlink's directory");
	swap("..2", "second");
	remove_version("..1");
	is_told("second", "a swapped symlink is noticed");
	swap("..3", "third");
	remove_version("..2");
	is_told("third", "and so is the next one");
	put(in_dir("..3/kc"), "third, written over");
	is_told("third, written over", "the file at the end is watched, too");
	files_free(f);
	remove_version("..3");
	unlink(in_dir("..data"));
	unlink(in_dir("kc"));
}

static void traps(void)
{
	struct files *f = start(NULL);
	static char big[1024 * 1024 + 2];
	char want[300];

	memset(big, 'x', sizeof(big) - 1);
	files_watch(f, str_of(dir));
	snprintf(want, sizeof(want), "! read %s: is a directory", dir);
	is_told(want, "a directory");
	mkfifo(in_dir("fifo"), 0600);
	files_watch(f, str_of(in_dir("fifo")));
	snprintf(want, sizeof(want), "! %s is not a regular file", in_dir("fifo"));
	is_told(want, "a FIFO without a writer does not block");
	put(in_dir("big"), big);
	files_watch(f, str_of(in_dir("big")));
	snprintf(want, sizeof(want), "! %s is larger than 1048576 bytes", in_dir("big"));
	is_told(want, "more than 1 MiB");
	put(in_dir("big"), "small");
	is_told("small", "not any more");
	ok(symlink("loop", in_dir("loop")) == 0, "a loop");
	files_watch(f, str_of(in_dir("loop")));
	snprintf(want, sizeof(want), "! open %s: too many levels of symbolic links",
		 in_dir("loop"));
	is_told(want, "symlinks in a circle end");
	files_free(f);
	unlink(in_dir("loop"));
	unlink(in_dir("big"));
	unlink(in_dir("fifo"));
}

/* The gate's verdict on 'path' with 'safe' as directory. */
static const char *verdict(const char *path, const char *safe)
{
	static char text[600];
	struct arena a;
	struct mk_err err = {.code = ERR_OK};
	const char *found = "";
	enum mk_code code;

	arena_init(&a, 65536);
	code = file_path_check(&a, str_of(path), safe, &found, &err);
	snprintf(text, sizeof(text), "%s", code == ERR_OK ? found : err.msg);
	arena_done(&a);
	return text;
}

#define NOT_UNDER "kubeconfig path is not under the allowed prefix: "

static const char *outside(const char *path)
{
	static char want[600];

	snprintf(want, sizeof(want), NOT_UNDER "\"%s\" is not under \"%s\"", path, in_dir("safe"));
	return want;
}

static void gate(void)
{
	char safe[256], text[600];

	snprintf(safe, sizeof(safe), "%s", in_dir("safe"));
	mkdir(safe, 0700);
	mkdir(in_dir("safe/sub"), 0700);
	mkdir(in_dir("safe-other"), 0700);
	put(in_dir("safe/kc"), "x");
	put(in_dir("safe-other/kc"), "x");
	ok(symlink("kc", in_dir("safe/link")) == 0 &&
		   symlink("../safe-other/kc", in_dir("safe/out")) == 0,
	   "a safe directory");
	is_str(verdict(in_dir("safe/kc"), safe), in_dir("safe/kc"), "inside");
	is_str(verdict(in_dir("safe/sub/../kc"), safe), in_dir("safe/kc"), "inside, by ..");
	is_str(verdict(in_dir("safe//./link"), safe), in_dir("safe/kc"), "a symlink inside");
	is_str(verdict(safe, safe), safe, "the directory itself: reading it fails");
	is_str(verdict("", safe), "kubeconfig path must not be empty", "empty");
	is_str(verdict("../kc", safe), NOT_UNDER "path contains \"..\"", "..");
	is_str(verdict("a/../../kc", safe), NOT_UNDER "path contains \"..\"", ".. that remains");
	is_str(verdict("kc", safe), NOT_UNDER "path must be absolute", "relative");
	is_str(verdict("a/..", safe), NOT_UNDER "path must be absolute", "nothing that remains");
	snprintf(text, sizeof(text),
		 "cannot resolve kubeconfig path symlinks: lstat %s/safe/missing: no such file or "
		 "directory",
		 dir);
	is_str(verdict(in_dir("safe/missing"), safe), text, "missing");
	is_str(verdict(in_dir("safe-other/kc"), safe), outside(in_dir("safe-other/kc")),
	       "trap_68: a directory whose name only begins so");
	is_str(verdict(in_dir("safe/out"), safe), outside(in_dir("safe-other/kc")),
	       "trap_68: a symlink that leaves it");
	is_str(verdict("/", safe), outside("/"), "the root");
	snprintf(text, sizeof(text), NOT_UNDER "\"%s/none/kc\" is not under \"%s/none\"", dir, dir);
	is_str(verdict(in_dir("none/./kc"), in_dir("none")), text, "the safe directory is missing");
	unlink(in_dir("safe/link"));
	unlink(in_dir("safe/out"));
	unlink(in_dir("safe/kc"));
	unlink(in_dir("safe-other/kc"));
	rmdir(in_dir("safe/sub"));
	rmdir(in_dir("safe-other"));
	rmdir(safe);
}

static void gate_reads(void)
{
	struct files *f = start(in_dir("safe"));
	char want[600];

	mkdir(in_dir("safe"), 0700);
	put(in_dir("kc"), "secret");
	ok(symlink("../kc", in_dir("safe/kc")) == 0, "a symlink that leads out");
	files_watch(f, str_of(in_dir("safe/kc")));
	snprintf(want, sizeof(want), "! %s", outside(in_dir("kc")));
	is_told(want, "trap_68: with the gate it is not read");
	unlink(in_dir("safe/kc"));
	put(in_dir("safe/kc"), "good");
	is_told("good", "a file is");
	files_free(f);
	unlink(in_dir("safe/kc"));
	unlink(in_dir("kc"));
	rmdir(in_dir("safe"));
}

int main(void)
{
	char made[] = "/tmp/mk-files-XXXXXX";
	char at[PATH_MAX];

	if (!mkdtemp(made) || file_walk(made, NULL, NULL, at) != 0) {
		printf("Bail out! no directory\n");
		return 1;
	}
	snprintf(dir, sizeof(dir), "%.60s", at);
	log_set_level(NULL, LOG_OFF);
	loop = loop_new(NULL);
	plain();
	many();
	not_there_yet();
	volume();
	traps();
	gate();
	gate_reads();
	loop_free(loop);
	is_int(rmdir(dir), 0, "nothing is left");
	return done_testing();
}
