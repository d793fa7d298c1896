/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a shared object's file says about it without loading it: code that would run at once, and
 * what it exports.
 */
#ifndef MK_CHECK_INSPECT_H
#define MK_CHECK_INSPECT_H

#include "core/base/str.h"

/*
 * Appends one line per finding to 'out', each as `path: problem: expected …, found …`: constructors
 * besides those that the toolchain adds, and exported symbols besides mk_plugin_entry. A file
 * that is no ELF object of this machine's class has no findings here (the loader says so). Returns
 * their number.
 */
size_t inspect_file(const char *path, struct buf *out);

#endif
