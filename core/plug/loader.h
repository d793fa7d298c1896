/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins from shared objects. Loading runs foreign code in this process, so the path to each file
 * is held to the standard of a setuid program's: only root and our own user may be able to
 * put another file there.
 */
#ifndef MK_PLUG_LOADER_H
#define MK_PLUG_LOADER_H

#include "core/plug/plug.h"

/*
 * Loads every *.so of 'directory' (absolute), in the order of their names, and then every *.yaml
 * and *.yml (describe.h), into 'p'. With 'n_allow' > 0 only files whose name is in 'allow'
 * ("job.so"), each of which must then be there.
 *
 * Refused, all of them together: a directory, or a parent of it, or a file whose owner is neither
 * root nor our user, or writable by group or others (a parent with the sticky bit may be:
 * only the owner can replace an entry there; what lies on a read-only mount counts as
 * unwritable); a symbolic link out of the directory; a file that is no shared object of this
 * machine, does not load, or whose entry has findings; a directory without plugins. What is checked
 * is what is loaded: the path is walked component by component on descriptors and the file is
 * loaded through its own.
 *
 * On failure ERR_INVALID (ERR_NOT_FOUND when the directory itself cannot be used; ERR_NO_MEMORY),
 * *ret_problems (may be NULL) = one line per problem, in 'a', each as
 * `path: problem: expected …, found …`, and err has the first. Entries without a problem stay
 * registered. Loaded objects stay mapped for the life of the process, and with each
 * one descriptor stays open: the C library knows it by that name.
 */
enum mk_code plug_load_dir(struct plug *p, const char *directory, const mk_str *allow,
			   size_t n_allow, struct arena *a, mk_str *ret_problems,
			   struct mk_err *err);

/* Is a file of this name a description, by its end: .yaml or .yml? */
bool plug_is_description(mk_str name);

/*
 * Loads one file, of any owner and mode: for the checker and for tests, whose user names the file
 * and so answers for it. Otherwise as plug_load_dir.
 */
enum mk_code plug_load_file(struct plug *p, const char *path, struct arena *a, mk_str *ret_problems,
			    struct mk_err *err);

#endif
