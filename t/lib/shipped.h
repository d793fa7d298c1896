/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugins as they are shipped: build/<flavour>/plugins beside
 * build/<flavour>/t, where the test is.
 */
#ifndef MK_T_LIB_SHIPPED_H
#define MK_T_LIB_SHIPPED_H

#include <dirent.h>
#include <stdlib.h>

#include "core/plug/loader.h"
#include "t/lib/tap.h"

/* An order for scandir(): bytewise by name. */
int shipped_by_name(const struct dirent **a, const struct dirent **b);

/* Loads one plugin or table. Ends the program when it is refused. */
void shipped_load(struct plug *p, struct arena *a, const char *path);

/*
 * All files of 'dir' with this ending, by name, but for those that 'linked'
 * names, as "job.so all_at_once.so".
 */
void shipped_load_folder(struct plug *p, struct arena *a, const char *dir, const char *ending,
			 const char *linked);

/* All plugins but for those that are linked in, and the kind Foo by its name. */
void shipped_load_all(struct plug *p, struct arena *a, const char *linked);

#endif
