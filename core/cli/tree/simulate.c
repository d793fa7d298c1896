/* SPDX-License-Identifier: Apache-2.0 */
/* `tree simulate`: plays a list of workloads and tells the story; simulate_svg.c draws it. */
#include "core/base/rng.h"
#include "core/base/timefmt.h"
#include "core/cli/tree/simulate.h"

#define ARRIVAL "multikueued.io/simulate-arrival"
#define DURATION "multikueued.io/simulate-duration"

enum { MAX_GENERATED = 100000, DAY_MS = 24 * 3600 * 1000 };

/* --- options ---------------------------------------------------------------------------------- */

static bool get_duration(struct cli *c, const struct cli_args *args, const char *name,
			 int64_t otherwise, int64_t *ret)
{
	const char *given = cli_get(args, name);
	struct mk_err err;

	*ret = otherwise;
	if (!given) {
		return true;
	}
	if (!duration_parse(str_of(given), ret, &err) || *ret < 0) {
		cli_error(c, "--%s %s: expected a duration such as 90s or 1h30m", name, given);
		return false;
	}
	return true;
}

/* A duration in an annotation of the Workload. */
static int64_t noted(struct world *w, const struct api_work *work, const char *name,
		     int64_t otherwise)
{
	const struct json *notes = json_at(work->object->json, "/metadata/annotations");
	const struct json *v = json_get(notes, name);
	int64_t ms = otherwise;
	struct mk_err err;

	if (v != NULL && (!duration_parse(json_str(v), &ms, &err) || ms < 0)) {
		api_fault_add(w->in.set->a, &w->notes, 0,
			      arena_printf(w->in.set->a, "%.*s/%.*s", STR_ARG(work->ns),
					   STR_ARG(work->name)),
			      "annotation %s is no duration such as 90s: passed over", name);
		ms = otherwise;
	}
	return ms;
}

/* --- workloads -------------------------------------------------------------------------------- */

static int64_t latest(const struct world *w)
{
	int64_t at = 0;

	for (size_t i = 0; i < w->n_works; i++) {
		const struct api_work *work = &w->works[i].work;

		at = work->created_ms > at ? work->created_ms : at;
		at = work->admitted_ms > at ? work->admitted_ms : at;
	}
	return at;
}

static bool add_read(struct world *w, struct replay *r, int64_t duration)
{
	for (size_t i = 0; i < w->n_works; i++) {
		struct world_work *ww = &w->works[i];
		int64_t arrive = noted(w, &ww->work, ARRIVAL, 0);

		if (ww->tree == API_NONE) {
			continue;
		}
		if (arrive > 0) {
			ww->work.queued_ms = r->start_ms + arrive;
		}
		if (!replay_add(r, &ww->work, ww->tree, arrive,
				noted(w, &ww->work, DURATION, duration))) {
			return false;
		}
	}
	return true;
}

/*
 * Something that a leaf could take: one to a quarter of its maximum, of every resource of one
 * group.
 */
static bool make_requests(struct cli *c, struct rng *rng, const struct quota *q, size_t leaf,
			  struct api_pod_set *ps)
{
	ps->requests = arena_array(&c->a, quota_n_frs(q), sizeof(*ps->requests));
	if (!ps->requests) {
		return false;
	}
	for (size_t f = 0; f < quota_n_frs(q); f++) {
		struct quota_fr fr = quota_fr_at(q, f);
		int64_t unit = str_is(fr.resource, "cpu") ? 1000 : 1;
		int64_t most = quota_cell_at(q, leaf, f).max / 4 / unit;
		bool again = false;

		for (size_t i = 0; i < ps->n; i++) {
			again = again || str_eq(ps->requests[i].resource, fr.resource);
		}
		if (again || fr.total == 0) {
			continue;
		}
		most = most > 1 ? most : 1;
		ps->requests[ps->n].resource = fr.resource;
		ps->requests[ps->n].amount = unit * rng_range(rng, 1, most);
		/* Not every workload asks for every resource. */
		if (ps->n == 0 || rng_chance(rng, 1, 2)) {
			ps->n++;
		}
	}
	return true;
}

