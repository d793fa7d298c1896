/* SPDX-License-Identifier: Apache-2.0 */
/* The way to a running daemon; see daemon.h. */
#include "core/cli/fleet/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/net/fetch.h"

#define API "/apis/visibility.multikueued.io/v1alpha1"

enum {
	FORWARD_MS = 15 * 1000,
	ANSWER_MS = 30 * 1000,
	ANSWER_MAX = 64 * 1024 * 1024,
	WORDS_MAX = 64 * 1024,
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

/* --- the aggregated API ----------------------------------------------------------------------- */

/* The words of kubectl on its standard error, the first line. */
static mk_str first_line(const struct buf *err)
{
	mk_str rest = buf_str(err), line = STR("");

	(void)str_split(&rest, '\n', &line);
	return str_cut(str_trim(line), 500);
}

static bool says_not_found(mk_str line)
{
	return str_starts(line, STR("Error from server (NotFound):"));
}

/* `kubectl get --raw` of that path; 200, or 404, or 0: the error was printed. */
static int get_raw(struct daemon *d, const char *path, struct buf *out)
{
	const char *words[] = {"get", "--raw", path, NULL};
	const char *argv[KUBECTL_WORDS_MAX];
	bool good = false;
	struct buf err;
	mk_str line;

	buf_init(&err, WORDS_MAX);
	kubectl_words(d->args, words, argv);
	if (!kubectl_run(argv, STR(""), ANSWER_MS, out, &err, &good)) {
		no_kubectl(d->c);
		buf_done(&err);
		return 0;
	}
	line = first_line(&err);
	if (!good && !says_not_found(line)) {
		cli_error(d->c,
			  "by the aggregated API, `kubectl get --raw %s`: %.*s; another way: "
			  "--server",
			  path, STR_ARG(line.n > 0 ? line : STR("no answer")));
	}
	good = good || says_not_found(line);
	if (says_not_found(line)) {
		buf_clear(out);
	}
	buf_done(&err);
	return !good ? 0 : out->n > 0 ? 200 : 404;
}

/*
 * Which way is taken: the aggregated API where API servers know it, else a port-forward. False: the
 * error was printed.
 */
static bool choose(struct daemon *d)
{
	struct buf out;
	int status;

	buf_init(&out, ANSWER_MAX);
	status = get_raw(d, API, &out);
	buf_done(&out);
	d->aggregated = status == 200;
	return d->aggregated || (status == 404 && forward(d));
}

/* The value of a parameter taken off a query, "" when it is not there. */
static mk_str take_parameter(struct arena *a, mk_str *query, const char *name)
{
	mk_str rest = *query, one, key, left = STR(""), found = STR("");

	while (str_split(&rest, '&', &one)) {
		mk_str value = one;

		if (str_split(&value, '=', &key) && str_is(key, name)) {
			found = value;
		} else {
			left = arena_printf(a, "%.*s%s%.*s", STR_ARG(left), left.n > 0 ? "&" : "",
					    STR_ARG(one));
		}
	}
	*query = left;
	return found;
}

/* The path of the aggregated API for one of /v1/, or of /status. */
static mk_str aggregated_path(struct arena *a, mk_str path)
{
	int64_t mark = str_index(path, '?');
	mk_str query = mark < 0 ? STR("") : str_sub(path, (size_t)mark + 1, path.n), ns;
	mk_str rest = mark < 0 ? path : str_sub(path, 0, (size_t)mark);
	const mk_str one = STR("/v1/workloads/");

	if (str_is(rest, "/status")) {
		return STR(API "/daemons");
	}
	if (str_starts(rest, one)) {
		rest = str_sub(rest, one.n, rest.n);
		(void)str_split(&rest, '/', &ns);
		return arena_printf(a, API "/namespaces/%.*s/workloads/%.*s", STR_ARG(ns),
				    STR_ARG(rest));
	}
	ns = take_parameter(a, &query, "namespace");
	rest = str_sub(rest, strlen("/v1/"), rest.n);
	return arena_printf(a, API "%s%.*s/%.*s%s%.*s", ns.n > 0 ? "/namespaces/" : "", STR_ARG(ns),
			    STR_ARG(rest), query.n > 0 ? "?" : "", STR_ARG(query));
}

/* The object as /v1/ has it, but for what Kubernetes wants of it besides. */
static struct json *as_v1(struct arena *a, mk_str path, struct json *v)
{
	mk_str token = json_str_at(v, "/metadata/continue");

	if (str_is(path, "/status")) {
		return json_elem(json_get(v, "items"), 0);
	}
	if (token.n > 0) {
		json_set_str(a, v, "continue", token);
	}
	return v;
}

static struct json *get_aggregated(struct daemon *d, mk_str path, int *ret_status)
{
	struct cli *c = d->c;
	mk_str raw = aggregated_path(&c->a, path);
	struct json *v = NULL;
	struct mk_err err;
	struct buf out;

	buf_init(&out, ANSWER_MAX);
	*ret_status = raw.p && !arena_failed(&c->a) ? get_raw(d, raw.p, &out) : 0;
	if (*ret_status == 404) {
		v = json_new_obj(&c->a);
	} else if (*ret_status == 200) {
		if (json_parse(&c->a, buf_str(&out), &v, &err) != ERR_OK) {
			cli_error(c, "%s: expected JSON, found \"%.*s\"", raw.p,
				  STR_ARG(str_trim(str_cut(buf_str(&out), 100))));
		} else {
			v = as_v1(&c->a, path, v);
		}
	}
	buf_done(&out);
	return v;
}

/* --- the way ---------------------------------------------------------------------------------- */

/* --server as the way. False: the error was printed. */
static bool take_server(struct daemon *d, const char *server)
{
	size_t n = strlen(server);

	while (n > 0 && server[n - 1] == '/') {
		n--;
	}
	if (n >= sizeof(d->url) || !str_starts(str_of(server), STR("http://"))) {
		cli_error(d->c, "--server %s: expected http://HOST:PORT", server);
		return false;
	}
	memcpy(d->url, server, n);
	d->url[n] = '\0';
	return true;
}

bool daemon_open(struct daemon *d, struct cli *c, const struct cli_args *args)
{
	const char *server = cli_get(args, "server");

	*d = (struct daemon){.c = c, .args = args, .kubectl.fd = -1};
	return server ? take_server(d, server) : choose(d);
}

bool daemon_open_port(struct daemon *d, struct cli *c, const struct cli_args *args)
{
	const char *server = cli_get(args, "server");

	*d = (struct daemon){.c = c, .args = args, .kubectl.fd = -1};
	return server ? take_server(d, server) : forward(d);
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

/* Does the aggregated API have it? What the process was started with is its own only. */
static bool is_aggregated(mk_str path)
{
	return !str_is(path, "/v1/plugins") && !str_is(path, "/v1/settings");
}

struct json *daemon_get(struct daemon *d, mk_str path, int *ret_status)
{
	struct cli *c = d->c;
	mk_str url, text;
	struct json *v = NULL;
	struct mk_err err;
	struct buf body;

	if (d->aggregated && is_aggregated(path)) {
		return get_aggregated(d, path, ret_status);
	}
	*ret_status = 0;
	if (d->url[0] == '\0' && !forward(d)) {
		return NULL;
	}
	url = arena_printf(&c->a, "%s%.*s", d->url, STR_ARG(path));
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
