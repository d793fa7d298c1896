/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log says of kinds that a cluster does not serve: once, and as a warning
 * only when a workload needs them.
 */
#include "t/lib/pipe_text.h"
#include "t/lib/tap.h"

#include <unistd.h>

#include "core/base/log.h"
#include "core/base/metric.h"
#include "core/base/str.h"
#include "core/serve/scrape.h"
#include "core/serve/telemetry.h"

enum { TOY = KIND_FIRST_JOB, W1 = 1 };

static int pipe_out;
static struct telemetry *t;
static struct manager_observer o;

/* How many records of 'level' were written since the last call; others are none of its business. */
static int said(const char *level)
{
	const char *text = pipe_text(pipe_out);
	char want[64];
	int found = 0;

	snprintf(want, sizeof(want), "\"level\":\"%s\"", level);
	for (const char *p = strstr(text, want); p; p = strstr(p + 1, want)) {
		found += strstr(p, "does not serve") != NULL;
	}
	return found;
}

static void served(cluster_id c, uint16_t kind, bool yes)
{
	struct event ev = {.type = yes ? EV_SERVED : EV_UNSERVED,
			   .cluster = c,
			   .kind = kind,
			   .code = yes ? ERR_OK : ERR_NOT_FOUND,
			   .text = STR("no matches for kind \"Toy\"")};

	o.on_event(o.ctx, &ev);
}

static void operation(enum op_type type, cluster_id c, uint16_t kind)
{
	struct op op = {.type = type, .cluster = c, .kind = kind, .name = STR("w1"), .cause = "x"};

	o.on_op(o.ctx, &op);
}

static void count(struct engine_count c)
{
	o.on_count(o.ctx, &c);
}

static void dispatched(const char *queue, mk_str cluster)
{
	count((struct engine_count){
		.what = COUNT_DISPATCHED, .cluster_queue = str_of(queue), .cluster = cluster});
}

static void admitted(const char *queue, mk_str cluster)
{
	count((struct engine_count){
		.what = COUNT_ADMITTED, .cluster_queue = str_of(queue), .cluster = cluster});
}

/* The text of /metrics. */
static void render(struct buf *b)
{
	struct scrape *s = scrape_new(telemetry_requests(t));

	while (!scrape_step(s, b)) {
	}
	scrape_free(s);
}

/* What the metrics say of kinds that "w1" does not serve; "" = no row. */
static const char *unserved_row(void)
{
	static char row[80];
	struct buf b;
	const char *at;

	row[0] = '\0';
	buf_init(&b, 1 << 20);
	render(&b);
	buf_add(&b, (mk_str){"", 1});
	at = b.failed ? NULL : strstr(b.p, "multikueue_kinds_unserved{");
	if (at) {
		snprintf(row, sizeof(row), "%.*s", (int)strcspn(at, "\n"), at);
	}
	buf_done(&b);
	return row;
}

/* How many rows with a cluster's name are there, other than the manager's? */
static int rows(void)
{
	struct buf b;
	int n = 0;

	buf_init(&b, 1 << 20);
	render(&b);
	buf_add(&b, (mk_str){"", 1});
	for (const char *p = b.failed ? NULL : strstr(b.p, "cluster=\"c"); p;
	     p = strstr(p + 1, "cluster=\"c")) {
		n++;
	}
	buf_done(&b);
	return n;
}

/* Two clusters whose names differ in the last byte only have rows of their own. */
static void long_names(size_t len)
{
	char name[2][300] = {{0}};
	struct op op = {.type = OP_CONNECT, .cause = "x"};

	for (cluster_id i = 0; i < 2; i++) {
		struct event ev = {.type = EV_LINK, .cluster = 5 + i, .link = LINK_UP};

		memset(name[i], 'c', len);
		name[i][len - 1] = (char)('0' + i);
		op.cluster = 5 + i;
		op.name = str_of(name[i]);
		o.on_op(o.ctx, &op);
		o.on_event(o.ctx, &ev);
		admitted("q", op.name);
		dispatched("q", op.name);
	}
	is_int(rows(), 6, "long names: rows for each of two clusters");
	operation(OP_DISCONNECT, 5, KIND_CLUSTER);
	is_int(rows(), 3, "one goes: its rows go, the other's stay");
	operation(OP_DISCONNECT, 6, KIND_CLUSTER);
	is_int(rows(), 0, "both are gone");
}

