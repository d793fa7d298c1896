/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of queue trees: what counts as a change, lists that sweep, loss of memory, and
 * snapshots that outlive changes and the store, on threads of their own.
 */
#include <pthread.h>

#include "t/lib/tap.h"

#include "core/base/alloc.h"
#include "core/trees/store.h"

enum { N_CHANGES = 2000, N_TEXT = 4096 };

static const enum api_kind six[] = {API_QUEUE, API_TREE,   API_STATUS,
				    API_LQ,    API_FLAVOR, API_COHORT};

/* A ClusterQueue's text with the given version, spec, status and more metadata. */
static const char *queue_text(const char *name, unsigned rv, const char *spec, const char *status,
			      const char *meta)
{
	static char text[N_TEXT];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
		"{\"resourceVersion\":\"%u\",\"name\":\"%s\"%s},\"spec\":%s,\"status\":%s}",
		rv, name, meta, spec, status);
	return text;
}

static enum trees_kept put_queue(struct trees_store *s, const char *name, unsigned rv,
				 const char *spec)
{
	return trees_store_put(s, API_QUEUE, STR_NONE, str_of(name), rv,
			       str_of(queue_text(name, rv, spec, "{}", "")));
}

static void list_all(struct trees_store *s)
{
	for (size_t i = 0; i < 6; i++) {
		trees_store_list(s, six[i]);
		trees_store_listed(s, six[i]);
	}
}

/* "kind/ns/name@rv" of all objects of a snapshot. */
static const char *names_of(struct trees_snapshot *n)
{
	static char text[N_TEXT];
	struct arena a;
	struct json **v = NULL;
	size_t n_v = 0;
	size_t at = 0;

	arena_init(&a, 0);
	text[0] = '\0';
	if (!n || trees_snapshot_objects(n, &a, &v, &n_v, NULL) != ERR_OK) {
		n_v = 0;
		at = (size_t)snprintf(text, sizeof(text), "no snapshot");
	}
	for (size_t i = 0; i < n_v; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s/%s%s%s@%s",
				       i > 0 ? " " : "", json_str(json_get(v[i], "kind")).p,
				       str_chars(json_str_at(v[i], "/metadata/namespace")),
				       json_at(v[i], "/metadata/namespace") ? "/" : "",
				       str_chars(json_str_at(v[i], "/metadata/name")),
				       str_chars(json_str_at(v[i], "/metadata/resourceVersion")));
	}
	arena_done(&a);
	return text;
}

static void has(struct trees_store *s, const char *want, const char *name)
{
	struct trees_snapshot *n = trees_store_snapshot(s);

	is_str(names_of(n), want, name);
	trees_snapshot_free(n);
}

static void put_lq(struct trees_store *s, const char *ns, const char *name, const char *status)
{
	char text[N_TEXT];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
		 "{\"namespace\":\"%s\",\"name\":\"%s\",\"resourceVersion\":\"7\"},\"spec\":{},"
		 "\"status\":%s}",
		 ns, name, status);
	trees_store_put(s, API_LQ, str_of(ns), str_of(name), 7, str_of(text));
}

/* --- what counts as a change ------------------------------------------------------------------ */

