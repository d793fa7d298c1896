/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/shipped.h"

#include <limits.h>
#include <unistd.h>

int shipped_by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

void shipped_load(struct plug *p, struct arena *a, const char *path)
{
	struct mk_err err = {0};

	if (plug_load_file(p, path, a, NULL, &err) != ERR_OK) {
		printf("Bail out! %s\n", err.msg);
		exit(1);
	}
}

void shipped_load_folder(struct plug *p, struct arena *a, const char *dir, const char *ending,
			 const char *linked)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, shipped_by_name);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (str_ends(str_of(name), str_of(ending)) && !strstr(linked, name)) {
			shipped_load(p, a, arena_printf(a, "%s/%s", dir, name).p);
		}
		free(list[i]);
	}
	free(list);
}

void shipped_load_all(struct plug *p, struct arena *a, const char *linked)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	for (int up = 0; n > 0 && up < 3; n--) {
		up += exe[n - 1] == '/';
	}
	shipped_load_folder(p, a, arena_printf(a, "%.*s/plugins", (int)n, exe).p, ".so", linked);
	if (plug_add_framework(p, STR("Foo.v1.ex.io"), NULL) != ERR_OK) {
		printf("Bail out! no generic kind\n");
		exit(1);
	}
}
