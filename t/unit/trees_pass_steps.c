/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random trees on a model of an API server, with passes that end between any two writes: no limit
 * is ever above both what it was and what it will be, none grows before Kueue has seen what was
 * written last, the end is that of a run without interruption, and nothing of others is touched:
 * queues and Cohorts outside, a tree that is wrong, one that Kueue cannot enforce. SEEDS=n runs n
 * of them, FIRST=n from there on.
 */
#include <time.h>

#include "core/quota/compile_plan.h"
#include "t/unit/trees_limits.h"

enum { MOST_PASSES = 400 };

/* --- runs ------------------------------------------------------------------------------------- */

static size_t n_passes, n_writes;

/*
 * Passes with any end and any answer to whether Kueue has seen it, until nothing is left. 'end': as
 * it will be. False: it was told what is wrong.
 */
static bool run_cut(struct server *s, struct rng *r, const struct server *end)
{
	static struct limits old, new, before, now;

	read_limits(s, &old);
	read_limits(end, &new);
	read_limits(s, &before);
	for (int i = 0; i < MOST_PASSES; i++) {
		struct trees_plan plan;
		bool settled = rng_chance(r, 1, 2);
		bool cut = rng_chance(r, 1, 2);
		size_t n, changes = 0;

		if (pass_over(s, TREES_COMPILE, settled, NULL, 0, &plan) != ERR_OK) {
			return false;
		}
		n_passes++;
		n = cut ? rng_below(r, plan.n + 1) : plan.n;
		for (size_t k = 0; k < plan.n; k++) {
			const struct trees_write *w = &plan.writes[k];

			changes += w->verb != TREES_STATUS ? 1 : 0;
			if (k >= n || w->verb == TREES_STATUS) {
				continue;
			}
			n_writes++;
			if (!carry_out(s, w)) {
				printf("# refused: %s", write_text(w).p);
				return false;
			}
			read_limits(s, &now);
			if (exceeds(&now, &old, &new) ||
			    (!settled && exceeds(&now, &before, &before))) {
				printf("# after %s", write_text(w).p);
				return false;
			}
			read_limits(s, &before);
		}
		if (changes == 0 && !plan.settle) {
			return true;
		}
	}
	printf("# there is no end\n");
	return false;
}

static bool same_state(struct server *x, struct server *y)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct thing *t = find_thing(y, x->v[i].key);

		if (!t || !json_equal(x->v[i].user, t->user) ||
		    !json_equal(x->v[i].ours, t->ours)) {
			printf("# %s: %s\n# and %s\n", x->v[i].key.p, json_write(&a, x->v[i].now).p,
			       t != NULL ? json_write(&a, t->now).p : "none");
			return false;
		}
	}
	return x->n == y->n;
}

/* --- trees ------------------------------------------------------------------------------------ */

/* ClusterQueues with parents: tree "pq0". */
static void put_parents(struct server *s, uint64_t seed)
{
	struct world w;

	qt_make(&w, seed);
	qt_plan_a(&w);
	user_puts_all(s, renamed(w.docs, "p"));
	arena_done(&w.a);
}

static bool names_queue(const struct json *tree, mk_str queue)
{
	struct json_iter groups = json_iter(json_at(tree, "/spec/hierarchies"));

	while (json_next(&groups)) {
		struct json_iter each = json_iter(json_get(groups.val, "weightedQuotas"));

		if (str_eq(groups.key, queue)) {
			return true;
		}
		while (json_next(&each)) {
			if (str_eq(json_str(json_get(each.val, "name")), queue)) {
				return true;
			}
		}
	}
	return false;
}

/* Some queues of tree "t" are there before it, and two that are in no tree. */
static void put_users_queues(struct server *s, struct rng *r)
{
	static const char outside[] = "kind: Cohort\nmetadata: {name: theirs}\nspec: {}\n---\n"
				      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
				      "metadata: {name: out1}\nspec: {cohortName: theirs}\n---\n"
				      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
				      "metadata: {name: out2}\nspec: {}\n---\n"
				      "kind: Cohort\nmetadata: {name: t.theirs, labels: "
				      "{kueue.x-k8s.io/created-by-tree: gone}}\nspec: {}\n";

	user_puts_all(s, objects_read(&a, outside));
	for (int i = 0; i < MAX_NODES; i++) {
		if (rng_chance(r, 1, 4)) {
			user_puts_all(
				s, objects_read(&a, arena_printf(&a,
								 "apiVersion: "
								 "kueue.x-k8s.io/v1beta2\nkind: "
								 "ClusterQueue\nmetadata: {name: "
								 "tq%d}\nspec: {queueingStrategy: "
								 "StrictFIFO}\n",
								 i)
							    .p));
		}
	}
}

