/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubectl-multikueue runs out of memory at every point of every command: status 3
 * and a message, no crash, no leak.
 */
#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/cli/cli.h"

#define SAMPLES "conf/samples/quota/"

static const char *const commands[][12] = {
	{"x", "doctor", "--list", "-o", "yaml"},
	{"x", "__complete", "drain", "west", "--evict", "-"},
	{"x", "tree", "validate", "-f", SAMPLES "plan-a.yaml", "-o", "json"},
	{"x", "tree", "validate", "-f", "t/cli/input/faulty.yaml"},
	{"x", "tree", "status", "-f", SAMPLES "plan-a.yaml"},
	{"x", "tree", "compile", "-f", "t/cli/input/compile.yaml"},
	{"x", "tree", "compile", "-f", "t/cli/input/compile-refused.yaml"},
	{"x", "tree", "compile", "-f", "t/cli/input/compile.yaml", "--live",
	 "t/cli/input/live.yaml"},
	{"x", "tree", "show", "-f", SAMPLES "plan-b.yaml", "-f", SAMPLES "workloads.yaml", "-o",
	 "wide"},
	{"x", "tree", "explain", "-f", SAMPLES "plan-b.yaml", "-f", SAMPLES "workloads.yaml"},
	{"x", "tree", "simulate", "-f", SAMPLES "plan-a.yaml", "--generate", "20", "--svg",
	 "/dev/null"},
	{"x", "adapter", "test", "conf/adapters/pipelinerun.yaml", "t/plan/nocode/pipelinerun"},
	{"x", "adapter", "test", "t/cli/input/faulty-adapter.yaml"},
	{"x", "tree", "diff", "--from", SAMPLES "plan-b.yaml", "-f", "t/cli/input/changed.yaml"},
};

/* Status of one run in which allocation 'fail_at' fails; 0: none does. */
static enum cli_exit run(const char *const *command, uint64_t fail_at, bool *ret_told)
{
	char *argv[12];
	struct cli c;
	enum cli_exit rc;
	int argc = 0;

	for (; argc < 12 && command[argc] != NULL; argc++) {
		argv[argc] = mk_strdup(command[argc]);
	}
	cli_init(&c, false);
	alloc_fail_after(fail_at);
	rc = cli_run(&c, argc, argv);
	alloc_fail_after(0);
	/* When even the message finds no room, the status stands alone. */
	*ret_told = c.err.n > 0 || c.err.failed || c.out.failed;
	cli_done(&c);
	for (int i = 0; i < argc; i++) {
		mk_free(argv[i]);
	}
	return rc;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		bool told = false, good = true, done = false;
		enum cli_exit want = run(commands[i], 0, &told);
		uint64_t n = 1;

		ok(want == CLI_OK || want == CLI_NO, commands[i][2]);
		for (; !done && n < 20000; n++) {
			enum cli_exit rc = run(commands[i], n, &told);

			done = rc == want;
			good = good && (done || (rc == CLI_FAILED && told));
			if (!done && rc != CLI_FAILED) {
				printf("# allocation %d: status %d\n", (int)n, (int)rc);
			}
		}
		printf("# %d points\n", (int)n);
		ok(good && done, "out of memory is told");
	}
	return done_testing();
}
