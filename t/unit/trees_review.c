/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reviews of queue trees: each rule with the words of `tree validate`, what passes whatever the
 * rules say, and what is not known yet.
 */
#include "t/lib/tap.h"

#include "t/lib/quota_cases.h"
#include "t/lib/trees_asked.h"

static size_t n_refused;

/* --- each rule -------------------------------------------------------------------------------- */

/* What the command line says of the same change. */
static const char *words_of(struct arena *a, struct json *old, struct json *new, size_t at,
			    bool deleted, bool ours)
{
	struct validate_input in = {.subject = deleted ? API_NONE : at,
				    .deleted = deleted ? at : API_NONE,
				    .by_controller = ours};

	in.before = objects_link(a, json_dup(a, old), API_NONE);
	in.now = objects_link(a, json_dup(a, new), in.subject);
	return objects_judge(a, &in).p;
}

static bool is_reviewed(const struct json *obj)
{
	enum api_kind kind = asked_kind(obj);

	return kind == API_QUEUE || kind == API_TREE || kind == API_LQ || kind == API_STATUS;
}

/*
 * Gives the change to a review, and to validate. Words about Workloads differ: the store has what
 * the status of the ClusterQueue counts.
 */
static void check_change(struct arena *a, const char *name, struct json *old, struct json *new,
			 size_t at, bool deleted, bool ours)
{
	struct trees_store *s = asked_store(a, old);
	struct asked q = {.operation = deleted ? "DELETE" : "UPDATE",
			  .object = deleted ? NULL : json_elem(new, at),
			  .old = json_elem(old, at),
			  .user = ours ? ASKED_US : NULL};
	const char *want = words_of(a, old, new, at, deleted, ours);
	struct answered got;

	if (!q.old) {
		q.operation = "CREATE";
	}
	if (!is_reviewed(q.object ? q.object : q.old)) {
		want = "";
	} else if (strcmp(name, "V26, PlanB") == 0) {
		want = "spec.hierarchies[company]: Forbidden: \"b\" has 0 admitted workloads and 1 "
		       "LocalQueues";
	}
	got = asked_judge(s, a, &q);
	is_str(got.code == ERR_OK ? got.text : got.err, want, name);
	n_refused += got.code == ERR_OK && !got.allowed ? 1 : 0;
	if (got.code == ERR_OK && got.allowed != (want[0] == '\0')) {
		ok(false, "... and the answer says so");
	}
	trees_store_free(s);
}

static size_t index_in(const char *pointer)
{
	uint64_t at = 0;
	mk_str rest = str_of(pointer), part;

	str_split(&rest, '/', &part);
	str_split(&rest, '/', &part);
	return str_u64(part, &at) ? (size_t)at : 0;
}

static void rows(const struct quota_row *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct arena a;

		/* In a cluster a name stands once. */
		if (!v[i].pointer || strcmp(v[i].name, "an object twice") == 0) {
			continue;
		}
		arena_init(&a, 0);
		check_change(&a, v[i].name, objects_read(&a, v[i].base),
			     objects_changed(&a, v[i].base, v[i].pointer, v[i].value),
			     index_in(v[i].pointer), false, false);
		arena_done(&a);
	}
}

static void changes(const struct quota_change *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct arena a;
		struct json *old, *new;
		size_t at = v[i].subject >= 0 ? (size_t)v[i].subject : index_in(v[i].pointer);

		arena_init(&a, 0);
		old = objects_changed(&a, v[i].base, v[i].before_pointer, v[i].before_value);
		new = json_dup(&a, old);
		if (v[i].deleted) {
			json_remove(new, at);
		} else {
			objects_put(&a, new, v[i].pointer, v[i].value);
		}
		check_change(&a, v[i].name, old, new, at, v[i].deleted, v[i].by_controller);
		arena_done(&a);
	}
}

/* --- what passes, and what does not ----------------------------------------------------------- */

