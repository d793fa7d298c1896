/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one compiled tree to another, write by write: Kueue's limits, read off the objects after
 * each write, are never above both what they were and what they will be, and the end is the tree.
 * SEEDS=n runs n pairs of trees.
 */
#include <stdlib.h>

#include "core/quota/api_limits.h"
#include "core/quota/compile.h"
#include "core/quota/compile_plan.h"
#include "t/lib/quota_trees.h"
#include "t/lib/tap.h"

enum { MAX_OBJECTS = 4 * MAX_NODES };

/* The objects of a cluster, or of a tree. */
struct objects {
	struct json *v[MAX_OBJECTS];
	size_t n;
};

/* The limits of each object by its key. */
struct limit {
	mk_str key;
	mk_str above; /* Cohort */
	int64_t whole, max;
};

struct limits {
	struct limit v[MAX_OBJECTS];
	size_t n;
};

static struct arena a;

static int64_t amount(const struct json *r, const char *key, int64_t otherwise)
{
	struct api_amount v;

	return api_amount_read(&a, json_get(r, key), STR("cpu"), false, &v) ? v.v : otherwise;
}

/* The only pair of the trees here. */
static const struct json *cpu_of(const struct json *o)
{
	return json_at(o, "/spec/resourceGroups/0/flavors/0/resources/0");
}

static mk_str above(const struct json *o)
{
	mk_str queue = json_str_at(o, "/spec/cohortName");

	return queue.n > 0 ? queue : json_str_at(o, "/spec/parentName");
}

/* Kueue's sums, from the objects alone: what an object has with all below it. */
static int64_t whole(const struct objects *c, const struct json *o)
{
	int64_t sum = amount(cpu_of(o), "nominalQuota", 0);

	for (size_t i = 0; i < c->n && str_is(json_str_at(o, "/kind"), "Cohort"); i++) {
		if (str_eq(above(c->v[i]), json_str_at(o, "/metadata/name"))) {
			sum += whole(c, c->v[i]);
		}
	}
	return sum;
}

static void read_limits(const struct objects *c, struct limits *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct json *o = c->v[i];
		struct limit *l = &ret->v[ret->n++];

		l->key = arena_printf(&a, "%s/%s", json_str_at(o, "/kind").p,
				      json_str_at(o, "/metadata/name").p);
		l->above = above(o);
		l->whole = whole(c, o);
		l->max = l->whole +
			 (l->above.n > 0 ? amount(cpu_of(o), "borrowingLimit", INT32_MAX) : 0);
	}
}

static const struct limit *find(const struct limits *l, mk_str key)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i].key, key)) {
			return &l->v[i];
		}
	}
	return NULL;
}

/* Is a limit of 'now' above both those of 'old' and of 'new'? Of what is nowhere it is 0. */
static bool exceeds(const struct limits *now, const struct limits *old, const struct limits *new)
{
	for (size_t i = 0; i < now->n; i++) {
		const struct limit *x = find(old, now->v[i].key);
		const struct limit *y = find(new, now->v[i].key);
		int64_t most_whole = x != NULL ? x->whole : 0;
		int64_t most = x != NULL ? x->max : 0;

		most_whole = y != NULL && y->whole > most_whole ? y->whole : most_whole;
		most = y != NULL && y->max > most ? y->max : most;
		if (now->v[i].whole > most_whole || now->v[i].max > most) {
			printf("# %s: %lld of %lld, at most %lld of %lld\n", now->v[i].key.p,
			       (long long)now->v[i].whole, (long long)most_whole,
			       (long long)now->v[i].max, (long long)most);
			return true;
		}
	}
	return false;
}

/* Server-side apply by one manager: the object is what was written. */
static void apply(struct objects *c, struct json *o)
{
	for (size_t i = 0; i < c->n; i++) {
		if (str_eq(json_str_at(c->v[i], "/kind"), json_str_at(o, "/kind")) &&
		    str_eq(json_str_at(c->v[i], "/metadata/name"),
			   json_str_at(o, "/metadata/name"))) {
			c->v[i] = o;
			return;
		}
	}
	c->v[c->n++] = o;
}

