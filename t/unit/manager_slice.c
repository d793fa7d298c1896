/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One manager_run does not do everything that there is to do: with a clock it ends when its slice
 * is spent, and the next one goes on. Counted: connections, and passes of Workloads.
 */
#include "core/manager/manager.h"
#include "t/lib/engine_world.h"
#include "t/lib/kube_fake.h"

enum { WORKERS = 100, WORKLOADS = 200, PER_RUN = 4, RUNS_MAX = 10000 };

static int64_t now_us;

/* Each look at the clock finds it a millisecond later: four pieces of work are a slice. */
static int64_t slow_clock(void)
{
	now_us += 1000;
	return now_us;
}

struct setup {
	struct fake f;
	struct plug *plug;
	struct manager *m;
};

static void begin(struct setup *s, int64_t (*clock_us)(void))
{
	struct manager_options o = {
		.origin = STR("multikueue"),
		.namespace_ = STR("kueue-system"),
		.dispatcher = STR("kueue.x-k8s.io/multikueue-dispatcher-all-at-once"),
		.worker_lost_timeout_ms = 900000,
		.gc_interval_ms = 60000,
		.seed = 1,
		.clock_us = clock_us,
	};
	struct endpoint e = {.host = STR("10.0.0.254"), .port = 6443};
	struct mk_err err;

	fake_init(&s->f, 1);
	kube_free(s->f.k); /* the manager has one of its own */
	s->plug = plug_new(&err);
	if (plug_add(s->plug, &mk_entry_job, "", &err) != ERR_OK ||
	    plug_add(s->plug, &mk_entry_all_at_once, "", &err) != ERR_OK) {
		printf("Bail out! no plugins: %s\n", err.msg);
		exit(1);
	}
	o.plug = s->plug;
	o.transport = &s->f.transport;
	s->m = manager_new(&o, &err);
	if (!s->m) {
		printf("Bail out! no manager: %s\n", err.msg);
		exit(1);
	}
	s->f.k = manager_kube(s->m);
	s->f.sink = manager_sink(s->m);
	manager_now(s->m, s->f.mono, s->f.wall);
	manager_start(s->m, &e, NULL);
	manager_set_leader(s->m, true);
	manager_run(s->m, s->f.mono, s->f.wall);
}

static void end(struct setup *s)
{
	manager_free(s->m);
	plug_free(s->plug);
	s->f.k = NULL;
	fake_done(&s->f);
}

static void object(struct setup *s, uint64_t stream, const char *kind, const char *meta,
		   const char *rest)
{
	char line[4096];

	snprintf(line, sizeof(line),
		 "{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"%s\",\"kind\":\"%s\","
		 "\"metadata\":{%s,\"generation\":1,\"resourceVersion\":\"90\"},%s}}\n",
		 KUEUE, kind, meta, rest);
	fake_chunk(&s->f, stream, line);
}

/* The manager's lists: workers behind one Secret, and Workloads that wait for quota. */
static void show(struct setup *s, int n_workers, int n_workloads)
{
	struct fake *f = &s->f;
	char meta[256];
	uint64_t t;

	fake_handshake(f, 0, "manager-uid");
	t = fake_stream(f, 0, "/workloads?");
	for (int i = 0; i < n_workloads; i++) {
		snprintf(meta, sizeof(meta),
			 "\"name\":\"wl-%d\",\"namespace\":\"x\",\"uid\":\"u%d\"", i, i);
		object(s, t, "Workload", meta,
		       "\"spec\":{\"active\":true,\"queueName\":\"q\",\"podSets\":[]}");
	}
	fake_mark(f, t, KUEUE, "Workload", 100);
	fake_empty(f, 0, "/admissionchecks?", KUEUE, "AdmissionCheck", 100);
	fake_empty(f, 0, "/multikueueconfigs?", KUEUE, "MultiKueueConfig", 100);
	t = fake_stream(f, 0, "/multikueueclusters?");
	for (int i = 0; i < n_workers; i++) {
		snprintf(meta, sizeof(meta), "\"name\":\"w%d\",\"uid\":\"u-w%d\"", i, i);
		object(s, t, "MultiKueueCluster", meta,
		       "\"spec\":{\"clusterSource\":{\"kubeConfig\":{\"location\":\"s1\","
		       "\"locationType\":\"Secret\"}}}");
	}
	fake_mark(f, t, KUEUE, "MultiKueueCluster", 100);
	t = fake_stream(f, 0, "/secrets?");
	fake_secret(f, t, "ADDED", "s1", FAKE_KUBECONFIG, 90);
	fake_mark(f, t, "v1", "Secret", 100);
}

struct most {
	int opens;       /* connections that one run began */
	uint64_t passes; /* of Workloads, in one run */
	int runs;
};

static uint64_t passes(const struct setup *s)
{
	struct engine_stats st;

	engine_get_stats(manager_engine(s->m), &st);
	return st.passes;
}

/* Runs while there is something to do now. */
static struct most settle(struct setup *s)
{
	struct most most = {0};

	while (manager_next_ms(s->m) <= s->f.mono && most.runs < RUNS_MAX) {
		int opens = s->f.opens;
		uint64_t before = passes(s);

		manager_run(s->m, s->f.mono, s->f.wall);
		opens = s->f.opens - opens;
		before = passes(s) - before;
		most.opens = opens > most.opens ? opens : most.opens;
		most.passes = before > most.passes ? before : most.passes;
		most.runs++;
	}
	return most;
}

static void connections(void)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct most most;
	int before;

	begin(s, slow_clock);
	show(s, WORKERS, 0);
	before = s->f.opens;
	most = settle(s);
	is_int(s->f.opens - before, WORKERS, "all workers are connected in the end");
	ok(most.opens >= 1 && most.opens <= PER_RUN, "few in one run");
	end(s);

	begin(s, NULL);
	show(s, WORKERS, 0);
	before = s->f.opens;
	most = settle(s);
	is_int(s->f.opens - before, WORKERS, "without a clock they are, too");
	ok(most.opens > PER_RUN, "many in one run");
	end(s);
	free(s);
}

static void workloads(void)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct most most;
	uint64_t all;

	begin(s, slow_clock);
	show(s, 0, WORKLOADS);
	most = settle(s);
	all = passes(s);
	ok(all >= WORKLOADS, "each Workload gets a pass");
	ok(most.passes >= 1 && most.passes <= PER_RUN, "few in one run");
	end(s);

	begin(s, NULL);
	show(s, 0, WORKLOADS);
	most = settle(s);
	is_int((long long)passes(s), (long long)all, "as many passes without a clock");
	ok(most.passes > PER_RUN, "many in one run");
	end(s);
	free(s);
}

/* What a run had no time for is done before what is wanted later. */
static void order(void)
{
	struct setup *s = calloc(1, sizeof(*s));
	int opens;

	begin(s, slow_clock);
	show(s, WORKERS, 0);
	while (s->f.opens < WORKERS / 2) {
		manager_run(s->m, s->f.mono, s->f.wall);
	}
	fake_line(&s->f, fake_token(&s->f, 0, "/multikueueclusters?"), "DELETED", KUEUE,
		  "MultiKueueCluster", "", "w99", 101);
	opens = s->f.opens;
	settle(s);
	ok(s->f.opens > opens, "the other workers are connected");
	ok(!kube_is_up(manager_kube(s->m), WORKERS) && !s->f.is_open[WORKERS],
	   "one that is removed before its turn is not connected in the end");
	end(s);
	free(s);
}

int main(void)
{
	connections();
	workloads();
	order();
	return done_testing();
}
