/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mk-plugin-check: loads plugins as multikueued does, reports every mismatch, and runs recorded
 * situations through them. For authors of plugins, and for operators before a restart.
 */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/plug/fixture.h"
#include "core/plug/loader.h"
#include "sdk/check/child.h"
#include "sdk/check/inspect.h"
#include "sdk/check/traces.h"

enum { EXIT_FINE = 0, EXIT_PROBLEMS = 1, EXIT_USAGE = 2, MAX_FIXTURES = 64 };

enum {
	TIMEOUT_S = 10,
	MAX_TIMEOUT_S = 3600,
	MEMORY_MIB = 1024,
	STACK_MIB = 8, /* as the daemon's main thread most often has */
	MAX_MIB = 64 * 1024,
	MIB = 1024 * 1024,
};

static const char usage[] =
	"usage: mk-plugin-check [options] FILE.so... | DIRECTORY...\n"
	"\n"
	"Loads plugins as multikueued does and reports everything that is wrong with them, one "
	"line each:\n"
	"`path: problem: expected ..., found ...`. A DIRECTORY is held to all rules of the daemon "
	"(owner and\n"
	"mode of each file and each parent, links); a single FILE is loaded whoever owns it.\n"
	"\n"
	"  -f, --fixtures DIR     run the situation in DIR, or those in its folders, and print "
	"what comes out;\n"
	"                         where there is an expect.json, compare (repeatable)\n"
	"  -F, --framework NAME   make an adapter of the loaded template for Kind.version.group "
	"(repeatable)\n"
	"  -t, --timeout SECONDS  for one situation, or for loading; more is a problem (10)\n"
	"  -m, --memory MIB       for the process that runs it (1024)\n"
	"  -s, --stack MIB        the same for its stack (8)\n"
	"  -n, --no-fork          run the one situation of --fixtures in this very process, "
	"without "
	"limits:\n"
	"                         for a debugger\n"
	"  -q, --quiet            print problems only\n"
	"  -h, --help             this text\n"
	"  -V, --version          version of the checker and of its ABI\n"
	"\n"
	"A situation is a folder of local.json, remote.json, workload.json, env.json and "
	"expect.json for an\n"
	"adapter, or workload.json, clusters.json, config.json, env.json and expect.json for a "
	"dispatcher.\n"
	"{\"evicted\": true} in env.json, and no remote.json: the job was evicted and no copy is "
	"left; "
	"active\n"
	"then says whether Kueue still holds its quota. Of any status that comes home that must "
	"come "
	"to an end.\n"
	"Each hook is called twice; two different answers are a problem. Loading and each "
	"situation "
	"run in a\n"
	"process of their own: a plugin that crashes, does not come back or calls exit() is named "
	"with its hook\n"
	"and object, and the next situation follows.\n"
	"\n"
	"Examples:\n"
	"  mk-plugin-check ./widget.so\n"
	"  mk-plugin-check --fixtures tests/ ./widget.so\n"
	"  mk-plugin-check --framework Widget.v1.ex.io --fixtures tests/create ./generic.so\n"
	"  mk-plugin-check --timeout 60 --fixtures tests/ ./widget.so         # a slow machine\n"
	"  gdb --args mk-plugin-check --no-fork --fixtures tests/create ./widget.so\n"
	"  mk-plugin-check /usr/local/lib/multikueue/plugins\n"
	"\n"
	"Exit codes: 0 all is well; 1 there are problems; 2 the command line is wrong.\n";

struct options {
	const char *fixtures[MAX_FIXTURES];
	const char *frameworks[MAX_FIXTURES];
	size_t n_fixtures, n_frameworks;
	struct child_limits limits;
	bool quiet, no_fork;
	char *const *paths;
};

struct check {
	const struct options *o;
	struct plug *p;
	size_t problems, situations;
	size_t crashed, late, left; /* of loading and situations */
};

static void problem_lines(struct check *c, mk_str lines)
{
	mk_str line;

	while (str_split(&lines, '\n', &line)) {
		if (line.n) {
			c->problems++;
			printf("FAIL %.*s\n", STR_ARG(line));
		}
	}
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int is_plugin(const struct dirent *e)
{
	return str_ends(str_of(e->d_name), STR(".so"));
}

static void inspect_dir(const char *dir, struct buf *out)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_plugin, alphasort);

	for (int i = 0; i < n; i++) {
		char path[4096];
		int len = snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);

		if (len > 0 && (size_t)len < sizeof(path)) {
			(void)inspect_file(path, out);
		}
		free(names[i]);
	}
	free(names);
}