/* The ClusterQueues that the tree has no more are gone before: a pass refuses to guess. */
static void forget_queues(struct server *s, const struct json *tree)
{
	for (size_t i = s->n; i-- > 0;) {
		mk_str name = json_str_at(s->v[i].now, "/metadata/name");

		if (str_starts(s->v[i].key, STR("ClusterQueue/tq")) && !names_queue(tree, name)) {
			forget_thing(s, &s->v[i]);
		}
	}
}

/* Has 'have' all that 'want' has? */
static bool within(const struct json *want, const struct json *have)
{
	struct json_iter it = json_iter(want);

	if (json_type(want) != JSON_OBJ) {
		return json_equal(want, have);
	}
	while (json_next(&it)) {
		if (!within(it.val, json_getn(have, it.key))) {
			return false;
		}
	}
	return true;
}

/* Are the server's objects those that the tree is compiled to beside its users' queues? */
static bool as_compiled(struct server *s, struct json *tree)
{
	struct json *docs = json_new_arr(&a);
	struct api_models models;
	struct quota *q = quota_new();
	struct compiled out = {.n = 0};
	size_t n = 0;
	bool good;

	json_add(&a, docs, json_dup(&a, tree));
	for (size_t i = 0; i < s->n; i++) {
		if (str_starts(s->v[i].key, STR("ClusterQueue/tq")) && s->v[i].user != NULL) {
			json_add(&a, docs, json_dup(&a, s->v[i].user));
		}
		n += str_starts(s->v[i].key, STR("Cohort/")) &&
				     str_is(compile_made_by(s->v[i].now), "t")
			     ? 1
			     : 0;
	}
	good = api_build(&a, objects_link(&a, docs, API_NONE), &models, NULL) == ERR_OK &&
	       quota_apply(q, &models.v[0].desc, NULL) == ERR_OK &&
	       compile_tree(&a, &models.v[0], q, &out, NULL) == ERR_OK;
	for (size_t i = 0; good && i < out.n; i++) {
		const struct thing *t = find_thing(s, key_of(out.objects[i]));

		n -= str_is(json_str_at(out.objects[i], "/kind"), "Cohort") ? 1 : 0;
		if (!t || !within(out.objects[i], t->now)) {
			printf("# want %s\n# have %s\n", json_write(&a, out.objects[i]).p,
			       t != NULL ? json_write(&a, t->now).p : "none");
			good = false;
		}
	}
	quota_free(q);
	return good && n == 0;
}

/* Has each queue with a parent the minimum that its owner wrote? */
static bool keeps_minima(const struct server *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct json *owner = first_pair(s->v[i].user);

		if (str_starts(s->v[i].key, STR("ClusterQueue/pq")) && owner != NULL &&
		    amount(owner, "nominalQuota", -1) !=
			    amount(first_pair(s->v[i].now), "nominalQuota", -1)) {
			printf("# %s has another minimum\n", s->v[i].key.p);
			return false;
		}
	}
	return true;
}

/* --- one seed --------------------------------------------------------------------------------- */

/* Is all that is not tree "t" and its own as it was? */
static bool others_stay(struct server *now, struct server *before)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct thing *was = &before->v[i];
		const struct thing *t = find_thing(now, was->key);
		bool own = str_starts(was->key, STR("ClusterQueue/tq")) ||
			   str_starts(was->key, STR("Cohort/t.tq")) ||
			   str_starts(was->key, STR("ClusterQueue/pq")) ||
			   str_starts(was->key, STR("Cohort/pq0.")) ||
			   str_is(was->key, "ClusterQuotaTree/t");

		if (!own && (!t || t->rv != was->rv)) {
			printf("# touched: %s\n", was->key.p);
			return false;
		}
	}
	return true;
}

