/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random trees and random lives of workloads: every event of every cycle, every figure and
 * every state is compared with the model of quota_brute.h, and the properties that the rules
 * promise are checked on the way. QUOTA_CASES=n runs n trees instead of the usual number,
 * QUOTA_SEED=n starts elsewhere.
 */
#include "t/lib/quota_help.h"

#include "core/base/rng.h"
#include "t/lib/quota_brute_run.h"

static struct rng rng;
static uint64_t n_checks;
static char failure[512];

static bool expect(bool pass, const char *what)
{
	n_checks++;
	if (!pass && failure[0] == '\0') {
		snprintf(failure, sizeof(failure), "%s", what);
	}
	return pass;
}

static int pick(int n)
{
	return (int)rng_below(&rng, (uint64_t)n);
}

/* --- a random tree ---------------------------------------------------------------------------- */

struct texts {
	char node[BRUTE_NODES][8], lq[HELP_NODES][8];
};

static void random_behaviour(struct quota_behaviour *b)
{
	static const enum quota_reclaim reclaims[] = {QUOTA_NEVER, QUOTA_LOWER, QUOTA_ANY,
						      QUOTA_ANY};

	*b = (struct quota_behaviour){
		.strategy = (enum quota_strategy)pick(4),
		.within = (enum quota_reclaim)pick(3),
		.reclaim = reclaims[pick(4)],
		.borrow_within = pick(2) == 0,
		.has_threshold = pick(3) == 0,
		.threshold = pick(3),
		.borrow_next_flavor = pick(3) == 0,
		.preempt_may_stop = pick(3) == 0,
		.preempt_over_borrow = pick(4) == 0,
	};
}

static void random_weights(struct help *h, size_t parent)
{
	bool weighted = pick(3) != 0;
	int left = 100;

	for (size_t i = 0; i < h->d.n_nodes; i++) {
		struct quota_node *n = &h->nodes[i];

		if (n->parent != parent) {
			continue;
		}
		n->max_weight = pick(2) == 0 ? -1 : 40 + pick(61);
		n->min_weight = -1;
		if (weighted) {
			int most = n->max_weight < 0 ? 100 : n->max_weight;

			n->min_weight = pick((left < most ? left : most) + 1);
			left -= n->min_weight;
		}
	}
}

static void random_amounts(struct help *h, size_t x)
{
	struct quota_node *n = &h->nodes[x];

	n->absolute = true;
	n->min_weight = -1;
	n->max_weight = -1;
	n->min = &h->amounts[h->n_amounts];
	for (size_t f = 0; f < h->d.n_frs; f++) {
		int64_t nominal = pick(8);

		if (pick(4) != 0) {
			h->amounts[h->n_amounts++] = (struct quota_amount){
				f, nominal, pick(3) == 0 ? pick((int)nominal + 1) : -1};
			n->n_min++;
		}
	}
	n->max = &h->amounts[h->n_amounts];
	for (size_t f = 0; f < h->d.n_frs; f++) {
		if (pick(3) == 0) {
			h->amounts[h->n_amounts++] =
				(struct quota_amount){f, brute_min_of(n, f) + pick(10), -1};
			n->n_max++;
		}
	}
}

static void random_figures(struct help *h)
{
	bool absolute = pick(3) == 0;

	h->n_amounts = 0;
	for (size_t f = 0; f < h->d.n_frs; f++) {
		h->frs[f].total = 4 + pick(24);
	}
	for (size_t i = 0; i < h->d.n_nodes; i++) {
		struct quota_node *n = &h->nodes[i];

		n->policy = (enum quota_policy)pick(3);
		n->fence_open = pick(4) != 0;
		n->weight = pick(8) == 0 ? 0 : 500 * (1 + pick(4));
		n->n_min = 0;
		n->n_max = 0;
		n->absolute = false;
		random_behaviour(&n->behaviour);
		if (n->parent != QUOTA_NONE && absolute) {
			random_amounts(h, i);
		}
	}
	for (size_t i = 0; !absolute && i < h->d.n_nodes; i++) {
		random_weights(h, i);
	}
	for (size_t i = 0; i < h->d.n_lqs; i++) {
		h->lqs[i].weight = pick(6) == 0 ? 0 : 1000 * (1 + pick(3));
	}
}

