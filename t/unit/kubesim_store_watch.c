/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: watches, from where they start to how they end. */
#include "t/lib/kubesim_store.h"

#define ALL CONFIGMAPS "?watch=1"

static const char *from(const char *more)
{
	return st_fmt(ALL "&resourceVersion=%llu%s", (unsigned long long)ks_rv(st_store), more);
}

static void put_map(const char *name, const char *labels)
{
	if (st_get(st_fmt(CONFIGMAPS "/%s", name)) == 404) {
		st_post(CONFIGMAPS, st_map(name, labels));
	} else {
		st_merge(st_fmt(CONFIGMAPS "/%s", name),
			 st_fmt("{\"metadata\":{\"labels\":null},\"data\":{\"at\":\"%llu\"}}",
				(unsigned long long)ks_rv(st_store)));
		if (labels[0] != '\0') {
			st_merge(st_fmt(CONFIGMAPS "/%s", name),
				 st_fmt("{\"metadata\":{\"labels\":{%s}}}", labels));
		}
	}
}

static void test_order(void)
{
	uint64_t w = st_watch(from("")), other = st_watch(from("")), last = 0;
	bool rising = true;
	const char *start_rv = st_fmt("%llu", (unsigned long long)ks_rv(st_store));

	put_map("a", "");
	put_map("b", "");
	put_map("a", "");
	st_del(CONFIGMAPS "/b", "");
	for (const char *type = st_next(w); type[0] != '\0'; type = st_next(w)) {
		uint64_t rv = 0;

		(void)str_u64(json_str_at(st_body, "/object/metadata/resourceVersion"), &rv);
		rising = rising && rv > last;
		last = rv;
	}
	ok(rising, "revisions rise");
	is_int((int64_t)last, (int64_t)ks_rv(st_store), "a deletion has a revision of its own");
	is_str(st_drain(other), "ADDED a, ADDED b, MODIFIED a, DELETED b",
	       "every watcher sees all");
	is_str(st_drain(st_watch(st_fmt(ALL "&resourceVersion=%s", start_rv))),
	       "ADDED a, ADDED b, MODIFIED a, DELETED b", "a resume sees the exact suffix");
	is_str(st_drain(w), "", "nothing twice");
	ks_watch_close(st_store, w);
	ok(ks_watch_ended(st_store, w, st_now), "a closed watch is over");
	is_str(st_next(w), "", "and gives nothing");
}

