/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfigs in files: read when asked for, whenever something on the way to them changes, and
 * every half minute, for file systems without events. Each directory on the way is watched, that
 * of each symlink too, since kubelet renews a volume by swapping one. Runs on the loop; reading is
 * at most 1 MiB of a regular file, so a FIFO or a device never holds it.
 */
#ifndef MK_DAEMON_FILES_H
#define MK_DAEMON_FILES_H

#include "core/base/str.h"
#include "core/net/loop.h"

#define FILES_DIRECTORY "/etc/multikueue/kubeconfigs" /* Kueue's, with the gate */

struct files;

struct files_options {
	struct loop *loop;
	const char *directory; /* the only place where files are read; NULL: anywhere. Borrowed */
	void *ctx;
	/*
	 * What is in a file, or the problem ("" none), when it is news or was asked for; the text
	 * is wiped afterwards. ERR_NO_MEMORY: told again later. Must not call back.
	 */
	enum mk_code (*told)(void *ctx, mk_str path, mk_str text, mk_str problem);
	/* For tests: the clock of a turn's slice, in which one file at least is read; NULL else. */
	int64_t (*clock_us)(void);
};

/* ERR_NO_MEMORY: NULL. Without inotify (limits) files are still looked at every half minute. */
struct files *files_new(const struct files_options *o, struct mk_err *err);
void files_free(struct files *f); /* NULL is fine */

/*
 * Calls back soon, and from then on at each change; a second call has it call back again. False:
 * out of memory.
 */
bool files_watch(struct files *f, mk_str path);
void files_unwatch(struct files *f, mk_str path);

#endif