static void changes(void)
{
	struct trees_store *s = trees_store_new();
	uint64_t v;

	is_int(put_queue(s, "b", 5, "{\"x\":1}"), TREES_KEPT, "a new object is a change");
	v = trees_store_version(s);
	ok(v > 0, "... which the version shows");
	is_int(put_queue(s, "b", 5, "{\"x\":2}"), TREES_SAME, "the same version is none");
	is_int(put_queue(s, "b", 4, "{\"x\":2}"), TREES_SAME, "an older one is none");
	is_int(put_queue(s, "b", 6, "{\"x\":1}"), TREES_SAME,
	       "a newer one that differs in resourceVersion alone is none");
	is_int(trees_store_version(s), v, "... and the version stays");
	has(s, "ClusterQueue/b@6", "... but snapshots have it");
	is_int(put_queue(s, "b", 5, "{\"x\":3}"), TREES_SAME, "... and what is older is older");
	is_int(put_queue(s, "b", 7, "{\"x\":3}"), TREES_KEPT, "another spec is a change");
	is_int(trees_store_put(
		       s, API_QUEUE, STR_NONE, STR("b"), 8,
		       str_of(queue_text("b", 8, "{\"x\":3}", "{\"pendingWorkloads\":1}", ""))),
	       TREES_KEPT, "another status is a change");
	is_int(trees_store_put(s, API_QUEUE, STR_NONE, STR("b"), 9,
			       str_of(queue_text("b", 9, "{\"x\":3}", "{\"pendingWorkloads\":1}",
						 ",\"labels\":{\"l\":\"1\"}"))),
	       TREES_KEPT, "another label is a change");
	v = trees_store_version(s);
	is_int(trees_store_put(s, API_WORKLOAD, STR("ns"), STR("w"), 1, STR("{}")), TREES_SAME,
	       "other kinds are not kept");
	put_lq(s, "ns", "l", "{\"pendingWorkloads\":1}");
	ok(trees_store_version(s) == v + 1, "a LocalQueue is kept");
	ok(!trees_store_drop(s, API_QUEUE, STR_NONE, STR("a")), "what is not there is not dropped");
	ok(!trees_store_drop(s, API_LQ, STR("ns2"), STR("l")), "... nor in another namespace");
	ok(!trees_store_drop(s, API_WORKLOAD, STR("ns"), STR("w")), "... nor of another kind");
	ok(trees_store_version(s) == v + 1, "... and the version stays");
	ok(trees_store_drop(s, API_QUEUE, STR_NONE, STR("b")), "what is there is");
	ok(trees_store_version(s) == v + 2, "... which the version shows");
	has(s, "LocalQueue/ns/l@7", "... and it is gone");
	trees_store_free(s);
}

