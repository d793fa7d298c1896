/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that go on until the user ends them; see cli.h. */
#include "core/cli/output.h"

/* Of the terminal: to the first column of the first row, and nothing below. */
#define WIPE STR("\033[H\033[2J")

bool cli_follow(struct cli *c)
{
	if (c->host && !c->host->follow()) {
		cli_error(c, "signals cannot be caught");
		return false;
	}
	return true;
}

/* Puts out what there is. False: it cannot be written. */
static bool flush(struct cli *c, bool redraw)
{
	bool done;

	cli_make_harmless(c);
	done = !c->out.failed && (!redraw || c->host->put(false, WIPE)) &&
	       c->host->put(false, buf_str(&c->out)) && c->host->put(true, buf_str(&c->err));
	buf_clear(&c->out);
	buf_clear(&c->err);
	if (!done) {
		cli_error(c, "the output could not be written");
	}
	return done;
}

bool cli_flush(struct cli *c)
{
	return !c->host || flush(c, false);
}

/* One step, whose memory goes when it ends. */
static enum cli_exit step_once(struct cli *c, cli_step_fn *step, void *ctx)
{
	const struct arena kept = c->a;
	enum cli_exit rc;

	arena_init(&c->a, kept.cap);
	rc = step(ctx);
	arena_done(&c->a);
	c->a = kept;
	return rc;
}

enum cli_exit cli_repeat(struct cli *c, int64_t ms, bool redraw, cli_step_fn *step, void *ctx)
{
	enum cli_exit rc = CLI_OK;

	for (;;) {
		enum cli_exit now = step_once(c, step, ctx);

		/* A signal from the terminal ends kubectl, too: then the daemon is out of reach. */
		if (now == CLI_FAILED && c->host && !c->host->wait(0)) {
			buf_clear(&c->err);
			return rc;
		}
		rc = now;
		if (rc == CLI_FAILED || rc == CLI_USAGE || !c->host) {
			return rc;
		}
		if (!flush(c, redraw && c->terminal)) {
			return CLI_FAILED;
		}
		if (c->ends || !c->host->wait(ms)) {
			return rc;
		}
	}
}
