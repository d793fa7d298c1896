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
#include "core/plug/loader.h"
#include "core/plug/fixture.h"
#include "sdk/check/inspect.h"

enum { EXIT_FINE = 0, EXIT_PROBLEMS = 1, EXIT_USAGE = 2, MAX_FIXTURES = 64 };

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
	"  -q, --quiet            print problems only\n"
	"  -h, --help             this text\n"
	"  -V, --version          version of the checker and of its ABI\n"
	"\n"
	"A situation is a folder of local.json, remote.json, workload.json, env.json and "
	"expect.json for an\n"
	"adapter, or workload.json, clusters.json, config.json, env.json and expect.json for a "
	"dispatcher.\n"
	"Each hook is called twice; two different answers are a problem.\n"
	"\n"
	"Examples:\n"
	"  mk-plugin-check ./widget.so\n"
	"  mk-plugin-check --fixtures tests/ ./widget.so\n"
	"  mk-plugin-check --framework Widget.v1.ex.io --fixtures tests/create ./generic.so\n"
	"  mk-plugin-check /usr/local/lib/multikueue/plugins\n"
	"\n"
	"Exit codes: 0 all is well; 1 there are problems; 2 the command line is wrong.\n";

struct options {
	const char *fixtures[MAX_FIXTURES];
	const char *frameworks[MAX_FIXTURES];
	size_t n_fixtures, n_frameworks;
	bool quiet;
};

struct check {
	const struct options *o;
	struct plug *p;
	size_t problems, situations;
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

static void load(struct check *c, const char *path)
{
	struct arena a;
	struct buf found;
	struct mk_err err = {0};
	mk_str problems = {"", 0};

	arena_init(&a, 0);
	buf_init(&found, 64 * 1024);
	if (is_dir(path)) {
		/* an absolute path is taken as the daemon would take it, links and all */
		char *absolute = path[0] == '/' ? NULL : realpath(path, NULL);

		(void)plug_load_dir(c->p, absolute ? absolute : path, NULL, 0, &a, &problems, &err);
		free(absolute);
		inspect_dir(path, &found);
	} else {
		(void)inspect_file(path, &found);
		(void)plug_load_file(c->p, path, &a, &problems, &err);
	}
	problem_lines(c, buf_str(&found));
	problem_lines(c, err.msg[0] && !problems.n ? str_of(err.msg) : problems);
	buf_done(&found);
	arena_done(&a);
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

		printf("ok   dispatcher %s: %s %s, abi %u.%u, %s\n", di->d->name, di->source.id,
		       di->source.version, (unsigned)di->source.abi_major,
		       (unsigned)di->source.abi_minor, di->source.file);
	}
}

static void run_situation(struct check *c, const char *dir)
{
	struct arena a;
	struct fixture f;
	struct mk_err err;

	arena_init(&a, 0);
	c->situations++;
	if (fixture_run(c->p, dir, &a, &f, &err) != MK_OK) {
		c->problems++;
		printf("FAIL %s\n", err.msg);
	} else {
		mk_str diff = fixture_diff(&f, &a);
		struct json *fault = json_get(f.got, "fault");

		if (diff.n) {
			c->problems++;
			printf("FAIL %s: found instead of expected: %s\n", dir, diff.p);
		} else if (fault && !f.want) {
			c->problems++;
			printf("FAIL %s: %s\n", dir, json_str(fault).p);
		} else if (!c->o->quiet) {
			printf("ok   %s: %s\n", dir, json_write(&a, f.got).p);
		}
	}
	arena_done(&a);
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

static int check(const struct options *o, char *const *paths)
{
	struct mk_err err = {0};
	struct check c = {.o = o, .p = plug_new(&err)};

	if (!c.p) {
		printf("FAIL %s\n", err.msg);
		return EXIT_PROBLEMS;
	}
	plug_set_clock(c.p, clock_cpu_us);
	for (; *paths; paths++) {
		load(&c, *paths);
	}
	for (size_t i = 0; i < o->n_frameworks; i++) {
		if (plug_add_framework(c.p, str_of(o->frameworks[i]), &err) != MK_OK) {
			c.problems++;
			printf("FAIL --framework: %s\n", err.msg);
		}
	}
	list(&c);
	for (size_t i = 0; i < o->n_fixtures; i++) {
		run_fixtures(&c, o->fixtures[i]);
	}
	if (c.problems > 0) {
		printf("%zu problem%s\n", c.problems, c.problems == 1 ? "" : "s");
	}
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

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"fixtures", required_argument, NULL, 'f'},
		{"framework", required_argument, NULL, 'F'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	struct options o = {0};

	for (;;) {
		int c = getopt_long(argc, argv, "f:F:qhV", longs, NULL);

		if (c < 0) {
			break;
		}
		switch (c) {
		case 'f':
		case 'F':
			if (!append(c == 'f' ? o.fixtures : o.frameworks,
				    c == 'f' ? &o.n_fixtures : &o.n_frameworks, optarg)) {
				return EXIT_USAGE;
			}
			break;
		case 'q':
			o.quiet = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_FINE;
		case 'V':
			printf("mk-plugin-check %s, abi %d.%d\n", MK_VERSION, MK_ABI_MAJOR,
			       MK_ABI_MINOR);
			return EXIT_FINE;
		default:
			fputs("mk-plugin-check --help explains the options\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	return check(&o, argv + optind);
}