static void left_out(void)
{
	struct trees_store *s = trees_store_new();
	struct trees_snapshot *n;
	struct arena a;
	struct json **v = NULL;
	size_t n_v = 0;
	const char *text = queue_text(
		"b", 5, "{}", "{\"pendingWorkloads\":2}",
		",\"uid\":\"u\",\"generation\":3,\"managedFields\":[{\"manager\":\"m\"}],"
		"\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"f\"],"
		"\"deletionTimestamp\":\"2026-01-02T00:00:00Z\",\"annotations\":{\"k\":\"v\","
		"\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"},"
		"\"labels\":{\"l\":\"1\"}");

	arena_init(&a, 0);
	trees_store_put(s, API_QUEUE, STR_NONE, STR("b"), 5, str_of(text));
	put_lq(s, "ns", "l", "{\"pendingWorkloads\":1}");
	n = trees_store_snapshot(s);
	is_int(trees_snapshot_objects(n, &a, &v, &n_v, NULL), ERR_OK, "objects can be read");
	is_int(n_v, 2, "... all of them");
	is_str(n_v == 2 ? json_write(&a, v[0]).p : NULL,
	       "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"spec\":{},"
	       "\"status\":{\"pendingWorkloads\":2},\"metadata\":{\"name\":\"b\",\"uid\":\"u\","
	       "\"generation\":3,\"labels\":{\"l\":\"1\"},\"finalizers\":[\"f\"],"
	       "\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
	       "\"deletionTimestamp\":\"2026-01-02T00:00:00Z\",\"annotations\":{\"k\":\"v\"},"
	       "\"resourceVersion\":\"5\"}}",
	       "... with what passes read of a ClusterQueue");
	ok(n_v == 2 && !json_get(v[1], "status"), "... and no status of a LocalQueue");
	trees_snapshot_free(n);
	trees_store_free(s);
	arena_done(&a);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void lists(void)
{
	struct trees_store *s = trees_store_new();
	enum api_kind kind = API_OTHER;

	ok(!trees_store_whole(s, &kind), "an empty store is not whole");
	is_int(kind, API_QUEUE, "... and names a kind");
	list_all(s);
	ok(trees_store_whole(s, NULL), "it is when each kind was listed");
	put_queue(s, "c", 5, "{}");
	put_queue(s, "a", 6, "{}");
	put_queue(s, "b", 7, "{}");
	put_lq(s, "z", "a", "{}");
	put_lq(s, "y", "b", "{}");
	put_lq(s, "y", "a", "{}");
	has(s,
	    "ClusterQueue/a@6 ClusterQueue/b@7 ClusterQueue/c@5 LocalQueue/y/a@7 LocalQueue/y/b@7 "
	    "LocalQueue/z/a@7",
	    "objects are in order");
	trees_store_list(s, API_QUEUE);
	put_queue(s, "c", 5, "{}");
	is_int(put_queue(s, "b", 3, "{\"x\":1}"), TREES_KEPT, "a list may say what is older");
	ok(trees_store_whole(s, NULL), "while it is under way all is known as it was");
	has(s,
	    "ClusterQueue/a@6 ClusterQueue/b@3 ClusterQueue/c@5 LocalQueue/y/a@7 LocalQueue/y/b@7 "
	    "LocalQueue/z/a@7",
	    "... and there");
	trees_store_listed(s, API_QUEUE);
	has(s,
	    "ClusterQueue/b@3 ClusterQueue/c@5 LocalQueue/y/a@7 LocalQueue/y/b@7 LocalQueue/z/a@7",
	    "what it did not name is gone at its end");
	trees_store_unserved(s, API_LQ);
	has(s, "ClusterQueue/b@3 ClusterQueue/c@5", "a kind that is not served is empty");
	ok(trees_store_whole(s, NULL), "... and counts as listed");
	trees_store_free(s);

	s = trees_store_new();
	for (size_t i = 0; i < 6; i++) {
		if (six[i] == API_COHORT) {
			trees_store_whole(s, &kind);
			is_int(kind, API_COHORT, "one kind is left");
		}
		trees_store_unserved(s, six[i]);
	}
	ok(trees_store_whole(s, NULL), "a server without any of the kinds is known as well");
	is_int(trees_store_service(s, API_ELASTIC), TREES_AWAITED,
	       "... whatever is known of ElasticQuotas, of which few trees know");
	trees_store_unserved(s, API_ELASTIC);
	is_int(trees_store_service(s, API_ELASTIC), TREES_UNSERVED, "they are not served");
	trees_store_list(s, API_ELASTIC);
	trees_store_listed(s, API_ELASTIC);
	is_int(trees_store_service(s, API_ELASTIC), TREES_SERVED, "they are");
	trees_store_free(s);
}

/* --- places ----------------------------------------------------------------------------------- */

