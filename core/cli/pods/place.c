/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job runs; see place.h. */
#include "core/cli/pods/place.h"

#include <errno.h>
#include <stdlib.h>

enum { LIST_MS = 60 * 1000, LIST_MAX = 256 * 1024 * 1024, SAID_MAX = 4000 };

bool place_open(struct place *p, struct cli *c, const struct cli_args *args, const char *name)
{
	*p = (struct place){.c = c, .args = args, .w = wanted_of(name)};
	p->ns = daemon_namespace(c, args);
	return p->ns && daemon_open(&p->d, c, args);
}

void place_close(struct place *p)
{
	daemon_close(&p->d);
}

bool place_look(struct place *p)
{
	const struct json *v = wanted_find(&p->d, p->ns, &p->w, &p->missing),
			  *job = json_get(v, "job");

	p->workload = row_text(v, "name");
	p->phase = row_text(v, "phase");
	p->message = row_text(v, "message");
	p->worker = str_is(p->phase, "Won") ? row_text(v, "cluster") : STR("");
	p->job = row_text(job, "name");
	p->kind = row_kind(row_text(job, "kind"));
	return v;
}

enum cli_exit place_find(struct place *p)
{
	if (!place_look(p)) {
		return p->missing ? CLI_NO : CLI_FAILED;
	}
	if (p->worker.n > 0) {
		return CLI_OK;
	}
	if (str_is(p->phase, "Finished")) {
		cli_error(p->c,
			  "%.*s has ended, and its pods were deleted on the worker; to see such "
			  "logs later, collect them there, or follow them with `logs -f`",
			  STR_ARG(p->w.name));
	} else {
		cli_error(p->c,
			  "%.*s runs on no worker (%.*s%s%.*s); `kubectl multikueue why %.*s -n "
			  "%s` says more",
			  STR_ARG(p->w.name), STR_ARG(p->phase), p->message.n > 0 ? ": " : "",
			  STR_ARG(p->message), STR_ARG(p->w.name), p->ns);
	}
	return CLI_NO;
}

/* The context of the job's worker; NULL: the error was printed. */
static const char *context_of(const struct place *p)
{
	mk_str all = STR(""), worker;
	const char *found = NULL;

	for (size_t i = 0; i < p->args->n_given; i++) {
		const struct cli_given *g = &p->args->given[i];

		if (strcmp(g->option->name, "worker-context") != 0) {
			continue;
		}
		all = str_of(g->value);
		if (!str_split(&all, '=', &worker) || worker.n == 0 || all.n == 0) {
			cli_error(
				p->c,
				"--worker-context %s: expected WORKER=CONTEXT, such as %.*s=admin",
				g->value, STR_ARG(p->worker));
			return NULL;
		}
		found = str_eq(worker, p->worker) ? all.p : found;
	}
	return found ? found : arena_dup(&p->c->a, p->worker).p;
}

bool place_words(const struct place *p, const char *const *words,
		 const char *ret[KUBECTL_WORDS_MAX])
{
	const char *context = context_of(p), *all[KUBECTL_WORDS_MAX] = {"--namespace", p->ns};

	for (size_t n = 2; *words && n + 1 < KUBECTL_WORDS_MAX; n++) {
		all[n] = *words++;
	}
	if (context) {
		kubectl_words_in(context, p->args, all, ret);
	}
	return context;
}

/* --- pods ------------------------------------------------------------------------------------- */

/* What selects the job's pods: "" where only their annotation tells. */
static const char *label_of(const struct place *p)
{
	return str_is(p->kind, "Job")      ? "batch.kubernetes.io/job-name"
	       : str_is(p->kind, "JobSet") ? "jobset.sigs.k8s.io/jobset-name"
					   : "";
}

/* No worker gets an option onto the command line of the user's kubectl in place of a name. */
static bool is_named(const struct json *pod)
{
	mk_str name = json_str_at(pod, "/metadata/name");

	return name.n > 0 && name.p[0] != '-';
}

/* Kueue writes the Workload's name into each pod that it lets start. */
static bool is_of_workload(const struct place *p, const struct json *pod)
{
	return str_eq(json_str_at(pod, "/metadata/annotations/kueue.x-k8s.io~1workload"),
		      p->workload);
}

static int by_name(const void *x, const void *y)
{
	mk_str a = json_str_at(*(const struct json *const *)x, "/metadata/name");
	mk_str b = json_str_at(*(const struct json *const *)y, "/metadata/name");

	return str_cmp(a, b);
}