/*
 * The tree becomes another, beside one that becomes wrong, one that Kueue cannot enforce, and one
 * of parents that gets another total, which may be too small for it.
 */
static bool change(struct server *s, struct rng *r, struct json *tree)
{
	static struct server end, before;
	struct json *wrong = json_dup(&a, the_thing(s, STR("ClusterQuotaTree/w"))->user);
	struct json *other = json_dup(&a, the_thing(s, STR("ClusterQuotaTree/e"))->user);
	struct json *root = json_dup(&a, the_thing(s, STR("ClusterQueue/pq0"))->user);

	json_put(&a, wrong, "/spec/hierarchies/second/weightedQuotas", json_new_arr(&a));
	json_put(&a, wrong, "/spec/resourceGroup/flavors/0/resources/0/nominalQuota",
		 json_new_int(&a, 7));
	json_put(&a, other, "/spec/fairShare", json_new_str(&a, STR("HDRF")));
	json_put(&a, other, "/spec/resourceGroup/flavors/0/resources/0/nominalQuota",
		 json_new_int(&a, 5000));
	json_put(&a, root, "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
		 json_new_int(&a, rng_range(r, 900, 2000)));
	user_puts(s, root);
	user_puts(s, wrong);
	user_puts(s, other);
	user_puts(s, tree);
	forget_queues(s, tree);
	before = *s;
	end = *s;
	return run_to_end(&end) && as_compiled(&end, tree) && others_stay(&end, &before) &&
	       run_cut(s, r, &end) && same_state(&end, s) && others_stay(s, &before) &&
	       keeps_minima(s);
}

/* The tree is deleted, while a queue that it made, or one that it did not, has workloads. */
static bool remove_tree(struct server *s, struct rng *r)
{
	static struct server end, before;
	mk_str busy = STR("");
	size_t left = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (str_starts(s->v[i].key, STR("ClusterQueue/tq")) && !s->v[i].user &&
		    rng_chance(r, 1, 3)) {
			busy = s->v[i].key;
		}
	}
	if (busy.n > 0) {
		the_thing(s, busy)->user = objects_changed(
			&a, "{kind: ClusterQueue, status: {admittedWorkloads: 1}}", NULL, NULL);
		the_thing(s, busy)->user = json_elem(the_thing(s, busy)->user, 0);
		compose(s, the_thing(s, busy));
	}
	begin_deletion(s, the_thing(s, STR("ClusterQuotaTree/t")));
	before = *s;
	end = *s;
	if (!run_to_end(&end) || !run_cut(s, r, &end) || !same_state(&end, s)) {
		return false;
	}
	if (busy.n > 0) {
		if (!find_thing(s, busy) || !find_thing(s, STR("ClusterQuotaTree/t"))) {
			printf("# not waited for: %s\n", busy.p);
			return false;
		}
		forget_thing(s, the_thing(s, busy));
		end = *s;
		if (!run_to_end(&end) || !run_cut(s, r, &end)) {
			return false;
		}
	}
	for (size_t i = 0; i < s->n; i++) {
		left += str_is(compile_made_by(s->v[i].now), "t") ||
					str_is(s->v[i].key, "ClusterQuotaTree/t") ||
					(str_starts(s->v[i].key, STR("ClusterQueue/tq")) &&
					 cohort_of(s->v[i].now).n > 0)
				? 1
				: 0;
	}
	for (size_t i = 0; i < before.n; i++) {
		left += before.v[i].user != NULL && !str_eq(before.v[i].key, busy) &&
					!str_is(before.v[i].key, "ClusterQuotaTree/t") &&
					!find_thing(s, before.v[i].key)
				? 1
				: 0;
	}
	return left == 0 && others_stay(s, &before);
}