static void drop(struct objects *c, mk_str cohort)
{
	for (size_t i = 0; i < c->n; i++) {
		if (str_is(json_str_at(c->v[i], "/kind"), "Cohort") &&
		    str_eq(json_str_at(c->v[i], "/metadata/name"), cohort)) {
			c->v[i] = c->v[--c->n];
			return;
		}
	}
}

/* The compiled objects of a set of API objects; false: not expressible, or no tree. */
static bool compile(const struct json *docs, struct objects *ret)
{
	struct api_set *set = objects_link(&a, docs, API_NONE);
	struct api_models models;
	struct quota *q = quota_new();
	struct compiled out = {.n = 0};
	bool good = api_build(&a, set, &models, NULL) == ERR_OK && models.n == 1 &&
		    quota_apply(q, &models.v[0].desc, NULL) == ERR_OK &&
		    compile_tree(&a, &models.v[0], q, &out, NULL) == ERR_OK && out.reasons.n == 0 &&
		    out.n <= MAX_OBJECTS;

	ret->n = 0;
	for (size_t i = 0; good && i < out.n; i++) {
		ret->v[ret->n++] = json_dup(&a, out.objects[i]);
	}
	quota_free(q);
	return good;
}

/* Leads 'live' to 'want' plan by plan; false: a limit was above both. */
static bool lead(struct objects *live, const struct objects *want, struct rng *r, size_t *writes)
{
	struct limits old, new, now;
	size_t limit = 20 * MAX_OBJECTS;

	read_limits(live, &old);
	read_limits(want, &new);
	for (;;) {
		struct compile_plan plan;
		struct mk_err err;
		size_t n;

		if (compile_plan(&a, want->v, want->n, live->v, live->n, &plan, &err) != ERR_OK) {
			printf("# %s\n", err.msg);
			return false;
		}
		/* The program may end between any two writes, and begins anew. */
		n = plan.n > 0 && rng_chance(r, 1, 3) ? 1 + rng_below(r, plan.n) : plan.n;
		for (size_t i = 0; i < n; i++) {
			apply(live, plan.objects[i]);
			read_limits(live, &now);
			(*writes)++;
			if (exceeds(&now, &old, &new)) {
				return false;
			}
		}
		if (plan.n == 0) {
			for (size_t i = 0; i < plan.n_idle; i++) {
				drop(live, plan.idle[i]);
			}
			return true;
		}
		if (limit-- == 0) {
			printf("# it goes on for ever\n");
			return false;
		}
	}
}

static bool same(const struct objects *x, const struct objects *y)
{
	for (size_t i = 0; i < y->n; i++) {
		bool found = false;

		for (size_t k = 0; k < x->n; k++) {
			found = found || json_equal(x->v[k], y->v[i]);
		}
		if (!found) {
			printf("# not there: %s\n", json_write(&a, y->v[i]).p);
			return false;
		}
	}
	return x->n == y->n;
}

/* ClusterQueues that the new tree has not must be gone before: a plan refuses to guess. */
static void forget_queues(struct objects *live, const struct objects *want)
{
	struct limits l;

	read_limits(want, &l);
	for (size_t i = live->n; i-- > 0;) {
		mk_str key = arena_printf(&a, "ClusterQueue/%s",
					  json_str_at(live->v[i], "/metadata/name").p);

		if (str_is(json_str_at(live->v[i], "/kind"), "ClusterQueue") && !find(&l, key)) {
			live->v[i] = live->v[--live->n];
		}
	}
}

static bool one(uint64_t seed, size_t *pairs, size_t *writes)
{
	static struct objects old, new;
	static struct world x, y;
	bool good = true;

	arena_init(&a, 0);
	qt_make(&x, seed);
	qt_plan_b(&x);
	qt_make(&y, seed % 2 ? seed + 1000000 : seed);
	if (seed % 2 == 0) { /* the same tree, with another total */
		qt_plan_b(&y);
		objects_put(&a, y.docs, "/0/spec/resourceGroup/flavors/0/resources/0/nominalQuota",
			    seed % 4 ? "1" : "100000");
	} else {
		qt_plan_b(&y);
	}
	if (compile(x.docs, &old) && compile(y.docs, &new)) {
		size_t before = *writes;
		/* Each object twice, however often the program began anew. */
		size_t most = 2 * (old.n + new.n);

		forget_queues(&old, &new);
		(*pairs)++;
		good = lead(&old, &new, &x.rng, writes) && same(&old, &new);
		if (good && *writes - before > most) {
			printf("# %zu writes, at most %zu\n", *writes - before, most);
			good = false;
		}
	}
	arena_done(&x.a);
	arena_done(&y.a);
	arena_done(&a);
	return good;
}