/* LocalQueues of a leaf: also one, and none, for which the library has one of its own. */
static int n_queues(void)
{
	static const int some[] = {0, 1, 1, 2, 2, 2, 3, 5};

	return some[pick(8)];
}

static void random_tree(struct help *h, struct texts *t)
{
	static const char *const flavors[] = {"x", "y"};
	static const char *const resources[] = {"cpu", "gpu"};
	size_t n = 2 + (size_t)pick(8);
	int n_flavors = 1 + pick(2);

	help_init(h);
	for (int f = 0; f < n_flavors * BRUTE_RES; f++) {
		help_fr(h, flavors[f / BRUTE_RES], resources[f % BRUTE_RES], 0);
	}
	for (size_t i = 0; i < n; i++) {
		size_t parent = i == 0 ? QUOTA_NONE : (size_t)pick((int)(i < 5 ? i : 5));

		snprintf(t->node[i], sizeof(t->node[i]), "n%d", (int)(i * 7 % 10));
		h->nodes[i] = (struct quota_node){.name = str_of(t->node[i]),
						  .parent = parent,
						  .min_weight = -1,
						  .max_weight = -1};
	}
	h->d.n_nodes = n;
	h->d.fair_lookahead = pick(4) == 0;
	for (size_t i = 0; i < n; i++) {
		bool inner = false;

		for (size_t k = 0; k < n; k++) {
			inner = inner || h->nodes[k].parent == i;
		}
		for (int k = inner ? 0 : n_queues(); k > 0; k--) {
			snprintf(t->lq[h->d.n_lqs], sizeof(t->lq[0]), "l%d", (int)h->d.n_lqs);
			h->lqs[h->d.n_lqs] = (struct quota_lq){str_of(t->lq[h->d.n_lqs]), i, 1000};
			h->d.n_lqs++;
		}
	}
	random_figures(h);
}

/* --- operations on both ----------------------------------------------------------------------- */

static struct quota_work *real(const struct help *h, const struct brute_work *w)
{
	return quota_work_find(h->q, str_of(w->uid));
}

static void outside_change(struct brute *b)
{
	for (size_t i = 0; i < b->n; i++) {
		b->w[i].limited = false;
		b->w[i].claims = 0;
	}
}

static size_t some_leaf(const struct help *h, const struct brute *b)
{
	size_t x = (size_t)pick((int)h->d.n_nodes);

	while (brute_has_children(b, x)) {
		x = (x + 1) % h->d.n_nodes;
	}
	return x;
}

/* QUOTA_NONE when the leaf has none. */
static size_t some_lq(const struct help *h, size_t leaf)
{
	size_t n = 0;
	size_t found = QUOTA_NONE;

	for (size_t i = 0; i < h->d.n_lqs; i++) {
		if (h->lqs[i].node == leaf && pick((int)++n) == 0) {
			found = i;
		}
	}
	return found;
}

static void put(struct help *h, struct brute *b, int64_t now)
{
	static const char *const names[] = {"cpu", "gpu"};
	struct brute_work *w = &b->w[b->n];
	size_t leaf = some_leaf(h, b);
	size_t lq = some_lq(h, leaf);
	struct quota_ask asks[BRUTE_RES];
	struct quota_work_desc d = {.asks = asks, .n_asks = BRUTE_RES, .n_pods = 1};
	static const uint64_t masks[] = {3, 3, 3, 1, 2};

	if (b->n == BRUTE_WORKS) {
		return;
	}
	*w = (struct brute_work){.leaf = leaf,
				 .lq = lq,
				 .priority = pick(4),
				 .time = now - pick(5),
				 .flavor = -1,
				 .mask = masks[pick(5)],
				 .state = QUOTA_PENDING,
				 .there = true};
	snprintf(w->uid, sizeof(w->uid), "w%d", (int)(b->n * 37 % 100));
	for (int r = 0; r < BRUTE_RES; r++) {
		w->ask[r] = pick(3) == 0 ? 0 : 1 + pick(pick(4) == 0 ? 12 : 4);
		asks[r] = (struct quota_ask){.resource = str_of(names[r]), .amount = w->ask[r]};
	}
	w->mask &= h->d.n_frs > BRUTE_RES ? 3 : 1;
	if (w->mask == 0) {
		w->mask = 1;
	}
	w->again = false;
	d.uid = str_of(w->uid);
	d.leaf = h->nodes[w->leaf].name;
	d.lq = lq == QUOTA_NONE ? STR("") : h->lqs[lq].name;
	d.priority = w->priority;
	d.time_ms = w->time;
	d.flavors = &w->mask;
	if (w->ask[0] + w->ask[1] == 0) {
		return;
	}
	expect(quota_put(h->q, &d, NULL) == ERR_OK, "put");
	b->n++;
	outside_change(b);
}

