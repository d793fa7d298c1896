/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and log lines; see telemetry.h. */
#include "core/serve/telemetry.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/metric.h"
#include "core/serve/cluster_status.h"
#include "core/serve/fleet.h"
#include "core/serve/records.h"
#include "core/serve/status.h"
#include "core/serve/tallies.h"

enum {
	DOWNS_OF_CLUSTER = 16, /* rows of one cluster: reasons to lose it */
};

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

struct telemetry {
	bool in_use[KIND_MAX]; /* the manager has workloads of the job kind */
	struct fleet fleet;
	struct records records;
	struct decisions *decisions;
	struct engine_stats told; /* what the counters have been told so far */
	struct plug_stats plug_told;
	uint64_t connects_told, bytes_told;
	int64_t beat_ms, beat_gap_ms; /* the last heartbeat; the longest time between two */
	struct tallies tallies;
	struct cluster_status status;
	struct requests requests;
	struct metric *link_up, *link_downs, *unserved, *unheard;
	struct metric *stall, *max_stall, *max_cpu, *beat_gap, *leader, *pending, *queued,
		*in_flight;
	struct metric *workloads, *frozen, *overdue, *objects, *store_bytes;
	struct metric *finished, *passes, *rules;
	struct metric *sockets, *connects, *bytes_in, *running;
	struct metric *plugin_calls, *plugin_faults, *plugin_soft;
	struct metric *breaker, *recreated, *gc_held, *overweight;
	struct metric *build, *rss, *cpu, *started;
};

static void register_wire(struct telemetry *t)
{
	t->link_up = metric_gauge("multikueue_link_up",
				  "1 while the cluster's requests work and its lists are complete.",
				  "cluster", NULL);
	t->link_downs = metric_counter("multikueue_link_downs_total", "Times a link went down.",
				       "cluster", "reason", NULL);
	t->unserved = metric_gauge("multikueue_kinds_unserved",
				   "Kinds that the cluster does not serve, or not to us.",
				   "cluster", NULL);
	t->unheard = metric_counter("multikueue_worker_unheard_seconds_total",
				    "Time that a worker waited since it had its share of the loop.",
				    "cluster", NULL);
	t->sockets = metric_gauge("multikueue_sockets", "Open connections to API servers.", NULL);
	t->connects = metric_counter("multikueue_connects_total", "Connections begun.", NULL);
	t->bytes_in = metric_counter("multikueue_received_bytes_total",
				     "Bytes of answers and events, after decompression.", NULL);
	t->running =
		metric_gauge("multikueue_requests_running", "Requests and watches open.", NULL);
}

static void register_work(struct telemetry *t)
{
	t->pending = metric_gauge("multikueue_operations_pending",
				  "Operations queued or on the wire.", NULL);
	t->queued = metric_gauge("multikueue_queue_depth", "Objects waiting for a pass.", NULL);
	t->in_flight = metric_gauge("multikueue_operations_in_flight",
				    "Operations whose outcome is awaited.", NULL);
	t->workloads = metric_gauge("multikueue_workloads", "Workloads of the manager.", NULL);
	t->frozen = metric_gauge("multikueue_workloads_unserved",
				 "Workloads left alone because no plugin serves their kind.", NULL);
	t->overdue = metric_gauge("multikueue_workloads_overdue",
				  "Workloads that no worker has admitted for ten minutes.", NULL);
	t->objects = metric_gauge("multikueue_store_objects", "Objects in the store.", NULL);
	t->store_bytes = metric_gauge("multikueue_store_bytes", "Memory of the store.", NULL);
	t->finished = metric_counter("multikueue_workloads_finished_total",
				     "Workloads seen turning Finished.", NULL);
	t->breaker = metric_gauge("multikueue_breaker_open", "1 while what may destroy is halted.",
				  NULL);
	t->recreated = metric_counter("multikueue_clones_recreated_total",
				      "Clones made again although nothing demanded it.", NULL);
	t->gc_held = metric_counter("multikueue_gc_held_total",
				    "Workloads whose garbage waits for a confirmation.", NULL);
	t->overweight =
		metric_counter("multikueue_worker_memory_exceeded_total",
			       "Times that a worker took more than its share of memory.", NULL);
	t->passes = metric_counter("multikueue_passes_total", "Passes over a Workload.", NULL);
	t->rules = metric_counter("multikueue_rules_total", "Rules of the engine that fired.",
				  "rule", NULL);
	t->plugin_calls = metric_counter("multikueue_plugin_calls_total", "Hooks called.", NULL);
	t->plugin_faults = metric_counter("multikueue_plugin_faults_total",
					  "Hooks that broke their contract.", "plugin", NULL);
	t->plugin_soft =
		metric_counter("multikueue_plugin_over_soft_budget_total",
			       "Hooks that went over a soft budget.", "plugin", "budget", NULL);
}

