/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins as they are shipped, for the tests of this folder: build/<flavour>/plugins beside build/<flavour>/t/plan. */
#ifndef MK_T_PLAN_SHIPPED_H
#define MK_T_PLAN_SHIPPED_H

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/plug/loader.h"
#include "t/tap.h"

static inline int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static inline void load_shipped(struct plug *p, struct arena *a, const char *path)
{
	struct mk_err err = {0};

	if (plug_load_file(p, path, a, NULL, &err) != MK_OK) {
		printf("Bail out! %s\n", err.msg);
		exit(1);
	}
}

/* All files of 'dir' with this ending, by name, but for those that 'linked' names, as "job.so all_at_once.so". */
static inline void load_folder(struct plug *p, struct arena *a, const char *dir, const char *ending,
			       const char *linked)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, by_name);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (str_ends(str_of(name), str_of(ending)) && !strstr(linked, name)) {
			load_shipped(p, a, arena_printf(a, "%s/%s", dir, name).p);
		}
		free(list[i]);
	}
	free(list);
}

/* All plugins but for those that are linked in, and the kind Foo by its name. */
static inline void load_all(struct plug *p, struct arena *a, const char *linked)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	for (int up = 0; n > 0 && up < 3; n--) {
		up += exe[n - 1] == '/';
	}
	load_folder(p, a, arena_printf(a, "%.*s/plugins", (int)n, exe).p, ".so", linked);
	if (plug_add_framework(p, STR("Foo.v1.ex.io"), NULL) != MK_OK) {
		printf("Bail out! no generic kind\n");
		exit(1);
	}
}

#endif