static void finish(struct help *h, struct brute *b)
{
	struct brute_work *w = &b->w[pick((int)b->n)];

	if (!w->there) {
		return;
	}
	quota_del(h->q, str_of(w->uid));
	if (brute_counts(w)) {
		brute_dropped(b, w);
	}
	w->there = false;
	outside_change(b);
}

static void leave(struct help *h, struct brute *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct brute_work *w = &b->w[i];

		if (w->there && w->state == QUOTA_EVICTING && pick(2) == 0) {
			expect(quota_gone(h->q, real(h, w)) == ERR_OK, "gone");
			w->state = QUOTA_PENDING;
			brute_dropped(b, w);
		}
	}
}

static void change(struct help *h, struct brute *b)
{
	random_figures(h);
	expect(quota_apply(h->q, &h->d, NULL) == ERR_OK, "apply");
	outside_change(b);
	for (size_t i = 0; i < b->n; i++) {
		if (b->w[i].state == QUOTA_BLOCKED) {
			b->w[i].state = QUOTA_PENDING;
		}
	}
}

/* --- comparisons ------------------------------------------------------------------------------ */

static void compare_cells(const struct help *h, const struct brute *b)
{
	for (size_t i = 0; i < h->d.n_nodes; i++) {
		for (size_t f = 0; f < h->d.n_frs; f++) {
			struct quota_cell_info c =
				quota_cell_at(h->q, quota_node_find(h->q, h->nodes[i].name), f);

			expect(c.nominal == brute_nominal(b, i, f), "nominal");
			expect(c.max == brute_max(b, i, f), "max");
			expect(c.reserved == brute_reserved(b, i, f), "reserved");
			expect(c.use == brute_use(b, i, f), "use");
			expect(c.hold == brute_hold(b, i, f, QUOTA_NONE, 0), "hold");
			expect(c.orphan == 0, "no orphans");
			expect(c.nominal <= c.max, "nominal is within max");
		}
	}
}

static void compare_works(const struct help *h, const struct brute *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct quota_work *w = real(h, &b->w[i]);

		expect((w != NULL) == b->w[i].there, "presence");
		if (w != NULL) {
			expect(quota_work_at(h->q, w).state == b->w[i].state, "state");
		}
	}
}

/* Children's minima fit the parent's, and what is promised. */
static void check_sums(const struct help *h, const struct brute *b)
{
	for (size_t i = 0; i < h->d.n_nodes; i++) {
		for (size_t f = 0; f < h->d.n_frs; f++) {
			int64_t sum = 0;
			bool any = false;

			for (size_t c = 0; c < h->d.n_nodes; c++) {
				if (h->nodes[c].parent == i) {
					any = true;
					sum += brute_nominal(b, c, f);
					expect(brute_max(b, c, f) <= brute_max(b, i, f), "max");
				}
			}
			expect(!any || sum <= brute_nominal(b, i, f), "sum of nominal");
		}
	}
}

/*
 * Every victim in another queue lies behind an open fence and reclaim is allowed; each is needed.
 */
static void check_victims(const struct help *h, struct brute *b, const struct brute_work *w,
			  const struct quota_plan *plan)
{
	const struct quota_behaviour *k = &h->nodes[w->leaf].behaviour;

	expect(plan->n == b->n_victims, "number of victims");
	for (size_t i = 0; i < plan->n && i < b->n_victims; i++) {
		const struct brute_work *v = &b->w[b->victims[i]];

		expect(help_is(plan->victims[i].work, v->uid), "victim");
		if (v->leaf == w->leaf) {
			expect(k->within != QUOTA_NEVER && v->priority <= w->priority,
			       "own victims");
			continue;
		}
		expect(h->nodes[b->victim_lca[i]].fence_open, "fence");
		expect(k->reclaim == QUOTA_ANY ||
			       (k->reclaim == QUOTA_LOWER && v->priority < w->priority),
		       "reclaim");
	}
}