/* Those of the list that are the job's. */
static struct json *chosen(const struct place *p, const struct json *list)
{
	struct arena *a = &p->c->a;
	struct json_iter it = json_iter(json_get(list, "items"));
	struct json **pods = arena_array(a, it.left + 1, sizeof(struct json *));
	struct json *all = json_new_arr(a);
	bool labelled = label_of(p)[0] != '\0';
	size_t n = 0;

	while (pods && json_next(&it)) {
		if (is_named(it.val) && (labelled || is_of_workload(p, it.val))) {
			pods[n++] = it.val;
		}
	}
	if (pods && n > 0) {
		qsort(pods, n, sizeof(*pods), by_name);
	}
	for (size_t i = 0; i < n; i++) {
		json_add(a, all, json_share(a, pods[i]));
	}
	return all;
}

static void say_refused(const struct place *p, mk_str said)
{
	said = str_trim(str_cut(said, SAID_MAX));
	cli_error(p->c, "worker %.*s: kubectl get pods: %.*s", STR_ARG(p->worker), STR_ARG(said));
	if (memmem(said.p, said.n, "context", 7)) {
		buf_printf(&p->c->err,
			   "Name its context in your kubeconfig: --worker-context %.*s=CONTEXT\n",
			   STR_ARG(p->worker));
	}
}

static struct json *parsed(const struct place *p, mk_str text)
{
	struct mk_err why;
	struct json *list = NULL;

	if (json_parse(&p->c->a, text, &list, &why) != ERR_OK) {
		cli_error(p->c, "worker %.*s: kubectl get pods: %s", STR_ARG(p->worker), why.msg);
		return NULL;
	}
	return chosen(p, list);
}

struct json *place_pods(const struct place *p)
{
	const char *label = label_of(p), *argv[KUBECTL_WORDS_MAX];
	mk_str selector =
		label[0] ? arena_printf(&p->c->a, "--selector=%s=%.*s", label, STR_ARG(p->job))
			 : STR("--selector=kueue.x-k8s.io/podset");
	const char *words[] = {"get",      "pods", "--output=json", "--request-timeout=30s",
			       selector.p, NULL};
	struct json *pods = NULL;
	struct buf out, err;
	bool good = false;

	if (!selector.p) {
		(void)cli_no_memory(p->c);
		return NULL;
	}
	if (!place_words(p, words, argv)) {
		return NULL;
	}
	buf_init(&out, LIST_MAX);
	buf_init(&err, SAID_MAX);
	if (!kubectl_run(argv, STR_NONE, LIST_MS, &out, &err, &good)) {
		cli_error(p->c, "kubectl cannot be run: %s; expected it in the PATH",
			  strerror(errno));
	} else if (!good) {
		say_refused(p, buf_str(&err));
	} else {
		pods = parsed(p, buf_str(&out));
	}
	buf_done(&out);
	buf_done(&err);
	return pods;
}

struct json *place_pod(const struct place *p, struct json *pods)
{
	const char *name = cli_get(p->args, "pod");
	struct json_iter it = json_iter(pods);

	if (!name || !*name) {
		return pods;
	}
	while (json_next(&it)) {
		if (str_is(json_str_at(it.val, "/metadata/name"), name)) {
			struct json *one = json_new_arr(&p->c->a);

			json_add(&p->c->a, one, json_share(&p->c->a, it.val));
			return one;
		}
	}
	cli_error(p->c,
		  "%.*s has no pod \"%s\" on worker %.*s; `kubectl multikueue pods %.*s -n %s` "
		  "lists them",
		  STR_ARG(p->w.name), name, STR_ARG(p->worker), STR_ARG(p->w.name), p->ns);
	return NULL;
}

bool place_each(const struct json *pod, size_t *pos, struct place_container *ret)
{
	const struct json *init = json_at(pod, "/spec/initContainers");
	bool first = *pos < json_len(init);
	const struct json *one =
		first ? json_elem(init, *pos)
		      : json_elem(json_at(pod, "/spec/containers"), *pos - json_len(init));
	mk_str name = row_text(one, "name");
	struct json_iter it = json_iter(json_at(pod, first ? "/status/initContainerStatuses"
							   : "/status/containerStatuses"));

	if (!one) {
		return false;
	}
	(*pos)++;
	*ret = (struct place_container){.name = name};
	while (json_next(&it)) {
		if (str_eq(row_text(it.val, "name"), name)) {
			ret->restarts = json_int(json_get(it.val, "restartCount"), 0);
			ret->started = ret->restarts > 0 || json_at(it.val, "/state/running") ||
				       json_at(it.val, "/state/terminated");
		}
	}
	return true;
}