/* Fine where the goal is: no callback takes longer than 10 ms. */
static const double stall_seconds[] = {0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015,
				       0.02,  0.03,  0.05,  0.1,   0.2,   0.5,   1,    5};

static void register_process(struct telemetry *t)
{
	char abi[16];

	t->leader = metric_gauge("multikueue_leader", "1 while this process may write.", NULL);
	t->stall = metric_histogram("multikueue_loop_stall_seconds",
				    "Callbacks of the main loop that took longer than 1 ms.",
				    stall_seconds, sizeof(stall_seconds) / sizeof(*stall_seconds),
				    NULL);
	t->max_stall = metric_gauge("multikueue_loop_stall_max_seconds",
				    "Longest callback of the main loop since the start.", NULL);
	t->max_cpu =
		metric_gauge("multikueue_loop_stall_cpu_max_seconds",
			     "Most CPU of a callback of the main loop, real-time priority.", NULL);
	t->beat_gap = metric_gauge("multikueue_heartbeat_gap_max_seconds",
				   "Longest time between two heartbeats of the main loop.", NULL);
	t->build = metric_gauge("multikueue_build_info", "1; the labels say which build this is.",
				"version", "abi", "compiler", NULL);
	snprintf(abi, sizeof(abi), "%d.%d", MK_ABI_MAJOR, MK_ABI_MINOR);
	metric_set(t->build, METRIC_LABELS(STR(MK_VERSION), str_of(abi), STR(COMPILER)), 1);
	t->rss = metric_gauge("process_resident_memory_bytes", "Resident memory.", NULL);
	t->cpu = metric_counter("process_cpu_seconds_total", "CPU time, user and system.", NULL);
	t->started = metric_gauge("process_start_time_seconds", "Start, seconds since 1970.", NULL);
	metric_set(t->started, METRIC_NONE, (double)clock_wall_ms() / 1000);
}

/* --- clusters --------------------------------------------------------------------------------- */

/* As many rows as there can be: so many that a larger fleet is not lost in "_other". */
static void set_limits(struct telemetry *t)
{
	size_t n = t->fleet.n_clusters;

	metric_limit(t->link_downs, n * DOWNS_OF_CLUSTER);
	metric_limit(t->link_up, n);
	metric_limit(t->unserved, n);
	metric_limit(t->unheard, n);
	tallies_limit(&t->tallies);
}

static void forget_cluster(struct telemetry *t, cluster_id id)
{
	struct fleet_cluster *c = fleet_find(&t->fleet, id);

	if (c) {
		const mk_str label = str_of(c->label);

		metric_forget(t->link_up, 0, label);
		metric_forget(t->link_downs, 0, label);
		metric_forget(t->unserved, 0, label);
		metric_forget(t->unheard, 0, label);
		requests_forget(&t->requests, label);
		tallies_forget_cluster(&t->tallies, label);
		fleet_remove(&t->fleet, c);
		set_limits(t);
	}
}

static mk_str cluster_label(const struct telemetry *t, cluster_id id, char number[static 16])
{
	const struct fleet_cluster *c = fleet_find(&t->fleet, id);

	return c ? str_of(c->label) : fleet_name(&t->fleet, id, number);
}

/* --- observing -------------------------------------------------------------------------------- */

