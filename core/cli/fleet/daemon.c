/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a running daemon; see daemon.h. */
#include "core/cli/fleet/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/net/fetch.h"

enum {
	FORWARD_MS = 15 * 1000,
	ANSWER_MS = 30 * 1000,
	ANSWER_MAX = 64 * 1024 * 1024,
};

static enum cli_exit no_kubectl(struct cli *c)
{
	cli_error(c, "kubectl cannot be started: %s; expected it in the PATH, or --server URL",
		  strerror(errno));
	return CLI_FAILED;
}

/* "Forwarding from 127.0.0.1:41234 -> 8081": the port; 0: another line. */
static unsigned port_of(mk_str line)
{
	const mk_str before = STR("Forwarding from 127.0.0.1:");
	int64_t end;
	uint64_t port;

	if (!str_starts(line, before)) {
		return 0;
	}
	line = str_sub(line, before.n, line.n);
	end = str_index(line, ' ');
	return end > 0 && str_u64(str_sub(line, 0, (size_t)end), &port) && port <= UINT16_MAX
		       ? (unsigned)port
		       : 0;
}

static bool forward(struct daemon *d)
{
	const char *ns = cli_get(d->args, "manager-namespace"), *at = cli_get(d->args, "port");
	mk_str ports = arena_printf(&d->c->a, "%s:8081", at ? at : "");
	const char *words[] = {"port-forward",
			       "--namespace",
			       ns ? ns : "kueue-system",
			       "--address=127.0.0.1",
			       "deployment/multikueued",
			       ports.p,
			       NULL};
	char line[512];
	unsigned port = 0;

	if (!ports.p) {
		(void)cli_no_memory(d->c);
		return false;
	}
	if (!kubectl_start(&d->kubectl, d->args, words, false)) {
		no_kubectl(d->c);
		return false;
	}
	while (port == 0 && kubectl_line(&d->kubectl, line, sizeof(line), FORWARD_MS)) {
		port = port_of(str_of(line));
	}
	if (port == 0 && at) {
		cli_error(d->c,
			  "`kubectl port-forward deployment/multikueued` in namespace %s could not "
			  "open port %s; is it taken? Try --port with another, or without",
			  words[2], at);
		return false;
	}
	if (port == 0) {
		cli_error(d->c,
			  "`kubectl port-forward deployment/multikueued` in namespace %s opened no "
			  "port; expected the daemon to run there: see --manager-namespace and "
			  "--server",
			  words[2]);
		return false;
	}
	snprintf(d->url, sizeof(d->url), "http://127.0.0.1:%u", port);
	return true;
}

bool daemon_open(struct daemon *d, struct cli *c, const struct cli_args *args)
{
	const char *server = cli_get(args, "server");
	size_t n;

	*d = (struct daemon){.c = c, .args = args, .kubectl.fd = -1};
	if (!server) {
		return forward(d);
	}
	n = strlen(server);
	while (n > 0 && server[n - 1] == '/') {
		n--;
	}
	if (n >= sizeof(d->url) || !str_starts(str_of(server), STR("http://"))) {
		cli_error(c, "--server %s: expected http://HOST:PORT", server);
		return false;
	}
	memcpy(d->url, server, n);
	d->url[n] = '\0';
	return true;
}

void daemon_close(struct daemon *d)
{
	(void)kubectl_end(&d->kubectl, true);
}

/* The message of a Status, or the text as it came. */
static mk_str words_of(struct cli *c, mk_str body)
{
	struct json *v = NULL;
	mk_str message;

	if (json_parse(&c->a, body, &v, NULL) != ERR_OK) {
		return str_trim(str_cut(body, 500));
	}
	message = json_str(json_get(v, "message"));
	return message.n > 0 ? message : str_trim(str_cut(body, 500));
}

struct json *daemon_get(struct daemon *d, mk_str path, int *ret_status)
{
	struct cli *c = d->c;
	mk_str url = arena_printf(&c->a, "%s%.*s", d->url, STR_ARG(path)), text;
	struct json *v = NULL;
	struct mk_err err;
	struct buf body;

	*ret_status = 0;
	buf_init(&body, ANSWER_MAX);
	if (!url.p || fetch_get(url.p, ANSWER_MS, &body, ret_status, &err) != ERR_OK) {
		cli_error(c, "%s", url.p ? err.msg : "out of memory");
		buf_done(&body);
		return NULL;
	}
	text = arena_dup(&c->a, (mk_str){body.p, body.n});
	buf_done(&body);
	if (*ret_status != 200 && *ret_status != 404) {
		cli_error(c, "%s: the daemon answered %d: %.*s", url.p, *ret_status,
			  STR_ARG(words_of(c, text)));
		return NULL;
	}
	if (json_parse(&c->a, text, &v, &err) != ERR_OK) {
		cli_error(c, "%s: expected JSON, found \"%.*s\"", url.p,
			  STR_ARG(str_trim(str_cut(text, 100))));
		return NULL;
	}
	return v;
}

mk_str daemon_encode(struct cli *c, mk_str s)
{
	char *p = arena_alloc_raw(&c->a, s.n * 3 + 1);
	size_t n = 0;

	for (size_t i = 0; p && i < s.n; i++) {
		unsigned char ch = (unsigned char)s.p[i];

		if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
		    (ch >= '0' && ch <= '9') || ch == '-' || ch == '.' || ch == '_') {
			p[n++] = (char)ch;
		} else {
			n += (size_t)snprintf(p + n, 4, "%%%02X", ch);
		}
	}
	return (mk_str){p, p ? n : 0};
}

const char *daemon_namespace(struct cli *c, const struct cli_args *args)
{
	static const char *const words[] = {"config", "view", "--minify",
					    "--output=jsonpath={.contexts[0].context.namespace}",
					    NULL};
	const char *given = cli_get(args, "namespace");
	struct kubectl k;
	char line[256];

	if (given || cli_get(args, "server")) {
		return given ? given : "default";
	}
	if (!kubectl_start(&k, args, words, true)) {
		no_kubectl(c);
		return NULL;
	}
	if (!kubectl_line(&k, line, sizeof(line), FORWARD_MS)) {
		line[0] = '\0';
	}
	(void)kubectl_end(&k, false);
	return line[0] ? arena_dup(&c->a, str_of(line)).p : "default";
}