static bool generate_one(struct cli *c, struct world *w, struct replay *r, struct rng *rng,
			 size_t number, int64_t span, int64_t duration)
{
	static const int64_t priorities[] = {0, 0, 0, 0, 10, 100};
	struct api_work *work = arena_alloc(&c->a, sizeof(*work));
	struct api_pod_set *ps = arena_alloc(&c->a, sizeof(*ps));
	size_t tree = (size_t)rng_below(rng, w->models.n);
	struct quota *q = w->trees[tree];
	size_t node = 0;
	int64_t arrive = rng_range(rng, 0, span / 1000) * 1000;

	if (!work || !ps) {
		return false;
	}
	while (quota_node_at(q, node).n_children > 0) {
		struct quota_node_info n = quota_node_at(q, node);

		node = n.first_child + (size_t)rng_below(rng, n.n_children);
	}
	ps->name = STR("main");
	ps->count = 1;
	work->ns = STR("generated");
	work->name = arena_printf(&c->a, "job-%03zu", number);
	work->uid = arena_printf(&c->a, "generated/job-%03zu", number);
	work->queue = quota_node_at(q, node).name;
	work->priority = priorities[rng_below(rng, sizeof(priorities) / sizeof(priorities[0]))];
	work->queued_ms = r->start_ms + arrive;
	work->sets = ps;
	work->n_sets = 1;
	duration = duration / 1000 > 1 ? rng_range(rng, duration / 2000, duration * 3 / 2000) * 1000
				       : duration;
	return make_requests(c, rng, q, node, ps) && work->uid.p != NULL &&
	       replay_add(r, work, tree, arrive, duration);
}

/* --- the story -------------------------------------------------------------------------------- */

static const char *const words[] = {
	[REPLAY_ARRIVE] = "arrives",   [REPLAY_WAIT] = "waits",      [REPLAY_ADMIT] = "admitted",
	[REPLAY_RESERVE] = "reserves", [REPLAY_EXPIRE] = "expired",  [REPLAY_EVICT] = "preempted",
	[REPLAY_GONE] = "is out",      [REPLAY_FINISH] = "finished",
};

static enum output_color color_of(enum replay_what what)
{
	return what == REPLAY_ADMIT     ? OUTPUT_GREEN
	       : what == REPLAY_EVICT   ? OUTPUT_RED
	       : what == REPLAY_RESERVE ? OUTPUT_YELLOW
	       : what == REPLAY_FINISH  ? OUTPUT_BLUE
					: OUTPUT_PLAIN;
}

/*
 * Is this event told? Unless 'wide': no arrivals, and of the reasons to wait only the first after
 * each change.
 */
static bool is_told(const struct replay_event *e, bool *waits, bool wide)
{
	bool again = waits[e->job] && e->what == REPLAY_WAIT;

	waits[e->job] = e->what == REPLAY_WAIT;
	return wide || (e->what != REPLAY_ARRIVE && e->what != REPLAY_GONE && !again);
}

static void print_events(struct cli *c, const struct replay *r, bool wide)
{
	static const bool right[] = {true, false, false, false, true, false};
	static const char *const heads[] = {"TIME", "EVENT", "WORKLOAD", "QUEUE", "PRIORITY", ""};
	bool *waits = arena_array(&c->a, r->n_jobs, sizeof(*waits));
	struct output_table t;

	output_table_init(&t, c, sizeof(right) / sizeof(right[0]), right);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		output_cell(&t, output_paint(c, OUTPUT_DIM, str_of(heads[i])));
	}
	for (size_t i = 0; i < r->n_events; i++) {
		const struct replay_event *e = &r->events[i];
		const struct api_work *w = r->jobs[e->job].work;

		if (!waits || !is_told(e, waits, wide)) {
			continue;
		}
		output_cell(&t, duration_text(&c->a, e->at_ms));
		output_cell(&t, output_paint(c, color_of(e->what), str_of(words[e->what])));
		output_cell(&t, arena_printf(&c->a, "%.*s/%.*s", STR_ARG(w->ns), STR_ARG(w->name)));
		output_cell(&t, w->queue);
		output_cell(&t, arena_printf(&c->a, "%lld", (long long)w->priority));
		output_cell(&t, e->detail.n > 0 ? e->detail : STR(""));
	}
	output_table_print(&t, "");
}

struct totals {
	size_t finished, running, waiting, evictions;
	int64_t wait_ms; /* sum of the times to the first admission */
	size_t n_admitted;
};

