/* SPDX-License-Identifier: Apache-2.0 */
/* `kubectl multikueue pods`: the pods of a job, on the worker where it runs. */
#include "core/cli/pods/place.h"

#define NAME "kubectl multikueue pods"

/* What kubectl has in the column STATUS. */
static mk_str status_of(const struct json *pod)
{
	struct json_iter it = json_iter(json_at(pod, "/status/containerStatuses"));
	mk_str status = json_str_at(pod, "/status/reason");

	status = status.n > 0 ? status : json_str_at(pod, "/status/phase");
	while (json_next(&it)) {
		mk_str waits = json_str_at(it.val, "/state/waiting/reason");
		mk_str ended = json_str_at(it.val, "/state/terminated/reason");

		status = waits.n > 0 ? waits : ended.n > 0 ? ended : status;
	}
	return json_str_at(pod, "/metadata/deletionTimestamp").n > 0 ? STR("Terminating") : status;
}

static void print_row(struct output_table *t, const struct place *p, const struct json *pod,
		      bool wide)
{
	const struct json *statuses = json_at(pod, "/status/containerStatuses");
	struct json_iter it = json_iter(statuses);
	struct arena *a = &p->c->a;
	int64_t ready = 0, restarts = 0;
	mk_str node = json_str_at(pod, "/spec/nodeName");

	while (json_next(&it)) {
		ready += json_bool(json_get(it.val, "ready")) ? 1 : 0;
		restarts += json_int(json_get(it.val, "restartCount"), 0);
	}
	output_cell(t, p->worker);
	output_cell(t, json_str_at(pod, "/metadata/name"));
	output_cell(t, arena_printf(a, "%lld/%zu", (long long)ready,
				    json_len(json_at(pod, "/spec/containers"))));
	output_cell(t, status_of(pod));
	output_cell(t, arena_printf(a, "%lld", (long long)restarts));
	output_cell(t, row_age(p->c, json_str_at(pod, "/metadata/creationTimestamp")));
	if (wide) {
		output_cell(t, node.n > 0 ? node : STR("<none>"));
	}
}

static void print_table(const struct place *p, const struct json *pods, bool wide)
{
	static const char *const head[] = {"WORKER",   "POD", "READY", "STATUS",
					   "RESTARTS", "AGE", "NODE"};
	static const bool right[7];
	struct json_iter it = json_iter(pods);
	size_t columns = wide ? 7 : 6;
	struct output_table t;

	output_table_init(&t, p->c, columns, right);
	row_head(&t, head, columns);
	while (json_next(&it)) {
		print_row(&t, p, it.val, wide);
	}
	output_table_print(&t, "");
}

static enum cli_exit print(struct place *p, struct json *pods, enum cli_format format)
{
	struct cli *c = p->c;
	struct json_iter it = json_iter(pods);

	if (rows_wants_names(p->args)) {
		while (json_next(&it)) {
			buf_printf(&c->out, "pod/%.*s\n",
				   STR_ARG(json_str_at(it.val, "/metadata/name")));
		}
	} else if (format == CLI_JSON || format == CLI_YAML) {
		struct json *list = rows_list(c, pods);

		json_set_str(&c->a, list, "apiVersion", STR("v1"));
		return output_value(c, list, format) ? CLI_OK : cli_no_memory(c);
	} else if (json_len(pods) > 0) {
		print_table(p, pods, format == CLI_WIDE);
	} else {
		buf_printf(&c->err, "%.*s has no pods on worker %.*s yet.\n", STR_ARG(p->w.name),
			   STR_ARG(p->worker));
	}
	return arena_failed(&c->a) ? cli_no_memory(c) : CLI_OK;
}

static enum cli_exit run(struct cli *c, const struct cli_args *args)
{
	enum cli_exit rc = CLI_FAILED;
	enum cli_format format = CLI_TEXT;
	struct json *pods;
	struct place p;

	if (args->n_rest != 1) {
		return cli_usage(c, NAME, "expected one job or Workload, found %zu", args->n_rest);
	}
	if (!rows_wants_names(args) && !cli_get_format(c, args, &format)) {
		return CLI_USAGE;
	}
	if (place_open(&p, c, args, args->rest[0])) {
		rc = place_find(&p);
		if (rc == CLI_OK) {
			pods = place_pods(&p);
			rc = pods ? print(&p, pods, format) : CLI_FAILED;
		}
	}
	place_close(&p);
	return rc;
}

static const struct cli_option options[] = {
	{'o', "output", "FORMAT", false, "text, wide, json, yaml or name"},
	PLACE_OPTIONS,
	{.name = NULL}};

static const struct cli_place places[] = {{"", "JOB"}, {.of = NULL}};

const struct cli_command cli_pods = {
	.name = "pods",
	.synopsis = "[KIND/]NAME [-n NAMESPACE]",
	.summary = "the pods of a job, on the worker where it runs",
	.help = "The daemon says which worker took the job. The pods are asked of that worker, "
		"with your own\nkubeconfig and rights: by the context that has the worker's name, "
		"or one that\n--worker-context names.\n",
	.examples = "  kubectl multikueue pods train -n team-a\n"
		    "  kubectl multikueue pods jobset/train -o wide\n"
		    "  kubectl multikueue pods train --worker-context west=kind-west\n",
	.options = options,
	.places = places,
	.run = run,
};