static void places(void)
{
	static const char tree[] =
		"{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
		"\"metadata\":{\"name\":\"t\"},\"spec\":{\"hierarchies\":{\"top\":"
		"{\"weightedQuotas\":[{\"name\":\"mid\"}]},\"mid\":{\"weightedQuotas\":[{\"name\":"
		"\"low\"}]}}}}";
	struct trees_store *s = trees_store_new();

	is_int(trees_store_place(s, STR("top")), TREES_OUTSIDE, "no tree has the queue");
	trees_store_put(s, API_TREE, STR_NONE, STR("t"), 1, STR(tree));
	is_int(trees_store_place(s, STR("top")), TREES_INNER, "the root of a tree has children");
	is_int(trees_store_place(s, STR("mid")), TREES_INNER, "... and so has a node");
	is_int(trees_store_place(s, STR("low")), TREES_LEAF, "... but a leaf");
	is_int(trees_store_place(s, STR("lo")), TREES_OUTSIDE, "... and no part of a name");
	trees_store_drop(s, API_TREE, STR_NONE, STR("t"));
	is_int(trees_store_place(s, STR("low")), TREES_OUTSIDE, "without the tree it is outside");
	put_queue(s, "p", 1, "{}");
	is_int(trees_store_place(s, STR("p")), TREES_OUTSIDE, "a queue alone is outside");
	trees_store_put(s, API_QUEUE, STR_NONE, STR("c"), 1,
			str_of(queue_text("c", 1, "{}", "{}",
					  ",\"annotations\":{\"kueue.x-k8s.io/parent\":\"p\"}")));
	is_int(trees_store_place(s, STR("p")), TREES_INNER, "a queue has it as its parent");
	is_int(trees_store_place(s, STR("c")), TREES_LEAF, "... and is a leaf");
	put_queue(s, "p", 2, "{\"children\":[\"d\"]}");
	is_int(trees_store_place(s, STR("d")), TREES_LEAF, "a list of children makes leaves");
	put_queue(s, "c", 2, "{}");
	is_int(trees_store_place(s, STR("c")), TREES_OUTSIDE,
	       "what was said before counts no more");
	is_int(trees_store_place(s, STR("p")), TREES_INNER, "... what another says does");
	trees_store_free(s);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A ClusterQuotaTree of that name, with a root and a leaf, and more of its spec. */
static void put_tree(struct trees_store *s, const char *name, uint64_t rv, const char *spec)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1alpha1\",\"kind\":\"ClusterQuotaTree\","
		 "\"metadata\":{\"name\":\"%s\"},\"spec\":{%s\"hierarchies\":{\"%s-root\":"
		 "{\"weightedQuotas\":[{\"name\":\"%s-leaf\"}]}}}}",
		 name, spec, name, name);
	trees_store_put(s, API_TREE, STR_NONE, str_of(name), rv, str_of(text));
}

static void owners(void)
{
	struct trees_store *s = trees_store_new();
	uint64_t n = 0, asked;
	bool good = true;

	ok(!trees_store_owns(s, STR("t-leaf")), "no tree has the queue");
	put_tree(s, "t", 1, "");
	ok(trees_store_owns(s, STR("t-leaf")) && trees_store_owns(s, STR("t-root")),
	   "a tree has its queues");
	ok(!trees_store_owns(s, STR("t-lea")), "... and no others");
	put_tree(s, "t", 2, "\"enforcement\":\"Observe\",");
	ok(!trees_store_owns(s, STR("t-leaf")), "one that only observes has none");
	is_int(trees_store_place(s, STR("t-leaf")), TREES_LEAF, "... although they are its leaves");
	put_tree(s, "t", 3, "\"enforcement\":\"Engine\",");
	ok(!trees_store_owns(s, STR("t-leaf")), "nor one that nothing enforces");
	put_tree(s, "t", 4, "\"enforcement\":\"Compile\",");
	ok(trees_store_owns(s, STR("t-leaf")), "one that is compiled has");
	put_tree(s, "g", 1,
		 "\"enforcement\":\"Observe\",\"graftAt\":{\"tree\":\"t\",\"node\":\"x\"},");
	ok(trees_store_owns(s, STR("g-leaf")), "of a grafted tree the one that has it says it");
	put_tree(s, "t", 5, "\"enforcement\":\"Observe\",");
	ok(!trees_store_owns(s, STR("g-leaf")), "... and can take it back");
	put_tree(s, "t", 6, "\"graftAt\":{\"tree\":\"g\",\"node\":\"x\"},");
	(void)trees_store_owns(s, STR("g-leaf"));
	ok(true, "trees that are grafted at each other have an end");
	trees_store_drop(s, API_TREE, STR_NONE, STR("t"));
	trees_store_drop(s, API_TREE, STR_NONE, STR("g"));
	ok(!trees_store_owns(s, STR("t-leaf")), "a tree that is gone has none");
	trees_store_put(s, API_QUEUE, STR_NONE, STR("c"), 1,
			str_of(queue_text("c", 1, "{}", "{}",
					  ",\"annotations\":{\"kueue.x-k8s.io/parent\":\"p\"}")));
	ok(trees_store_owns(s, STR("c")) && trees_store_owns(s, STR("p")), "a tree of parents has");
	trees_store_list(s, API_QUEUE);
	trees_store_listed(s, API_QUEUE);
	ok(!trees_store_owns(s, STR("c")), "... until a list does not name it");
	put_tree(s, "o", 1, "\"enforcement\":\"Observe\",");
	put_tree(s, "u", 1, "");
	do {
		bool owns;

		put_tree(s, "u", n + 2, n % 2 ? "" : "\"enforcement\":\"Compile\",");
		put_tree(s, "o", n + 2,
			 n % 2 ? "\"enforcement\":\"Engine\"," : "\"enforcement\":\"Observe\",");
		alloc_fail_after(++n);
		owns = trees_store_owns(s, STR("o-leaf"));
		asked = alloc_fail_after(0);
		good = good && owns == (asked >= n) && trees_store_owns(s, STR("u-leaf")) &&
		       !trees_store_owns(s, STR("o-leaf"));
	} while (asked >= n && n < 1000);
	ok(good && n > 1 && n < 1000, "without memory each queue in a tree is left alone");
	trees_store_free(s);
}

