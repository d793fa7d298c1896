/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden vectors of adapters and dispatchers: runs every folder of t/plan/adapter (format:
 * core/plug/fixture.h) with the plugins as they are shipped.
 */
#include "core/plug/fixture.h"
#include "t/lib/shipped.h"

static void run(struct plug *p, const char *root, const char *id)
{
	struct arena a;
	struct fixture f;
	struct mk_err err;

	arena_init(&a, 0);
	mk_str dir = arena_printf(&a, "%s/%s", root, id);

	if (fixture_run(p, dir.p, &a, &f, &err) != ERR_OK) {
		ok(false, id);
		printf("# %s\n", err.msg);
	} else if (!ok(f.want && json_equal(f.got, f.want), id)) {
		printf("#   found    %s\n", json_write(&a, f.got).p);
		printf("#   expected %s\n", f.want ? json_write(&a, f.want).p : "an expect.json");
	}
	arena_done(&a);
}

int main(int argc, char **argv)
{
	const char *root = argc > 1 ? argv[1] : "t/plan/adapter";
	struct plug *p = plug_new(NULL);
	struct dirent **list = NULL;
	struct arena a;

	arena_init(&a, 0);
	shipped_load_all(p, &a, "");
	int n = scandir(root, &list, NULL, shipped_by_name);
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
