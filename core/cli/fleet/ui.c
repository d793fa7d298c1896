/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue ui`: the daemon's page in a browser, for as long as the command runs. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cli/fleet/daemon.h"
#include "core/net/fetch.h"

#define NAME "kubectl multikueue ui"

enum { LOOK_MS = 1000, PAGE_MS = 30 * 1000, PAGE_MAX = 4 * 1024 * 1024 };

struct ui {
	struct daemon d;
	bool browses, told;
};

/* Is the page there? False: the error was printed. */
static bool has_page(struct daemon *d, const char *url)
{
	struct mk_err err;
	struct buf body;
	int status = 0;
	bool done;

	buf_init(&body, PAGE_MAX);
	done = fetch_get(url, PAGE_MS, &body, &status, &err) == ERR_OK;
	buf_done(&body);
	if (!done) {
		cli_error(d->c, "%s", err.msg);
	} else if (status != 200) {
		cli_error(d->c, "%s: the daemon answered %d; expected a newer multikueued", url,
			  status);
	}
	return done && status == 200;
}

/* xdg-open, where there is a desktop; that none opens is no error: the address is printed. */
static void browse(const char *url)
{
	const char *const words[] = {"xdg-open", url, NULL};
	char *argv[3];
	posix_spawn_file_actions_t actions;
	int pid;

	if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) ||
	    posix_spawn_file_actions_init(&actions) != 0) {
		return;
	}
	/* posix_spawn changes no word, but its type does not say so. */
	memcpy(argv, words, sizeof(argv));
	if (posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ==
		    0 &&
	    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) ==
		    0 &&
	    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
		    0) {
		(void)posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	}
	posix_spawn_file_actions_destroy(&actions);
}

/* kubectl tells of each connection: read, so that it can go on. False: it has ended. */
static bool is_forwarding(const struct kubectl *k)
{
	struct pollfd p = {.fd = k->fd, .events = POLLIN};
	char lost[4096];

	while (poll(&p, 1, 0) > 0) {
		if (read(k->fd, lost, sizeof(lost)) <= 0) {
			return false;
		}
	}
	return true;
}

static enum cli_exit step(void *ctx)
{
	struct ui *u = ctx;
	struct cli *c = u->d.c;
	mk_str url = arena_printf(&c->a, "%s/ui", u->d.url);

	if (!url.p) {
		return cli_no_memory(c);
	}
	if (!u->told) {
		if (!has_page(&u->d, url.p)) {
			return CLI_FAILED;
		}
		buf_printf(&c->out, "%s\n", url.p);
		if (u->d.kubectl.pid > 0) {
			buf_add(&c->err, STR("Served until this command is interrupted.\n"));
		}
		if (u->browses) {
			browse(url.p);
		}
		u->told = true;
	}
	if (u->d.kubectl.pid > 0 && !is_forwarding(&u->d.kubectl)) {
		cli_error(c, "`kubectl port-forward` has ended: was the daemon's Pod replaced? Run "
			     "`" NAME "` again");
		return CLI_FAILED;
	}
	return CLI_OK;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	struct ui u = {.browses = !cli_get(args, "no-browser")};
	const char *port = cli_get(args, "port");
	enum cli_exit rc = CLI_FAILED;
	uint64_t n;

	if (args->n_rest > 0) {
		return cli_usage(c, NAME, "unexpected %s", args->rest[0]);
	}
	if (port && (!str_u64(str_of(port), &n) || n < 1 || n > UINT16_MAX)) {
		return cli_usage(c, NAME, "--port %s: expected a number from 1 to 65535", port);
	}
	if (port && cli_get(args, "server")) {
		return cli_usage(c, NAME, "--port does not go with --server");
	}
	if (!cli_follow(c)) {
		return CLI_FAILED;
	}
	if (daemon_open_port(&u.d, c, args)) {
		rc = u.d.kubectl.pid > 0 ? cli_repeat(c, LOOK_MS, false, step, &u) : step(&u);
	}
	daemon_close(&u.d);
	return rc;
}

static const struct cli_option options[] = {
	{0, "port", "N", false, "port on this host (default: a free one)"},
	{0, "no-browser", NULL, false, "only print the address"},
	DAEMON_OPTIONS,
	{.name = NULL}};

const struct cli_command cli_ui = {
	.name = "ui",
	.synopsis = "[--port N] [--no-browser]",
	.summary = "a page of the fleet, its workers, Workloads, queues and decisions",
	.help = "Opens a port-forward to the daemon, prints the page's address and opens it in a "
		"browser, where\nthere is one. The page is served until the command is "
		"interrupted. It changes nothing.\n",
	.examples = "  kubectl multikueue ui\n"
		    "  kubectl multikueue ui --port 8081 --no-browser\n",
	.options = options,
	.run = run,
};