/*
 * Nothing that waits fits, unless its strict leaf has a head that does not, or a reservation was
 * cancelled after its turn: the next cycle tries it again.
 */
static void check_conserving(const struct help *h, struct brute *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct brute_work *w = &b->w[i];
		bool usable;
		int flavor = w->flavor;

		if (!w->there || w->again ||
		    (w->state != QUOTA_PENDING && w->state != QUOTA_BLOCKED) ||
		    h->nodes[w->leaf].behaviour.strategy == QUOTA_STRICT) {
			continue;
		}
		expect(brute_assign(b, w, &usable) != 2, "work conservation");
		w->flavor = flavor;
	}
}

static size_t cycle(struct help *h, struct brute *b, int64_t now)
{
	struct quota_step s;
	enum quota_event event = QUOTA_END;
	size_t n = 0;

	quota_cycle(h->q, now);
	brute_begin(b, now);
	while (failure[0] == '\0') {
		struct brute_work *w = brute_step(b, &event);

		expect(quota_step(h->q, now, &s) == ERR_OK, "step");
		if (!w) {
			expect(s.event == QUOTA_END, "end of the cycle");
			break;
		}
		if (!expect(s.event == event, "event") ||
		    !expect(s.work == real(h, w), "who is next")) {
			break;
		}
		if (event == QUOTA_RESERVE) {
			check_victims(h, b, w, &s.plan);
		}
		n += event != QUOTA_BLOCK;
		if (!expect(n < 500, "a cycle ends")) {
			break;
		}
	}
	check_conserving(h, b);
	return n;
}

/* Without arrivals and ends everything comes to rest. */
static void settle(struct help *h, struct brute *b, int64_t now)
{
	size_t rounds = 0;
	size_t moves = 1;

	while (moves > 0 && failure[0] == '\0') {
		moves = cycle(h, b, now++);
		for (size_t i = 0; i < b->n; i++) {
			struct brute_work *w = &b->w[i];

			if (w->there && w->state == QUOTA_EVICTING) {
				expect(quota_gone(h->q, real(h, w)) == ERR_OK, "gone");
				w->state = QUOTA_PENDING;
				brute_dropped(b, w);
				moves++;
			}
		}
		expect(++rounds < 10 * BRUTE_WORKS, "rest");
	}
}

static void one_case(uint64_t seed)
{
	static struct help h;
	static struct texts t;
	static struct brute b;
	int64_t now = 10;

	rng_init(&rng, seed);
	random_tree(&h, &t);
	memset(&b, 0, sizeof(b));
	b.d = &h.d;
	expect(quota_apply(h.q, &h.d, NULL) == ERR_OK, "apply");
	check_sums(&h, &b);
	for (int i = 0; i < 12 && failure[0] == '\0'; i++) {
		int what = pick(10);

		now += pick(3);
		if (what < 4 || b.n == 0) {
			for (int k = pick(4); k >= 0; k--) {
				put(&h, &b, now);
			}
		} else if (what < 5) {
			finish(&h, &b);
		} else if (what < 6) {
			leave(&h, &b);
		} else if (what < 9) {
			cycle(&h, &b, now);
		} else {
			change(&h, &b);
		}
		compare_works(&h, &b);
	}
	compare_cells(&h, &b);
	settle(&h, &b, now + 1);
	compare_works(&h, &b);
	expect(proof_check(h.q, NULL) == ERR_OK, "self check");
	quota_free(h.q);
}

int main(void)
{
	const char *cases = getenv("QUOTA_CASES");
	const char *first = getenv("QUOTA_SEED");
	uint64_t n = cases != NULL ? strtoull(cases, NULL, 10) : 10000;
	uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1;
	uint64_t end = seed + n;

	for (; seed < end && failure[0] == '\0'; seed++) {
		one_case(seed);
	}
	if (!ok(failure[0] == '\0', "random trees agree with the plain model")) {
		printf("# seed %" PRIu64 ": %s\n", seed - 1, failure);
	}
	printf("# %" PRIu64 " trees, %" PRIu64 " comparisons\n", n, n_checks);
	return done_testing();
}
