/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to a running daemon: its visibility API (docs/visibility.md) at an address that the user
 * gives; else as an aggregated API, by `kubectl get --raw`; and where that is not installed through
 * a `kubectl port-forward` that lives as long as the command. kubectl has the user's own kubeconfig
 * and rights.
 */
#ifndef MK_CLI_FLEET_DAEMON_H
#define MK_CLI_FLEET_DAEMON_H

#include "core/cli/kubectl.h"

/* The options of each command that asks the daemon; an initialiser of struct cli_option. */
#define DAEMON_OPTIONS                                                                 \
	{0, "server", "URL", false,                                                    \
	 "the daemon's address, http://HOST:PORT; without it: the aggregated API, or " \
	 "kubectl port-forward"},                                                      \
		{0, "manager-namespace", "NAME", false,                                \
		 "namespace of deployment multikueued (default kueue-system)"},        \
		KUBECTL_OPTIONS

struct daemon {
	struct cli *c;
	const struct cli_args *args;
	bool aggregated;        /* by kubectl get --raw */
	char url[256];          /* else */
	struct kubectl kubectl; /* the port-forward; pid 0: none */
};

/*
 * Finds the way; --port, where the command has it, is the port-forward's on this host.
 * False: the error was printed. daemon_close in any case.
 */
bool daemon_open(struct daemon *d, struct cli *c, const struct cli_args *args);
/* The same for what the aggregated API does not have: an address in 'url'. */
bool daemon_open_port(struct daemon *d, struct cli *c, const struct cli_args *args);
/* Ends kubectl. */
void daemon_close(struct daemon *d);

/*
 * GET of 'path' ("/v1/clusters"), parsed, in the arena of the cli; *ret_status 200 or 404. NULL:
 * another status or no answer, the error was printed.
 */
struct json *daemon_get(struct daemon *d, mk_str path, int *ret_status);

/* 's' as it stands in a URL, in the arena of the cli. */
mk_str daemon_encode(struct cli *c, mk_str s);

/*
 * The namespace that the user means: -n, else that of kubectl's context, else "default". NULL: the
 * error was printed.
 */
const char *daemon_namespace(struct cli *c, const struct cli_args *args);

#endif
