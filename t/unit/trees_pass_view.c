/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes of a level are carried out in any order, and Kueue sees each some time after it, in any
 * order as well: what it sees has never a limit above all that the tree said, also when the tree
 * changes in the middle of a change. And what got more is not waited for. SEEDS=n runs n random
 * trees, FIRST=n from there on.
 */
#include "core/daemon/trees_seen.h"
#include "t/unit/trees_limits.h"

enum { STEPS_MAX = 4000, CHANGES = 4, AWAY_MAX = 8, MOMENT_MS = 2000 };

/* --- what Kueue has seen ---------------------------------------------------------------------- */

struct scene {
	struct server s, view;
	struct trees_seen seen;
	struct rng r;
	struct limits most, now; /* what any state of the tree allows; what Kueue sees */
	int64_t ms;
	int moments; /* since Kueue saw everything */
	size_t n_early;
};

static void sees(struct scene *x, const struct thing *t)
{
	struct thing *v = find_thing(&x->view, t->key);

	if (!v) {
		v = &x->view.v[x->view.n++];
	}
	*v = *t;
}

static void sees_what_is_gone(struct scene *x)
{
	for (size_t i = x->view.n; i-- > 0;) {
		if (!find_thing(&x->s, x->view.v[i].key)) {
			forget_thing(&x->view, &x->view.v[i]);
		}
	}
}

/* A moment later Kueue has all Cohorts, and some of the queues. */
static void wait_a_moment(struct scene *x)
{
	bool all = ++x->moments >= AWAY_MAX;

	x->ms += MOMENT_MS;
	x->moments = all ? 0 : x->moments;
	for (size_t i = 0; i < x->s.n; i++) {
		if (all || str_starts(x->s.v[i].key, STR("Cohort/")) || rng_chance(&x->r, 1, 3)) {
			sees(x, &x->s.v[i]);
		}
	}
	sees_what_is_gone(x);
}

/* The ClusterQueues with what Kueue says of them. */
static bool is_settled(struct scene *x)
{
	struct json **v = arena_array(&a, x->s.n, sizeof(*v));
	bool behind = false;

	for (size_t i = 0; i < x->s.n; i++) {
		const struct thing *t = &x->s.v[i];
		const struct thing *seen = find_thing(&x->view, t->key);
		mk_str text = arena_printf(&a,
					   "{conditions: [{type: Active, observedGeneration: "
					   "%lld}]}",
					   seen != NULL ? (long long)seen->generation : 0);
		struct json *status = json_elem(objects_read(&a, text.p), 0);

		v[i] = json_dup(&a, t->now);
		json_set(&a, v[i], STR("status"), seen != NULL ? status : NULL);
		behind = behind || !seen || seen->generation != t->generation;
	}
	if (!trees_seen_settled(&x->seen, v, x->s.n, x->ms)) {
		return false;
	}
	x->n_early += behind ? 1 : 0;
	return true;
}

static void allow(struct limits *most, const struct server *s)
{
	static struct limits l;

	read_limits(s, &l);
	for (size_t i = 0; i < l.n; i++) {
		struct limit *m = map_get(&most->index, l.v[i].key);

		if (!m) {
			m = &most->v[most->n++];
			*m = (struct limit){.key = l.v[i].key};
			map_put(&most->index, m->key, m);
		}
		m->whole = l.v[i].whole > m->whole ? l.v[i].whole : m->whole;
		m->max = l.v[i].max > m->max ? l.v[i].max : m->max;
	}
}

/* --- one seed --------------------------------------------------------------------------------- */

static bool is_good(struct scene *x)
{
	read_limits(&x->view, &x->now);
	return !exceeds(&x->now, &x->most, &x->most);
}

/* Writes of one tree and level are sent together: the end of those that begin at 'k'. */
static size_t together(const struct trees_plan *plan, size_t k)
{
	const struct trees_write *w = &plan->writes[k];
	size_t end = k + 1;

	while (w->level > 0 && end < plan->n && plan->writes[end].level == w->level &&
	       plan->writes[end].more == w->more && str_eq(plan->writes[end].tree, w->tree)) {
		end++;
	}
	return end;
}

/* The API server carries them out in any order. */
static void mix(struct scene *x, struct trees_write *w, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = rng_below(&x->r, i);
		struct trees_write one = w[k];

		w[k] = w[i - 1];
		w[i - 1] = one;
	}
}

