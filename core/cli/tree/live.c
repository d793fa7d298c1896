/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a cluster by kubectl; see live.h. */
#include "core/cli/tree/live.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/quota/compile_source.h"

enum {
	LIST_MAX = 256 * 1024 * 1024,
	LIST_MS = 10 * 60 * 1000,
	WORDS_MAX = 64 * 1024,
	QUIET_MS = 2000,
};

/* Only the first must be served: a cluster without it has no Kueue. */
static const struct kind {
	const char *resource;
	bool namespaced;
	enum tree_live from; /* read when so much or more is wanted */
} kinds[] = {
	{"clusterqueues." NAME_GROUP, false, TREE_QUEUES},
	{"cohorts." NAME_GROUP, false, TREE_QUEUES},
	{"clusterquotatrees." NAME_GROUP, false, TREE_QUEUES},
	{"resourceflavors." NAME_GROUP, false, TREE_QUEUES},
	{"localqueues." NAME_GROUP, true, TREE_QUEUES},
	{"workloads." NAME_GROUP, true, TREE_WORKLOADS},
};
enum { N_LIMITS = 2, N_RESTORED = 3 }; /* of these kinds, from the first on */
static const struct kind elastic = {"elasticquotas.scheduling.x-k8s.io", true, TREE_QUEUES};

struct reading {
	struct cli *c;
	const struct cli_args *args;
	struct tree_input *in;
	int64_t began;
	int64_t shown; /* seconds that the progress told last */
	const char *now;
	mk_str refused; /* resources, with a comma between them */
	size_t size;    /* of in->limits */
};

/* --- lists ------------------------------------------------------------------------------------ */

/* While kubectl works. */
static void look(void *ctx)
{
	struct reading *r = ctx;
	int64_t ms = clock_mono_ms() - r->began;

	if (ms >= QUIET_MS && ms / 1000 != r->shown) {
		r->shown = ms / 1000;
		output_progress(r->c, arena_printf(&r->c->a, "Reading %s, %llds", r->now,
						   (long long)r->shown));
	}
}

/* kubectl's last line: warnings and tries come before it. */
static mk_str last_line(const struct buf *err)
{
	mk_str rest = buf_str(err), line, last = STR("no answer");

	while (str_split(&rest, '\n', &line)) {
		last = str_trim(line).n > 0 ? str_trim(line) : last;
	}
	return str_cut(last, 500);
}

static bool says_not_served(mk_str line)
{
	return str_starts(line, STR("error: the server doesn't have a resource type")) ||
	       str_starts(line, STR("Error from server (NotFound):"));
}

/* The error is printed; a right that is missing does not keep us from reading on. */
static bool tell_refused(struct reading *r, const struct kind *k, mk_str line)
{
	struct cli *c = r->c;

	if (!str_starts(line, STR("Error from server (Forbidden):"))) {
		cli_error(c, "`kubectl get %s%s`: %.*s", k->resource,
			  k->namespaced ? " --all-namespaces" : "", STR_ARG(line));
		return false;
	}
	cli_error(c, "the right to list %s%s is missing: %.*s", k->resource,
		  k->namespaced ? " in all namespaces" : "", STR_ARG(line));
	r->refused = arena_printf(&c->a, "%.*s%s%s", STR_ARG(r->refused),
				  r->refused.n > 0 ? "," : "", k->resource);
	return true;
}

/* The objects of a kind in *ret; NULL: not served, or refused. False: the error was printed. */
static bool list(struct reading *r, const struct kind *k, struct json **ret)
{
	struct cli *c = r->c;
	const char *words[] = {"get",
			       k->resource,
			       "--output=json",
			       "--request-timeout=60s",
			       k->namespaced ? "--all-namespaces" : NULL,
			       NULL};
	const struct kubectl_watch watch = {look, r};
	const char *argv[KUBECTL_WORDS_MAX];
	struct json *v = NULL;
	struct mk_err err;
	struct buf out, said;
	bool good = false, done = true;

	*ret = NULL;
	r->now = k->resource;
	buf_init(&out, LIST_MAX);
	buf_init(&said, WORDS_MAX);
	kubectl_words(r->args, words, argv);
	if (!kubectl_run_watched(argv, STR(""), LIST_MS, &watch, &out, &said, &good)) {
		cli_error(c, "kubectl cannot be started: %s; expected it in the PATH, or files: -f",
			  strerror(errno));
		done = false;
	} else if (out.failed) {
		cli_error(c, "`kubectl get %s`: more than %d MiB", k->resource, LIST_MAX >> 20);
		done = false;
	} else if (!good && says_not_served(last_line(&said))) {
		done = k != &kinds[0];
		if (!done) {
			cli_error(c,
				  "this cluster serves no %s: is Kueue installed there? See "
				  "--context, or name files with -f",
				  k->resource);
		}
	} else if (!good) {
		done = tell_refused(r, k, last_line(&said));
	} else if (json_parse(&c->a, buf_str(&out), &v, &err) != ERR_OK ||
		   json_type(json_get(v, "items")) != JSON_ARR) {
		cli_error(c, "`kubectl get %s`: expected a list in JSON, found \"%.*s\"",
			  k->resource, STR_ARG(str_trim(str_cut(buf_str(&out), 100))));
		done = false;
	}
	buf_done(&out);
	buf_done(&said);
	*ret = done ? v : NULL;
	return done;
}