static void random_pairs(void)
{
	const char *env = getenv("SEEDS");
	uint64_t n = env != NULL ? strtoull(env, NULL, 10) : 2000;
	uint64_t seed = 1;
	size_t pairs = 0;
	size_t writes = 0;

	while (seed <= n && one(seed, &pairs, &writes)) {
		seed++;
	}
	if (!ok(seed > n, "no limit is above both what it was and what it will be")) {
		printf("# seed %llu\n", (unsigned long long)seed);
	}
	ok(pairs > n / 4, "... in enough pairs of trees");
	printf("# %zu pairs, %zu writes\n", pairs, writes);
}

static mk_str spelled(const struct json *r, const char *key)
{
	const struct json *v = json_get(r, key);

	return json_type(v) == JSON_INT ? json_write(&a, v) : v != NULL ? json_str(v) : STR("");
}

/* What the next plan from 'live' to 'want' writes: "kind/name nominal/borrowing/lending, ...". */
static const char *next(const char *want, const char *live)
{
	struct compile_plan plan;
	struct objects w = {.n = 0};
	struct objects l = {.n = 0};
	struct buf text;
	struct mk_err err;
	struct json_iter it = json_iter(objects_read(&a, want));

	while (json_next(&it)) {
		w.v[w.n++] = json_dup(&a, it.val);
	}
	it = json_iter(objects_read(&a, live));
	while (json_next(&it)) {
		l.v[l.n++] = json_dup(&a, it.val);
	}
	if (compile_plan(&a, w.v, w.n, l.v, l.n, &plan, &err) != ERR_OK) {
		return arena_printf(&a, "%s", err.msg).p;
	}
	buf_init(&text, 65536);
	for (size_t i = 0; i < plan.n; i++) {
		const struct json *r = cpu_of(plan.objects[i]);

		buf_printf(&text, "%s/%s %s %s/%s/%s, ", json_str_at(plan.objects[i], "/kind").p,
			   json_str_at(plan.objects[i], "/metadata/name").p,
			   above(plan.objects[i]).p, spelled(r, "nominalQuota").p,
			   spelled(r, "borrowingLimit").p, spelled(r, "lendingLimit").p);
	}
	buf_printf(&text, "%s", plan.more ? "more" : "end");
	for (size_t i = 0; i < plan.n_idle; i++) {
		buf_printf(&text, ", idle %.*s", STR_ARG(plan.idle[i]));
	}
	live = arena_dup(&a, buf_str(&text)).p;
	buf_done(&text);
	return live;
}

#define CPU(amounts)                                                                         \
	"resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: " \
	"cpu, " amounts "}]}]}]"
#define COHORT(name, spec)                      \
	"{kind: Cohort, metadata: {name: " name \
	", labels: {kueue.x-k8s.io/created-by-tree: t}}, spec: {" spec "}}\n---\n"
#define QUEUE(name, cohort, spec)                                                               \
	"{kind: ClusterQueue, metadata: {name: " name "}, spec: {cohortName: " cohort ", " spec \
	"}}\n---\n"

static const char tree[] = COHORT("t.r", CPU("nominalQuota: 4"))
	QUEUE("a", "t.r", CPU("nominalQuota: 6, borrowingLimit: 4"));