static bool write_one(struct scene *x, const struct trees_write *w)
{
	mk_str key = arena_printf(&a, "%s/%.*s", api_kind_name(w->kind), STR_ARG(w->name));
	const struct thing *t;

	if (w->verb == TREES_STATUS) {
		return true;
	}
	if (!carry_out(&x->s, w)) {
		printf("# refused: %s", write_text(w).p);
		return false;
	}
	t = find_thing(&x->s, key);
	trees_seen_wrote(&x->seen, w, t != NULL ? t->generation : 0, x->ms);
	return true;
}

/* A pass, and some of what it says; *ret_end: there is nothing left to do. */
static bool make_pass(struct scene *x, bool *ret_end)
{
	struct trees_plan plan;
	size_t n;

	*ret_end = false;
	if (pass_over(&x->s, TREES_COMPILE, is_settled(x), NULL, 0, &plan) != ERR_OK) {
		return false;
	}
	n = rng_chance(&x->r, 1, 2) ? rng_below(&x->r, plan.n + 1) : plan.n;
	*ret_end = !plan.settle;
	for (size_t k = 0; k < plan.n; k++) {
		*ret_end = *ret_end && plan.writes[k].verb == TREES_STATUS;
	}
	for (size_t k = 0; k < n;) {
		size_t end = together(&plan, k);

		mix(x, &plan.writes[k], end - k);
		for (; k < end && k < n; k++) {
			if (!write_one(x, &plan.writes[k])) {
				return false;
			}
		}
	}
	return true;
}

/* Leaves of one parent get what the others had: some more, some less. */
static void exchange(struct scene *x, struct json *tree)
{
	const struct json *map = json_at(tree, "/spec/hierarchies");
	struct json_iter groups = json_iter(map);

	while (json_next(&groups)) {
		struct json *list = json_get(groups.val, "weightedQuotas");
		struct json *one = json_elem(list, rng_below(&x->r, json_len(list)));
		struct json *two = json_elem(list, rng_below(&x->r, json_len(list)));
		mk_str name = json_str(json_get(one, "name"));
		mk_str other = json_str(json_get(two, "name"));

		if (!json_getn(map, name) && !json_getn(map, other)) {
			json_set_str(&a, one, "name", other);
			json_set_str(&a, two, "name", name);
		}
	}
}

/* The tree becomes another one. */
static bool change(struct scene *x, uint64_t seed)
{
	static struct server end;
	struct json *tree = tree_of("t", seed, "capacity");

	json_put(&a, tree, "/spec/resourceGroup/flavors/0/resources/0/nominalQuota",
		 json_new_int(&a, 1000 + (int64_t)rng_below(&x->r, 100000)));
	exchange(x, tree);
	user_puts(&x->s, tree);
	end = x->s;
	if (!run_to_end(&end)) {
		return false;
	}
	allow(&x->most, &end);
	return true;
}

static bool run(struct scene *x, uint64_t seed)
{
	int changes = 0;

	for (int i = 0; i < STEPS_MAX; i++) {
		bool end = false;
		bool good = true;

		if (rng_chance(&x->r, 1, 2)) {
			good = make_pass(x, &end);
		} else if (rng_chance(&x->r, 1, 8)) {
			wait_a_moment(x);
		} else if (changes < CHANGES && rng_chance(&x->r, 1, 8)) {
			changes++;
			good = change(x, seed);
		} else {
			sees(x, &x->s.v[rng_below(&x->r, x->s.n)]);
		}
		if (!good || !is_good(x)) {
			return false;
		}
		if (end && changes == CHANGES) {
			return true;
		}
	}
	printf("# there is no end\n");
	return false;
}

static size_t n_early;

static bool one(uint64_t seed)
{
	static struct scene x;
	bool good;

	arena_init(&a, (size_t)2 << 30);
	memset(&x, 0, sizeof(x));
	rng_init(&x.r, seed);
	trees_seen_begin(&x.seen, 0);
	good = change(&x, seed) && run(&x, seed);
	n_early += x.n_early;
	trees_seen_done(&x.seen);
	map_done(&x.most.index);
	map_done(&x.now.index);
	arena_done(&a);
	return good;
}

int main(void)
{
	const char *env = getenv("SEEDS");
	const char *first = getenv("FIRST");
	uint64_t n = env != NULL ? strtoull(env, NULL, 10) : tap_valgrind() ? 2 : 60;
	uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1;
	uint64_t last = seed + n;

	while (seed < last && one(seed)) {
		seed++;
	}
	if (!ok(seed == last, "whenever Kueue sees what, no limit is above all that the tree "
			      "said")) {
		printf("# seed %llu\n", (unsigned long long)seed);
	}
	ok(n_early > 0, "what got more is not waited for");
	return done_testing();
}