/* Loads for good, and says what is wrong when 'out' is there. */
static void load(struct plug *p, const char *path, struct buf *out)
{
	struct arena a;
	struct mk_err err = {0};
	mk_str problems = {"", 0};

	arena_init(&a, 0);
	if (is_dir(path)) {
		/* an absolute path is taken as the daemon would take it, links and all */
		char *absolute = path[0] == '/' ? NULL : realpath(path, NULL);

		(void)plug_load_dir(p, absolute ? absolute : path, NULL, 0, &a, &problems, &err);
		free(absolute);
	} else {
		(void)plug_load_file(p, path, &a, &problems, &err);
	}
	buf_add(out, err.msg[0] && !problems.n ? str_of(err.msg) : problems);
	arena_done(&a);
}

/* --- in a process of its own ------------------------------------------------------------------ */

/* What a child is to do, and for whom. */
struct job {
	struct check *c;
	const char *path; /* of a plugin or a situation */
	bool is_load;
};

/* What ran when the child ended: "path: ", or the plugin, its hook and the object. */
static void put_blame(struct buf *out, const struct job *j)
{
	struct plug_running r;

	if (!plug_get_running(j->c->p, &r)) {
		buf_printf(out, "%s: %s", j->path, j->is_load ? "unload: " : "");
	} else if (j->is_load) {
		buf_printf(out, "%s: load: ", r.plugin);
	} else {
		buf_printf(out, "%s: plugin %s %s, %s of %s: ", j->path, r.plugin, r.version,
			   r.hook, r.item);
	}
}

static void put_death(struct check *c, const struct child_result *r, struct buf *out)
{
	const char *name = sigabbrev_np(r->code);

	switch (r->end) {
	case CHILD_CRASHED:
		c->crashed++;
		buf_printf(out, "expected a return, found a crash by SIG%s", name ? name : "?");
		if (r->stack_used_up) {
			buf_printf(out, ": the stack of %zu MiB is used up",
				   c->o->limits.stack / MIB);
		} else if (r->memory_used_up) {
			buf_printf(out, ", near the limit of %zu MiB of memory",
				   c->o->limits.memory / MIB);
		}
		break;
	case CHILD_LATE:
		c->late++;
		buf_printf(out, "expected a return within %lld s, found none",
			   (long long)c->o->limits.time_ms / 1000);
		break;
	case CHILD_LEFT:
		c->left++;
		buf_printf(out, "expected a return, found the end of the process, exit code %d",
			   r->code);
		break;
	case CHILD_WELL:
		break;
	}
}

/* How to see it in a debugger. */
static void put_hint(const struct check *c, const char *dir, struct buf *out)
{
	buf_printf(out, "     to look: gdb --args mk-plugin-check --no-fork --fixtures %s", dir);
	for (size_t i = 0; i < c->o->n_frameworks; i++) {
		buf_printf(out, " --framework %s", c->o->frameworks[i]);
	}
	for (char *const *p = c->o->paths; *p; p++) {
		buf_printf(out, " %s", *p);
	}
	buf_add(out, STR("\n"));
}

/*
 * Runs it with limits. False: it did not return, which is printed. Its output goes to *ret, which
 * is the caller's to free in any case.
 */
static bool in_child(struct job *j, child_fn *run, void (*leave)(void *), struct buf *ret)
{
	const struct child_task t = {run, leave, j, j->c->o->limits};
	struct child_result r = {.end = CHILD_WELL};
	struct mk_err err;

	buf_init(ret, 64 * 1024);
	if (child_run(&t, &r, &err) != ERR_OK) {
		buf_printf(ret, "%s: %s", j->path, err.msg);
		return false;
	}
	if (r.end == CHILD_WELL) {
		buf_done(ret);
		*ret = r.text;
		j->c->problems += r.problems;
		return true;
	}
	buf_done(&r.text);
	put_blame(ret, j);
	put_death(j->c, &r, ret);
	return false;
}

/* --- loading ---------------------------------------------------------------------------------- */

static size_t try_load(void *ctx, struct buf *out)
{
	const struct job *j = ctx;

	(void)out;
	load(j->c->p, j->path, out);
	buf_clear(out); /* the parent says it, when it does the same */
	return 0;
}

/* Destructors run as when the daemon ends. */
static void unload(void *ctx)
{
	(void)ctx;
	exit(EXIT_SUCCESS);
}

