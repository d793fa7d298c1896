/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the programs that give credentials (struct kube_programs), beside the loop: no shell, no
 * descriptor of ours, its own process group, an empty standard input. Its output is at most 1 MiB,
 * its time 30 s; then the whole group is killed, and not waited for long. A few run at once, the
 * others wait their turn. What was written to standard error is quoted in the error.
 *
 * The environment is the daemon's, with the variables of the program set in it.
 */
#ifndef MK_DAEMON_EXEC_PLUGIN_H
#define MK_DAEMON_EXEC_PLUGIN_H

#include "core/kube/kube.h"
#include "core/net/loop.h"

enum {
	EXEC_PLUGIN_OUT_MAX = 1024 * 1024,
	EXEC_PLUGIN_LIMIT_MS = 30 * 1000,
	EXEC_PLUGIN_AT_ONCE = 8,
	EXEC_PLUGIN_END_MS = 2000, /* for those that are killed */
};

struct exec_plugins;

struct exec_plugin_options {
	struct loop *loop;
	int64_t limit_ms; /* 0 = EXEC_PLUGIN_LIMIT_MS */
	void *ctx;
	/*
	 * As kube_program_done; 'out' is wiped afterwards. From the loop; may call
	 * exec_plugins_run.
	 */
	void (*done)(void *ctx, uint64_t id, enum mk_code code, mk_str out, mk_str text);
};

/* NULL: out of memory. Ends the ignoring of SIGCHLD, since children are waited for. */
struct exec_plugins *exec_plugins_new(const struct exec_plugin_options *o, struct mk_err *err);
/*
 * Kills what runs, and waits a moment for its end, without a callback. What not even SIGKILL ends
 * (it hangs in the kernel, or is held by a debugger) is named in the log and left to its next
 * parent. NULL is fine.
 */
void exec_plugins_free(struct exec_plugins *x);

/* As struct kube_programs has it, with 'ctx' a struct exec_plugins. */
bool exec_plugins_run(void *ctx, uint64_t id, const struct kube_program *p);
void exec_plugins_cancel(void *ctx, uint64_t id);

#endif
