/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon hands on of workers' quota for queue trees: over the engine, which knows the
 * workers, the client, which lists what was lost, and the store of quotas. Workers' objects are
 * what their admins make of them.
 */
#include <time.h>

#include "core/daemon/trees_workers.h"
#include "t/lib/engine_world.h"
#include "t/lib/kube_fake.h"

enum { FLAVORS = 10000, EVENT_MS = 50 };

static struct fake f;
static struct trees_workers_watch watch;
static struct arena a;

static const char *const queues_path = "/clusterqueues?";
static const char *const locals_path = "/localqueues?";

#define SERVED                                                                    \
	"{\"kind\":\"APIResourceList\",\"groupVersion\":\"kueue.x-k8s.io/"        \
	"v1beta2\",\"resources\":["                                               \
	"{\"name\":\"workloads\",\"kind\":\"Workload\",\"namespaced\":true},"     \
	"{\"name\":\"localqueues\",\"kind\":\"LocalQueue\",\"namespaced\":true}," \
	"{\"name\":\"clusterqueues\",\"kind\":\"ClusterQueue\"}]}"

/* A manager and worker 1, whose queues are watched. */
static void begin(void)
{
	arena_init(&a, 0);
	fake_init(&f, 7);
	fake_manager(&f);
	fake_connect(&f, 1, "s1");
	fake_answer(&f, 1, "GET /version", 200, VERSION_DOC);
	fake_answer(&f, 1, PROBE, 200, "{\"metadata\":{\"uid\":\"worker-uid\"}}");
	fake_answer(&f, 1, "GET /apis/kueue.x-k8s.io/v1beta2", 200, SERVED);
	fake_answer(&f, 1, "GET /apis/batch/v1", 200, BATCH_DOC);
	fake_watch(&f, 1, KIND_LOCAL_QUEUE, "");
	fake_watch(&f, 1, KIND_CLUSTER_QUEUE, "");
	fake_empty(&f, 1, locals_path, KUEUE, "LocalQueue", 500);
	fake_empty(&f, 1, queues_path, KUEUE, "ClusterQueue", 500);
	if (trees_workers_open(&watch, f.k, NULL) != ERR_OK) {
		exit(2);
	}
}

static void finish(void)
{
	trees_workers_close(&watch);
	fake_done(&f);
	arena_done(&a);
}

/* --- events ----------------------------------------------------------------------------------- */

static void tell_object(enum event_type type, cluster_id c, uint16_t kind, mk_str name,
			const struct json *obj, bool wants)
{
	struct event ev = {.type = type,
			   .cluster = c,
			   .kind = kind,
			   .ns = kind == KIND_LOCAL_QUEUE ? STR("ns") : STR(""),
			   .name = name,
			   .obj = obj};

	trees_workers_event(&watch, &ev, wants);
}

static void tell(enum event_type type, cluster_id c, uint16_t kind, const char *name,
		 const char *text)
{
	struct json *obj = NULL;

	(void)json_parse_cut(&a, str_of(text), &obj, NULL);
	tell_object(type, c, kind, str_of(name), obj, false);
}

static void lists(cluster_id c)
{
	static const uint16_t kinds[] = {KIND_LOCAL_QUEUE, KIND_CLUSTER_QUEUE};

	for (size_t i = 0; i < 2; i++) {
		tell(EV_LIST_BEGIN, c, kinds[i], "", "{}");
		tell(EV_LIST_END, c, kinds[i], "", "{}");
	}
}

#define LEADS "{\"spec\":{\"clusterQueue\":\"q\"}}"
#define GROUPS(flavors) "{\"spec\":{\"resourceGroups\":[{\"flavors\":[" flavors "]}]}}"
#define FLAVOR(name, cpu) \
	"{\"name\":\"" name "\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":" cpu "}]}"

static void add(void *ctx, const struct trees_quota *q)
{
	int64_t *sum = ctx;

	*sum += q->nominal.v;
}

/* Of the queue that LocalQueue ns/l of a worker leads to. */
static int64_t sum(cluster_id c)
{
	const mk_str local = STR("ns/l");
	int64_t v = 0;

	return trees_fleet_sum(watch.fleet, c, &local, 1, add, &v) == 1 ? v : -1;
}

static bool is_torn(void)
{
	enum trees_side side;
	uint32_t id;

	return trees_fleet_torn(watch.fleet, &id, &side);
}

/* --- what is kept ----------------------------------------------------------------------------- */