/* How many rows of Kueue's two counters are there, and how many of them are for the rest? */
static int counter_rows(const char *part)
{
	struct buf b;
	mk_str rest, line;
	int n = 0;

	buf_init(&b, 1 << 24);
	render(&b);
	rest = buf_str(&b);
	while (str_split(&rest, '\n', &line)) {
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", STR_ARG(line));
		n += strstr(copy, "workloads_dispatched_total{") && strstr(copy, part);
	}
	buf_done(&b);
	return n;
}

static void queue_event(enum event_type type, const char *name)
{
	struct event ev = {.type = type, .kind = KIND_CLUSTER_QUEUE, .name = str_of(name)};

	o.on_event(o.ctx, &ev);
}

/* More clusters and ClusterQueues than a thousand rows can tell. */
static void large_fleet(void)
{
	enum { CLUSTERS = 100, QUEUES = 30 };
	struct op op = {.type = OP_CONNECT, .cause = "x"};
	char cluster[32], queue[32];

	queue_event(EV_LIST_BEGIN, "");
	for (int q = 0; q < QUEUES; q++) {
		snprintf(queue, sizeof(queue), "q%d", q);
		queue_event(EV_OBSERVED, queue);
	}
	queue_event(EV_LIST_END, "");
	for (cluster_id c = 0; c < CLUSTERS; c++) {
		snprintf(cluster, sizeof(cluster), "far%u", c);
		op.cluster = 10 + c;
		op.name = str_of(cluster);
		o.on_op(o.ctx, &op);
		for (int q = 0; q < QUEUES; q++) {
			snprintf(queue, sizeof(queue), "q%d", q);
			dispatched(queue, op.name);
		}
	}
	is_int(counter_rows("cluster=\"far"), CLUSTERS * QUEUES,
	       "each cluster and ClusterQueue has its row, however large the fleet");
	is_int(counter_rows("_other"), 0, "none is for the rest");
	queue_event(EV_GONE, "q7");
	is_int(counter_rows("cluster_queue=\"q7\""), 0, "a ClusterQueue goes, and its rows");
	queue_event(EV_LIST_BEGIN, "");
	queue_event(EV_OBSERVED, "q3");
	queue_event(EV_LIST_END, "");
	is_int(counter_rows("cluster=\"far"), CLUSTERS, "so do those that a list does not name");
	for (cluster_id c = 0; c < CLUSTERS; c++) {
		operation(OP_DISCONNECT, 10 + c, KIND_CLUSTER);
	}
	is_int(counter_rows("cluster=\"far"), 0, "and those of clusters");
}

static void an_event(const char *type)
{
	struct op op = {.type = OP_EVENT, .kind = KIND_EVENT, .cause = "event"};
	struct json *body = NULL;
	struct arena a;
	char text[512];

	arena_init(&a, 0);
	snprintf(text, sizeof(text),
		 "{\"type\":\"%s\",\"reason\":\"MultiKueue\",\"note\":\"worker cluster w1 refused "
		 "the "
		 "Workload\",\"regarding\":{\"kind\":\"Workload\",\"namespace\":\"ns\",\"name\":"
		 "\"wl\"}}",
		 type);
	ok(json_parse(&a, str_of(text), &body, NULL) == ERR_OK, "an Event is sent");
	op.body = body;
	o.on_op(o.ctx, &op);
	arena_done(&a);
}

static void events(void)
{
	const char *text;

	an_event("Warning");
	text = pipe_text(pipe_out);
	ok(strstr(text, "\"level\":\"info\"") && strstr(text, "\"kind\":\"Workload\"") &&
		   strstr(text, "\"ns\":\"ns\"") && strstr(text, "\"name\":\"wl\"") &&
		   strstr(text, "worker cluster w1 refused the Workload"),
	   "what an Event warns of is logged, too");
	an_event("Normal");
	ok(!strstr(pipe_text(pipe_out), "refused"), "what goes well is not");
}

