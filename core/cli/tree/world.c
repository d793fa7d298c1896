/* SPDX-License-Identifier: Apache-2.0 */
/* From files to trees with workloads; see world.h. */
#include "core/cli/tree/world.h"

#include "core/cli/tree/cohorts.h"
#include "core/quota/compile.h"
#include "core/quota/compile_source.h"

static enum cli_exit failed(struct cli *c, const struct mk_err *err)
{
	cli_error(c, "%s", err->msg);
	return CLI_FAILED;
}

/* The trees of the set, and of a cluster what Kueue has besides. */
static enum cli_exit find_models(struct cli *c, struct world *w)
{
	struct mk_err err;

	if (api_build(&c->a, w->in.set, &w->models, &err) != ERR_OK) {
		return failed(c, &err);
	}
	w->origins = arena_array(&c->a, w->models.n, sizeof(*w->origins));
	for (size_t i = 0; w->origins && i < w->models.n; i++) {
		w->origins[i] = w->models.v[i].tree != NULL ? WORLD_TREE : WORLD_PARENTS;
	}
	return w->origins && (!w->in.is_live || cohorts_add(c, w)) ? CLI_OK : cli_no_memory(c);
}

static enum cli_exit make_trees(struct cli *c, struct world *w)
{
	enum cli_exit rc = find_models(c, w);
	size_t n = w->models.n;
	struct mk_err err;

	w->models.n = 0;
	w->trees = rc == CLI_OK ? arena_array(&c->a, n, sizeof(struct quota *)) : NULL;
	if (!w->trees) {
		return rc == CLI_OK ? cli_no_memory(c) : rc;
	}
	for (size_t i = 0; i < n; i++) {
		size_t to = w->models.n;
		enum mk_code code;

		w->models.v[to] = w->models.v[i];
		w->origins[to] = w->origins[i];
		w->trees[to] = quota_new();
		if (!w->trees[to]) {
			return cli_no_memory(c);
		}
		w->models.n++;
		code = quota_apply(w->trees[to], &w->models.v[to].desc, &err);
		if (code == ERR_OK) {
			continue;
		}
		err_wrap(&err, "tree %.*s", STR_ARG(w->models.v[to].name));
		if (code == ERR_NO_MEMORY || !world_is_kueues(w, to)) {
			return failed(c, &err);
		}
		/* Kueue takes more than a queue tree may have. */
		api_fault_add(&c->a, &w->notes, 0, w->models.v[to].name, "not shown: %s", err.msg);
		quota_free(w->trees[to]);
		w->models.n--;
	}
	return CLI_OK;
}

size_t world_find(const struct world *w, mk_str name, size_t *ret_node)
{
	for (size_t i = 0; i < w->models.n; i++) {
		size_t node = quota_node_find(w->trees[i], name);

		if (node != QUOTA_NONE) {
			if (ret_node != NULL) {
				*ret_node = node;
			}
			return i;
		}
	}
	return API_NONE;
}

/* 'seen': the Workloads so far by uid, which is what trees know them by. */
static enum cli_exit put_work(struct cli *c, struct world *w, struct map *seen,
			      struct api_object *o)
{
	struct world_work *ww = &w->works[w->n_works];
	struct api_faults faults = {.n = 0};
	const struct api_object *twin;
	mk_str who = arena_printf(&c->a, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
	struct mk_err err;
	enum mk_code code;

	if (api_work_read(&c->a, w->in.set, o, &faults, &ww->work) != ERR_OK) {
		return cli_no_memory(c);
	}
	for (size_t i = 0; i < faults.n; i++) {
		api_fault_add(&c->a, &w->notes, 0, who, "%.*s",
			      STR_ARG(validate_line(&c->a, &faults.p[i])));
	}
	if (ww->work.done) {
		return CLI_OK;
	}
	twin = map_get(seen, ww->work.uid);
	if (twin != NULL) {
		api_fault_add(&c->a, &w->notes, 0, who, "left out: it has the uid of %.*s/%.*s",
			      STR_ARG(twin->ns), STR_ARG(twin->name));
		return CLI_OK;
	}
	if (!map_put(seen, ww->work.uid, o)) {
		return cli_no_memory(c);
	}
	ww->tree = world_find(w, ww->work.queue, NULL);
	w->n_works++;
	if (ww->tree == API_NONE) {
		return CLI_OK;
	}
	code = api_build_put(&c->a, w->in.set, &w->models.v[ww->tree], w->trees[ww->tree],
			     &ww->work, &err);
	if (code == ERR_NO_MEMORY) {
		return cli_no_memory(c);
	}
	if (code != ERR_OK) {
		api_fault_add(&c->a, &w->notes, 0, who, "left out: %s", err.msg);
		ww->tree = API_NONE;
		return CLI_OK;
	}
	if (ww->work.evicting) {
		quota_evict(w->trees[ww->tree], quota_work_find(w->trees[ww->tree], ww->work.uid),
			    NULL);
	}
	return CLI_OK;
}

static void print_notes(struct cli *c, const struct api_faults *notes)
{
	for (size_t i = 0; i < notes->n; i++) {
		buf_printf(&c->err, "note: %.*s: %.*s\n", STR_ARG(notes->p[i].path),
			   STR_ARG(notes->p[i].text));
	}
}

enum cli_exit world_open(struct cli *c, const struct cli_args *args, const char *name,
			 enum tree_live live, const struct world *before, struct world *w)
{
	struct map seen = {.n = 0};
	enum cli_exit rc;