static void loses(void)
{
	struct trees_store *s = trees_store_new();
	enum api_kind kind = API_OTHER;

	list_all(s);
	put_queue(s, "a", 1, "{\"x\":1}");
	is_int(trees_store_put(s, API_QUEUE, STR_NONE, STR("a"), 2, STR("{\"spec\":")),
	       TREES_NO_ROOM, "a text that is no JSON is lost");
	is_int(trees_store_put(s, API_QUEUE, STR_NONE, STR("a"), 2, STR("[]")), TREES_NO_ROOM,
	       "... nor an object");
	has(s, "ClusterQueue/a@1", "... and what was known stays");
	ok(!trees_store_whole(s, &kind) && kind == API_QUEUE, "the store is not whole then");
	trees_store_list(s, API_QUEUE);
	trees_store_put(s, API_QUEUE, STR_NONE, STR("a"), 2, STR("[]"));
	trees_store_listed(s, API_QUEUE);
	ok(!trees_store_whole(s, NULL), "a list that loses something mends nothing");
	has(s, "ClusterQueue/a@1", "... and sweeps nothing that it named");
	trees_store_list(s, API_QUEUE);
	put_queue(s, "a", 2, "{}");
	ok(!trees_store_whole(s, NULL), "nor does one that is under way");
	trees_store_listed(s, API_QUEUE);
	ok(trees_store_whole(s, NULL), "one that loses nothing mends it");
	trees_store_put(s, API_QUEUE, STR_NONE, STR("a"), 3, STR("[]"));
	trees_store_unserved(s, API_QUEUE);
	ok(trees_store_whole(s, NULL), "... and so does the end of the kind");
	trees_store_free(s);
}

static void fails_anywhere(void)
{
	bool fine = true;
	uint64_t n = 0;
	bool done = false;

	while (!done && n < 1000) {
		struct trees_store *s = trees_store_new();
		struct trees_snapshot *shot;
		enum trees_kept kept;

		list_all(s);
		alloc_fail_after(++n);
		kept = put_queue(s, "a", 1, "{\"x\":1}");
		fine = fine && (kept == TREES_KEPT || kept == TREES_NO_ROOM) &&
		       trees_store_whole(s, NULL) == (kept == TREES_KEPT);
		shot = trees_store_snapshot(s);
		alloc_fail_after(0);
		done = kept == TREES_KEPT && shot;
		trees_snapshot_free(shot);
		trees_store_free(s);
	}
	ok(fine && n > 3, "each failed allocation is known as a loss");
	alloc_fail_after(1);
	ok(!trees_store_new(), "no store without memory");
	alloc_fail_after(0);
}