/* A sample's value as text; "" = no such row. */
static const char *sample(const char *row)
{
	static char value[32];
	struct buf b;
	const char *at;

	value[0] = '\0';
	buf_init(&b, 1 << 24);
	render(&b);
	buf_add(&b, (mk_str){"", 1});
	at = b.failed ? NULL : strstr(b.p, row);
	if (at) {
		at += strlen(row);
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\n"), at);
	}
	buf_done(&b);
	return value;
}

static void report(cluster_id c, const char *method, int status, enum mk_code code)
{
	struct transport_report r = {
		.cluster = c, .method = method, .status = status, .code = code, .dur_us = 1000};

	telemetry_report(t, &r);
}

/* Requests and clones are counted in rows that were found once, whatever becomes of clusters. */
static void rows_found_once(void)
{
	operation(OP_CONNECT, W1, KIND_CLUSTER);
	for (int i = 0; i < 3; i++) {
		report(W1, "PATCH", 200, ERR_OK);
		report(W1, "PATCH", 409, ERR_CONFLICT);
		report(W1, "WATCH", 0, ERR_UNAVAILABLE);
		report(77, "GET", 200, ERR_OK);
		report(W1, "BREW", 418, ERR_OK);
		dispatched("q", STR("w1"));
	}
	is_str(sample("requests_total{cluster=\"w1\",verb=\"PATCH\",code=\"200\"} "), "3",
	       "requests by verb and code");
	is_str(sample("requests_total{cluster=\"w1\",verb=\"PATCH\",code=\"409\"} "), "3",
	       "each code has its row");
	is_str(sample("requests_total{cluster=\"w1\",verb=\"WATCH\",code=\"unavailable\"} "), "3",
	       "so has what failed without an answer");
	is_str(sample("requests_total{cluster=\"77\",verb=\"GET\",code=\"200\"} "), "3",
	       "a cluster without a name");
	is_str(sample("requests_total{cluster=\"w1\",verb=\"BREW\",code=\"418\"} "), "3",
	       "a verb that is not known");
	is_str(sample("request_seconds_count{cluster=\"w1\",verb=\"PATCH\"} "), "6",
	       "durations by cluster and verb");
	is_str(sample("request_seconds_count{cluster=\"77\",verb=\"GET\"} "), "3",
	       "... of a cluster without a name");
	is_str(sample("request_seconds_count{cluster=\"w1\",verb=\"WATCH\"} "), "",
	       "but not of watches");
	is_str(sample("dispatched_total{cluster_queue=\"q\",cluster=\"w1\",replica_role=\"leader\"}"
		      " "),
	       "3", "clones by ClusterQueue and cluster");
	operation(OP_CONNECT, 2, KIND_CLUSTER);
	operation(OP_DISCONNECT, 2, KIND_CLUSTER);
	report(W1, "PATCH", 200, ERR_OK);
	dispatched("q", STR("w1"));
	is_str(sample("requests_total{cluster=\"w1\",verb=\"PATCH\",code=\"200\"} "), "1",
	       "rows that went with another cluster of the name begin anew");
	is_str(sample("request_seconds_count{cluster=\"w1\",verb=\"PATCH\"} "), "1",
	       "those of durations too");
	is_str(sample("cluster=\"w1\",replica_role=\"leader\"} "), "1", "those of clones too");
	operation(OP_DISCONNECT, W1, KIND_CLUSTER);
}

static void evicted(const char *reason)
{
	count((struct engine_count){.what = COUNT_EVICTED,
				    .cluster_queue = STR("q"),
				    .cluster = STR("w1"),
				    .reason = str_of(reason)});
}

/* The value of Kueue's counter of evictions for a reason. */
static const char *evictions(const char *reason)
{
	char row[200];

	snprintf(row, sizeof(row),
		 "multikueue_workloads_evicted_total{cluster_queue=\"q\",cluster=\"w1\",reason="
		 "\"%s\",replica_role=\"leader\"} ",
		 reason);
	return sample(row);
}

