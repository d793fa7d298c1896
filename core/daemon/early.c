/* SPDX-License-Identifier: Apache-2.0 */
/* Signals before the loop; see early.h. */
#include "core/daemon/early.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "core/base/log.h"

static volatile sig_atomic_t exit_status;
static sigset_t inherited;

static void ending(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
}

/* All that it calls may be called in a handler. */
static void end(int signo)
{
	const struct log_field none[] = {LOG_END};

	(void)signo;
	log_last(LOG_INFO, "daemon", "told to end, with nothing to drain: ending", none);
	_exit(exit_status);
}

void early_begin(void)
{
	sigset_t set;

	ending(&set);
	sigprocmask(SIG_BLOCK, &set, &inherited);
}

void early_run(void)
{
	struct sigaction act = {.sa_handler = end};
	sigset_t set;

	ending(&set);
	act.sa_mask = set;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void early_task(void)
{
	sigprocmask(SIG_SETMASK, &inherited, NULL);
}

void early_status(int status)
{
	exit_status = status;
}