static void on_link(struct telemetry *t, const struct event *ev)
{
	struct fleet_cluster *c = fleet_find(&t->fleet, ev->cluster);
	char number[16];
	mk_str label = cluster_label(t, ev->cluster, number);

	metric_set(t->link_up, METRIC_LABELS(label), ev->link == LINK_UP ? 1 : 0);
	if (c) {
		fleet_set_link(&t->fleet, c, ev->link, ev->reason);
	}
	if (ev->link == LINK_DOWN) {
		metric_add(t->link_downs, METRIC_LABELS(label, ev->reason), 1);
	}
	records_link(&t->records, ev);
}

/*
 * Told once; a kind that no workload has is no reason to worry, unless its name in the
 * configuration seems to be wrong.
 */
static void on_served(struct telemetry *t, const struct event *ev)
{
	struct fleet_cluster *c = fleet_find(&t->fleet, ev->cluster);
	bool unserved = ev->type == EV_UNSERVED;
	bool matters = ev->kind < KIND_FIRST_JOB || t->in_use[ev->kind] || ev->reason.n > 0;

	if (unserved && !(c && c->unserved[ev->kind])) {
		records_unserved(&t->records, ev, matters);
	}
	if (c && c->unserved[ev->kind] != unserved) {
		c->n_unserved = unserved ? c->n_unserved + 1 : c->n_unserved - 1;
		metric_set(t->unserved, METRIC_LABELS(str_of(c->label)), c->n_unserved);
		c->unserved[ev->kind] = unserved;
	}
}

static void forget_queue(void *ctx, mk_str name)
{
	struct telemetry *t = ctx;
	char label[FLEET_LABEL_SIZE];

	tallies_forget_queue(&t->tallies, fleet_label(name, label));
}

/* The manager's ClusterQueues, where they may be watched. */
static void on_queue(struct telemetry *t, const struct event *ev)
{
	if (ev->type == EV_OBSERVED) {
		fleet_queue_seen(&t->fleet, ev->name);
	} else if (ev->type == EV_GONE && fleet_queue_gone(&t->fleet, ev->name)) {
		forget_queue(t, ev->name);
	} else if (ev->type == EV_LIST_BEGIN) {
		fleet_queues_begin(&t->fleet);
	} else if (ev->type == EV_LIST_END) {
		fleet_queues_end(&t->fleet, forget_queue, t);
	}
	set_limits(t);
}

static void on_event(void *ctx, const struct event *ev)
{
	struct telemetry *t = ctx;

	if (ev->type == EV_LINK) {
		on_link(t, ev);
	} else if (ev->type == EV_SERVED || ev->type == EV_UNSERVED) {
		on_served(t, ev);
	} else if (ev->type == EV_OP_DONE) {
		records_done(&t->records, ev);
	} else if (ev->kind == KIND_CLUSTER_QUEUE && ev->cluster == CLUSTER_MANAGER) {
		on_queue(t, ev);
	}
}

/*
 * The manager's jobs are watched while there are workloads of their kind: then it matters who does
 * not serve it.
 */
static void kind_in_use(struct telemetry *t, uint16_t kind)
{
	if (t->in_use[kind]) {
		return;
	}
	t->in_use[kind] = true;
	for (LIST_EACH(n, &t->fleet.clusters)) {
		const struct fleet_cluster *c = LIST_ENTRY(n, struct fleet_cluster, node);

		if (c->unserved[kind]) {
			records_in_use(&t->records, c, kind);
		}
	}
}

static void on_op(void *ctx, const struct op *op)
{
	struct telemetry *t = ctx;

	if (op->type == OP_CONNECT) {
		fleet_set_source(fleet_add(&t->fleet, op->cluster, op->name), op->ns, op->secret);
		set_limits(t);
	} else if (op->type == OP_DISCONNECT) {
		forget_cluster(t, op->cluster);
	} else if (op->type == OP_WATCH_OPEN && op->cluster == CLUSTER_MANAGER &&
		   op->kind >= KIND_FIRST_JOB) {
		kind_in_use(t, op->kind);
	} else if (op->type == OP_WATCH_CLOSE && op->cluster == CLUSTER_MANAGER) {
		t->in_use[op->kind] = false;
	}
	records_op(&t->records, op);
}

static void on_count(void *ctx, const struct engine_count *count)
{
	tallies_count(&((struct telemetry *)ctx)->tallies, count);
}

