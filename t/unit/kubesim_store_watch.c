/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated store: watches, from where they start to how they end. */
#include "kubesim_store.h"

#define ALL CONFIGMAPS "?watch=1"

static const char *from(const char *more)
{
	return fmt(ALL "&resourceVersion=%llu%s", (unsigned long long)ks_rv(store), more);
}

static void put_map(const char *name, const char *labels)
{
	if (get(fmt(CONFIGMAPS "/%s", name)) == 404) {
		post(CONFIGMAPS, map_text(name, labels));
	} else {
		merge(fmt(CONFIGMAPS "/%s", name),
		      fmt("{\"metadata\":{\"labels\":null},\"data\":{\"at\":\"%llu\"}}",
			  (unsigned long long)ks_rv(store)));
		if (labels[0] != '\0') {
			merge(fmt(CONFIGMAPS "/%s", name),
			      fmt("{\"metadata\":{\"labels\":{%s}}}", labels));
		}
	}
}

static void test_order(void)
{
	uint64_t w = watch(from("")), other = watch(from("")), last = 0;
	bool rising = true;
	const char *start_rv = fmt("%llu", (unsigned long long)ks_rv(store));

	put_map("a", "");
	put_map("b", "");
	put_map("a", "");
	del(CONFIGMAPS "/b", "");
	for (const char *type = next(w); type[0] != '\0'; type = next(w)) {
		uint64_t rv = 0;

		(void)str_u64(json_str_at(body, "/object/metadata/resourceVersion"), &rv);
		rising = rising && rv > last;
		last = rv;
	}
	ok(rising, "revisions rise");
	is_int((int64_t)last, (int64_t)ks_rv(store), "a deletion has a revision of its own");
	is_str(drain(other), "ADDED a, ADDED b, MODIFIED a, DELETED b", "every watcher sees all");
	is_str(drain(watch(fmt(ALL "&resourceVersion=%s", start_rv))),
	       "ADDED a, ADDED b, MODIFIED a, DELETED b", "a resume sees the exact suffix");
	is_str(drain(w), "", "nothing twice");
	ks_watch_close(store, w);
	ok(ks_watch_ended(store, w, now), "a closed watch is over");
	is_str(next(w), "", "and gives nothing");
}