static void test_queues(void)
{
	uint64_t version;

	begin();
	lists(1);
	tell(EV_OBSERVED, 1, KIND_LOCAL_QUEUE, "l", LEADS);
	tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q",
	     GROUPS(FLAVOR("f", "3") "," FLAVOR("g", "\"500m\"")));
	is_int(sum(1), 3500, "a queue's quotas, and which LocalQueue leads to it");
	is_int(sum(2), -1, "of that worker alone");
	version = trees_fleet_version(watch.fleet);
	tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q",
	     GROUPS(FLAVOR("f", "3") "," FLAVOR("g", "\"0.5\"")));
	tell(EV_OBSERVED, 1, KIND_FLAVOR, "q", GROUPS(FLAVOR("f", "9")));
	tell(EV_OBSERVED, 1, KIND_WORKLOAD, "q", "{}");
	tell(EV_OBSERVED, CLUSTER_MANAGER, KIND_CLUSTER_QUEUE, "q", GROUPS(FLAVOR("f", "9")));
	ok(trees_fleet_version(watch.fleet) == version,
	   "the same in other words, other kinds and the manager's are no news");
	tell(EV_LIST_BEGIN, 1, KIND_CLUSTER_QUEUE, "", "{}");
	tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "other", "{}");
	is_int(sum(1), 3500, "while the kind is listed what was known stays");
	tell(EV_LIST_END, 1, KIND_CLUSTER_QUEUE, "", "{}");
	is_int(sum(1), -1, "what the list does not name is gone");
	tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q", GROUPS(FLAVOR("f", "3")));
	tell(EV_GONE, 1, KIND_LOCAL_QUEUE, "l", "{}");
	is_int(sum(1), -1, "a LocalQueue that is gone leads nowhere");
	finish();
}

/* --- hostile ---------------------------------------------------------------------------------- */

static void test_amounts(void)
{
	static const char *const none[] = {GROUPS(FLAVOR("f", "\"x\"")),
					   GROUPS(FLAVOR("f", "[]")),
					   GROUPS(FLAVOR("f", "{}")),
					   GROUPS(FLAVOR("f", "null")),
					   GROUPS(FLAVOR("f", "\"\"")),
					   GROUPS("7"),
					   GROUPS("{\"name\":7}"),
					   "{\"spec\":{\"resourceGroups\":{}}}",
					   "{\"spec\":7}",
					   "[]",
					   "7",
					   "{}"};
	bool good = true;

	begin();
	lists(1);
	tell(EV_OBSERVED, 1, KIND_LOCAL_QUEUE, "l", LEADS);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q", none[i]);
		good = sum(1) == 0 && good;
	}
	ok(good, "what cannot be read counts nothing");
	tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q", GROUPS(FLAVOR("f", "\"1e999\"")));
	ok(sum(1) == 0 || sum(1) > (int64_t)1 << 59, "too much is nothing, or the most there is");
	tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q", GROUPS(FLAVOR("f", "\"-5\"")));
	ok(sum(1) <= 0, "below nothing is not more");
	tell(EV_OBSERVED, 1, KIND_LOCAL_QUEUE, "l", "{\"spec\":{\"clusterQueue\":{\"a\":7}}}");
	is_int(sum(1), -1, "a LocalQueue that leads to no name leads nowhere");
	ok(!is_torn(), "and all of it is known");
	finish();
}

/* FLAVORS flavors of 1 cpu each; also in the status. */
static mk_str crowded(struct buf *b)
{
	buf_init(b, 16 * 1024 * 1024);
	buf_add(b, STR("{\"spec\":{\"resourceGroups\":[{\"flavors\":["));
	for (int i = 0; i < FLAVORS; i++) {
		buf_printf(b, "%s" FLAVOR("f%d", "1"), i > 0 ? "," : "", i);
	}
	buf_add(b, STR("]}]},\"status\":{\"flavorsReservation\":["));
	for (int i = FLAVORS; i-- > 0;) {
		buf_printf(b, "{\"name\":\"f%d\",\"resources\":[{\"name\":\"cpu\",\"total\":1}]}%s",
			   i, i > 0 ? "," : "");
	}
	buf_add(b, STR("]}}"));
	return buf_str(b);
}

static void test_crowded(void)
{
	struct json *obj = NULL;
	struct buf b;
	clock_t began;
	long ms;

	begin();
	lists(1);
	tell(EV_OBSERVED, 1, KIND_LOCAL_QUEUE, "l", LEADS);
	(void)json_parse_cut(&a, crowded(&b), &obj, NULL);
	began = clock();
	tell_object(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, STR("q"), obj, false);
	ms = (long)((clock() - began) * 1000 / CLOCKS_PER_SEC);
	is_int(sum(1), 1024 * 1000, "of a queue with 10,000 flavors the first 1,024 count");
	printf("# %ld ms of the processor\n", ms);
	ok(tap_valgrind() || tap_emulated() || ms < EVENT_MS, "... and it is read in a short time");
	buf_done(&b);
	finish();
}

