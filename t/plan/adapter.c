/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden vectors of adapters and dispatchers: runs every folder of t/plan/adapter (format:
 * core/plug/fixture.h) with the plugins as they are shipped.
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/plug/loader.h"
#include "core/plug/fixture.h"
#include "t/tap.h"

enum { MAX_FOLDERS = 512 };

/* build/<flavour>/t/plan/adapter -> build/<flavour>/plugins/<file> */
static mk_str plugin_path(struct arena *a, const char *file)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	for (int up = 0; n > 0 && up < 3; n--) {
		up += exe[n - 1] == '/';
	}
	return arena_printf(a, "%.*s/plugins/%s", (int)n, exe, file);
}

static bool load(struct plug *p, struct arena *a, const char *file)
{
	struct mk_err err = {0};
	mk_str path = plugin_path(a, file);
	bool loaded = path.p && plug_load_file(p, path.p, a, NULL, &err) == MK_OK;

	if (!loaded) {
		printf("# %s\n", err.msg);
	}
	return ok(loaded, file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void run(struct plug *p, const char *root, const char *id)
{
	struct arena a;
	struct fixture f;
	struct mk_err err;

	arena_init(&a, 0);
	mk_str dir = arena_printf(&a, "%s/%s", root, id);

	if (fixture_run(p, dir.p, &a, &f, &err) != MK_OK) {
		ok(false, id);
		printf("# %s\n", err.msg);
	} else if (!ok(f.want && json_equal(f.got, f.want), id)) {
		printf("#   found    %s\n", json_write(&a, f.got).p);
		printf("#   expected %s\n", f.want ? json_write(&a, f.want).p : "an expect.json");
	}
	arena_done(&a);
}

static const char *const plugins[] = {
	"job.so",     "plain.so",       "trainjob.so",    "raycluster.so",   "pod.so",
	"generic.so", "all_at_once.so", "incremental.so", "least_loaded.so",
};

int main(int argc, char **argv)
{
	const char *root = argc > 1 ? argv[1] : "t/plan/adapter";
	struct plug *p = plug_new(NULL);
	struct dirent **list = NULL;
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		load(p, &a, plugins[i]);
	}
	ok(plug_add_framework(p, (mk_str){"Foo.v1.ex.io", 12}, NULL) == MK_OK, "a generic kind");
	int n = scandir(root, &list, NULL, by_name);
	int ran = 0;

	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			run(p, root, list[i]->d_name);
			ran++;
		}
		free(list[i]);
	}
	free(list);
	ok(ran >= 50, "all folders were there");
	arena_done(&a);
	plug_free(p);
	return done_testing();
}
