/* SPDX-License-Identifier: Apache-2.0 */
/* `tree compile`: Cohorts and ClusterQueues that make Kueue enforce a tree. */
#include "core/cli/tree/world.h"
#include "core/quota/compile.h"
#include "core/quota/compile_plan.h"

/* Reasons or notes, a line each. */
static void print_faults(struct cli *c, const char *what, const struct api_model *m,
			 const struct api_faults *f)
{
	for (size_t i = 0; i < f->n; i++) {
		buf_printf(&c->err, "%s: tree %.*s: %.*s: %.*s\n", what, STR_ARG(m->name),
			   STR_ARG(f->p[i].path), STR_ARG(f->p[i].text));
	}
}

/* What of an object's metadata is its owner's: kubectl's note of what it applied last is not. */
static struct json *metadata(struct cli *c, const struct json *from)
{
	static const char *const keys[] = {"name", "labels", "annotations"};
	struct json *meta = json_new_obj(&c->a);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_set(&c->a, meta, str_of(keys[i]), json_dup(&c->a, json_get(from, keys[i])));
	}
	json_put(&c->a, meta, "/annotations/kubectl.kubernetes.io~1last-applied-configuration",
		 NULL);
	return meta;
}

/*
 * A ClusterQueue of the files is printed whole, with what the tree decides: kubectl takes over what
 * it applied before, and removes what is not there.
 */
static struct json *whole(struct cli *c, const struct api_set *set, struct json *o)
{
	bool is_queue = str_is(json_str_at(o, "/kind"), api_kind_name(API_QUEUE));
	const struct api_queue *q =
		is_queue ? api_set_queue(set, json_str_at(o, "/metadata/name")) : NULL;
	struct json *spec;

	if (!q) {
		return o;
	}
	spec = json_dup(&c->a, json_get(q->object->json, "spec"));
	spec = json_merge(&c->a, spec != NULL ? spec : json_new_obj(&c->a), json_get(o, "spec"));
	json_set(&c->a, o, STR("metadata"), metadata(c, json_get(q->object->json, "metadata")));
	json_set(&c->a, o, STR("spec"), spec);
	return o;
}

/* All *ret_n trees, or none: what is applied in part is no tree. */
static enum cli_exit compile_all(struct cli *c, const struct world *w, struct json *items,
				 size_t *ret_n)
{
	enum cli_exit rc = CLI_OK;
	struct mk_err err;

	size_t n = 0;

	for (size_t i = 0; i < w->models.n; i++) {
		struct compiled out;

		if (world_is_kueues(w, i)) {
			continue;
		}
		n++;
		if (compile_tree(&c->a, &w->models.v[i], w->trees[i], &out, &err) != ERR_OK) {
			return cli_no_memory(c);
		}
		print_faults(c, "not expressible", &w->models.v[i], &out.reasons);
		if (out.reasons.n > 0) {
			rc = CLI_NO;
			continue;
		}
		print_faults(c, "note", &w->models.v[i], &out.notes);
		for (size_t k = 0; k < out.n; k++) {
			json_add(&c->a, items, whole(c, w->in.set, out.objects[k]));
		}
	}
	*ret_n = n;
	return rc;
}

/* Cohorts and ClusterQueues of the files of option live, or of the cluster that was read. */
static enum cli_exit read_live(struct cli *c, const struct cli_args *args,
			       const struct tree_input *in, struct json ***ret, size_t *ret_n)
{
	struct files files = {.n = 0};
	struct api_set *set = api_set_new(&c->a);
	size_t n = 0;
	const char **paths = cli_get_all(c, args, "live", &n);

	if (!set || !paths) {
		return cli_no_memory(c);
	}
	if (n == 0) {
		*ret = in->limits;
		*ret_n = in->n_limits;
		return CLI_OK;
	}
	if (!files_read(c, &files, paths, n) || !files_add(c, &files, set)) {
		return CLI_FAILED;
	}
	*ret = arena_array(&c->a, set->n_objects, sizeof(struct json *));
	*ret_n = 0;
	for (size_t i = 0; *ret != NULL && i < set->n_objects; i++) {
		const struct api_object *o = set->objects[i];

		if (o->kind == API_COHORT || o->kind == API_QUEUE) {
			(*ret)[(*ret_n)++] = json_dup(&c->a, o->json);
		}
	}
	return *ret != NULL ? CLI_OK : cli_no_memory(c);
}