static struct totals sum_up(const struct replay *r)
{
	struct totals t = {.finished = 0};

	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct replay_job *j = &r->jobs[i];

		t.evictions += j->n_evicted;
		t.finished += j->state == REPLAY_DONE ? 1 : 0;
		t.running += j->state == REPLAY_RUNNING || j->state == REPLAY_EVICTING ? 1 : 0;
		if (j->first_admit_ms >= 0) {
			t.n_admitted++;
			t.wait_ms = api_add(t.wait_ms, j->first_admit_ms > j->arrive_ms
							       ? j->first_admit_ms - j->arrive_ms
							       : 0);
		}
	}
	t.waiting = r->n_jobs - t.finished - t.running;
	return t;
}

static mk_str why_waits(const struct replay_job *j)
{
	return j->state == REPLAY_RESERVED ? STR("its room is reserved until others are out")
	       : j->blocked.n > 0          ? j->blocked
				  : STR("no turn yet: its queue goes on only behind another "
					"workload");
}

static void print_summary(struct cli *c, const struct replay *r)
{
	struct totals t = sum_up(r);
	int64_t mean = t.n_admitted > 0 ? t.wait_ms / (int64_t)t.n_admitted / 1000 * 1000 : 0;

	buf_printf(&c->out,
		   "\n%zu workloads in %.*s: %zu finished, %zu running, %zu waiting; %zu "
		   "preempted; mean wait %.*s\n",
		   r->n_jobs, STR_ARG(duration_text(&c->a, r->now_ms)), t.finished, t.running,
		   t.waiting, t.evictions, STR_ARG(duration_text(&c->a, mean)));
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct replay_job *j = &r->jobs[i];

		if (j->state == REPLAY_WAITING || j->state == REPLAY_RESERVED) {
			mk_str why = why_waits(j);

			buf_printf(&c->out, "still waits: %.*s/%.*s: %.*s\n", STR_ARG(j->work->ns),
				   STR_ARG(j->work->name), STR_ARG(why));
		}
	}
	if (r->cut) {
		buf_printf(&c->out,
			   "cut short: the rest comes later than --until, or is more than "
			   "%d events\n",
			   REPLAY_MAX_EVENTS);
	}
}

static struct json *story_json(struct cli *c, const struct replay *r)
{
	struct totals t = sum_up(r);
	struct json *v = json_new_obj(&c->a);
	struct json *events = json_new_arr(&c->a);

	for (size_t i = 0; i < r->n_events; i++) {
		const struct replay_event *e = &r->events[i];
		const struct api_work *w = r->jobs[e->job].work;
		struct json *one = json_new_obj(&c->a);

		json_set_int(&c->a, one, "ms", e->at_ms);
		json_set_str(&c->a, one, "event", str_of(words[e->what]));
		json_set_str(&c->a, one, "namespace", w->ns);
		json_set_str(&c->a, one, "name", w->name);
		json_set_str(&c->a, one, "queue", w->queue);
		json_set_int(&c->a, one, "priority", w->priority);
		if (e->detail.n > 0) {
			json_set_str(&c->a, one, "detail", e->detail);
		}
		json_add(&c->a, events, one);
	}
	json_set(&c->a, v, STR("events"), events);
	json_set_int(&c->a, v, "workloads", (int64_t)r->n_jobs);
	json_set_int(&c->a, v, "finished", (int64_t)t.finished);
	json_set_int(&c->a, v, "running", (int64_t)t.running);
	json_set_int(&c->a, v, "waiting", (int64_t)t.waiting);
	json_set_int(&c->a, v, "preemptions", (int64_t)t.evictions);
	json_set_int(&c->a, v, "endMs", r->now_ms);
	return v;
}

/* --- the command ------------------------------------------------------------------------------ */

struct wish {
	enum cli_format format;
	int64_t n, seed, span, duration, grace, until;
	const char *svg;
};

static bool get_wish(struct cli *c, const struct cli_args *args, struct wish *w)
{
	w->svg = cli_get(args, "svg");
	return cli_get_format(c, args, &w->format) &&
	       cli_get_number(c, args, "generate", 0, 0, &w->n) &&
	       cli_get_number(c, args, "seed", 0, 1, &w->seed) &&
	       get_duration(c, args, "span", 600000, &w->span) &&
	       get_duration(c, args, "duration", 300000, &w->duration) &&
	       get_duration(c, args, "grace", 0, &w->grace) &&
	       get_duration(c, args, "until", 365LL * DAY_MS, &w->until);
}