static void limits_change(void)
{
	arena_init(&a, 0);
	is_str(next(tree, ""), "Cohort/t.r  4//, ClusterQueue/a t.r 6/4/, end",
	       "what is not there is made, the highest first");
	is_str(next(tree, tree), "end", "what is as wanted is not written");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4000m"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 6.0, borrowingLimit: 4"))),
	       "end", "whatever the spelling");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 8"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 2, borrowingLimit: 8"))),
	       "Cohort/t.r  4//, ClusterQueue/a t.r 6/4/, end",
	       "a Cohort gives to its queue: the Cohort first");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 2"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 9, borrowingLimit: 4"))),
	       "ClusterQueue/a t.r 6/4/, more", "what gets less is first");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 2, borrowingLimit: 8"))),
	       "ClusterQueue/a t.r 6/4/, end", "then what gets more");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 8, borrowingLimit: 2"))),
	       "ClusterQueue/a t.r 6/4/, more", "a minimum falls, the maximum stays: one write");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 7, borrowingLimit: 2"))),
	       "ClusterQueue/a t.r 6/2/, more", "a higher maximum waits for the rest");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 6"))),
	       "ClusterQueue/a t.r 6/4/, more", "a limit where there was none is less");
	is_str(next(COHORT("t.r", CPU("nominalQuota: 4")) QUEUE(
			    "a", "t.r", CPU("nominalQuota: 6, borrowingLimit: 4, lendingLimit: 1")),
		    tree),
	       "ClusterQueue/a t.r 6/4/1, more", "a reserve is less for others");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4")) QUEUE(
				  "a", "t.r",
				  CPU("nominalQuota: 6, borrowingLimit: 4, lendingLimit: 1"))),
	       "ClusterQueue/a t.r 6/4/, end", "its end is not");
	arena_done(&a);
}

static void places_change(void)
{
	arena_init(&a, 0);
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "other", CPU("nominalQuota: 6, borrowingLimit: 4"))),
	       "ClusterQueue/a other 0/0/, more", "a queue that moves has nothing first");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "other", CPU("nominalQuota: 0, borrowingLimit: 0"))),
	       "ClusterQueue/a t.r 6/4/, end", "then it moves");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "\"\"", CPU("nominalQuota: 6"))),
	       "ClusterQueue/a t.r 6/4/, end", "one that stands alone keeps its quota");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "\"\"", CPU("nominalQuota: 8"))),
	       "ClusterQueue/a  6//, more", "as far as the tree gives it");
	is_str(next(tree, COHORT("t.x", "parentName: t.r, " CPU("nominalQuota: 3"))
				  COHORT("t.r", CPU("nominalQuota: 4")) QUEUE(
					  "a", "t.r", CPU("nominalQuota: 6, borrowingLimit: 4"))),
	       "Cohort/t.x t.r 0//, more", "a Cohort that the tree lost has nothing more");
	is_str(next(tree, COHORT("t.x", "parentName: t.r") COHORT("t.r", CPU("nominalQuota: 4"))
				  QUEUE("a", "t.r", CPU("nominalQuota: 6, borrowingLimit: 4"))),
	       "end, idle t.x", "then it may be deleted");
	arena_done(&a);
}

static void refusals(void)
{
	arena_init(&a, 0);
	is_str(next(tree,
		    COHORT("t.r", CPU("nominalQuota: 4")) QUEUE("b", "t.r", "preemption: {}")),
	       "ClusterQueue/b is in Cohort t.r, and is in none of the trees: take it out of the "
	       "Cohort, or into the tree",
	       "a queue of which the tree does not know is not touched");
	is_str(next(tree, COHORT("u", "parentName: w") COHORT("w", "parentName: u")),
	       "Cohort/u is below itself", "a cycle is refused");
	is_str(next(tree, COHORT("t.r", CPU("nominalQuota: much"))),
	       "Cohort/t.r: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid "
	       "value: \"much\": must be a quantity",
	       "so is an amount that is none");
	is_str(next(tree, COHORT("t.r", "x: 1") COHORT("t.r", "x: 1")), "Cohort/t.r is there twice",
	       "and an object that is there twice");
	is_str(next(tree, "{kind: Pod, metadata: {name: p}}"),
	       "expected a Cohort or ClusterQueue, found Pod", "and one of another kind");
	arena_done(&a);
}

int main(void)
{
	limits_change();
	places_change();
	refusals();
	random_pairs();
	return done_testing();
}