/* --- into the set ----------------------------------------------------------------------------- */

/* A copy of a Cohort or ClusterQueue as it is, under the names of Kueue's newest version. */
static bool keep(struct reading *r, struct json *o)
{
	struct tree_input *in = r->in;
	struct arena *a = &r->c->a;
	struct json *old = json_at(o, "/spec/cohort");

	if (old && !json_at(o, "/spec/cohortName")) {
		(void)json_put(a, o, "/spec/cohortName", json_dup(a, old));
		(void)json_put(a, o, "/spec/cohort", NULL);
	}
	if (in->n_limits == r->size) {
		size_t size = r->size ? r->size * 2 : 64;
		struct json **bigger = arena_array(a, size, sizeof(*bigger));

		if (!bigger) {
			return false;
		}
		if (in->n_limits > 0) {
			memcpy(bigger, in->limits, in->n_limits * sizeof(*bigger));
		}
		in->limits = bigger;
		r->size = size;
	}
	in->limits[in->n_limits++] = json_dup(a, o);
	return !arena_failed(a);
}

static bool add(struct reading *r, const struct kind *k, struct json *v)
{
	struct json_iter it = json_iter(json_get(v, "items"));
	struct mk_err err;

	while (json_next(&it)) {
		if (api_set_add(r->in->set, it.val, 0, &err) != ERR_OK) {
			cli_error(r->c, "`kubectl get %s`: %s", k->resource, err.msg);
			return false;
		}
	}
	return true;
}

/* Keeps Cohorts and ClusterQueues as they are, then gives the set what the trees' owners wrote. */
static bool restore(struct reading *r, struct json *const *lists)
{
	size_t n = 0;
	struct json **objects;
	struct mk_err err;

	for (size_t i = 0; i < N_RESTORED; i++) {
		n += json_len(json_get(lists[i], "items"));
	}
	objects = arena_array(&r->c->a, n, sizeof(*objects));
	n = 0;
	for (size_t i = 0; objects != NULL && i < N_RESTORED; i++) {
		struct json_iter it = json_iter(json_get(lists[i], "items"));

		while (json_next(&it)) {
			if (i < N_LIMITS && !keep(r, it.val)) {
				return cli_no_memory(r->c) == CLI_OK;
			}
			if (!api_totals_restore(&r->c->a, it.val)) {
				return cli_no_memory(r->c) == CLI_OK;
			}
			objects[n++] = it.val;
		}
	}
	return (objects && compile_source(&r->c->a, objects, n, &err) == ERR_OK) ||
	       cli_no_memory(r->c) == CLI_OK;
}

static bool names_elastic(const struct json *flavors)
{
	struct json_iter it = json_iter(json_get(flavors, "items"));

	while (json_next(&it)) {
		if (json_at(it.val, "/spec/relatedElasticQuota") ||
		    json_getn(json_at(it.val, "/metadata/annotations"),
			      STR(API_ANNOTATION "related-elastic-quota"))) {
			return true;
		}
	}
	return false;
}

static bool read_all(struct reading *r, enum tree_live what)
{
	enum { N = sizeof(kinds) / sizeof(kinds[0]) };
	struct json *lists[N + 1] = {NULL};
	bool good = true;

	for (size_t i = 0; good && i < N; i++) {
		good = kinds[i].from > what || list(r, &kinds[i], &lists[i]);
	}
	good = good && (!names_elastic(lists[3]) || list(r, &elastic, &lists[N]));
	if (r->refused.n > 0) {
		buf_printf(&r->c->err,
			   "An administrator can grant what is missing with a role: kubectl create "
			   "clusterrole queue-trees --verb=list --resource=%.*s\n",
			   STR_ARG(r->refused));
		return false;
	}
	good = good && restore(r, lists);
	for (size_t i = 0; good && i <= N; i++) {
		good = add(r, i < N ? &kinds[i] : &elastic, lists[i]);
	}
	return good;
}

enum cli_exit live_read(struct cli *c, const struct cli_args *args, enum tree_live what,
			struct tree_input *in)
{
	struct reading r = {.c = c, .args = args, .in = in, .began = clock_mono_ms()};
	bool good;

	in->is_live = true;
	r.refused = STR("");
	good = read_all(&r, what);
	if (r.shown > 0) {
		output_progress(c, STR(""));
	}
	return good ? CLI_OK : CLI_FAILED;
}