static void test_start(void)
{
	uint64_t w;

	put_map("b", "\"app\":\"x\"");
	is_str(drain(watch(ALL)), "ADDED a, ADDED b", "without a revision all is replayed");
	is_str(drain(watch(ALL "&resourceVersion=0")), "ADDED a, ADDED b", "also with 0");
	is_str(drain(watch(ALL "&allowWatchBookmarks=true")), "ADDED a, ADDED b, BOOKMARK",
	       "with bookmarks the replay has an end");
	w = watch(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
		      "allowWatchBookmarks=true");
	next(w);
	next(w);
	is_str(next(w), "BOOKMARK", "a streaming list ends so too");
	is_str(at("/object/metadata/annotations/k8s.io~1initial-events-end"), "true",
	       "by its mark");
	is_str(at("/object/metadata/resourceVersion"),
	       fmt("%llu", (unsigned long long)ks_rv(store)), "at the current revision");
	is_str(drain(watch(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")),
	       "ADDED a, ADDED b", "without bookmarks there is no mark");
	is_int(get(ALL "&sendInitialEvents=true"), 422, "sendInitialEvents needs NotOlderThan");
	is_int(get(ALL "&resourceVersion=1&resourceVersionMatch=NotOlderThan"), 422,
	       "a match needs sendInitialEvents");
	is_int(get(ALL "&resourceVersion=x"), 500, "a malformed revision is 500");
	ok(!has("/reason"), "without a reason");
	is_str(drain(watch("/api/v1/configmaps?watch=true&fieldSelector=metadata.name%3Db")),
	       "ADDED b", "by name, in all namespaces");
	is_str(drain(watch("/api/v1/namespaces/kube-system/configmaps?watch=true")), "",
	       "other namespaces are elsewhere");
	is_int(get(WORKLOADS "?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact"), 422,
	       "Exact is not for watches");
}

static void test_future(void)
{
	uint64_t w = watch(fmt(ALL "&resourceVersion=%llu", (unsigned long long)ks_rv(store) + 2));
	uint64_t list;

	put_map("f1", "");
	put_map("f2", "");
	put_map("f3", "");
	is_str(drain(w), "ADDED f3", "a watch from the future swallows what comes before");
	list = watch(fmt(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
			     "&resourceVersion=%llu",
			 (unsigned long long)ks_rv(store) + 5));
	is_str(drain(list), "", "a streaming list from the future waits");
	is_int(ks_next_ms(store) - now, 3000, "for three seconds");
	now += 3000;
	is_str(next(list), "ERROR", "then it fails");
	is_int(num("/object/code"), 504, "with 504");
	is_str(at("/object/details/causes/0/reason"), "ResourceVersionTooLarge", "and the cause");
	ok(ks_watch_ended(store, list, now), "and ends");
}

static void test_selectors(void)
{
	uint64_t w = watch(from("&labelSelector=app%3Dx"));
	uint64_t plain = watch(from(""));
	const char *rv;

	post(CONFIGMAPS, map_text("s", "\"app\":\"y\""));
	merge(CONFIGMAPS "/s", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}");
	merge(CONFIGMAPS "/s", "{\"data\":{\"q\":\"1\"}}");
	is_str(drain(w), "ADDED s, MODIFIED s", "into the selection: ADDED");
	merge(CONFIGMAPS "/s",
	      "{\"metadata\":{\"labels\":{\"app\":\"z\"}},\"data\":{\"q\":\"2\"}}");
	rv = at("/metadata/resourceVersion");
	is_str(next(w), "DELETED", "out of it: DELETED");
	is_str(at("/object/metadata/labels/app"), "x", "with the old labels");
	is_str(at("/object/data/q"), "1", "and content");
	is_str(at("/object/metadata/resourceVersion"), rv, "but the new revision");
	del(CONFIGMAPS "/s", "");
	is_str(drain(w), "", "what is out cannot be deleted again");
	is_str(drain(plain), "ADDED s, MODIFIED s, MODIFIED s, MODIFIED s, DELETED s",
	       "without a selector: as it was");
}

static void test_bookmarks_and_end(void)
{
	uint64_t w = watch(from("&allowWatchBookmarks=true&timeoutSeconds=100"));
	uint64_t forever = watch(from(""));

	is_str(drain(w), "", "quiet");
	put_map("elsewhere", "");
	is_str(drain(w), "ADDED elsewhere", "an event");
	post(JOBS, job_text("moves-the-revision", ""));
	now += 60000;
	is_str(next(w), "BOOKMARK", "a bookmark after a minute");
	is_str(at("/object/metadata/resourceVersion"),
	       fmt("%llu", (unsigned long long)ks_rv(store)), "names the store's revision");
	ok(!has("/object/metadata/annotations"), "without the mark");
	is_str(drain(w), "", "only one");
	ok(!ks_watch_ended(store, w, now), "still open");
	now += 40000;
	ok(ks_watch_ended(store, w, now), "timeoutSeconds ends it");
	is_str(next(w), "", "without a final frame");
	ok(!ks_watch_ended(store, forever, now + 1700000), "the default is between 30");
	ok(ks_watch_ended(store, forever, now + 3600000), "and 60 minutes");
	ks_watch_end_all(store);
	ok(ks_watch_ended(store, forever, now), "the server may end all");
}

static void test_partial(void)
{
	uint64_t w;

	accept_header = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
	w = watch(from("&allowWatchBookmarks=true"));
	accept_header = "";
	put_map("part", "\"p\":\"q\"");
	is_str(next(w), "ADDED", "metadata only");
	is_str(at("/object/kind"), "PartialObjectMetadata", "has its own kind");
	is_str(at("/object/metadata/labels/p"), "q", "labels");
	ok(!has("/object/data"), "and no data");
}

static void test_gone(void)
{
	uint64_t old = ks_rv(store), behind = watch(from("")), level = watch(from(""));
	uint64_t w;

	put_map("g", "");
	drain(level);
	ks_compact(store);
	w = watch(fmt(ALL "&resourceVersion=%llu", (unsigned long long)old));
	ok(w != 0, "a resume from before a compaction opens");
	is_str(next(w), "ERROR", "and fails in the stream");
	is_int(num("/object/code"), 410, "with 410");
	is_str(at("/object/reason"), "Expired", "Expired");
	is_str(at("/object/message"),
	       fmt("too old resource version: %llu (%llu)", (unsigned long long)old,
		   (unsigned long long)ks_rv(store)),
	       "in the known words");
	ok(!has("/object/metadata/resourceVersion"), "without a revision");
	ok(ks_watch_ended(store, w, now), "then it ends");
	is_str(next(behind), "ERROR", "an open watch that lies behind fails too");
	put_map("h", "");
	is_str(drain(level), "ADDED h", "one that does not goes on");
}

static void test_history_bound(void)
{
	struct ks_store_options o = {.name = "small", .seed = 2, .history = 4, .watch_lag = 3};
	uint64_t w, at_start;

	stop();
	start(&o);
	at_start = ks_rv(store);
	w = watch(from(""));
	for (int i = 0; i < 6; i++) {
		put_map(fmt("m%d", i), "");
	}
	is_str(next(w), "", "a slow watcher gets nothing more");
	ok(ks_watch_ended(store, w, now), "and a clean end");
	w = watch(fmt(ALL "&resourceVersion=%llu", (unsigned long long)at_start));
	is_str(next(w), "ERROR", "the history is bounded");
	w = watch(fmt(ALL "&resourceVersion=%llu", (unsigned long long)at_start + 3));
	is_str(drain(w), "ADDED m3, ADDED m4, ADDED m5", "but reaches back as far as it says");
}

static void test_old_server(void)
{
	struct ks_store_options o = {
		.name = "old", .seed = 3, .no_watch_list = true, .cold_start = true};

	stop();
	start(&o);
	is_int(get(ALL "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), 422,
	       "an old server knows no streaming lists");
	is_int(get(WORKLOADS), 429, "the first touch of a custom kind after a start");
	is_int(answer.retry_after_ms, 1000, "is to be retried");
	is_int(get(WORKLOADS), 200, "and works then");
}

static void test_restore(void)
{
	struct ks_store_options o = {.name = "restored", .seed = 4};
	struct json *snapshot;
	uint64_t w, rv;
	const char *uid;

	stop();
	start(&o);
	put_map("kept", "");
	get(CONFIGMAPS "/kept");
	uid = at("/metadata/uid");
	rv = ks_rv(store);
	snapshot = ks_snapshot(store, &arena);
	w = watch(from(""));
	put_map("lost", "");
	del(CONFIGMAPS "/kept", "");
	ok(ks_restore(store, snapshot), "restored");
	is_int((int64_t)ks_rv(store), (int64_t)rv, "the revision goes back");
	ok(ks_watch_ended(store, w, now), "open watches are cut");
	is_int(get(CONFIGMAPS "/lost"), 404, "what came later is gone");
	is_int(get(CONFIGMAPS "/kept"), 200, "what was there is back");
	is_str(at("/metadata/uid"), uid, "the same object");
}

int main(void)
{
	start(NULL);
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
	stop();
	return done_testing();
}