static void check_plugin(struct check *c, const char *path)
{
	struct job j = {c, path, true};
	struct buf found, said;

	buf_init(&found, 64 * 1024);
	if (is_dir(path)) {
		inspect_dir(path, &found);
	} else {
		(void)inspect_file(path, &found);
	}
	problem_lines(c, buf_str(&found));
	buf_clear(&found);
	buf_init(&said, 64 * 1024);
	if (c->o->no_fork || in_child(&j, try_load, unload, &said)) {
		load(c->p, path, &found);
		problem_lines(c, buf_str(&found));
	} else {
		problem_lines(c, buf_str(&said));
	}
	buf_done(&said);
	buf_done(&found);
}

static void list(const struct check *c)
{
	for (size_t i = 0; plug_warning(c->p, i); i++) {
		printf("warn %s\n", plug_warning(c->p, i));
	}
	for (size_t i = 0; !c->o->quiet && i < plug_n_adapters(c->p); i++) {
		const struct plug_adapter *ad = plug_adapter(c->p, i);

		printf("ok   adapter %.*s: %s %s, abi %u.%u, %s\n", STR_ARG(ad->gvk), ad->source.id,
		       ad->source.version, (unsigned)ad->source.abi_major,
		       (unsigned)ad->source.abi_minor, ad->source.file);
	}
	for (size_t i = 0; !c->o->quiet && i < plug_n_dispatchers(c->p); i++) {
		const struct plug_dispatcher *di = plug_dispatcher(c->p, i);

		printf("ok   dispatcher %s: %s %s, abi %u.%u, %s\n", di->name.p, di->source.id,
		       di->source.version, (unsigned)di->source.abi_major,
		       (unsigned)di->source.abi_minor, di->source.file);
	}
}

/* --- situations ------------------------------------------------------------------------------- */

/* Runs one and says how it went; returns the number of problems. */
static size_t run_fixture(void *ctx, struct buf *out)
{
	const struct job *j = ctx;
	const char *dir = j->path;
	size_t problems = 1;
	struct arena a;
	struct fixture f;
	struct mk_err err;

	arena_init(&a, 0);
	if (fixture_run(j->c->p, dir, &a, &f, &err) != ERR_OK) {
		buf_printf(out, "FAIL %s\n", err.msg);
	} else {
		mk_str diff = fixture_diff(&f, &a);
		struct json *fault = json_get(f.got, "fault");

		if (diff.n) {
			buf_printf(out, "FAIL %s: found instead of expected: %s\n", dir, diff.p);
		} else if (fault && !f.want) {
			buf_printf(out, "FAIL %s: %s\n", dir, json_str(fault).p);
		} else {
			problems = 0;
			if (!j->c->o->quiet) {
				buf_printf(out, "ok   %s: %s\n", dir, json_write(&a, f.got).p);
			}
		}
	}
	arena_done(&a);
	return problems;
}

/* The same, and what is left of it in the process. */
static size_t try_situation(void *ctx, struct buf *out)
{
	const struct job *j = ctx;
	struct traces before;
	struct buf left;
	size_t problems;

	buf_init(&left, 1024);
	traces_take(&before);
	problems = run_fixture(ctx, out);
	if (traces_tell(&before, &left) > 0) {
		problems++;
		buf_printf(out, "FAIL %s: traces: expected none after the hooks, %.*s\n", j->path,
			   STR_ARG(buf_str(&left)));
	}
	buf_done(&left);
	return problems;
}

static void run_situation(struct check *c, const char *dir)
{
	struct job j = {c, dir, false};
	struct buf said;

	c->situations++;
	if (c->o->no_fork) {
		buf_init(&said, 16 * (size_t)MIB);
		c->problems += try_situation(&j, &said);
	} else if (!in_child(&j, try_situation, NULL, &said)) {
		problem_lines(c, buf_str(&said));
		buf_clear(&said);
		if (!c->o->quiet) {
			put_hint(c, dir, &said);
		}
	}
	printf("%.*s", STR_ARG(buf_str(&said)));
	buf_done(&said);
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void run_fixtures(struct check *c, const char *dir)
{
	struct dirent **names = NULL;
	size_t before = c->situations;

	if (fixture_is(dir)) {
		run_situation(c, dir);
		return;
	}
	int n = scandir(dir, &names, visible, alphasort);

	for (int i = 0; i < n; i++) {
		char path[4096];
		int len = snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);

		if (len > 0 && (size_t)len < sizeof(path) && is_dir(path) && fixture_is(path)) {
			run_situation(c, path);
		}
		free(names[i]);
	}
	free(names);
	if (c->situations == before) {
		c->problems++;
		printf("FAIL %s: fixtures: expected a situation, found none\n", dir);
	}
}