void telemetry_beat(struct telemetry *t, int64_t mono_ms)
{
	int64_t gap = t->beat_ms > 0 ? mono_ms - t->beat_ms : 0;

	t->beat_ms = mono_ms;
	if (gap > t->beat_gap_ms) {
		t->beat_gap_ms = gap;
		metric_set(t->beat_gap, METRIC_NONE, (double)gap / 1000);
	}
}

struct manager_observer telemetry_observer(struct telemetry *t)
{
	return (struct manager_observer){
		.ctx = t, .on_event = on_event, .on_op = on_op, .on_count = on_count};
}

void telemetry_report(void *ctx, const struct transport_report *r)
{
	struct telemetry *t = ctx;
	char number[16];
	double seconds = strcmp(r->method, "WATCH") == 0 ? -1 : (double)r->dur_us / 1e6;

	requests_count(&t->requests, cluster_label(t, r->cluster, number), r->method,
		       r->status > 0 ? r->status : -(int)r->code, seconds);
}

void telemetry_rests(void *ctx, uint32_t cluster, int64_t us)
{
	struct telemetry *t = ctx;
	struct fleet_cluster *c = fleet_find(&t->fleet, cluster);
	char number[16];

	metric_add(t->unheard, METRIC_LABELS(cluster_label(t, cluster, number)), (double)us / 1e6);
	if (c) {
		records_rest(c, clock_mono_ms(), us);
	}
}

const struct requests *telemetry_requests(const struct telemetry *t)
{
	return &t->requests;
}

void telemetry_stall(void *ctx, int64_t us)
{
	struct telemetry *t = ctx;

	metric_observe(t->stall, METRIC_NONE, (double)us / 1e6);
}

/* --- gathering -------------------------------------------------------------------------------- */

static void add_u64(struct metric *m, uint64_t now, uint64_t *told)
{
	metric_add(m, METRIC_NONE, (double)(now - *told));
	*told = now;
}

static void gather_engine(struct telemetry *t, const struct manager *m)
{
	struct engine_stats st;

	engine_get_stats(manager_engine(m), &st);
	metric_set(t->pending, METRIC_NONE, (double)manager_pending(m));
	metric_set(t->queued, METRIC_NONE, (double)st.queued);
	metric_set(t->in_flight, METRIC_NONE, (double)st.in_flight);
	metric_set(t->workloads, METRIC_NONE, (double)st.workloads);
	metric_set(t->frozen, METRIC_NONE, (double)st.unserved_workloads);
	metric_set(t->overdue, METRIC_NONE, (double)st.overdue);
	metric_set(t->breaker, METRIC_NONE, st.breaker_open ? 1 : 0);
	add_u64(t->recreated, st.recreated, &t->told.recreated);
	add_u64(t->gc_held, st.gc_held, &t->told.gc_held);
	add_u64(t->overweight, st.overweight, &t->told.overweight);
	metric_set(t->objects, METRIC_NONE, (double)st.objects);
	metric_set(t->store_bytes, METRIC_NONE, (double)st.bytes);
	add_u64(t->finished, st.finished, &t->told.finished);
	add_u64(t->passes, st.passes, &t->told.passes);
}

static void gather_rule(void *ctx, const char *rule, uint64_t count)
{
	struct telemetry *t = ctx;
	const mk_str label = str_of(rule);

	/* The registry itself remembers what it was told. */
	metric_add(t->rules, METRIC_LABELS(label),
		   (double)count - metric_get(t->rules, METRIC_LABELS(label)));
}