/* A tree "t" {b 40, c 60} that was compiled, PlanA "top" {x} likewise, "lone", and LocalQueues. */
static const char cluster_yaml[] =
	"apiVersion: kueue.x-k8s.io/v1alpha1\n"
	"kind: ClusterQuotaTree\n"
	"metadata: {name: t, finalizers: [f]}\n"
	"spec:\n"
	"  resourceGroup:\n"
	"    coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 100}]}]\n"
	"  hierarchies:\n"
	"    company: {weightedQuotas: [{name: b, minWeight: 40}, {name: c, minWeight: 60}]}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: b}\n"
	"spec:\n"
	"  cohortName: t.company\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 40, borrowingLimit: 60}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: lone}\n"
	"spec: {cohortName: team, stopPolicy: None}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata: {name: top}\n"
	"spec:\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata:\n"
	"  name: xa\n"
	"  annotations: {kueue.x-k8s.io/parent: top, kueue.x-k8s.io/min-weight: \"60\"}\n"
	"spec:\n"
	"  cohortName: top.top\n"
	"  resourceGroups:\n"
	"  - coveredResources: [cpu]\n"
	"    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 6, borrowingLimit: 4}]}]\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: ClusterQueue\n"
	"metadata:\n"
	"  name: ya\n"
	"  annotations: {kueue.x-k8s.io/parent: top, kueue.x-k8s.io/min-weight: \"60\"}\n"
	"spec: {}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Cohort\n"
	"metadata: {name: t.company, labels: {kueue.x-k8s.io/created-by-tree: t}}\n"
	"spec: {}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: Cohort\n"
	"metadata: {name: top.top, labels: {kueue.x-k8s.io/created-by-tree: top}}\n"
	"spec: {}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1beta2\n"
	"kind: LocalQueue\n"
	"metadata: {name: lq, namespace: ns}\n"
	"spec: {clusterQueue: b}\n"
	"---\n"
	"apiVersion: kueue.x-k8s.io/v1alpha1\n"
	"kind: ClusterQueueTree\n"
	"metadata: {name: default}\n"
	"status: {}\n";
enum { TREE, B, LONE, TOP, X, Y, COHORT, COHORT2, LQ, STATUS };

#define MIN "/metadata/annotations/kueue.x-k8s.io~1min-weight"

struct verdict {
	const char *name;
	int at;          /* the object of cluster_yaml */
	const char *old; /* a pointer and value that make it what it was, or NULL */
	const char *old_value;
	const char *pointer; /* likewise, what it becomes; "" deletes it */
	const char *value;
	int64_t status; /* 0: allowed */
	const char *text, *warnings;
	const char *user, *account, *part;
};