static bool one(uint64_t seed)
{
	static const char *const policies[] = {"capacity", "fair", "fifo"};
	static struct server s;
	struct json *x, *y;
	struct rng r;
	bool good;

	arena_init(&a, (size_t)2 << 30);
	memset(&s, 0, sizeof(s));
	rng_init(&r, seed);
	x = tree_of("t", seed, policies[rng_below(&r, 3)]);
	y = tree_of("t", seed % 2 ? seed + 1000000 : seed, policies[rng_below(&r, 3)]);
	json_put(&a, x, "/spec/deletionPolicy", json_new_str(&a, STR("Delete")));
	json_put(&a, y, "/spec/deletionPolicy",
		 json_new_str(&a, seed % 3 ? STR("Delete") : STR("Orphan")));
	if (seed % 2 == 0) { /* the same tree, with another total */
		json_put(&a, y, "/spec/resourceGroup/flavors/0/resources/0/nominalQuota",
			 json_new_int(&a, 1000 + (int64_t)rng_below(&r, 100000)));
	}
	put_users_queues(&s, &r);
	user_puts(&s, x);
	user_puts(&s, tree_of("w", seed + 7, "capacity"));
	user_puts(&s, tree_of("e", seed + 11, "fair"));
	user_puts(&s, tree_of("u", seed + 13, "fifo"));
	put_parents(&s, seed + 17);
	forget_queues(&s, x);
	good = run_to_end(&s) && as_compiled(&s, x) && change(&s, &r, y) &&
	       (seed % 3 == 0 || remove_tree(&s, &r));
	arena_done(&a);
	return good;
}

static void random_trees(void)
{
	const char *env = getenv("SEEDS");
	const char *first = getenv("FIRST");
	uint64_t n = env != NULL ? strtoull(env, NULL, 10) : tap_valgrind() ? 3 : 40;
	uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1;
	uint64_t last = seed + n;

	while (seed < last && one(seed)) {
		seed++;
	}
	if (!ok(seed == last, "passes that end anywhere lead where one that does not leads")) {
		printf("# seed %llu\n", (unsigned long long)seed);
	}
	printf("# %zu passes, %zu writes\n", n_passes, n_writes);
}

/* --- cost ------------------------------------------------------------------------------------- */

/* 1,000 queues on 5 levels: 4, 5, 6 and 7 children, and more at the last. */
static struct json *big_tree(void)
{
	static const int children[] = {4, 5, 6, 7};
	struct json *tree = tree_of("t", 1, "capacity");
	struct json *map = json_new_obj(&a);
	mk_str level[1200] = {STR("root")};
	size_t first = 0, n = 1;

	for (size_t depth = 0; depth < 4; depth++) {
		size_t end = n;

		for (; first < end; first++) {
			struct json *list = json_new_arr(&a);

			for (int k = 0; k < children[depth]; k++) {
				struct json *node = json_new_obj(&a);

				level[n] = arena_printf(&a, "%.*s-%d", STR_ARG(level[first]), k);
				json_set_str(&a, node, "name", level[n++]);
				json_set_int(&a, node, "minWeight",
					     100 / children[depth] +
						     (k == 0 ? 100 % children[depth] : 0));
				json_add(&a, list, node);
			}
			json_put(&a, map,
				 arena_printf(&a, "/%.*s/weightedQuotas", STR_ARG(level[first])).p,
				 list);
			json_put(&a, map, arena_printf(&a, "/%.*s/policy", STR_ARG(level[first])).p,
				 json_new_str(&a, STR("capacity")));
		}
	}
	json_put(&a, tree, "/spec/hierarchies", map);
	return tree;
}

static void cost(void)
{
	static struct server s;
	struct trees_plan plan;
	clock_t began;
	size_t used;

	arena_init(&a, (size_t)2 << 30);
	memset(&s, 0, sizeof(s));
	user_puts(&s, big_tree());
	ok(run_to_end(&s), "a tree of 1,000 queues is made");
	used = a.used;
	began = clock();
	is_int(pass_over(&s, TREES_COMPILE, true, NULL, 0, &plan), ERR_OK, "a pass over it");
	printf("# %zu objects, %zu figures: %lld us of the processor, %zu KiB\n", s.n,
	       plan.n_figures, (long long)(clock() - began) * 1000000 / CLOCKS_PER_SEC,
	       (a.used - used) >> 10);
	is_int(plan.n, 1, "finds nothing to write but the status");
	arena_done(&a);
}

int main(void)
{
	cost();
	random_trees();
	return done_testing();
}