static double resident_bytes(void)
{
	unsigned long long pages = 0;
	char text[128] = "";
	FILE *f = fopen("/proc/self/statm", "re");
	mk_str rest;
	mk_str part;
	uint64_t n = 0;

	if (!f) {
		return 0;
	}
	if (!fgets(text, sizeof(text), f)) {
		text[0] = '\0';
	}
	fclose(f);
	rest = str_of(text); /* size resident shared ... */
	if (str_split(&rest, ' ', &part) && str_split(&rest, ' ', &part) && str_u64(part, &n)) {
		pages = n;
	}
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void gather_process(struct telemetry *t, struct loop *l)
{
	struct rusage ru;
	double cpu = 0;

	metric_set(t->max_stall, METRIC_NONE, (double)loop_max_stall_us(l) / 1e6);
	if (loop_max_cpu_us(l) > 0) {
		metric_set(t->max_cpu, METRIC_NONE, (double)loop_max_cpu_us(l) / 1e6);
	}
	metric_set(t->rss, METRIC_NONE, resident_bytes());
	if (getrusage(RUSAGE_SELF, &ru) == 0) {
		cpu = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		      (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
		metric_add(t->cpu, METRIC_NONE, cpu - metric_get(t->cpu, METRIC_NONE));
	}
}

/* Brings a counter up to what its owner counted. */
static void count_to(struct metric *m, const mk_str *labels, uint64_t n)
{
	metric_add(m, labels, (double)n - metric_get(m, labels));
}

/* A row for each plugin, of which most stay 0. */
static void gather_plugins(struct telemetry *t, const struct plug *p)
{
	struct plug_stats st;
	const char *id = plug_source_stats(p, 0, &st);

	for (size_t i = 0; id; id = plug_source_stats(p, ++i, &st)) {
		const mk_str who = str_of(id);

		count_to(t->plugin_faults, METRIC_LABELS(who), st.faults);
		count_to(t->plugin_soft, METRIC_LABELS(who, STR("time")), st.soft_time);
		count_to(t->plugin_soft, METRIC_LABELS(who, STR("memory")), st.soft_bytes);
		count_to(t->plugin_soft, METRIC_LABELS(who, STR("calls")), st.soft_calls);
	}
}

void telemetry_gather(struct telemetry *t, const struct telemetry_sources *s)
{
	struct transport_stats wire;
	struct plug_stats plug;

	gather_engine(t, s->manager);
	engine_rules(manager_engine(s->manager), gather_rule, t);
	cluster_status_gather(&t->status, manager_engine(s->manager), s->leads);
	transport_net_get_stats(s->transport, &wire);
	metric_set(t->sockets, METRIC_NONE, (double)wire.sockets);
	metric_set(t->running, METRIC_NONE, (double)wire.running);
	add_u64(t->connects, wire.connects, &t->connects_told);
	add_u64(t->bytes_in, wire.bytes_in, &t->bytes_told);
	plug_get_stats(s->plug, &plug);
	add_u64(t->plugin_calls, plug.calls, &t->plug_told.calls);
	gather_plugins(t, s->plug);
	metric_set(t->leader, METRIC_NONE, s->leads ? 1 : 0);
	gather_process(t, s->loop);
}

bool telemetry_gather_on(struct telemetry *t)
{
	return cluster_status_write(&t->status);
}

bool telemetry_status(struct telemetry *t, const struct telemetry_sources *s, bool clusters,
		      struct buf *out)
{
	return status_write(&t->fleet, s, clusters, out);
}

const struct decisions *telemetry_decisions(const struct telemetry *t)
{
	return t->decisions;
}

void telemetry_set_kinds(struct telemetry *t, const struct kinds *kinds)
{
	t->records.kinds = kinds;
}

struct telemetry *telemetry_new(bool elects)
{
	struct telemetry *t = mk_calloc(1, sizeof(*t));

	if (!t) {
		return NULL;
	}
	t->decisions = decisions_new(clock_wall_ms());
	if (!t->decisions) {
		mk_free(t);
		return NULL;
	}
	register_wire(t);
	register_work(t);
	register_process(t);
	requests_init(&t->requests);
	fleet_init(&t->fleet);
	tallies_init(&t->tallies, &t->fleet, elects);
	cluster_status_init(&t->status, elects);
	t->records.fleet = &t->fleet;
	t->records.decisions = t->decisions;
	fleet_add(&t->fleet, CLUSTER_MANAGER, STR("manager"));
	set_limits(t);
	return t;
}

void telemetry_free(struct telemetry *t)
{
	if (t) {
		requests_done(&t->requests);
		fleet_done(&t->fleet);
		tallies_done(&t->tallies);
		cluster_status_done(&t->status);
		decisions_free(t->decisions);
		mk_free(t);
	}
}
