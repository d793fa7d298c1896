/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a cluster by kubectl; see live.h. */
#include "core/cli/tree/live.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/quota/compile.h"

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
static const struct kind elastic = {"elasticquotas.scheduling.x-k8s.io", true, TREE_QUEUES};

struct reading {
	struct cli *c;
	const struct cli_args *args;
	struct tree_input *in;
	int64_t began;
	int64_t shown; /* seconds that the progress told last */
	const char *now;
	mk_str refused;     /* resources, with a comma between them */
	struct map cohorts; /* by name: struct json */
	struct map inner;   /* by the queue that they stand for: Cohorts that compile made */
	struct map listed;  /* queues of ClusterQuotaTrees: struct json of the tree */
	size_t size;        /* of in->limits */
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

/* --- what compile made ------------------------------------------------------------------------ */

mk_str live_made_by(const struct json *cohort)
{
	return json_str(json_getn(json_at(cohort, "/metadata/labels"), STR(COMPILE_LABEL)));
}

mk_str live_queue_of(mk_str tree, mk_str name)
{
	bool is = tree.n > 0 && str_starts(name, tree) && name.n > tree.n + 1 &&
		  name.p[tree.n] == '.';

	return is ? str_sub(name, tree.n + 1, SIZE_MAX) : name;
}

/* The queues that a ClusterQuotaTree has. */
static bool note_tree(struct reading *r, struct json *tree)
{
	static const char *const spelled[] = {"/spec/hierarchies", "/spec/hierachies"};

	for (size_t i = 0; i < 2; i++) {
		struct json_iter groups = json_iter(json_at(tree, spelled[i]));

		while (json_next(&groups)) {
			struct json_iter children =
				json_iter(json_get(groups.val, "weightedQuotas"));

			while (json_next(&children)) {
				mk_str name = json_str(json_get(children.val, "name"));

				if (name.n > 0 && !map_put(&r->listed, name, tree)) {
					return false;
				}
			}
		}
	}
	return true;
}

static bool note_cohort(struct reading *r, struct json *cohort)
{
	mk_str name = json_str_at(cohort, "/metadata/name");
	mk_str tree = live_made_by(cohort);

	return map_put(&r->cohorts, name, cohort) &&
	       (tree.n == 0 || map_put(&r->inner, live_queue_of(tree, name), cohort));
}

/* A field of trees, which an annotation may stand for. */
static bool says(const struct json *queue, const char *field, const char *annotation)
{
	const struct json *notes = json_at(queue, "/metadata/annotations");

	return json_get(json_get(queue, "spec"), field) || json_getn(notes, str_of(annotation));
}

/* Limits on borrowing are compile's: a tree says maxima. */
static void drop_borrowing(struct arena *a, struct json *queue)
{
	struct json_iter groups = json_iter(json_at(queue, "/spec/resourceGroups"));

	while (json_next(&groups)) {
		struct json_iter flavors = json_iter(json_get(groups.val, "flavors"));

		while (json_next(&flavors)) {
			struct json_iter each = json_iter(json_get(flavors.val, "resources"));

			while (json_next(&each)) {
				if (json_get(each.val, "borrowingLimit")) {
					(void)json_put(a, each.val, "/borrowingLimit", NULL);
				}
			}
		}
	}
}

/* A ClusterQueue as the owner of its tree wrote it. */
static void restore(struct reading *r, struct json *queue)
{
	struct arena *a = &r->c->a;
	mk_str name = json_str_at(queue, "/metadata/name");
	struct json *cohort = map_get(&r->cohorts, json_str_at(queue, "/spec/cohortName"));
	struct json *tree = map_get(&r->listed, name);
	mk_str by = live_made_by(cohort ? cohort : map_get(&r->inner, name));
	bool has_parent = says(queue, "parent", API_ANNOTATION "parent");
	bool weighs = says(queue, "minWeight", API_ANNOTATION "min-weight") ||
		      says(queue, "maxWeight", API_ANNOTATION "max-weight");

	if (by.n == 0 || (!has_parent && !str_eq(json_str_at(tree, "/metadata/name"), by))) {
		return;
	}
	if (cohort) {
		(void)json_put(a, queue, "/spec/cohortName", NULL);
	}
	if (has_parent && weighs) {
		(void)json_put(a, queue, "/spec/resourceGroups", NULL);
	} else if (has_parent) {
		drop_borrowing(a, queue);
	}
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

static bool add(struct reading *r, const struct kind *k, struct json *v, bool is_queues)
{
	struct json_iter it = json_iter(json_get(v, "items"));
	struct mk_err err;

	while (json_next(&it)) {
		if (is_queues) {
			restore(r, it.val);
		}
		if (api_set_add(r->in->set, it.val, 0, &err) != ERR_OK) {
			cli_error(r->c, "`kubectl get %s`: %s", k->resource, err.msg);
			return false;
		}
	}
	return true;
}

/* What has to be known of a list before ClusterQueues are read. */
static bool note(struct reading *r, size_t kind, struct json *v)
{
	struct json_iter it = json_iter(json_get(v, "items"));
	bool good = true;

	while (good && json_next(&it)) {
		good = (kind > 1 || keep(r, it.val)) && (kind != 1 || note_cohort(r, it.val)) &&
		       (kind != 2 || note_tree(r, it.val));
	}
	return good || cli_no_memory(r->c) == CLI_OK;
}

static bool names_elastic(const struct json *flavors)
{
	struct json_iter it = json_iter(json_get(flavors, "items"));

	while (json_next(&it)) {
		if (says(it.val, "relatedElasticQuota", API_ANNOTATION "related-elastic-quota")) {
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
		good = kinds[i].from > what ||
		       (list(r, &kinds[i], &lists[i]) && note(r, i, lists[i]));
	}
	good = good && (!names_elastic(lists[3]) || list(r, &elastic, &lists[N]));
	if (r->refused.n > 0) {
		buf_printf(&r->c->err,
			   "An administrator can grant what is missing with a role: kubectl create "
			   "clusterrole queue-trees --verb=list --resource=%.*s\n",
			   STR_ARG(r->refused));
		return false;
	}
	for (size_t i = 0; good && i <= N; i++) {
		good = add(r, i < N ? &kinds[i] : &elastic, lists[i], i == 0);
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
	map_init(&r.cohorts);
	map_init(&r.inner);
	map_init(&r.listed);
	good = read_all(&r, what);
	if (r.shown > 0) {
		output_progress(c, STR(""));
	}
	map_done(&r.cohorts);
	map_done(&r.inner);
	map_done(&r.listed);
	return good ? CLI_OK : CLI_FAILED;
}