	*w = (struct world){.n_works = 0};
	rc = tree_read(c, args, name, live, before != NULL ? &before->in : NULL, &w->in);
	if (rc != CLI_OK) {
		return rc;
	}
	if (w->in.errors.n > 0) {
		tree_print_errors(c, &c->err, &w->in);
		cli_error(c, "these trees are not valid: mend them first");
		return CLI_NO;
	}
	rc = make_trees(c, w);
	w->works = arena_array(&c->a, w->in.set->n_workloads, sizeof(*w->works));
	if (rc != CLI_OK || !w->works) {
		return rc != CLI_OK ? rc : cli_no_memory(c);
	}
	for (size_t i = 0; i < w->in.set->n_workloads && rc == CLI_OK; i++) {
		rc = put_work(c, w, &seen, w->in.set->workloads[i]);
	}
	map_done(&seen);
	if (rc == CLI_OK && w->models.n == 0) {
		cli_error(c, !w->in.is_live ? "no queue tree in these files: neither a "
					      "ClusterQuotaTree nor ClusterQueues with a parent"
			     : w->in.set->n_queues == 0
				     ? "no ClusterQueue in this cluster"
				     : "no tree and no Cohort of this cluster can be shown");
		print_notes(c, &w->notes);
		return CLI_NO;
	}
	return rc;
}

void world_close(struct world *w)
{
	for (size_t i = 0; w->trees != NULL && i < w->models.n; i++) {
		quota_free(w->trees[i]);
	}
	w->trees = NULL;
}

void world_print_notes(struct cli *c, const struct world *w)
{
	print_notes(c, &w->notes);
	for (size_t i = 0; i < w->models.n; i++) {
		const struct api_model *m = &w->models.v[i];
		size_t node;
		size_t f;

		print_notes(c, &m->notes);
		if (m->tree != NULL) {
			tree_print_idle(c, m->tree);
		}
		if (quota_scaled(w->trees[i])) {
			buf_printf(&c->err,
				   "note: tree %.*s is Degraded: the minima were scaled down, "
				   "because they add up to more than the total\n",
				   STR_ARG(m->name));
		}
		node = quota_unweighted(w->trees[i]);
		if (node != QUOTA_NONE) {
			mk_str name = quota_node_at(w->trees[i], node).name;

			buf_printf(
				&c->err,
				"note: tree %.*s is Degraded: queue %.*s has policy capacity, and "
				"no child of it a minWeight: each has an equal part\n",
				STR_ARG(m->name), STR_ARG(name));
		}
		if (quota_rounded_to_zero(w->trees[i], &node, &f)) {
			struct quota_fr fr = quota_fr_at(w->trees[i], f);

			buf_printf(&c->err,
				   "note: tree %.*s is RoundedToZero: the weight of queue %.*s is "
				   "less than one %.*s in flavor %.*s\n",
				   STR_ARG(m->name), STR_ARG(quota_node_at(w->trees[i], node).name),
				   STR_ARG(fr.resource), STR_ARG(fr.flavor));
		}
	}
}

static void print_cohorts(struct cli *c, const struct world *w, size_t i)
{
	buf_printf(
		&c->err,
		"note: %.*s: limits and usage are Kueue's; its order and its victims may be others "
		"than those said here\n",
		STR_ARG(w->models.v[i].name));
}

void world_print_kueue(struct cli *c, const struct world *w)
{
	for (size_t i = 0; i < w->models.n; i++) {
		const struct api_model *m = &w->models.v[i];
		struct compiled out = {.n = 0};

		if (world_is_kueues(w, i)) {
			print_cohorts(c, w, i);
			continue;
		}
		if (!m->tree ||
		    !str_is(json_str_at(m->tree->object->json, "/spec/enforcement"), "Compile")) {
			continue;
		}
		compile_judge(&c->a, m, w->trees[i], &out);
		buf_printf(&c->err,
			   out.reasons.n > 0
				   ? "note: tree %.*s: Kueue cannot enforce it; `kubectl "
				     "multikueue tree compile` says why\n"
				   : "note: tree %.*s: compiled and applied, Kueue holds its "
				     "limits, and may choose another order and other victims\n",
			   STR_ARG(m->name));
	}
}

/* Of a cluster: has a tree been compiled, so that Kueue enforces it? */
static bool is_compiled(const struct world *w, size_t i)
{
	for (size_t k = 0; k < w->in.n_limits; k++) {
		if (str_is(json_str_at(w->in.limits[k], "/kind"), api_kind_name(API_COHORT)) &&
		    str_eq(compile_made_by(w->in.limits[k]), w->models.v[i].name)) {
			return true;
		}
	}
	return false;
}

const char *world_what(const struct world *w, size_t i)
{
	bool compiled = is_compiled(w, i);

	switch (w->origins[i]) {
	case WORLD_TREE:
		return compiled ? "ClusterQuotaTree, compiled: Kueue enforces it"
				: "ClusterQuotaTree";
	case WORLD_PARENTS:
		return compiled ? "ClusterQueues with a parent, compiled: Kueue enforces them"
				: "ClusterQueues with a parent";
	case WORLD_COMPILED:
		return "Cohorts compiled from a tree that is not in this cluster";
	case WORLD_COHORTS:
		return "Cohorts of Kueue, no queue tree";
	case WORLD_ALONE:
		break;
	}
	return "ClusterQueue in no Cohort, no queue tree";
}

const char *world_origin(const struct world *w, size_t i)
{
	static const char *const words[] = {"tree", "parents", "compiled", "cohorts", "alone"};

	return words[w->origins[i]];
}

const char *world_kind(const struct world *w, size_t i)
{
	static const char *const kinds[] = {"ClusterQuotaTree", "ClusterQueue", "Cohort", "Cohort",
					    "ClusterQueue"};

	return kinds[w->origins[i]];
}

bool world_is_kueues(const struct world *w, size_t i)
{
	return w->origins[i] >= WORLD_COMPILED;
}

void world_count(const struct quota *q, size_t node, size_t *ret_admitted, size_t *ret_pending)
{
	struct quota_node_info n = quota_node_at(q, node);

	*ret_admitted += n.n_children == 0 ? n.n_admitted : 0;
	*ret_pending += n.n_children == 0 ? n.n_pending : 0;
	/* Trees have at most QUOTA_MAX_LEVELS levels. */
	for (size_t i = 0; i < n.n_children; i++) {
		world_count(q, n.first_child + i, ret_admitted, ret_pending);
	}
}

bool world_covers(const struct quota *q, mk_str resource)
{
	for (size_t f = 0; f < quota_n_frs(q); f++) {
		if (str_eq(quota_fr_at(q, f).resource, resource)) {
			return true;
		}
	}
	/* Each pod is one of "pods", which counts only where a tree has them. */
	return str_is(resource, "pods");
}

mk_str world_why(struct cli *c, const struct quota *q, const struct api_work *w,
		 const struct quota_row *row)
{
	char text[512];

	for (size_t s = 0; row->node == QUOTA_NONE && s < w->n_sets; s++) {
		for (size_t i = 0; i < w->sets[s].n; i++) {
			mk_str resource = w->sets[s].requests[i].resource;

			if (w->sets[s].requests[i].amount > 0 && !world_covers(q, resource)) {
				return arena_printf(&c->a,
						    "pod set %.*s asks for %.*s, of which the tree "
						    "has nothing",
						    STR_ARG(w->sets[s].name), STR_ARG(resource));
			}
		}
	}
	quota_row_text(q, row, text, sizeof(text));
	return arena_dup(&c->a, str_of(text));
}

mk_str world_amount(struct cli *c, int64_t v, mk_str resource)
{
	return api_amount_shown(&c->a, v, resource);
}

const char *world_policy(enum quota_policy policy)
{
	return policy == QUOTA_FIFO ? "fifo" : policy == QUOTA_FAIR ? "fair" : "capacity";
}
