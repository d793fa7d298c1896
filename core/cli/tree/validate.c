/* SPDX-License-Identifier: Apache-2.0 */
/* `tree validate`, and how all commands of `tree` read and judge their files. */
#include "core/cli/tree/live.h"

/* What a user can do about a rule; the rule's text says what is wrong. */
static const char *const hints[] = {
	[0] = "give the field a value of that kind, or leave it out",
	[1] = "keep `hierarchies` and delete `hierachies`",
	[2] = "take the parent away from one queue of the cycle",
	[3] = "create the parent first, or add its file with -f",
	[4] = "remove the cohort name: in a tree the parent takes its place",
	[5] = "remove either the weights or resourceGroups",
	[6] = "list each child once, and only queues whose parent this is",
	[7] = "a queue belongs to one tree: remove it from one of the two",
	[8] = "a name stands once in a tree: rename one of them or remove it",
	[9] = "exactly one key may have no parent: hang the others below it",
	[10] = "list it as a child of a node that is in the tree",
	[11] = "change minWeight of these siblings until they add up to 100",
	[12] = "weights are percentages: 0 to 100",
	[13] = "raise maxWeight or lower minWeight",
	[14] = "decide for weights or for amounts on that node",
	[15] = "decide for weights or for amounts in the whole tree",
	[16] = "lower the minima of the children or raise the parent's",
	[17] = "lower this maximum or raise the parent's",
	[18] = "lower the minimum or raise the maximum of this node",
	[19] = "lower the limit or raise the quota",
	[20] = "change the tree instead: the controller writes resourceGroups",
	[21] = "point the LocalQueue at a leaf: `kubectl multikueue tree show` lists them",
	[22] = "move or delete the LocalQueues of that queue first",
	[23] = "remove it from the template",
	[24] = "remove it from what you apply: its status shows what the controller found",
	[25] = "a queue is in a tree of parents or in a ClusterQuotaTree, not in both",
	[26] = "finish or move the work first, or set the annotation kueue.x-k8s.io/force: "
	       "\"true\"",
	[27] = "split the tree, or make it flatter",
	[28] = "a resource and a flavor belong to one resource group: merge the groups or remove "
	       "one",
	[29] = "list for each flavor the resources of coveredResources, in the same order",
	[30] = "name at least one resource and one flavor, or remove the group",
	[31] = "rename it: Kubernetes takes no other names",
	[32] = "correct the word, or remove it: nothing reads it",
	[33] = "correct capacityFrom, or remove it: the tree then has what resourceGroup says",
};

/* What helps better than the rule's own hint, by how the text begins or ends; 'rule' -1: any. */
static const struct special {
	int rule;
	const char *begins, *ends;
	const char *hint;
} special_hints[] = {
	{-1, "", "must be at least 0", "weights and amounts are 0 or more"},
	{0, "Duplicate value", "", "it may stand there once: rename one of them, or remove it"},
	{0, "Required value", "", "add it: it cannot be left out"},
	{0, "Unsupported value", "", "use one of the words that are listed"},
	{0, "Forbidden", "", "remove it"},
	{0, "", "quote it", "put the value in quotes"},
	{0, "", "must be a DNS subdomain", "rename it: Kubernetes takes no other names"},
	{0, "", "tree does not exist", "add the file of the other tree with -f"},
	{19, "Forbidden", "", "remove the limit, or say it where the text points to"},
	{19, "", "is not in the tree's resourceGroup",
	 "name flavors and resources of the tree's resourceGroup"},
};

static const char *hint_of(const struct api_fault *f)
{
	for (size_t i = 0; i < sizeof(special_hints) / sizeof(special_hints[0]); i++) {
		const struct special *s = &special_hints[i];

		if ((s->rule < 0 || s->rule == f->rule) && str_starts(f->text, str_of(s->begins)) &&
		    str_ends(f->text, str_of(s->ends))) {
			return s->hint;
		}
	}
	return hints[f->rule];
}

/* The hints of the errors that were shown, each once, by rule. */
struct told {
	struct {
		int rule;
		const char *hint;
	} v[64];
	size_t n;
};

static void tell(struct told *t, const struct api_fault *f)
{
	const char *hint = hint_of(f);
	size_t at = t->n;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].rule == f->rule && t->v[i].hint == hint) {
			return;
		}
	}
	if (t->n == sizeof(t->v) / sizeof(t->v[0])) {
		return;
	}
	for (; at > 0 && t->v[at - 1].rule > f->rule; at--) {
		t->v[at] = t->v[at - 1];
	}
	t->v[at].rule = f->rule;
	t->v[at].hint = hint;
	t->n++;
}

static enum cli_exit failed(struct cli *c, const struct mk_err *err)
{
	cli_error(c, "%s", err->msg);
	return CLI_FAILED;
}

