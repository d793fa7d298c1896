/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster as kubectl reaches it; see plane.h. */
#include "core/cli/worker/plane.h"

#include <errno.h>

#include "core/cli/kubectl.h"

enum { WORDS_MAX = 16, RUN_MS = 180 * 1000, SAID_MAX = 64 * 1024 * 1024 };

/* Lines of kubectl, each behind the name of the cluster. */
static void tell(const struct plane *p, mk_str said)
{
	mk_str line;

	while (str_split(&said, '\n', &line)) {
		if (line.n > 0) {
			buf_printf(&p->c->out, "%s: %.*s\n", p->name, STR_ARG(line));
		}
	}
}

static void words_of(const struct plane *p, const char *const *words,
		     const char *ret[KUBECTL_WORDS_MAX])
{
	size_t n = 0;

	ret[n++] = "kubectl";
	ret[n++] = "--request-timeout=30s";
	if (p->context) {
		ret[n++] = "--context";
		ret[n++] = p->context;
	}
	if (p->kubeconfig) {
		ret[n++] = "--kubeconfig";
		ret[n++] = p->kubeconfig;
	}
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++) {
		ret[n++] = words[i];
	}
	ret[n] = NULL;
}

static bool run(const struct plane *p, mk_str input, mk_str *ret, const char *const *words)
{
	const char *argv[KUBECTL_WORDS_MAX];
	struct buf out, err;
	bool good = false, started;

	buf_init(&out, SAID_MAX);
	buf_init(&err, SAID_MAX);
	words_of(p, words, argv);
	started = kubectl_run(argv, input, RUN_MS, &out, &err, &good);
	if (!started) {
		cli_error(p->c, "kubectl cannot be run: %s; expected it in the PATH",
			  strerror(errno));
	} else if (!good) {
		cli_error(p->c, "%s: kubectl %s: %.*s", p->name, words[0],
			  STR_ARG(str_trim(str_cut(buf_str(&err), 4000))));
	} else {
		*ret = arena_dup(&p->c->a, buf_str(&out));
		good = !arena_failed(&p->c->a) || cli_no_memory(p->c) == CLI_OK;
	}
	buf_done(&out);
	buf_done(&err);
	return started && good;
}

bool plane_run(const struct plane *p, mk_str *ret, const char *const *words)
{
	return run(p, STR_NONE, ret, words);
}

bool plane_open(struct plane *p, struct cli *c, const struct cli_args *args, const char *context)
{
	static const char *const words[] = {"get", "namespace", "kube-system",
					    "--output=jsonpath={.metadata.uid}", NULL};

	*p = (struct plane){.c = c,
			    .context = context,
			    .kubeconfig = cli_get(args, "kubeconfig"),
			    .name = context ? context : "manager",
			    .force = cli_get(args, "force-conflicts") != NULL};
	return plane_run(p, &p->uid, words);
}

struct json *plane_get(const struct plane *p, const char *what, const char *name, const char *ns)
{
	const char *words[WORDS_MAX] = {"get", "--output=json", "--ignore-not-found"};
	struct json *v = NULL;
	struct mk_err err = {0};
	size_t n = 3;
	mk_str text;

	if (ns) {
		words[n++] = "--namespace";
		words[n++] = ns;
	}
	words[n++] = what;
	words[n++] = name;
	if (!run(p, STR_NONE, &text, words)) {
		return NULL;
	}
	if (text.n == 0) {
		return json_new_obj(&p->c->a);
	}
	if (json_parse(&p->c->a, text, &v, &err) != ERR_OK) {
		cli_error(p->c, "%s: kubectl get %s: expected JSON: %s", p->name, what, err.msg);
		return NULL;
	}
	return v;
}

static bool apply(const struct plane *p, const struct json *objects, const char *dry, mk_str *said)
{
	struct arena *a = &p->c->a;
	struct json *list = json_new_obj(a);
	const char *words[WORDS_MAX] = {"apply", "--server-side", "--field-manager=" OBJECTS_WRITER,
					"--filename=-"};
	size_t n = 4;
	mk_str text;

	if (p->force) {
		words[n++] = "--force-conflicts";
	}
	words[n++] = dry;
	json_set_str(a, list, "apiVersion", STR("v1"));
	json_set_str(a, list, "kind", STR("List"));
	json_set(a, list, STR("items"), json_dup(a, objects));
	text = json_write(a, list);
	if (arena_failed(a)) {
		(void)cli_no_memory(p->c);
		return false;
	}
	return run(p, text, said, words);
}

bool plane_apply(const struct plane *p, const struct json *objects)
{
	mk_str said;

	if (!apply(p, objects, NULL, &said)) {
		return false;
	}
	tell(p, said);
	return cli_flush(p->c);
}

bool plane_try(const struct plane *p, const struct json *objects)
{
	mk_str said;

	return apply(p, objects, "--dry-run=server", &said);
}

bool plane_delete(const struct plane *p, const char *what, mk_str name, const char *ns)
{
	const char *words[WORDS_MAX] = {"delete", "--ignore-not-found", "--timeout=60s", what,
					name.p};
	mk_str said;

	if (ns) {
		words[5] = "--namespace";
		words[6] = ns;
	}
	if (!plane_run(p, &said, words)) {
		return false;
	}
	tell(p, said);
	return cli_flush(p->c);
}