static const struct verdict verdicts[] = {
	{.name = "finalizers of a tree that is wrong may go",
	 .at = TREE,
	 .old = "/spec/hierarchies/company/weightedQuotas/0/minWeight",
	 .old_value = "50",
	 .pointer = "/metadata/finalizers"},
	{.name = "... and its labels change",
	 .at = TREE,
	 .old = "/spec/hierarchies/company/weightedQuotas/0/minWeight",
	 .old_value = "50",
	 .pointer = "/metadata/labels",
	 .value = "{\"l\":\"1\"}"},
	{.name = "... and its status",
	 .at = TREE,
	 .old = "/spec/hierarchies/company/weightedQuotas/0/minWeight",
	 .old_value = "50",
	 .pointer = "/status",
	 .value = "{}",
	 .part = "status"},
	{.name = "a tree that stays wrong is refused: one write mends it",
	 .at = TREE,
	 .old = "/spec/hierarchies/company/weightedQuotas/0/minWeight",
	 .old_value = "50",
	 .pointer = "/spec/hierarchies/company/weightedQuotas/0/minWeight",
	 .value = "45",
	 .status = 422,
	 .text = "spec.hierarchies[company].weightedQuotas: Invalid value: 105: sum of minWeight "
		 "must be 100"},
	{.name = "what is being deleted may be written",
	 .at = TREE,
	 .old = "/metadata/deletionTimestamp",
	 .old_value = "\"2026-01-01T00:00:00Z\"",
	 .pointer = "/spec/hierarchies/company/weightedQuotas/0/minWeight",
	 .value = "50"},
	{.name = "a tree may be deleted", .at = TREE, .pointer = ""},
	{.name = "a LocalQueue may be deleted", .at = LQ, .pointer = ""},
	{.name = "a queue outside trees may be deleted", .at = LONE, .pointer = ""},
	{.name = "a queue of a ClusterQuotaTree may be deleted", .at = B, .pointer = ""},
	{.name = "a queue outside trees may change",
	 .at = LONE,
	 .pointer = "/spec/cohortName",
	 .value = "\"other\""},
	{.name = "... what looks like a word of trees is told",
	 .at = LONE,
	 .pointer = "/metadata/annotations",
	 .value = "{\"kueue.x-k8s.io/min_weight\":\"5\"}",
	 .warnings = "metadata.annotations[kueue.x-k8s.io/min_weight]: Unknown annotation: did you "
		     "mean \"kueue.x-k8s.io/min-weight\"?"},
	{.name = "... what is one is judged",
	 .at = LONE,
	 .pointer = "/metadata/annotations",
	 .value = "{\"kueue.x-k8s.io/parent\":\"nobody\"}",
	 .status = 422,
	 .text = "metadata.annotations[kueue.x-k8s.io/parent]: Invalid value: \"nobody\": parent "
		 "ClusterQueue does not exist\n"
		 "spec.cohortName: Forbidden: ClusterQueue \"lone\" belongs to a queue tree; "
		 "cohort "
		 "and tree cannot be combined"},
	{.name = "a LocalQueue may point at a leaf",
	 .at = LQ,
	 .pointer = "/spec/clusterQueue",
	 .value = "\"c\""},
	{.name = "... or outside trees",
	 .at = LQ,
	 .pointer = "/spec/clusterQueue",
	 .value = "\"lone\""},
	{.name = "... or at nothing", .at = LQ, .pointer = "/spec/clusterQueue", .value = "\"\""},
	{.name = "... but at no inner node",
	 .at = LQ,
	 .pointer = "/spec/clusterQueue",
	 .value = "\"top\"",
	 .status = 422,
	 .text = "spec.clusterQueue: Invalid value: \"top\": not a leaf of tree \"top\"; "
		 "LocalQueues may point only to leaf queues"},
	{.name = "what a tree was compiled to is not held against a queue",
	 .at = B,
	 .pointer = "/spec/stopPolicy",
	 .value = "\"Hold\""},
	{.name = "... nor that of a tree of parents",
	 .at = X,
	 .old = MIN,
	 .old_value = "\"40\"",
	 .pointer = "/spec/stopPolicy",
	 .value = "\"Hold\""},
	{.name = "... but users do not write it",
	 .at = B,
	 .pointer = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
	 .value = "41",
	 .status = 403,
	 .text = "spec.resourceGroups: Forbidden: immutable, managed by ClusterQuotaTree \"t\""},
	{.name = "... nor below a parent",
	 .at = X,
	 .old = MIN,
	 .old_value = "\"40\"",
	 .pointer = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
	 .value = "7",
	 .status = 403,
	 .text = "spec.resourceGroups: Forbidden: immutable, managed by the queue tree of \"top\""},
	{.name = "... the controller does",
	 .at = B,
	 .pointer = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
	 .value = "41",
	 .user = ASKED_US},
	{.name = "... and another Cohort is refused",
	 .at = B,
	 .pointer = "/spec/cohortName",
	 .value = "\"team\"",
	 .status = 422,
	 .text = "spec.cohortName: Forbidden: ClusterQueue \"b\" belongs to a queue tree; cohort "
		 "and tree cannot be combined"},
	{.name = "a sum that was too large is lowered step by step",
	 .at = X,
	 .old = MIN,
	 .old_value = "\"60\"",
	 .pointer = MIN,
	 .value = "\"50\"",
	 .warnings = "metadata.annotations[kueue.x-k8s.io/min-weight]: Invalid value: 110: sum of "
		     "minWeight must not be larger than 100"},
	{.name = "... until it fits", .at = X, .pointer = MIN, .value = "\"40\""},
	{.name = "a sum that fitted stays so",
	 .at = X,
	 .old = MIN,
	 .old_value = "\"40\"",
	 .pointer = MIN,
	 .value = "\"41\"",
	 .status = 422,
	 .text = "metadata.annotations[kueue.x-k8s.io/min-weight]: Invalid value: 101: sum of "
		 "minWeight must not be larger than 100"},
	{.name = "a word that means nothing is told",
	 .at = TREE,
	 .pointer = "/spec/overLimitPolicy",
	 .value = "\"Evict\"",
	 .warnings = "spec.overLimitPolicy: Evict: nothing acts on it yet"},
	{.name = "... not what the controller acts on",
	 .at = TREE,
	 .pointer = "/spec/deletionPolicy",
	 .value = "\"Delete\""},
	{.name = "a ClusterQueueTree is the controller's",
	 .at = STATUS,
	 .pointer = "/status/trees",
	 .value = "[]",
	 .part = "status",
	 .status = 403,
	 .text = "ClusterQueueTree is read-only"},
	{.name = "... which writes it",
	 .at = STATUS,
	 .pointer = "/status/trees",
	 .value = "[]",
	 .part = "status",
	 .user = ASKED_US},
	{.name = "... its labels are anybody's",
	 .at = STATUS,
	 .pointer = "/metadata/labels",
	 .value = "{\"l\":\"1\"}"},
	{.name = "... and so is its deletion", .at = STATUS, .pointer = ""},
	{.name = "other kinds pass", .at = COHORT, .pointer = "/spec/parentName", .value = "\"p\""},
};