static bool read_files(struct cli *c, const char *const *paths, size_t n, struct tree_input *ret)
{
	return files_read(c, &ret->files, paths, n) && files_restore(c, &ret->files) &&
	       files_add(c, &ret->files, ret->set);
}

enum cli_exit tree_read(struct cli *c, const struct cli_args *args, const char *name,
			enum tree_live live, const struct tree_input *before,
			struct tree_input *ret)
{
	struct validate_input in = {.subject = API_NONE, .deleted = API_NONE};
	size_t n = 0;
	const char **paths = cli_get_all(c, args, name, &n);
	struct mk_err err;

	*ret = (struct tree_input){.set = api_set_new(&c->a), .before = before};
	if (!paths || !ret->set) {
		return cli_no_memory(c);
	}
	if (n == 0 && live == TREE_FILES) {
		cli_error(c, "no files: name some with --%s FILE", name);
		return CLI_USAGE;
	}
	if (n > 0 ? !read_files(c, paths, n, ret) : live_read(c, args, live, ret) != CLI_OK) {
		return CLI_FAILED;
	}
	if (api_set_link(ret->set, API_NONE, &err) != ERR_OK) {
		return failed(c, &err);
	}
	in.now = ret->set;
	in.before = before != NULL ? before->set : NULL;
	if (validate(&c->a, &in, &ret->errors, &err) != ERR_OK) {
		return failed(c, &err);
	}
	return CLI_OK;
}

/* What 'o' was read from: a change is also wrong for objects that it takes away. */
static const struct tree_input *source_of(const struct tree_input *in, const struct api_object *o)
{
	bool is_new = o->index < in->set->n_objects && in->set->objects[o->index] == o;

	return is_new || !in->before ? in : in->before;
}

/* "queues.yaml:14: "; of a cluster nothing. */
static mk_str place_of(struct cli *c, const struct tree_input *in, const struct validate_error *e)
{
	const struct tree_input *from = source_of(in, e->object);
	const struct files *f = &from->files;

	return from->is_live ? STR("")
			     : arena_printf(&c->a, "%s:%zu: ", f->docs[e->object->tag].file,
					    files_line(c, f, e->object->tag, e->fault.path));
}