static void objects_without_memory(void)
{
	struct trees_store *s = trees_store_new();
	struct trees_snapshot *n;
	bool fine = true;
	bool done = false;

	put_queue(s, "a", 1, "{\"x\":1}");
	n = trees_store_snapshot(s);
	for (uint64_t i = 1; !done && i < 1000; i++) {
		struct arena a;
		struct json **v = NULL;
		size_t n_v = 0;
		enum mk_code code;

		arena_init(&a, 0);
		alloc_fail_after(i);
		code = trees_snapshot_objects(n, &a, &v, &n_v, NULL);
		alloc_fail_after(0);
		fine = fine && (code == ERR_OK || (code == ERR_NO_MEMORY && !v));
		done = code == ERR_OK;
		arena_done(&a);
	}
	ok(fine && done, "objects of a snapshot: so is each failed allocation there");
	trees_snapshot_free(n);
	trees_store_free(s);
}

/* --- snapshots -------------------------------------------------------------------------------- */

static void outlives(void)
{
	struct trees_store *s = trees_store_new();
	struct trees_snapshot *n;
	struct trees_snapshot *n2;

	put_queue(s, "a", 1, "{}");
	n = trees_store_snapshot(s);
	put_queue(s, "a", 2, "{\"x\":1}");
	put_queue(s, "b", 3, "{}");
	n2 = trees_store_snapshot(s);
	trees_store_drop(s, API_QUEUE, STR_NONE, STR("a"));
	is_str(names_of(n), "ClusterQueue/a@1", "a snapshot does not change with the store");
	trees_store_free(s);
	is_str(names_of(n), "ClusterQueue/a@1", "... nor end with it");
	trees_snapshot_free(n);
	is_str(names_of(n2), "ClusterQueue/a@2 ClusterQueue/b@3", "... nor with another one");
	trees_snapshot_free(n2);
	trees_snapshot_free(NULL);
	trees_store_free(NULL);
}

struct reader {
	struct trees_store *s;
	size_t n_bad, n_read;
};

/* Every snapshot must have both queues in the same state: they are changed between two versions. */
static void *read_on(void *ctx)
{
	struct reader *r = ctx;
	uint64_t version = 0;

	while (version < 2 + 2 * N_CHANGES) {
		struct trees_snapshot *n;
		struct arena a;
		struct json **v = NULL;
		size_t n_v = 0;

		arena_init(&a, 0);
		version = trees_store_version(r->s);
		n = trees_store_snapshot(r->s);
		if (!n || trees_snapshot_objects(n, &a, &v, &n_v, NULL) != ERR_OK || n_v != 2) {
			r->n_bad++;
		} else {
			int64_t x = json_int(json_at(v[0], "/spec/x"), -1);
			int64_t y = json_int(json_at(v[1], "/spec/x"), -1);

			r->n_bad += x != y && x != y + 1 ? 1 : 0;
			r->n_read++;
		}
		trees_snapshot_free(n);
		arena_done(&a);
	}
	return NULL;
}

static void two_threads(void)
{
	struct trees_store *s = trees_store_new();
	struct reader readers[2] = {{.s = s}, {.s = s}};
	pthread_t threads[2];

	put_queue(s, "a", 1, "{\"x\":0}");
	put_queue(s, "b", 1, "{\"x\":0}");
	for (size_t i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, read_on, &readers[i]);
	}
	for (unsigned i = 1; i <= N_CHANGES; i++) {
		char spec[64];

		snprintf(spec, sizeof(spec), "{\"x\":%u}", i);
		put_queue(s, "a", i + 1, spec);
		put_queue(s, "b", i + 1, spec);
	}
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		ok(readers[i].n_read > 0, "another thread reads while the store changes");
		is_int(readers[i].n_bad, 0, "... and what it reads fits together");
	}
	trees_store_free(s);
}

int main(void)
{
	changes();
	left_out();
	lists();
	places();
	owners();
	loses();
	fails_anywhere();
	objects_without_memory();
	outlives();
	two_threads();
	return done_testing();
}