/* Leaves in 'items' what is to be written next, and says what that is. */
static enum cli_exit keep_next(struct cli *c, const struct cli_args *args,
			       const struct tree_input *in, struct json *list)
{
	struct json *items = json_get(list, "items");
	struct json **want = arena_array(&c->a, json_len(items), sizeof(struct json *));
	struct json **live = NULL;
	struct json_iter it = json_iter(items);
	size_t n_want = 0;
	size_t n_live = 0;
	enum cli_exit rc = want != NULL ? read_live(c, args, in, &live, &n_live) : cli_no_memory(c);
	struct compile_plan plan;
	enum mk_code code;
	struct mk_err err;

	if (rc != CLI_OK) {
		return rc;
	}
	while (json_next(&it)) {
		want[n_want++] = it.val;
	}
	code = compile_plan(&c->a, want, n_want, live, n_live, &plan, &err);
	if (code != ERR_OK) {
		cli_error(c, "%s", err.msg);
		return code == ERR_CONFLICT ? CLI_NO : CLI_FAILED;
	}
	items = json_new_arr(&c->a);
	for (size_t i = 0; i < plan.n; i++) {
		json_add(&c->a, items, json_dup(&c->a, plan.objects[i]));
	}
	json_set(&c->a, list, STR("items"), items);
	for (size_t i = 0; i < plan.n_idle; i++) {
		buf_printf(&c->err, "note: Cohort %.*s is not needed any more: delete it\n",
			   STR_ARG(plan.idle[i]));
	}
	if (plan.more) {
		buf_printf(&c->err,
			   "note: first what gets less, %zu object%s: apply it, and compile again "
			   "with what the cluster has then\n",
			   plan.n, plan.n == 1 ? "" : "s");
	} else if (plan.n == 0) {
		buf_printf(&c->err, "note: the cluster has these trees: nothing to apply\n");
	}
	return CLI_OK;
}

static enum cli_exit run_compile(struct cli *c, const struct cli_args *args)
{
	struct json *list = json_new_obj(&c->a);
	struct json *items = json_new_arr(&c->a);
	struct world w;
	enum cli_format format;
	enum cli_exit rc;
	size_t n = 0;

	if (!cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	if (args->n_rest > 0) {
		return cli_usage(c, "kubectl multikueue tree compile",
				 "unexpected %s: name files with -f", args->rest[0]);
	}
	json_set_str(&c->a, list, "apiVersion", STR("v1"));
	json_set_str(&c->a, list, "kind", STR("List"));
	json_set(&c->a, list, STR("items"), items);
	rc = world_open(c, args, "filename", TREE_QUEUES, NULL, &w);
	if (rc == CLI_OK) {
		rc = compile_all(c, &w, items, &n);
		world_print_notes(c, &w);
		if (rc == CLI_NO) {
			cli_error(c, "nothing was compiled: Kueue cannot do what these trees say");
		} else if (rc == CLI_OK && n == 0) {
			cli_error(c,
				  "no queue tree in this cluster: neither a ClusterQuotaTree nor "
				  "ClusterQueues with a parent; name files with -f");
			rc = CLI_NO;
		}
	}
	if (rc == CLI_OK && (w.in.is_live || cli_get(args, "live") != NULL)) {
		rc = keep_next(c, args, &w.in, list);
	}
	if (rc == CLI_OK && (arena_failed(&c->a) ||
			     !output_value(c, list, format == CLI_JSON ? format : CLI_YAML))) {
		rc = cli_no_memory(c);
	}
	world_close(&w);
	return rc;
}

static const struct cli_option options[] = {
	TREE_LIVE_OPTIONS,
	{0, "live", "FILE", true,
	 "Cohorts and ClusterQueues of the cluster: print only what to apply next"},
	{'o', "output", "FORMAT", false, "yaml (default) or json"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_compile = {
	.name = "compile",
	.synopsis = "[-f FILE...] [--live FILE...] [-o FORMAT]",
	.summary = "print Cohorts and ClusterQueues that make Kueue enforce the trees",
	.help = "An inner queue becomes a Cohort, a leaf a ClusterQueue in it. Minima, maxima and "
		"reserves of every\n"
		"level hold exactly; who is next and who is preempted, Kueue decides. "
		"ClusterQueues of the files\n"
		"keep their other fields, so name the files of all that exist; those that are "
		"not there are made from\n"
		"the tree's template. Status 1 with the reasons, and nothing printed, when Kueue "
		"cannot do what a\n"
		"tree says.\n"
		"\n"
		"With --live no limit is ever above both what it was and what it will be: apply "
		"what is printed, and\n"
		"repeat until nothing is. Without -f the trees are those of the cluster of the "
		"kubeconfig, and so\n"
		"are, without --live, the objects that they are compared with.\n",
	.examples = "  kubectl multikueue tree compile -f tree.yaml -f queues/\n"
		    "  kubectl multikueue tree compile -f tree.yaml -f queues/ |\n"
		    "    kubectl apply --server-side -f -\n"
		    "  kubectl multikueue tree compile --context prod\n"
		    "  kubectl get cohorts,clusterqueues -o json >live.json\n"
		    "  kubectl multikueue tree compile -f tree.yaml -f queues/ --live live.json\n",
	.options = options,
	.run = run_compile,
};