static struct json *cluster(struct arena *a, const struct verdict *v)
{
	struct json *docs = objects_read(a, cluster_yaml);

	if (v->old) {
		char where[256];

		snprintf(where, sizeof(where), "/%d%s", v->at, v->old);
		objects_put(a, docs, where, v->old_value);
	}
	return docs;
}

static void judge(const struct verdict *v)
{
	struct arena a;
	struct json *docs, *new;
	struct trees_store *s;
	struct answered got;
	struct asked q = {
		.operation = "UPDATE", .user = v->user, .account = v->account, .part = v->part};
	char where[256];

	arena_init(&a, 0);
	docs = cluster(&a, v);
	new = json_dup(&a, docs);
	s = asked_store(&a, docs);
	q.old = json_elem(docs, (size_t)v->at);
	if (v->pointer[0] == '\0') {
		q.operation = "DELETE";
	} else {
		snprintf(where, sizeof(where), "/%d%s", v->at, v->pointer);
		objects_put(&a, new, where, v->value);
		q.object = json_elem(new, (size_t)v->at);
	}
	got = asked_judge(s, &a, &q);
	is_str(got.code == ERR_OK ? got.text : got.err, v->text ? v->text : "", v->name);
	if (got.status != v->status || got.allowed != (v->status == 0)) {
		is_int(got.status, v->status, "... with this status");
	}
	if (got.code == ERR_OK && (v->warnings || got.warnings[0])) {
		is_str(got.warnings, v->warnings ? v->warnings : "", "... and these warnings");
	}
	trees_store_free(s);
	arena_done(&a);
}

/* --- what is not known ------------------------------------------------------------------------ */

/* The change of cluster_yaml that row 'at' of verdicts makes, as 'account' knows it. */
static struct answered again(struct arena *a, const char *name, const char *account,
			     struct trees_store *s)
{
	struct answered got = {.code = ERR_INVALID};

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		const struct verdict *v = &verdicts[i];
		struct asked q = {.operation = "UPDATE", .account = account};
		struct json *docs, *new;
		char where[256];

		if (strcmp(v->name, name) == 0) {
			docs = cluster(a, v);
			new = json_dup(a, docs);
			snprintf(where, sizeof(where), "/%d%s", v->at, v->pointer);
			objects_put(a, new, where, v->value);
			q.old = json_elem(docs, (size_t)v->at);
			q.object = json_elem(new, (size_t)v->at);
			got = asked_judge(s, a, &q);
		}
	}
	return got;
}

static void unknown(void)
{
	struct arena a;
	struct trees_store *s = trees_store_new();
	struct answered got;

	arena_init(&a, 0);
	got = again(&a, "a queue outside trees may change", ASKED_US, s);
	is_int(got.code, ERR_UNAVAILABLE, "nothing is judged before everything is known");
	is_str(got.err, "the ClusterQueues of the cluster are not known yet", "... and says so");
	got = again(&a, "finalizers of a tree that is wrong may go", ASKED_US, s);
	ok(got.code == ERR_OK && got.allowed, "... but what no rule reads passes");
	got = again(&a, "a ClusterQueueTree is the controller's", ASKED_US, s);
	ok(got.code == ERR_OK && !got.allowed, "... and what needs nothing is refused");
	trees_store_free(s);

	s = asked_store(&a, objects_read(&a, cluster_yaml));
	got = again(&a, "... but users do not write it", "", s);
	is_int(got.code, ERR_UNAVAILABLE, "before we know our name nothing is ours or theirs");
	got = again(&a, "... and another Cohort is refused", "", s);
	is_int(got.code, ERR_UNAVAILABLE, "... nor a Cohort");
	got = again(&a, "a ClusterQueueTree is the controller's", "", s);
	is_int(got.code, ERR_UNAVAILABLE, "... nor the status");
	got = again(&a, "... but at no inner node", "", s);
	ok(got.code == ERR_OK && !got.allowed, "... what nobody may write is refused");
	trees_store_free(s);
	arena_done(&a);
}

int main(void)
{
	quota_cases_begin();
	rows(quota_tree_rows, n_quota_tree_rows);
	rows(quota_queue_rows, n_quota_queue_rows);
	changes(quota_queue_changes, n_quota_queue_changes);
	changes(quota_tree_changes, n_quota_tree_changes);
	ok(n_refused > 90, "most of them were refused");
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		judge(&verdicts[i]);
	}
	unknown();
	return done_testing();
}