/* How much is wrong; nothing when nothing is. */
static void sum_up(const struct check *c)
{
	if (c->problems == 0) {
		return;
	}
	printf("%zu problem%s", c->problems, c->problems == 1 ? "" : "s");
	if (c->crashed + c->late + c->left > 0) {
		printf(" (%zu crashed, %zu did not return, %zu ended the process); %zu situation%s "
		       "run",
		       c->crashed, c->late, c->left, c->situations, c->situations == 1 ? "" : "s");
	}
	printf("\n");
}

static int check(const struct options *o)
{
	struct mk_err err = {0};
	struct check c = {.o = o, .p = plug_new(&err)};

	if (!c.p) {
		printf("FAIL %s\n", err.msg);
		return EXIT_PROBLEMS;
	}
	plug_set_clocks(c.p, clock_mono_us, clock_cpu_us);
	if (!child_shared()) {
		printf("FAIL out of memory\n");
		plug_free(c.p);
		return EXIT_PROBLEMS;
	}
	plug_keep_running(c.p, child_shared());
	for (char *const *path = o->paths; *path; path++) {
		check_plugin(&c, *path);
	}
	for (size_t i = 0; i < o->n_frameworks; i++) {
		if (plug_add_framework(c.p, str_of(o->frameworks[i]), &err) != ERR_OK) {
			c.problems++;
			printf("FAIL --framework: %s\n", err.msg);
		}
	}
	list(&c);
	for (size_t i = 0; i < o->n_fixtures; i++) {
		run_fixtures(&c, o->fixtures[i]);
	}
	sum_up(&c);
	plug_free(c.p);
	return c.problems ? EXIT_PROBLEMS : EXIT_FINE;
}

static bool append(const char **to, size_t *n, const char *what)
{
	if (*n == MAX_FIXTURES) {
		fprintf(stderr, "mk-plugin-check: at most %d of one option\n", MAX_FIXTURES);
		return false;
	}
	to[(*n)++] = what;
	return true;
}

/* A number from 1 to 'max', times 'unit'. */
static bool number(const char *option, const char *text, uint64_t max, uint64_t unit, uint64_t *ret)
{
	uint64_t v;

	if (!str_u64(str_of(text), &v) || v < 1 || v > max) {
		fprintf(stderr,
			"mk-plugin-check: --%s: expected a number from 1 to %llu, found %s\n",
			option, (unsigned long long)max, text);
		return false;
	}
	*ret = v * unit;
	return true;
}

/* One option with a value; false: it makes no sense, and the error is printed. */
static bool take(struct options *o, int option, const char *value)
{
	uint64_t v = 0;

	switch (option) {
	case 'f':
		return append(o->fixtures, &o->n_fixtures, value);
	case 'F':
		return append(o->frameworks, &o->n_frameworks, value);
	case 't':
		if (number("timeout", value, MAX_TIMEOUT_S, 1000, &v)) {
			o->limits.time_ms = (int64_t)v;
		}
		return v != 0;
	case 'm':
		if (number("memory", value, MAX_MIB, MIB, &v)) {
			o->limits.memory = (size_t)v;
		}
		return v != 0;
	case 's':
		if (number("stack", value, MAX_MIB, MIB, &v)) {
			o->limits.stack = (size_t)v;
		}
		return v != 0;
	default:
		fputs("mk-plugin-check --help explains the options\n", stderr);
		return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"fixtures", required_argument, NULL, 'f'},
		{"framework", required_argument, NULL, 'F'},
		{"timeout", required_argument, NULL, 't'},
		{"memory", required_argument, NULL, 'm'},
		{"stack", required_argument, NULL, 's'},
		{"no-fork", no_argument, NULL, 'n'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {
		.limits = {TIMEOUT_S * 1000, (size_t)MEMORY_MIB * MIB, (size_t)STACK_MIB * MIB}};

	for (;;) {
		int c = getopt_long(argc, argv, "f:F:t:m:s:nqhV", longs, NULL);

		if (c < 0) {
			break;
		}
		if (c == 'q' || c == 'n') {
			*(c == 'q' ? &o.quiet : &o.no_fork) = true;
		} else if (c == 'h') {
			fputs(usage, stdout);
			return EXIT_FINE;
		} else if (c == 'V') {
			printf("mk-plugin-check %s, abi %d.%d\n", MK_VERSION, MK_ABI_MAJOR,
			       MK_ABI_MINOR);
			return EXIT_FINE;
		} else if (!take(&o, c, optarg)) {
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (o.no_fork && (o.n_fixtures != 1 || !fixture_is(o.fixtures[0]))) {
		fputs("mk-plugin-check: --no-fork needs one --fixtures with the folder of one "
		      "situation\n",
		      stderr);
		return EXIT_USAGE;
	}
	o.paths = argv + optind;
	return check(&o);
}