/* With its namespace, where a cluster has many of the same name. */
static mk_str name_of(struct cli *c, const struct tree_input *in, const struct api_object *o)
{
	return !source_of(in, o)->is_live || o->ns.n == 0
		       ? o->name
		       : arena_printf(&c->a, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
}

void tree_print_errors(struct cli *c, struct buf *out, const struct tree_input *in)
{
	struct told told = {.n = 0};
	size_t shown = 0;

	for (size_t i = 0; i < in->errors.n; i++) {
		const struct validate_error *e = &in->errors.v[i];
		const struct api_object *o = e->object;
		bool same = i > 0 && in->errors.v[i - 1].object == o;

		/* As a webhook does: the first of each object. */
		shown = same ? shown + 1 : 1;
		if (shown > VALIDATE_SHOWN) {
			size_t more = 1;

			while (i + 1 < in->errors.n && in->errors.v[i + 1].object == o) {
				more++;
				i++;
			}
			buf_printf(out, "and %zu more\n", more);
			continue;
		}
		buf_printf(out, "%.*s%s/%.*s: %.*s\n", STR_ARG(place_of(c, in, e)),
			   api_kind_name(o->kind), STR_ARG(name_of(c, in, o)),
			   STR_ARG(validate_line(&c->a, &e->fault)));
		tell(&told, &e->fault);
	}
	for (size_t i = 0; i < told.n; i++) {
		if (told.v[i].rule > 0) {
			buf_printf(out, "  to mend V%d: %s\n", told.v[i].rule, told.v[i].hint);
		} else {
			buf_printf(out, "  to mend values: %s\n", told.v[i].hint);
		}
	}
}

void tree_print_idle(struct cli *c, const struct api_tree *tree)
{
	for (size_t i = 0; i < tree->idle.n; i++) {
		buf_printf(&c->err, "note: tree %.*s: %.*s: %.*s\n", STR_ARG(tree->name),
			   STR_ARG(tree->idle.p[i].path), STR_ARG(tree->idle.p[i].text));
	}
}

/*
 * The errors as JSON: [{"file", "line", "kind", "name", "rule", "path", "message"}], of a
 * cluster "namespace" in place of the first two. NULL: out of memory.
 */
static struct json *errors_json(struct cli *c, const struct tree_input *in)
{
	struct json *list = json_new_arr(&c->a);

	for (size_t i = 0; i < in->errors.n; i++) {
		const struct validate_error *e = &in->errors.v[i];
		struct json *v = json_new_obj(&c->a);
		const struct tree_input *from = source_of(in, e->object);
		const struct files *f = &from->files;
		size_t tag = e->object->tag;

		if (!from->is_live) {
			json_set_str(&c->a, v, "file", str_of(f->docs[tag].file));
			json_set_int(&c->a, v, "line",
				     (int64_t)files_line(c, f, tag, e->fault.path));
		} else if (e->object->ns.n > 0) {
			json_set_str(&c->a, v, "namespace", e->object->ns);
		}
		json_set_str(&c->a, v, "kind", str_of(api_kind_name(e->object->kind)));
		json_set_str(&c->a, v, "name", e->object->name);
		json_set_int(&c->a, v, "rule", e->fault.rule);
		json_set_str(&c->a, v, "path", e->fault.path);
		json_set_str(&c->a, v, "message", e->fault.text);
		json_set_str(&c->a, v, "hint", str_of(hint_of(&e->fault)));
		json_add(&c->a, list, v);
	}
	return arena_failed(&c->a) ? NULL : list;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Queues that are in some tree, and how many trees. */
static void count(const struct api_set *set, size_t *ret_trees, size_t *ret_queues)
{
	*ret_trees = set->n_trees;
	*ret_queues = 0;
	for (size_t i = 0; i < set->n_places; i++) {
		const struct api_place *p = set->all_places[i];

		*ret_queues += api_place_in_tree(p) ? 1 : 0;
		*ret_trees += !p->tree && !p->parent && p->n_children > 0 ? 1 : 0;
	}
}

static enum cli_exit run_validate(struct cli *c, const struct cli_args *args)
{
	struct tree_input in, old;
	enum cli_format format;
	bool changed = cli_get(args, "from") != NULL;
	enum cli_exit rc = CLI_OK;
	size_t n_trees, n_queues;

	if (!cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	if (args->n_rest > 0) {
		return cli_usage(c, "kubectl multikueue tree validate",
				 "unexpected %s: name files with -f", args->rest[0]);
	}
	if (changed) {
		rc = tree_read(c, args, "from", TREE_FILES, NULL, &old);
	}
	if (rc == CLI_OK) {
		rc = tree_read(c, args, "filename", TREE_QUEUES, changed ? &old : NULL, &in);
	}
	if (rc != CLI_OK) {
		return rc;
	}
	count(in.set, &n_trees, &n_queues);
	if (format == CLI_JSON || format == CLI_YAML) {
		struct json *v = json_new_obj(&c->a);

		json_set_bool(&c->a, v, "valid", in.errors.n == 0);
		json_set_int(&c->a, v, "trees", (int64_t)n_trees);
		json_set_int(&c->a, v, "queues", (int64_t)n_queues);
		json_set(&c->a, v, STR("errors"), errors_json(c, &in));
		if (!output_value(c, v, format)) {
			return cli_no_memory(c);
		}
	} else if (in.errors.n > 0) {
		tree_print_errors(c, &c->out, &in);
		buf_printf(&c->out, "%zu error%s\n", in.errors.n, in.errors.n == 1 ? "" : "s");
	} else {
		buf_printf(&c->out, "valid: %zu tree%s, %zu queue%s\n", n_trees,
			   n_trees == 1 ? "" : "s", n_queues, n_queues == 1 ? "" : "s");
	}
	if (in.is_live && n_trees == 0) {
		buf_printf(&c->err,
			   "note: no queue tree in this cluster: Cohorts and ClusterQueues "
			   "of Kueue's own are Kueue's to check\n");
	}
	for (size_t i = 0; i < in.set->n_trees; i++) {
		tree_print_idle(c, in.set->trees[i]);
	}
	if (arena_failed(&c->a)) {
		return cli_no_memory(c);
	}
	return in.errors.n > 0 ? CLI_NO : CLI_OK;
}

static const struct cli_option options[] = {
	TREE_LIVE_OPTIONS,
	{0, "from", "FILE", true, "how things were: rules about changes are checked as well"},
	{'o', "output", "FORMAT", false, "text (default; wide is the same), json or yaml"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_validate = {
	.name = "validate",
	.synopsis = "[-f FILE...] [--from FILE...] [-o FORMAT]",
	.summary = "check queue trees, of files or of the cluster: all errors",
	.help = "All errors are found at once, each with file, line, object, field, and what to "
		"do. Objects that\n"
		"have nothing to do with queue trees are passed over. Without -f, of the cluster "
		"of "
		"the kubeconfig.\n",
	.examples = "  kubectl multikueue tree validate -f queues.yaml\n"
		    "  kubectl multikueue tree validate --context prod\n"
		    "  git show main:queues.yaml >/tmp/old.yaml\n"
		    "  kubectl multikueue tree validate --from /tmp/old.yaml -f queues.yaml\n",
	.options = options,
	.run = run_validate,
};