static enum cli_exit tell(struct cli *c, struct replay *r, const struct wish *wish)
{
	if (wish->format == CLI_JSON || wish->format == CLI_YAML) {
		if (!output_value(c, story_json(c, r), wish->format)) {
			return cli_no_memory(c);
		}
	} else {
		print_events(c, r, wish->format == CLI_WIDE);
		print_summary(c, r);
	}
	return wish->svg != NULL ? simulate_svg(c, r, wish->svg) : CLI_OK;
}

static enum cli_exit simulate(struct cli *c, struct world *w, const struct wish *wish)
{
	struct replay *r = replay_new(c, w, latest(w), wish->grace);
	struct rng rng;

	if (!r || !add_read(w, r, wish->duration)) {
		return cli_no_memory(c);
	}
	rng_init(&rng, (uint64_t)wish->seed);
	for (int64_t i = 1; i <= wish->n; i++) {
		if (!generate_one(c, w, r, &rng, (size_t)i, wish->span, wish->duration)) {
			return cli_no_memory(c);
		}
	}
	if (r->n_jobs == 0) {
		cli_error(c, "no Workloads: add a file with some, or --generate 20");
		return CLI_USAGE;
	}
	if (!replay_run(r, wish->until)) {
		return cli_no_memory(c);
	}
	return tell(c, r, wish);
}

static enum cli_exit run_simulate(struct cli *c, const struct cli_args *args)
{
	struct world w;
	struct wish wish;
	enum cli_exit rc;

	if (!get_wish(c, args, &wish)) {
		return CLI_USAGE;
	}
	if (wish.n > MAX_GENERATED || args->n_rest > 0) {
		return cli_usage(c, "kubectl multikueue tree simulate", "%s",
				 args->n_rest > 0 ? "unexpected argument: name files with -f"
						  : "--generate: at most 100000");
	}
	rc = world_open(c, args, "filename", TREE_FILES, NULL, &w);
	if (rc == CLI_OK) {
		rc = simulate(c, &w, &wish);
		world_print_notes(c, &w);
		world_print_kueue(c, &w);
	}
	world_close(&w);
	return rc == CLI_OK && arena_failed(&c->a) ? cli_no_memory(c) : rc;
}

static const struct cli_option options[] = {
	{'f', "filename", "FILE", true,
	 "file or folder of YAML or JSON objects; - reads standard input; may be repeated"},
	{0, "generate", "N", false, "add N made-up workloads"},
	{0, "seed", "S", false,
	 "what they look like (default 1): the same seed gives the same ones"},
	{0, "span", "DURATION", false, "they arrive within that time (default 10m)"},
	{0, "duration", "DURATION", false,
	 "how long workloads run that do not say it (default 5m)"},
	{0, "grace", "DURATION", false,
	 "from preemption until the quota is free again (default 0s)"},
	{0, "until", "DURATION", false, "stop there (default 365 days)"},
	{0, "svg", "FILE", false, "draw the story as an SVG picture"},
	{'o', "output", "FORMAT", false,
	 "text (default), wide (with arrivals and every reason), json or yaml"},
	{0, NULL, NULL, false, NULL},
};

const struct cli_command tree_simulate = {
	.name = "simulate",
	.synopsis = "-f FILE... [--generate N [--seed S]] [--svg FILE] [-o FORMAT]",
	.summary = "play workloads through a tree: who is admitted, in what order, who is "
		   "preempted and why",
	.help = "Plays the Workloads of the files, and made-up ones, on a virtual clock. Those "
		"that hold quota run from\n"
		"the start; others wait from the start, or arrive when annotation "
		"multikueued.io/simulate-arrival says\n"
		"(\"90s\"); multikueued.io/simulate-duration says how long a workload runs. One "
		"that is preempted starts\n"
		"anew when it is admitted again.\n",
	.examples = "  kubectl multikueue tree simulate -f queues.yaml -f workloads.yaml\n"
		    "  kubectl multikueue tree simulate -f queues.yaml --generate 40 --seed 7 "
		    "--svg story.svg\n",
	.options = options,
	.run = run_simulate,
};
