/* SPDX-License-Identifier: Apache-2.0 */
/* `tree explain`: why a workload is or is not admitted, level by level. */
#include "core/cli/tree/explain.h"

/* --- what the next cycle would do ------------------------------------------------------------- */

static bool run_cycle(struct quota *q, size_t n_works, const struct map *by_uid)
{
	quota_cycle(q, 0);
	for (size_t turn = 1; turn <= n_works * 2 + 1; turn++) {
		char uid[QUOTA_MAX_UID + 1];
		struct quota_step step;
		struct outlook *out;

		if (quota_step(q, 0, &step) != ERR_OK) {
			return false;
		}
		if (step.event == QUOTA_END) {
			break;
		}
		out = map_get(by_uid, quota_work_uid(step.work, uid));
		if (out != NULL && out->turn == 0) {
			out->turn = turn;
			out->next = step.event;
		}
	}
	return true;
}

/* In a second tree, since a cycle changes it. False: out of memory. */
static bool look_ahead(struct cli *c, const struct world *w, size_t tree, const struct map *by_uid)
{
	const struct api_model *m = &w->models.v[tree];
	struct quota *q = quota_new();
	bool good = q != NULL && quota_apply(q, &m->desc, NULL) == ERR_OK;

	for (size_t i = 0; good && i < w->n_works; i++) {
		const struct world_work *ww = &w->works[i];

		if (ww->tree != tree) {
			continue;
		}
		good = api_build_put(&c->a, w->in.set, m, q, &ww->work, NULL) == ERR_OK;
		if (good && ww->work.evicting) {
			quota_evict(q, quota_work_find(q, ww->work.uid), NULL);
		}
	}
	good = good && run_cycle(q, w->n_works, by_uid);
	quota_free(q);
	return good;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Is 'name' ("train-1" or "vision/train-1") this Workload's? */
static bool is_called(const struct api_work *w, mk_str name)
{
	mk_str ns;

	return str_eq(name, w->name) ||
	       (str_split(&name, '/', &ns) && str_eq(ns, w->ns) && str_eq(name, w->name));
}

static bool is_meant(const struct cli_args *args, const struct world_work *ww)
{
	for (size_t i = 0; i < args->n_rest; i++) {
		if (is_called(&ww->work, str_of(args->rest[i]))) {
			return true;
		}
	}
	/* Without names: all that wait. */
	return args->n_rest == 0 && !ww->work.admitted;
}

/* A Workload that was read and is in no tree at all. */
static void tell_left_out(struct cli *c, const struct world *w, struct api_object *o)
{
	struct api_faults faults = {.n = 0};
	struct api_work work;
	bool done = api_work_read(&c->a, w->in.set, o, &faults, &work) == ERR_OK && work.done;

	buf_printf(&c->err, "note: %.*s/%.*s %s\n", STR_ARG(o->ns), STR_ARG(o->name),
		   done ? "has finished: it holds and waits for nothing" : "is left out");
}

/* Does each name of the command line have its Workload? Prints those that do not. */
static bool all_found(struct cli *c, const struct cli_args *args, const struct world *w)
{
	bool all = true;

	for (size_t i = 0; i < args->n_rest; i++) {
		bool found = false;

		for (size_t k = 0; k < w->n_works && !found; k++) {
			found = is_called(&w->works[k].work, str_of(args->rest[i]));
		}
		for (size_t k = 0; k < w->in.set->n_workloads && !found; k++) {
			struct api_object *o = w->in.set->workloads[k];
			struct api_work done = {.ns = o->ns, .name = o->name};

			found = is_called(&done, str_of(args->rest[i]));
			if (found) {
				tell_left_out(c, w, o);
			}
		}
		if (!found) {
			cli_error(c, "no Workload %s in %s", args->rest[i],
				  w->in.is_live ? "this cluster" : "these files");
			all = false;
		}
	}
	return all;
}

static bool explain(struct cli *c, struct world *w, struct explanation *e, enum cli_format format,
		    struct json *list)
{
	const struct world_work *ww = e->out->ww;

	e->ww = ww;
	e->q = w->trees[ww->tree];
	e->work = quota_work_find(e->q, ww->work.uid);
	e->n_rows = 0;
	if (!e->work) {
		return false;
	}
	if (!ww->work.admitted) {
		e->decision = quota_check(e->q, e->work, true, e->rows, EXPLAIN_ROWS, &e->n_rows);
		e->n_rows = e->n_rows < EXPLAIN_ROWS ? e->n_rows : EXPLAIN_ROWS;
	}
	if (format == CLI_JSON || format == CLI_YAML) {
		json_add(&c->a, list, explain_json(c, e));
	} else {
		explain_text(c, e);
	}
	return true;
}

/* One cycle of each tree tells the turns of all. NULL: out of memory. */
static struct outlook *outlooks(struct cli *c, const struct world *w, struct map *by_uid)
{
	struct outlook *v = arena_array(&c->a, w->n_works, sizeof(*v));

	for (size_t i = 0; v != NULL && i < w->n_works; i++) {
		v[i].ww = &w->works[i];
		if (!map_put(by_uid, w->works[i].work.uid, &v[i])) {
			return NULL;
		}
	}
	for (size_t t = 0; v != NULL && t < w->models.n; t++) {
		if (!look_ahead(c, w, t, by_uid)) {
			return NULL;
		}
	}
	return v;
}

static bool explain_meant(struct cli *c, const struct cli_args *args, struct world *w,
			  enum cli_format format, struct json *list, size_t *ret_n)
{
	struct explanation *e = arena_alloc(&c->a, sizeof(*e));
	struct map by_uid = {.n = 0};
	struct outlook *v = outlooks(c, w, &by_uid);
	bool good = e != NULL && v != NULL;

	for (size_t i = 0; good && i < w->n_works; i++) {
		const struct world_work *ww = &w->works[i];

		if (!is_meant(args, ww)) {
			continue;
		}
		(*ret_n)++;
		if (ww->tree == API_NONE) {
			buf_printf(&c->err,
				   "note: %.*s/%.*s is in no tree: queue \"%.*s\" of LocalQueue "
				   "\"%.*s\"\n",
				   STR_ARG(ww->work.ns), STR_ARG(ww->work.name),
				   STR_ARG(ww->work.queue), STR_ARG(ww->work.lq));
			continue;
		}
		e->out = &v[i];
		e->by_uid = &by_uid;
		good = explain(c, w, e, format, list);
	}
	map_done(&by_uid);
	return good;
}

static enum cli_exit explain_all(struct cli *c, const struct cli_args *args, struct world *w,
				 enum cli_format format)
{
	struct json *list = json_new_arr(&c->a);
	size_t n = 0;
	bool found;

	if (!explain_meant(c, args, w, format, list, &n)) {
		return cli_no_memory(c);
	}
	found = all_found(c, args, w);
	if (format == CLI_JSON || format == CLI_YAML) {
		if (!output_value(c, list, format)) {
			return cli_no_memory(c);
		}
	} else if (n == 0 && args->n_rest == 0) {
		buf_printf(&c->out, "no Workload waits\n");
	}
	return found ? CLI_OK : CLI_NO;
}

static enum cli_exit run_explain(struct cli *c, const struct cli_args *args)
{
	struct world w;
	enum cli_format format;
	enum cli_exit rc;

	if (!cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	rc = world_open(c, args, "filename", TREE_WORKLOADS, NULL, &w);
	if (rc == CLI_OK) {
		rc = explain_all(c, args, &w, format);
		world_print_notes(c, &w);
		world_print_kueue(c, &w);
	}
	world_close(&w);
	return rc == CLI_OK && arena_failed(&c->a) ? cli_no_memory(c) : rc;
}

static const struct cli_option options[] = {
	TREE_LIVE_OPTIONS,
	{'o', "output", "FORMAT", false, "text (default; wide is the same), json or yaml"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_explain = {
	.name = "explain",
	.synopsis = "[-f FILE...] [[NAMESPACE/]WORKLOAD...] [-o FORMAT]",
	.summary = "say why workloads are or are not admitted, level by level",
	.help = "Without names, all Workloads that wait. For each: what it asks, on every level of "
		"the "
		"tree what is\n"
		"used, asked and allowed, whom it would preempt, and its turn in the next cycle. "
		"Without -f, of the\n"
		"cluster of the kubeconfig; of Kueue's Cohorts limits and usage are Kueue's, and "
		"order "
		"and victims may\n"
		"be others than it says.\n",
	.examples = "  kubectl multikueue tree explain\n"
		    "  kubectl multikueue tree explain team-a/train-7 --context prod\n"
		    "  kubectl multikueue tree explain -f queues.yaml -f workloads.yaml\n",
	.options = options,
	.run = run_explain,
};