/* Reasons are words of a worker's Kueue, or of an attacker. */
static void reasons(void)
{
	char word[128];

	operation(OP_CONNECT, W1, KIND_CLUSTER);
	evicted("Preempted");
	evicted("Preempted");
	is_str(evictions("Preempted"), "2", "evictions by ClusterQueue, cluster, reason and role");
	evicted("\"} 7\nx");
	evicted("");
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	evicted(word);
	is_str(evictions("_other"), "3", "what is no word has a row of its own");
	for (int i = 0; i < 20; i++) {
		snprintf(word, sizeof(word), "Reason%c", 'A' + i);
		evicted(word);
	}
	is_str(evictions("ReasonO"), "1", "other words have theirs");
	is_str(evictions("ReasonP"), "", "sixteen of them");
	is_str(evictions("_other"), "8", "... then they are counted together");
	operation(OP_DISCONNECT, W1, KIND_CLUSTER);
	is_str(evictions("Preempted"), "", "the cluster goes, and its rows");
}

static void stages(void)
{
	count((struct engine_count){.what = COUNT_STAGE, .stage = STAGE_WON, .ms = 42000});
	count((struct engine_count){.what = COUNT_STAGE, .stage = STAGE_WON, .ms = 80});
	is_str(sample("multikueue_workload_stage_seconds_count{stage=\"won\"} "), "2",
	       "how long Workloads take to a stage");
	is_str(sample("multikueue_workload_stage_seconds_bucket{stage=\"won\",le=\"0.1\"} "), "1",
	       "in buckets");
	is_str(sample("multikueue_workload_stage_seconds_sum{stage=\"won\"} "), "42.08",
	       "and as a sum");
}

static void build_info(void)
{
	ok(sample("multikueue_build_info{version=\"" MK_VERSION "\",abi=\"1.3\",compiler=\"")[0] !=
		   0,
	   "which build it is");
}

int main(void)
{
	int fd[2];

	if (pipe(fd) != 0) {
		return 1;
	}
	pipe_out = fd[0];
	log_set_output(fd[1], LOG_JSON);
	t = telemetry_new(true);
	o = telemetry_observer(t);
	operation(OP_CONNECT, W1, KIND_CLUSTER);
	served(W1, TOY, false);
	is_int(said("info"), 1, "a kind that no job uses: told");
	served(W1, TOY, false);
	is_int(said("warn") + said("info"), 0, "once, although each connect finds it again");
	operation(OP_WATCH_OPEN, W1, TOY);
	is_int(said("warn"), 0, "a look at the worker is no use of it");
	operation(OP_WATCH_OPEN, CLUSTER_MANAGER, TOY);
	is_int(said("warn"), 1, "a workload of that kind: a warning");
	operation(OP_WATCH_OPEN, CLUSTER_MANAGER, TOY);
	is_int(said("warn"), 0, "once");
	served(W1, TOY, true);
	served(W1, TOY, false);
	is_int(said("warn"), 1, "it goes while it is used: a warning at once");
	operation(OP_WATCH_CLOSE, CLUSTER_MANAGER, TOY);
	served(W1, TOY, true);
	served(W1, TOY, false);
	is_int(said("info"), 1, "no job uses it any more: no warning");
	served(W1, KIND_WORKLOAD, false);
	is_int(said("warn"), 1, "without Workloads nothing works: a warning in any case");
	is_str(unserved_row(), "multikueue_kinds_unserved{cluster=\"w1\"} 2", "both are counted");
	operation(OP_DISCONNECT, W1, KIND_CLUSTER);
	is_str(unserved_row(), "", "until the cluster goes");
	served(99, TOY, false);
	is_int(said("info"), 1, "of a cluster that we have no name for, too");
	events();
	long_names(63);
	long_names(64);
	long_names(128);
	long_names(129);
	long_names(253);
	large_fleet();
	rows_found_once();
	reasons();
	stages();
	build_info();
	telemetry_free(t);
	log_set_output(2, LOG_AUTO);
	close(fd[0]);
	close(fd[1]);
	return done_testing();
}