/* Lets 'ms' pass and runs. Is the kind on the wire now that was not there before? */
static bool asks(struct world *w, const char *path, int64_t ms)
{
	struct fake_call *before = fake_find(&f, 1, path);
	uint64_t token = before != NULL ? before->token : 0;
	struct fake_call *now;

	f.mono += ms;
	f.wall += ms;
	kube_set_now(f.k, f.mono, f.wall);
	trees_workers_run(&watch, w->e, f.mono, f.wall);
	now = fake_find(&f, 1, path);
	return now != NULL && now->token != token && strstr(now->path, "sendInitialEvents=true");
}

/* A worker of the engine's world, for those who only want it to be there. */
static struct world *engine(void)
{
	struct world *w = w_new(2);

	w_restart(w);
	w_settle(w);
	return w;
}

static void test_names(void)
{
	static char name[1000];
	struct world *w = engine();

	begin();
	trees_workers_run(&watch, w->e, f.mono, f.wall);
	lists(1);
	is_int(trees_workers_next_ms(&watch), INT64_MAX, "nothing is missing");
	memset(name, 'n', sizeof(name));
	tell_object(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, (mk_str){name, sizeof(name)}, NULL, false);
	ok(is_torn(), "a name that no API server would take: the kind is not whole");
	ok(trees_workers_next_ms(&watch) <= f.mono, "... which is seen to at once");
	ok(asks(w, queues_path, 0), "the kind is listed anew");
	ok(!asks(w, queues_path, 4999) && trees_workers_next_ms(&watch) == f.mono + 1,
	   "once, and again after five seconds");
	lists(1);
	ok(!asks(w, queues_path, 1), "it is whole");
	is_int(trees_workers_next_ms(&watch), INT64_MAX, "and nothing is to be done");
	tell(EV_OBSERVED, 1, KIND_LOCAL_QUEUE, "", LEADS);
	ok(asks(w, locals_path, 0), "the other kind likewise");
	for (int i = 0; i < 20; i++) {
		(void)asks(w, locals_path, 300 * 1000);
	}
	ok(trees_workers_next_ms(&watch) - f.mono <= 300 * 1000,
	   "a worker that goes on so is asked every five minutes");
	finish();
	w_free(w);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Whatever allocation fails: the object is kept, or its kind is not whole. */
static bool survives(uint16_t kind, const char *text)
{
	struct json *obj = NULL;
	uint64_t n = 0, asked;
	bool good = true;

	(void)json_parse_cut(&a, str_of(text), &obj, NULL);
	do {
		lists(1);
		tell(EV_OBSERVED, 1, KIND_LOCAL_QUEUE, "l", LEADS);
		tell(EV_OBSERVED, 1, KIND_CLUSTER_QUEUE, "q", GROUPS(FLAVOR("f", "1")));
		watch.failed = false;
		alloc_fail_after(++n);
		tell_object(EV_OBSERVED, 1, kind, kind == KIND_LOCAL_QUEUE ? STR("m") : STR("q"),
			    obj, false);
		asked = alloc_fail_after(0);
		good = good && is_torn() == (asked >= n) && watch.failed == is_torn() &&
		       sum(1) == (asked >= n || kind == KIND_LOCAL_QUEUE ? 1000 : 2000);
	} while (asked >= n && n < 1000);
	return good && n > 1 && n < 1000;
}

static void test_memory(void)
{
	begin();
	ok(survives(KIND_LOCAL_QUEUE, LEADS),
	   "without memory for a LocalQueue its kind is not whole");
	ok(survives(KIND_CLUSTER_QUEUE, GROUPS(FLAVOR("f", "2"))),
	   "nor is that of ClusterQueues, and what was known stays");
	finish();
}

/* --- which workers ---------------------------------------------------------------------------- */

static const struct trees_worker *look(struct trees_workers *all, const char *name)
{
	if (!trees_fleet_look(watch.fleet, &a, all)) {
		return NULL;
	}
	for (size_t i = 0; i < all->n_workers; i++) {
		if (str_is(all->workers[i].name, name)) {
			return &all->workers[i];
		}
	}
	return NULL;
}

static void link_event(void)
{
	struct event ev = {.type = EV_LINK, .cluster = 1};

	trees_workers_event(&watch, &ev, false);
}

static void test_workers(void)
{
	struct world *w = engine();
	struct trees_workers all;
	const struct trees_worker *v;

	begin();
	trees_fleet_look(watch.fleet, &a, &all);
	ok(!all.known, "before the first run nothing is known");
	trees_workers_run(&watch, w->e, w->now, w->wall);
	v = look(&all, "w2");
	ok(all.known && all.n_workers == 2 && v && !v->was_seen, "the engine's workers");
	ok(all.n_configs == 1 && str_is(all.configs[0].name, "cfg") && all.configs[0].n == 2,
	   "... and configs");
	engine_want_queues(w->e, true);
	w_settle(w);
	trees_workers_run(&watch, w->e, w->now, w->wall);
	v = look(&all, "w2");
	ok(v && !v->was_seen, "without news it is not asked again");
	link_event();
	trees_workers_run(&watch, w->e, w->now, w->wall);
	v = look(&all, "w2");
	ok(v && v->was_seen && v->torn && v->hidden_ms == INT64_MAX,
	   "one whose queues were seen, and of which nothing was handed on yet");
	lists(v ? v->id : 0);
	v = look(&all, "w2");
	ok(v && !v->torn, "... it was");
	w->stay_down[1] = true;
	w_link(w, 1, LINK_DOWN);
	w_settle(w);
	w_advance(w, 5000);
	link_event();
	trees_workers_run(&watch, w->e, w->now, w->wall);
	v = look(&all, "w1");
	ok(v && v->hidden_ms <= w->now - 5000 && v->hidden_wall_ms <= w->wall - 5000,
	   "one that is lost: since when, by both clocks");
	finish();
	w_free(w);
}

/* Workers that could not be handed on for lack of memory are handed on later. */
static void test_workers_memory(void)
{
	struct world *w = engine();
	struct trees_workers all;
	uint64_t n = 0, asked;
	bool good = true;

	begin();
	do {
		int64_t next;

		trees_workers_close(&watch);
		(void)trees_workers_open(&watch, f.k, NULL);
		alloc_fail_after(++n);
		trees_workers_run(&watch, w->e, w->now, w->wall);
		asked = alloc_fail_after(0);
		trees_fleet_look(watch.fleet, &a, &all);
		next = trees_workers_next_ms(&watch);
		good = good && all.known == (asked < n) && (next == INT64_MAX) == (asked < n);
		trees_workers_run(&watch, w->e, w->now + 1, w->wall);
		trees_fleet_look(watch.fleet, &a, &all);
		good = good && all.known && all.n_workers == 2;
	} while (asked >= n && n < 1000);
	ok(good && n > 1 && n < 1000, "without memory for the workers they are handed on later");
	finish();
	w_free(w);
}

/* --- who wants them --------------------------------------------------------------------------- */

static void tell_tree(enum event_type type, uint16_t kind, const char *name, bool wants)
{
	tell_object(type, CLUSTER_MANAGER, kind, str_of(name), NULL, wants);
}

static void test_wanted(void)
{
	begin();
	ok(!trees_workers_wanted(&watch), "nobody wants the queues of workers");
	tell_tree(EV_OBSERVED, KIND_QUOTA_TREE, "t", false);
	ok(!trees_workers_wanted(&watch), "a tree with a total of its own does not");
	tell_tree(EV_OBSERVED, KIND_QUOTA_TREE, "t", true);
	ok(trees_workers_wanted(&watch), "one that has it from workers does");
	tell_tree(EV_OBSERVED, KIND_CLUSTER_QUEUE, "t", true);
	tell_tree(EV_GONE, KIND_QUOTA_TREE, "t", false);
	ok(trees_workers_wanted(&watch), "so does the root of a tree of parents, of any name");
	tell_tree(EV_OBSERVED, KIND_CLUSTER_QUEUE, "t", false);
	ok(!trees_workers_wanted(&watch), "... until it does not say so any more");
	tell_tree(EV_OBSERVED, KIND_QUOTA_TREE, "t", true);
	tell_tree(EV_LIST_BEGIN, KIND_QUOTA_TREE, "", false);
	tell_tree(EV_OBSERVED, KIND_QUOTA_TREE, "u", true);
	tell_tree(EV_LIST_END, KIND_QUOTA_TREE, "", false);
	tell_tree(EV_GONE, KIND_QUOTA_TREE, "u", false);
	ok(!trees_workers_wanted(&watch), "what a list does not name wants nothing");
	alloc_fail_after(1);
	tell_tree(EV_OBSERVED, KIND_QUOTA_TREE, "t", true);
	alloc_fail_after(0);
	ok(trees_workers_wanted(&watch), "one for whose name there is no memory counts");
	tell_tree(EV_LIST_BEGIN, KIND_QUOTA_TREE, "", false);
	tell_tree(EV_LIST_END, KIND_QUOTA_TREE, "", false);
	ok(!trees_workers_wanted(&watch), "... until the next list");
	tell_object(EV_OBSERVED, 1, KIND_QUOTA_TREE, STR("t"), NULL, true);
	ok(!trees_workers_wanted(&watch), "a worker's tree is not the manager's");
	finish();
}

int main(void)
{
	test_queues();
	test_amounts();
	test_crowded();
	test_names();
	test_memory();
	test_workers();
	test_workers_memory();
	test_wanted();
	return done_testing();
}