static void test_start(void)
{
	uint64_t w;

	put_map("b", "\"app\":\"x\"");
	is_str(st_drain(st_watch(ALL)), "ADDED a, ADDED b", "without a revision all is replayed");
	is_str(st_drain(st_watch(ALL "&resourceVersion=0")), "ADDED a, ADDED b", "also with 0");
	is_str(st_drain(st_watch(ALL "&allowWatchBookmarks=true")), "ADDED a, ADDED b, BOOKMARK",
	       "with bookmarks the replay has an end");
	w = st_watch(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
			 "allowWatchBookmarks=true");
	st_next(w);
	st_next(w);
	is_str(st_next(w), "BOOKMARK", "a streaming list ends so too");
	is_str(st_at("/object/metadata/annotations/k8s.io~1initial-events-end"), "true",
	       "by its mark");
	is_str(st_at("/object/metadata/resourceVersion"),
	       st_fmt("%llu", (unsigned long long)ks_rv(st_store)), "at the current revision");
	is_str(st_drain(st_watch(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")),
	       "ADDED a, ADDED b", "without bookmarks there is no mark");
	is_int(st_get(ALL "&sendInitialEvents=true"), 422, "sendInitialEvents needs NotOlderThan");
	is_int(st_get(ALL "&resourceVersion=1&resourceVersionMatch=NotOlderThan"), 422,
	       "a match needs sendInitialEvents");
	is_int(st_get(ALL "&resourceVersion=x"), 500, "a malformed revision is 500");
	ok(!st_has("/reason"), "without a reason");
	is_str(st_drain(st_watch("/api/v1/configmaps?watch=true&fieldSelector=metadata.name%3Db")),
	       "ADDED b", "by name, in all namespaces");
	is_str(st_drain(st_watch("/api/v1/namespaces/kube-system/configmaps?watch=true")), "",
	       "other namespaces are elsewhere");
	is_int(st_get(WORKLOADS "?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact"), 422,
	       "Exact is not for watches");
}

static void test_future(void)
{
	uint64_t w = st_watch(
		st_fmt(ALL "&resourceVersion=%llu", (unsigned long long)ks_rv(st_store) + 2));
	uint64_t list;

	put_map("f1", "");
	put_map("f2", "");
	put_map("f3", "");
	is_str(st_drain(w), "ADDED f3", "a watch from the future swallows what comes before");
	list = st_watch(st_fmt(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
				   "&resourceVersion=%llu",
			       (unsigned long long)ks_rv(st_store) + 5));
	is_str(st_drain(list), "", "a streaming list from the future waits");
	is_int(ks_next_ms(st_store) - st_now, 3000, "for three seconds");
	st_now += 3000;
	is_str(st_next(list), "ERROR", "then it fails");
	is_int(st_num("/object/code"), 504, "with 504");
	is_str(st_at("/object/details/causes/0/reason"), "ResourceVersionTooLarge",
	       "and the cause");
	ok(ks_watch_ended(st_store, list, st_now), "and ends");
}

static void test_selectors(void)
{
	uint64_t w = st_watch(from("&labelSelector=app%3Dx"));
	uint64_t plain = st_watch(from(""));
	const char *rv;

	st_post(CONFIGMAPS, st_map("s", "\"app\":\"y\""));
	st_merge(CONFIGMAPS "/s", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}");
	st_merge(CONFIGMAPS "/s", "{\"data\":{\"q\":\"1\"}}");
	is_str(st_drain(w), "ADDED s, MODIFIED s", "into the selection: ADDED");
	st_merge(CONFIGMAPS "/s",
		 "{\"metadata\":{\"labels\":{\"app\":\"z\"}},\"data\":{\"q\":\"2\"}}");
	rv = st_at("/metadata/resourceVersion");
	is_str(st_next(w), "DELETED", "out of it: DELETED");
	is_str(st_at("/object/metadata/labels/app"), "x", "with the old labels");
	is_str(st_at("/object/data/q"), "1", "and content");
	is_str(st_at("/object/metadata/resourceVersion"), rv, "but the new revision");
	st_del(CONFIGMAPS "/s", "");
	is_str(st_drain(w), "", "what is out cannot be deleted again");
	is_str(st_drain(plain), "ADDED s, MODIFIED s, MODIFIED s, MODIFIED s, DELETED s",
	       "without a selector: as it was");
}

static void test_bookmarks_and_end(void)
{
	uint64_t w = st_watch(from("&allowWatchBookmarks=true&timeoutSeconds=100"));
	uint64_t forever = st_watch(from(""));

	is_str(st_drain(w), "", "quiet");
	put_map("elsewhere", "");
	is_str(st_drain(w), "ADDED elsewhere", "an event");
	st_post(JOBS, st_job("moves-the-revision", ""));
	st_now += 60000;
	is_str(st_next(w), "BOOKMARK", "a bookmark after a minute");
	is_str(st_at("/object/metadata/resourceVersion"),
	       st_fmt("%llu", (unsigned long long)ks_rv(st_store)), "names the store's revision");
	ok(!st_has("/object/metadata/annotations"), "without the mark");
	is_str(st_drain(w), "", "only one");
	ok(!ks_watch_ended(st_store, w, st_now), "still open");
	st_now += 40000;
	ok(ks_watch_ended(st_store, w, st_now), "timeoutSeconds ends it");
	is_str(st_next(w), "", "without a final frame");
	ok(!ks_watch_ended(st_store, forever, st_now + 1700000), "the default is between 30");
	ok(ks_watch_ended(st_store, forever, st_now + 3600000), "and 60 minutes");
	ks_watch_end_all(st_store);
	ok(ks_watch_ended(st_store, forever, st_now), "the server may end all");
}

static void test_partial(void)
{
	uint64_t w;

	st_accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	w = st_watch(from("&allowWatchBookmarks=true"));
	st_accept = "";
	put_map("part", "\"p\":\"q\"");
	is_str(st_next(w), "ADDED", "metadata only");
	is_str(st_at("/object/kind"), "PartialObjectMetadata", "has its own kind");
	is_str(st_at("/object/metadata/labels/p"), "q", "labels");
	ok(!st_has("/object/data"), "and no data");
}

static void test_gone(void)
{
	uint64_t old = ks_rv(st_store), behind = st_watch(from("")), level = st_watch(from(""));
	uint64_t w;

	put_map("g", "");
	st_drain(level);
	ks_compact(st_store);
	w = st_watch(st_fmt(ALL "&resourceVersion=%llu", (unsigned long long)old));
	ok(w != 0, "a resume from before a compaction opens");
	is_str(st_next(w), "ERROR", "and fails in the stream");
	is_int(st_num("/object/code"), 410, "with 410");
	is_str(st_at("/object/reason"), "Expired", "Expired");
	is_str(st_at("/object/message"),
	       st_fmt("too old resource version: %llu (%llu)", (unsigned long long)old,
		      (unsigned long long)ks_rv(st_store)),
	       "in the known words");
	ok(!st_has("/object/metadata/resourceVersion"), "without a revision");
	ok(ks_watch_ended(st_store, w, st_now), "then it ends");
	is_str(st_next(behind), "ERROR", "an open watch that lies behind fails too");
	put_map("h", "");
	is_str(st_drain(level), "ADDED h", "one that does not goes on");
}

static void test_history_bound(void)
{
	struct ks_store_options o = {.name = "small", .seed = 2, .history = 4, .watch_lag = 3};
	uint64_t w, at_start;

	st_stop();
	st_start(&o);
	at_start = ks_rv(st_store);
	w = st_watch(from(""));
	for (int i = 0; i < 6; i++) {
		put_map(st_fmt("m%d", i), "");
	}
	is_str(st_next(w), "", "a slow watcher gets nothing more");
	ok(ks_watch_ended(st_store, w, st_now), "and a clean end");
	w = st_watch(st_fmt(ALL "&resourceVersion=%llu", (unsigned long long)at_start));
	is_str(st_next(w), "ERROR", "the history is bounded");
	w = st_watch(st_fmt(ALL "&resourceVersion=%llu", (unsigned long long)at_start + 3));
	is_str(st_drain(w), "ADDED m3, ADDED m4, ADDED m5", "but reaches back as far as it says");
}

static void test_old_server(void)
{
	struct ks_store_options o = {
		.name = "old", .seed = 3, .no_watch_list = true, .cold_start = true};

	st_stop();
	st_start(&o);
	is_int(st_get(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), 422,
	       "an old server knows no streaming lists");
	is_int(st_get(WORKLOADS), 429, "the first touch of a custom kind after a start");
	is_int(st_answer.retry_after_ms, 1000, "is to be retried");
	is_int(st_get(WORKLOADS), 200, "and works then");
}

static void test_restore(void)
{
	struct ks_store_options o = {.name = "restored", .seed = 4};
	struct json *snapshot;
	uint64_t w, rv;
	const char *uid;

	st_stop();
	st_start(&o);
	put_map("kept", "");
	st_get(CONFIGMAPS "/kept");
	uid = st_at("/metadata/uid");
	rv = ks_rv(st_store);
	snapshot = ks_snapshot(st_store, &st_arena);
	w = st_watch(from(""));
	put_map("lost", "");
	st_del(CONFIGMAPS "/kept", "");
	ok(ks_restore(st_store, snapshot), "restored");
	is_int((int64_t)ks_rv(st_store), (int64_t)rv, "the revision goes back");
	ok(ks_watch_ended(st_store, w, st_now), "open watches are cut");
	is_int(st_get(CONFIGMAPS "/lost"), 404, "what came later is gone");
	is_int(st_get(CONFIGMAPS "/kept"), 200, "what was there is back");
	is_str(st_at("/metadata/uid"), uid, "the same object");
}

int main(void)
{
	st_start(NULL);
	test_order();
	test_start();
	test_future();
	test_selectors();
	test_bookmarks_and_end();
	test_partial();
	test_gone();
	test_history_bound();
	test_old_server();
	test_restore();
	st_stop();
	return done_testing();
}
